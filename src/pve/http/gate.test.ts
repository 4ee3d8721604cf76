import { describe, expect, it } from 'vitest';

import { VirtualClock } from '../../base/virtual-clock.ts';
import { Gate } from './gate.ts';

describe('a gate', () => {
  it('lets no more in at once than it says, and all of them in the end', async () => {
    const clock = new VirtualClock();
    const gate = new Gate(3);
    let inside = 0;
    let most = 0;
    const work = async () => {
      most = Math.max(most, ++inside);
      await clock.sleep(10);
      inside--;
    };
    await clock.run(() => Promise.all(Array.from({ length: 10 }, () => gate.run(work))));
    expect(most).toBe(3);
    expect(inside).toBe(0);
  });

  it('serves in the order of arrival', async () => {
    const clock = new VirtualClock();
    const gate = new Gate(1);
    const served: number[] = [];
    const work = (number: number) => async () => {
      served.push(number);
      await clock.sleep(10);
    };
    await clock.run(() => Promise.all([1, 2, 3, 4].map((number) => gate.run(work(number)))));
    expect(served).toEqual([1, 2, 3, 4]);
  });

  it('gives the place on when work fails', async () => {
    const gate = new Gate(1);
    await expect(gate.run(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await gate.run(async () => 'next')).toBe('next');
  });

  it('forgets who stops waiting, and loses no place by it', async () => {
    const clock = new VirtualClock();
    const gate = new Gate(1);
    const stop = new AbortController();
    const served: string[] = [];
    await clock.run(async () => {
      const first = gate.run(() => clock.sleep(10));
      const second = gate.run(async () => served.push('second'), stop.signal);
      const third = gate.run(async () => served.push('third'));
      stop.abort();
      await expect(second).rejects.toMatchObject({ code: 'CANCELED' });
      await Promise.all([first, third]);
    });
    expect(served).toEqual(['third']);
  });
});
