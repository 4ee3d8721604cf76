import { describe, expect, it } from 'vitest';
import { systemClock } from './clock.ts';
import { VirtualClock } from './virtual-clock.ts';

describe('VirtualClock', () => {
  it('advances only when nothing else can run', async () => {
    const clock = new VirtualClock(1000);
    const seen: string[] = [];
    await clock.run(async () => {
      const slow = clock.sleep(5000).then(() => seen.push(`slow ${clock.now()}`));
      const fast = clock.sleep(10).then(async () => {
        for (let i = 0; i < 50; i++) await Promise.resolve();
        seen.push(`fast ${clock.now()}`);
      });
      await Promise.all([slow, fast]);
    });
    expect(seen).toEqual(['fast 1010', 'slow 6000']);
  });

  it('fires timers of the same moment in the order they were set', async () => {
    const clock = new VirtualClock();
    const seen: number[] = [];
    await clock.run(() => Promise.all([3, 1, 2].map((n) => clock.sleep(100).then(() => seen.push(n)))));
    expect(seen).toEqual([3, 1, 2]);
  });

  it('reports "stalled" instead of hanging', async () => {
    const clock = new VirtualClock();
    await expect(clock.run(() => new Promise(() => {}))).rejects.toMatchObject({ code: 'STALLED' });
  });

  it('does not let a canceled wait drag time forward', async () => {
    const clock = new VirtualClock(0);
    const abort = new AbortController();
    await clock.run(async () => {
      const long = clock.sleep(1_000_000, abort.signal);
      await clock.sleep(1);
      abort.abort();
      await expect(long).rejects.toMatchObject({ code: 'CANCELED' });
      await clock.sleep(1);
    });
    expect(clock.now()).toBe(2);
    await expect(clock.sleep(1, abort.signal)).rejects.toMatchObject({ code: 'CANCELED' });
  });

  it('passes on what the work throws', async () => {
    const clock = new VirtualClock();
    await expect(clock.run(() => Promise.reject(new Error('boom')))).rejects.toThrow('boom');
  });

  it('advances by hand for tests without a main task', async () => {
    const clock = new VirtualClock(0);
    const seen: number[] = [];
    void clock.sleep(10).then(() => seen.push(clock.now()));
    void clock.sleep(30).then(() => seen.push(clock.now()));
    await clock.advance(20);
    expect([seen, clock.now()]).toEqual([[10], 20]);
    await clock.advance(20);
    expect([seen, clock.now()]).toEqual([[10, 30], 40]);
  });
});

describe('systemClock', () => {
  it('ends a wait as soon as its signal fires', async () => {
    const abort = new AbortController();
    const waiting = systemClock.sleep(60_000, abort.signal);
    abort.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'CANCELED' });
    await expect(systemClock.sleep(1, abort.signal)).rejects.toMatchObject({ code: 'CANCELED' });
    await systemClock.sleep(1);
  });
});
