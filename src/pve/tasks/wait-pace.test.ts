/** When a wait polls, how often it polls again before it accepts a response, and what it reports in the meantime. */
import { describe, expect, it } from 'vitest';
import type { Logger } from '../../base/log.ts';
import type { WireResponse } from '../../base/transport.ts';
import { bare, errorOf, ok, refused, testClient } from '../testing/client.ts';
import { printUpid, toNodeName, type Upid } from '../wire/ids.ts';
import type { TaskProgress } from './task-reports.ts';
import type { WaitOptions } from './wait.ts';

const upidOf = (type: string, id: string) =>
  printUpid({
    node: toNodeName('pve2'),
    pid: 51_361,
    processStartTicks: 123_456,
    startTimeSeconds: 1_794_768_815,
    type,
    id,
    user: 'deploy@pve!ci',
  });
/** Of a type that has no usual duration. */
const MOVE = upidOf('qmmove', '9000');

const running = () => ok({ upid: MOVE, status: 'running' });
const stopped = (exitstatus: string) => ok({ upid: MOVE, status: 'stopped', exitstatus });

interface Scene {
  /** The response to the n-th poll; the last one is repeated. */
  readonly answers: readonly (() => WireResponse)[];
  /** The new log lines at the n-th poll. */
  readonly news?: readonly (readonly string[])[];
  /** Responds to log requests instead of `news`. */
  readonly log?: () => WireResponse;
  readonly logger?: Logger;
  readonly upid?: Upid;
}

/** A server with one task; `times` are those of the polls, from the start of the wait. */
function scene({ answers, news = [], log, logger, upid = MOVE }: Scene) {
  const times: number[] = [];
  const lines: string[] = [];
  const queries: string[] = [];
  const targets: string[] = [];
  const client = testClient(
    (request) => {
      const now = client.clock.now() - startedAt;
      targets.push(request.target);
      if (now !== times.at(-1)) {
        times.push(now);
        lines.push(...(news[times.length - 1] ?? []));
      }
      if (!request.target.includes('/log')) {
        return (answers[Math.min(times.length, answers.length) - 1] ?? running)();
      }
      const query = request.target.split('?')[1] ?? '';
      queries.push(query);
      if (log) return log();
      const [start = 0, limit = 50] = ['start', 'limit'].map((name) => Number(new URLSearchParams(query).get(name)));
      const entries = lines.map((t, index) => ({ n: index + 1, t })).slice(start, start + limit);
      return ok(entries, { total: lines.length });
    },
    { ...(logger && { logger }) },
  );
  const startedAt = client.clock.now();
  const wait = (options?: WaitOptions, other = upid) => client.clock.run(() => client.pve.tasks.wait(other, options));
  const failure = (options?: WaitOptions) => errorOf(client.clock, () => client.pve.tasks.wait(MOVE, options));
  return { ...client, times, queries, targets, wait, failure };
}

const percent = (share: number) => `transferred 1.0 GiB of 4.0 GiB (${share}.00%)`;
const polls = (count: number) => [...Array.from({ length: count - 1 }, () => running), () => stopped('OK')];

