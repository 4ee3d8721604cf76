import { describe, expect, it } from 'vitest';
import { ProxwrightError } from './errors.ts';
import { silentLogger } from './log.ts';
import { seededRandom } from './random.ts';
import { DEFAULT_RETRY, type RetryContext, retryWhileBusy } from './retry.ts';
import { VirtualClock } from './virtual-clock.ts';

const busy = () => new ProxwrightError({ code: 'CONFIG_LOCKED', detail: '"can\'t lock file … got timeout"' });

function context(clock: VirtualClock): RetryContext {
  return { clock, random: seededRandom(1), log: silentLogger, subject: 'configure vm.web' };
}

describe('retryWhileBusy', () => {
  it('tries again after growing pauses until the lock is free', async () => {
    const clock = new VirtualClock();
    const startedAt: number[] = [];
    const result = await clock.run(() =>
      retryWhileBusy(DEFAULT_RETRY, context(clock), async (attempt) => {
        startedAt.push(clock.now());
        if (attempt < 4) throw busy();
        return 'done';
      }),
    );
    expect(result).toBe('done');
    const pauses = startedAt.slice(1).map((time, index) => time - (startedAt[index] ?? 0));
    expect(pauses).toHaveLength(3);
    expect([...pauses].sort((a, b) => a - b)).toEqual(pauses);
  });

  it('passes every other failure at once', async () => {
    const clock = new VirtualClock();
    let attempts = 0;
    const failing = clock.run(() =>
      retryWhileBusy(DEFAULT_RETRY, context(clock), async () => {
        attempts++;
        throw new ProxwrightError({ code: 'NO_SPACE', detail: 'full' });
      }),
    );
    await expect(failing).rejects.toMatchObject({ code: 'NO_SPACE' });
    expect(attempts).toBe(1);
  });

  it('gives up by attempts and says how many there were', async () => {
    const clock = new VirtualClock();
    const failing = clock.run(() => retryWhileBusy(DEFAULT_RETRY, context(clock), () => Promise.reject(busy())));
    await expect(failing).rejects.toMatchObject({
      code: 'CONFIG_LOCKED',
      diagnostic: { detail: expect.stringContaining('Tried 5 times within') },
    });
  });

  it('gives up by time before it would exceed the budget', async () => {
    const clock = new VirtualClock();
    const start = clock.now();
    const policy = { ...DEFAULT_RETRY, attempts: 100, budgetMs: 60_000 };
    await expect(
      clock.run(() => retryWhileBusy(policy, context(clock), () => Promise.reject(busy()))),
    ).rejects.toThrow();
    expect(clock.now() - start).toBeLessThanOrEqual(60_000);
  });

  it('ends its pause when it is canceled', async () => {
    const clock = new VirtualClock();
    const abort = new AbortController();
    const failing = clock.run(async () => {
      const attempt = retryWhileBusy(DEFAULT_RETRY, { ...context(clock), signal: abort.signal }, () =>
        Promise.reject(busy()),
      );
      await clock.sleep(100);
      abort.abort();
      return attempt;
    });
    await expect(failing).rejects.toMatchObject({ code: 'CANCELED' });
  });
});
