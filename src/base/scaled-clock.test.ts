import { describe, expect, it } from 'vitest';
import type { Clock } from './clock.ts';

import { scaledClock } from './scaled-clock.ts';
import { VIRTUAL_START, VirtualClock } from './virtual-clock.ts';

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

  it('never wakes before the time has come, even if timers fire early', async () => {
    const virtual = new VirtualClock();
    const hasty: Clock = {
      now: () => virtual.now(),
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