describe('the next poll', () => {
  const onProgress = () => {};

  it('comes when the task should be done, soon after that, and then less and less often', async () => {
    const { times, wait } = scene({ answers: polls(8), news: [[percent(10)]] });
    await wait({ onProgress });
    expect(times).toEqual([250, 2545, 2795, 3145, 3635, 4321, 5281, 6625]);
  });

  it('comes often enough to show progress, however far the end is', async () => {
    const { times, wait } = scene({ answers: polls(5), news: [[], [percent(1)]] });
    await wait({ onProgress });
    // A minute in all.
    expect(times).toEqual([250, 600, 15_600, 30_600, 45_600]);
  });

  it('comes when the last task of this type took as long on this node', async () => {
    const { times, wait } = scene({ answers: [...polls(4), ...polls(1)] });
    await wait();
    await wait();
    expect(times).toEqual([250, 600, 1090, 1776, 2 * 1776]);
  });

  it('does not come before a start or a clone can be over', async () => {
    for (const [type, ms] of [
      ['qmstart', 1_000],
      ['qmclone', 1_000],
    ] as const) {
      const { times, wait } = scene({ answers: polls(2), upid: upidOf(type, '210') });
      await wait();
      expect(times).toEqual([ms, ms + 250]);
    }
  });

  it('comes when the caller expects the end, until such a task was seen', async () => {
    const { times, wait } = scene({ answers: [...polls(2), ...polls(1)], upid: upidOf('qmclone', '9000') });
    await wait({ usualMs: 500 });
    await wait({ usualMs: 500 });
    expect(times).toEqual([500, 750, 2 * 750]);
  });

  describe('of several tasks that are alike, one after another', () => {
    /** How long each wait took. */
    async function waits(answers: Scene['answers'], count: number, type = 'qmclone') {
      const { wait, clock } = scene({ answers, upid: upidOf(type, '9000') });
      const ms: number[] = [];
      for (let task = 0; task < count; task++) {
        const start = clock.ticks();
        await wait();
        ms.push(clock.ticks() - start);
      }
      return ms;
    }

    it('comes sooner while they are over at their first poll', async () => {
      expect(await waits(polls(1), 5)).toEqual([1000, 500, 250, 250, 250]);
    });

    it('comes no sooner than a start can be over', async () => {
      expect(await waits(polls(1), 3, 'qmstart')).toEqual([1000, 1000, 1000]);
    });

    it('comes no sooner than a task like them was seen running', async () => {
      // As if each took 0.9 s.
      expect(await waits([...polls(1), ...polls(3), ...polls(1)], 6)).toEqual([1000, 1100, 1100, 925, 925, 925]);
    });

    it('comes later again when they take longer', async () => {
      expect(await waits([...polls(1), ...polls(1), ...polls(1), ...polls(5), ...polls(1)], 5)).toEqual([
        1000, 500, 250, 2026, 2026,
      ]);
    });
  });

  it('does not estimate the clone of one template from the clone of another', async () => {
    const { times, wait } = scene({ answers: [...polls(3), ...polls(1)], upid: upidOf('qmclone', '9000') });
    await wait();
    await wait({}, upidOf('qmclone', '9001'));
    expect(times).toEqual([1000, 1250, 1600, 2600]);
  });

  it('does not come immediately, however near the end is', async () => {
    const { times, wait } = scene({ answers: polls(3), news: [[percent(99)]] });
    await wait({ onProgress });
    expect(times).toEqual([250, 500, 750]);
  });

  it('comes quickly if the copy was done at the first poll', async () => {
    const { times, wait } = scene({ answers: polls(3), news: [[percent(100)]] });
    await wait({ onProgress });
    expect(times).toEqual([250, 500, 750]);
  });

  it('comes soon if a copy began late: only its second report shows its speed', async () => {
    const lock = "trying to acquire cfs lock 'storage-nfs' ...";
    const news = [[lock], [], [], [percent(10)], [percent(60)]];
    const { times, wait } = scene({ answers: polls(6), news });
    await wait({ onProgress });
    // Judged from the start of the task, the first report means 18 s. The two reports are 2 s apart for a half.
    expect(times).toEqual([250, 600, 1090, 1776, 3776, 5448]);
    const short = scene({ answers: polls(3), news: [[lock, percent(10)]] });
    await short.wait({ onProgress });
    expect(short.times.slice(0, 2)).toEqual([250, 2545]);
  });

  it('is at most as far away as the task is old once a further disk is copied', async () => {
    const news = [[percent(50)], [], [percent(1)], [percent(51)]];
    const { times, wait } = scene({ answers: polls(5), news });
    await wait({ onProgress });
    // From the start of the task, 1 % after 0.8 s means 76 s.
    expect(times).toEqual([250, 509, 759, 2759, 4791]);
  });

  it('does not depend on lines without progress', async () => {
    const { times, wait } = scene({ answers: polls(3), news: [['cloning'], [percent(0)]] });
    await wait({ onProgress });
    expect(times).toEqual([250, 600, 1090]);
  });

  it('is the last one when the time is over', async () => {
    const { times, failure } = scene({ answers: [running] });
    expect((await failure({ timeoutMs: 1_000 })).code).toBe('TASK_TIMEOUT');
    expect(times).toEqual([250, 600, 1000]);
  });
});

