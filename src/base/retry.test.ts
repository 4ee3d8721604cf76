import { describe, expect, it } from 'vitest';
import { canceled, type ErrorCode, ProxwrightError } from './errors.ts';
import { silentLogger } from './log.ts';
import { seededRandom } from './random.ts';
import { Attempts, DEFAULT_RETRY, RETRIES, type RetryContext, type RetryPolicy, retryWhileBusy } from './retry.ts';
import { VirtualClock } from './virtual-clock.ts';

const error = (code: ErrorCode) => new ProxwrightError({ code, detail: 'x' });
const POLICY: RetryPolicy = {
  name: 'test',
  counts: (thrown) => thrown === 'again',
  attempts: 4,
  firstMs: 1_000,
  maxMs: 3_000,
  budgetMs: 60_000,
  spread: 0,
};

describe('attempts under a policy', () => {
  it('pause twice as long each time, up to the longest pause, and end', () => {
    const attempts = new Attempts(POLICY, { clock: new VirtualClock() });
    expect(['', '', '', ''].map(() => attempts.next('again'))).toEqual([1_000, 2_000, 3_000, undefined]);
    expect(attempts.failed).toBe(4);
  });

  it('end immediately at a failure that is not retried', () => {
    const attempts = new Attempts(POLICY, { clock: new VirtualClock() });
    expect(attempts.next('other')).toBeUndefined();
    expect(attempts.failed).toBe(0);
  });

  it('end before the next pause would exceed the budget', async () => {
    const clock = new VirtualClock();
    const attempts = new Attempts({ ...POLICY, attempts: 100, budgetMs: 5_000 }, { clock });
    await clock.run(async () => {
      const pauses: number[] = [];
      while (await attempts.again('again', (pauseMs) => pauses.push(pauseMs)));
      expect(pauses).toEqual([1_000, 2_000]);
      expect(attempts.spentMs).toBe(3_000);
    });
  });

  it('count only consecutive failures', () => {
    const attempts = new Attempts({ ...POLICY, attempts: 2 }, { clock: new VirtualClock() });
    expect(attempts.next('again')).toBe(1_000);
    attempts.restart();
    expect(attempts.next('again')).toBe(1_000);
    expect(attempts.next('again')).toBeUndefined();
  });

  it('spread their pauses around the middle', () => {
    const random = seededRandom(1);
    const pauses = Array.from({ length: 200 }, () =>
      new Attempts({ ...POLICY, spread: 0.5 }, { clock: new VirtualClock(), random }).next('again'),
    ).map(Number);
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(750);
    expect(Math.min(...pauses)).toBeLessThan(800);
    expect(Math.max(...pauses)).toBeLessThanOrEqual(1_250);
    expect(Math.max(...pauses)).toBeGreaterThan(1_200);
  });

  it('end their pause when they are canceled', async () => {
    const clock = new VirtualClock();
    const abort = new AbortController();
    const waiting = clock.run(async () => {
      const again = new Attempts(POLICY, { clock, signal: abort.signal }).again('again');
      abort.abort();
      return again;
    });
    await expect(waiting).rejects.toMatchObject({ code: 'CANCELED' });
  });
});

describe('what counts', () => {
  it.each([
    ['request', ['NOT_EXECUTED', 'UNREACHABLE'], ['OUTCOME_UNKNOWN', 'REQUEST_TIMEOUT', 'GUEST_LOCKED', 'CANCELED']],
    ['lock', ['GUEST_LOCKED', 'CONFIG_LOCKED', 'STORAGE_LOCKED', 'CLUSTER_LOCKED'], ['TASK_FAILED', 'NOT_EXECUTED']],
    ['reach', ['NOT_EXECUTED', 'REQUEST_TIMEOUT', 'UNREACHABLE'], ['OUTCOME_UNKNOWN', 'CERT_UNTRUSTED']],
    ['round', ['OUTCOME_UNKNOWN', 'TASK_VANISHED', 'CONFIG_CHANGED'], ['TASK_FAILED', 'NOT_OURS', 'CANCELED']],
    ['fileRound', ['OUTCOME_UNKNOWN', 'TASK_VANISHED'], ['FILE_DIFFERS', 'TASK_FAILED']],
    ['taskStatus', ['SERVER_FAULT', 'BAD_ANSWER'], ['PRIVILEGE_MISSING', 'CANCELED']],
    ['download', [], ['DOWNLOAD_FAILED', 'CANCELED']],
  ] as const)('for "%s"', (name, again, never) => {
    for (const code of again) expect(RETRIES[name].counts(error(code)), code).toBe(true);
    for (const code of never) expect(RETRIES[name].counts(error(code)), code).toBe(false);
  });

  it('is never a cancellation', () => {
    const counted = Object.values(RETRIES).filter(({ name, counts }) => name !== 'make' && counts(canceled()));
    expect(counted).toEqual([]);
  });
});

it('each policy has the name it is listed under', () => {
  for (const [key, policy] of Object.entries(RETRIES)) expect(policy.name).toBe(key);
});

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

  it('continues as long as time is left, however many attempts that takes', async () => {
    const clock = new VirtualClock();
    const until = clock.ticks() + DEFAULT_RETRY.budgetMs - DEFAULT_RETRY.maxMs;
    const waiting = retryWhileBusy(DEFAULT_RETRY, context(clock), async (attempt) => {
      if (clock.ticks() < until) throw busy();
      return attempt;
    });
    expect(await clock.run(() => waiting)).toBeGreaterThan(15);
  });

  it('does not count the work before the first lock as waiting', async () => {
    const clock = new VirtualClock();
    const waiting = retryWhileBusy(DEFAULT_RETRY, context(clock), async (attempt) => {
      await clock.sleep(2 * DEFAULT_RETRY.budgetMs);
      if (attempt === 1) throw busy();
      return 'done';
    });
    expect(await clock.run(() => waiting)).toBe('done');
  });

  it('gives up by attempts where they are limited, and says how many there were', async () => {
    const clock = new VirtualClock();
    const policy = { ...DEFAULT_RETRY, attempts: 5 };
    const failing = clock.run(() => retryWhileBusy(policy, context(clock), () => Promise.reject(busy())));
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
