import { describe, expect, it } from 'vitest';
import { type Clock, scaledClock, steadyTime, systemClock } from './clock.ts';
import { settableClock, VIRTUAL_START, VirtualClock } from './virtual-clock.ts';

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

  it('fires timers of the same moment in the order of their creation', async () => {
    const clock = new VirtualClock();
    const seen: number[] = [];
    await clock.run(() => Promise.all([3, 1, 2].map((n) => clock.sleep(100).then(() => seen.push(n)))));
    expect(seen).toEqual([3, 1, 2]);
  });

  it('reports "stalled" instead of hanging', async () => {
    const clock = new VirtualClock();
    await expect(clock.run(() => new Promise(() => {}))).rejects.toMatchObject({ code: 'STALLED' });
  });

  it('does not advance the time for a canceled wait', async () => {
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

  it('rethrows what the work throws', async () => {
    const clock = new VirtualClock();
    await expect(clock.run(() => Promise.reject(new Error('boom')))).rejects.toThrow('boom');
  });

  it('can be advanced explicitly, for tests without a main task', async () => {
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

describe('a scaled clock', () => {
  it('starts at the time of the clock below it', () => {
    expect(scaledClock(new VirtualClock(), 60).now()).toBe(VIRTUAL_START);
  });

  it('shows the time that the faster clock would show', async () => {
    const real = new VirtualClock();
    const fast = scaledClock(real, 60);
    await real.advance(1_000);
    expect(fast.now() - VIRTUAL_START).toBe(60_000);
  });

  it('sleeps a correspondingly shorter time', async () => {
    const real = new VirtualClock();
    const fast = scaledClock(real, 20);
    await real.run(() => fast.sleep(30_000));
    expect(real.now() - VIRTUAL_START).toBe(1_500);
    expect(fast.now() - VIRTUAL_START).toBe(30_000);
  });

  it('can be slower than the clock below it', async () => {
    const real = new VirtualClock();
    const slow = scaledClock(real, 0.5);
    await real.run(() => slow.sleep(1_000));
    expect(real.now() - VIRTUAL_START).toBe(2_000);
  });

  it('pauses while the process is not running, so that time limits stay fair', async () => {
    const virtual = new VirtualClock();
    let stalledMs = 0;
    // A machine that suspends the process for a second whenever it waits for the next tick.
    const stalling: Clock = {
      now: () => virtual.now() + stalledMs,
      ticks: () => virtual.ticks() + stalledMs,
      sleep: async (ms, signal) => {
        await virtual.sleep(ms, signal);
        stalledMs += 1_000;
      },
    };
    const fast = scaledClock(stalling, 100);
    const limit = new AbortController();
    const ended: string[] = [];
    await virtual.run(async () => {
      const timedOut = fast.sleep(30_000, limit.signal).then(
        () => ended.push('limit'),
        () => {},
      );
      await fast.sleep(500);
      await fast.sleep(500);
      ended.push('work');
      limit.abort();
      await timedOut;
    });
    expect(ended).toEqual(['work']);
    expect(fast.ticks()).toBeLessThan(30_000);
  });

  it('never wakes before the time has come, even if timers fire early', async () => {
    const virtual = new VirtualClock();
    const hasty: Clock = {
      now: () => virtual.now(),
      ticks: () => virtual.ticks(),
      sleep: (ms, signal) => virtual.sleep(Math.max(1, ms - 1), signal),
    };
    const fast = scaledClock(hasty, 100);
    await virtual.run(() => fast.sleep(1_000));
    expect(fast.now() - VIRTUAL_START).toBeGreaterThanOrEqual(1_000);
  });

  it('waits longer than a single timer can', async () => {
    const real = new VirtualClock();
    const slow = scaledClock(real, 1);
    await real.run(() => slow.sleep(2 ** 33));
    expect(real.now() - VIRTUAL_START).toBe(2 ** 33);
  });

  it('ends a sleep as soon as its signal fires', async () => {
    const real = new VirtualClock();
    const abort = new AbortController();
    const sleeping = scaledClock(real, 10).sleep(1_000, abort.signal);
    abort.abort();
    await expect(sleeping).rejects.toMatchObject({ code: 'CANCELED' });
  });
});

describe('a clock whose time of day is set', () => {
  it('keeps its ticks, so that waits and deadlines are not moved', async () => {
    const virtual = new VirtualClock();
    const clock = settableClock(virtual);
    const startTicks = clock.ticks();
    const stamp = steadyTime(clock);
    await virtual.run(() => clock.sleep(1_000));
    clock.jump(3_600_000);
    expect(clock.ticks() - startTicks).toBe(1_000);
    expect(clock.now()).toBe(VIRTUAL_START + 3_601_000);
    expect(stamp()).toBe(VIRTUAL_START + 1_000);
    clock.jump(-7_200_000);
    expect(clock.ticks() - startTicks).toBe(1_000);
  });
});