describe('a task that should have ended', () => {
  it('is polled for its status, and for its progress only if it is still running', async () => {
    const { wait, targets } = scene({ answers: [running, running, () => stopped('OK')], news: [[percent(10)]] });
    await wait({ onProgress: () => {} });
    const kinds = targets.map((target) => /\/(log|status)/.exec(target)?.[1]);
    // Progress, then the end that was expected too early, then both: the log has nothing new.
    expect(kinds).toEqual(['log', 'status', 'log', 'status']);
  });

  it('has not ended before its status says so, whatever the last line of its log is', async () => {
    const { wait, times } = scene({ answers: polls(3), news: [['cloning', 'TASK OK']] });
    await wait({ onProgress: () => {} });
    expect(times).toHaveLength(3);
  });
});

describe('a sign that the task may be over', () => {
  it('replaces polls while it says no, except the first and one now and then', async () => {
    const { times, wait, clock } = scene({ answers: polls(4) });
    const start = clock.now();
    await wait({ mayBeOver: async () => clock.now() - start >= 22_000 });
    expect(times).toHaveLength(4);
    expect(times.slice(0, 3)).toEqual([500, expect.any(Number), expect.any(Number)]);
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(10_000);
    // The sign came before the next poll was due.
    expect((times[3] ?? 0) - 22_000).toBeLessThan(1_000);
  });

  it('does not end the wait of a task that is still running', async () => {
    const { times, wait } = scene({ answers: polls(4) });
    await wait({ mayBeOver: async () => true });
    expect(times).toHaveLength(4);
  });

  it('is not needed to see that the task has failed', async () => {
    const { times, failure } = scene({ answers: [running, () => stopped('it broke')] });
    expect((await failure({ mayBeOver: async () => false })).code).toBe('TASK_FAILED');
    expect(times.at(-1)).toBeLessThan(12_000);
  });

  it('does not extend the wait', async () => {
    const { failure, clock } = scene({ answers: [running] });
    const start = clock.now();
    expect((await failure({ timeoutMs: 3_000, mayBeOver: async () => false })).code).toBe('TASK_TIMEOUT');
    expect(clock.now() - start).toBe(3_000);
  });
});

describe('a response', () => {
  it('that makes no sense is an error the fifth time', async () => {
    const { times, failure } = scene({ answers: [() => bare(200, 'OK', '<html>maintenance</html>')] });
    expect((await failure()).code).toBe('BAD_ANSWER');
    expect(times).toHaveLength(5);
  });

  it('that makes no sense now and then is never an error', async () => {
    const strange = () => bare(200, 'OK', '<html>maintenance</html>');
    const answers = Array.from({ length: 12 }, (_, index) => (index % 2 === 0 ? strange : running));
    const { wait } = scene({ answers: [...answers, () => stopped('OK')] });
    expect((await wait()).outcome).toBe('ok');
  });

  it('that leaves the end unclear is accepted the fourth time', async () => {
    const { times, failure } = scene({ answers: [() => stopped('unexpected status')], news: [['copying']] });
    expect((await failure()).code).toBe('TASK_FAILED');
    expect(times).toHaveLength(4);
  });

  it('that rejects the token ends the wait', async () => {
    const { times, failure } = scene({ answers: [() => refused(403, 'Permission check failed (/, Sys.Audit)')] });
    expect((await failure()).code).toBe('PRIVILEGE_MISSING');
    expect(times).toHaveLength(1);
  });

  it('that makes our own code fail does not count as a server problem', async () => {
    const defect = new TypeError('a defect of ours');
    const { wait } = scene({
      answers: [
        () => {
          throw defect;
        },
      ],
    });
    await expect(wait()).rejects.toBe(defect);
  });
});

