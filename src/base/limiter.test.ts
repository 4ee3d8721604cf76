import { describe, expect, it } from 'vitest';
import { Limiter } from './limiter.ts';
import { VirtualClock } from './virtual-clock.ts';

describe('a limiter', () => {
  it('never exceeds its limit, and runs every function', async () => {
    const clock = new VirtualClock();
    const limiter = new Limiter(3);
    let inside = 0;
    let most = 0;
    const work = async () => {
      most = Math.max(most, ++inside);
      await clock.sleep(10);
      inside--;
    };
    await clock.run(() => Promise.all(Array.from({ length: 10 }, () => limiter.run(work))));
    expect(most).toBe(3);
    expect(inside).toBe(0);
  });

  it('runs functions in the order of the calls', async () => {
    const clock = new VirtualClock();
    const limiter = new Limiter(1);
    const served: number[] = [];
    const work = (number: number) => async () => {
      served.push(number);
      await clock.sleep(10);
    };
    await clock.run(() => Promise.all([1, 2, 3, 4].map((number) => limiter.run(work(number)))));
    expect(served).toEqual([1, 2, 3, 4]);
  });

  it('admits no later call before one that waits for fewer concurrent ones', async () => {
    const clock = new VirtualClock();
    const limiter = new Limiter(2);
    const served: string[] = [];
    const work = (name: string) => async () => {
      served.push(name);
      await clock.sleep(10);
    };
    await clock.run(() =>
      Promise.all([limiter.run(work('first')), limiter.run(work('alone'), undefined, 1), limiter.run(work('last'))]),
    );
    expect(served).toEqual(['first', 'alone', 'last']);
  });

  it('frees the slot of a function that fails', async () => {
    const limiter = new Limiter(1);
    await expect(limiter.run(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await limiter.run(async () => 'next')).toBe('next');
  });

  it('drops a canceled waiter without losing a slot', async () => {
    const clock = new VirtualClock();
    const limiter = new Limiter(1);
    const stop = new AbortController();
    const served: string[] = [];
    await clock.run(async () => {
      const first = limiter.run(() => clock.sleep(10));
      const second = limiter.run(async () => served.push('second'), stop.signal);
      const third = limiter.run(async () => served.push('third'));
      stop.abort();
      await expect(second).rejects.toMatchObject({ code: 'CANCELED' });
      await Promise.all([first, third]);
    });
    expect(served).toEqual(['third']);
  });
});