describe('a task with warnings', () => {
  const quiet = (count: number) => Array.from({ length: count }, (_, index) => `line ${index + 1}`);

  it('reports a warning from before the lines that a failure shows', async () => {
    const log = ['WARN: EFI disk without ms-cert=2023k', ...quiet(40)];
    const { wait } = scene({ answers: [() => stopped('WARNINGS: 1')], news: [log] });
    expect((await wait()).log).toEqual(['WARN: EFI disk without ms-cert=2023k']);
  });

  it('reports its last lines if none of them is a warning', async () => {
    const { wait } = scene({ answers: [() => stopped('WARNINGS: 1')], news: [quiet(60)] });
    expect((await wait({ logLines: 3 })).log).toEqual(['line 58', 'line 59', 'line 60']);
  });
});

describe('the log of a task', () => {
  it.each(['no content', 'unable to open file - No such file or directory'])(
    'that consists of %j has no lines',
    async (text) => {
      const { failure } = scene({ answers: [() => stopped('it broke')], news: [[text]] });
      expect((await failure()).diagnostic.detail).not.toContain('Last lines');
    },
  );

  it.each(['there was no content', 'no content left', 'unable to open file'])('keeps %j', async (text) => {
    const { failure } = scene({ answers: [() => stopped('it broke')], news: [[text]] });
    expect((await failure()).diagnostic.detail).toContain(`\n  ${text}`);
  });

  it('is read for its length first, and then only at its end', async () => {
    const { queries, failure } = scene({ answers: [() => stopped('it broke')], news: [['a', 'b', 'c', 'd']] });
    await failure({ logLines: 3 });
    expect(queries).toEqual(['start=0&limit=1', 'start=0&limit=150']);
  });

  it('is quoted without the lines of a copy, which hide the reason', async () => {
    const copied = Array.from({ length: 60 }, (_, index) => percent(index));
    const { failure } = scene({ answers: [() => stopped('it broke')], news: [['create full clone', ...copied]] });
    const { detail } = (await failure({ logLines: 3 })).diagnostic;
    expect(detail).toContain('create full clone');
    expect(detail).not.toContain('transferred');
  });

  it('that cannot be read because the user stops ends the wait', async () => {
    const stop = new AbortController();
    const { failure } = scene({
      answers: [() => stopped('it broke')],
      log: () => {
        stop.abort();
        return ok([{ n: 1, t: 'copying' }], { total: 1 });
      },
    });
    expect((await failure({ signal: stop.signal })).code).toBe('CANCELED');
  });
});

describe('progress', () => {
  it('has the lines, and a fraction only if one is known', async () => {
    const reports: TaskProgress[] = [];
    const { wait } = scene({ answers: polls(4), news: [['cloning'], [], [percent(50)]] });
    await wait({ onProgress: (progress) => reports.push(progress) });
    expect(reports).toStrictEqual([
      { upid: MOVE, elapsedMs: 250, lines: ['cloning'] },
      { upid: MOVE, elapsedMs: 1_090, lines: [percent(50)], fraction: 0.5 },
      { upid: MOVE, elapsedMs: 2_220, lines: [], fraction: 1 },
    ]);
  });
});

describe('the log of a wait', () => {
  it('says why and when a poll failed, and how long the wait has lasted', async () => {
    const entries: unknown[] = [];
    const logger: Logger = { log: (_level, message, fields) => entries.push([message, fields]) };
    const { wait } = scene({ answers: [() => bare(595, 'No route to host'), ...polls(2)], logger });
    await wait();
    expect(entries).toEqual(
      expect.arrayContaining([
        [
          'qmmove 9000 on pve2: unreachable (NOT_EXECUTED), poll 1, 0.3s',
          { upid: MOVE, poll: 1, state: 'unreachable' },
        ],
        ['qmmove 9000 on pve2: running, poll 2, 0.6s', { upid: MOVE, poll: 2, state: 'running' }],
        ['qmmove 9000 on pve2 ended after 1.1s: ok', { upid: MOVE, waitedMs: 1_090 }],
      ]),
    );
  });
});
