import { describe, expect, it } from 'vitest';

import type { Logger } from '../../base/log.ts';
import { TransportFailure, type WireRequest, type WireResponse } from '../../base/transport.ts';
import { isLockContention } from '../errors/kinds.ts';
import { bare, errorOf, ok, refused, testClient } from '../testing/client.ts';
import { printUpid, toNodeName, type Upid } from '../wire/ids.ts';
import type { TaskProgress } from './task-reports.ts';

const upid = (pid: number, type = 'qmclone', node = 'pve2'): Upid =>
  printUpid({
    node: toNodeName(node),
    pid,
    processStartTicks: 123456,
    startTimeSeconds: 1_794_768_815,
    type,
    id: '9000',
    user: 'deploy@pve!ci',
  });
const CLONE = upid(51_361);

const running = () => ok({ upid: CLONE, status: 'running' });
const stopped = (exitstatus?: string) =>
  ok({ upid: CLONE, status: 'stopped', ...(exitstatus !== undefined && { exitstatus }) });
const unknown = () => refused(400, 'Parameter verification failed.', { upid: 'no such task' });

/** Responds to the n-th poll with the n-th entry (the last one is repeated), and with the current log. */
function taskServer(answers: readonly (() => WireResponse)[], log: () => readonly string[] = () => ['TASK OK']) {
  let asked = 0;
  return (request: WireRequest): WireResponse => {
    if (!request.target.includes('/log')) return (answers[Math.min(asked++, answers.length - 1)] ?? running)();
    const query = new URLSearchParams(request.target.split('?')[1]);
    const [start, limit] = [Number(query.get('start') ?? 0), Number(query.get('limit') ?? 50)];
    const lines = log().map((t, i) => ({ n: i + 1, t }));
    return ok(lines.slice(start, start + limit), { total: lines.length });
  };
}

describe('waiting for a task', () => {
  it('polls the node in the UPID, with the whole UPID', async () => {
    const { clock, pve, transport } = testClient(taskServer([running, () => stopped('OK')]));
    const result = await clock.run(() => pve.tasks.wait(CLONE));
    expect(result).toMatchObject({ outcome: 'ok', warnings: 0, log: [] });
    const path = `GET /nodes/pve2/tasks/${CLONE.replaceAll(':', '%3A').replace('@', '%40').replace('!', '%21')}/status`;
    expect(transport.lines().slice(1)).toEqual([path, path]);
  });

  it('polls quickly at first and then at most every two seconds', async () => {
    const times: number[] = [];
    const client = testClient(() => {
      times.push(client.clock.now());
      return times.length < 20 ? running() : stopped('OK');
    });
    await client.clock.run(() => client.pve.tasks.wait(CLONE));
    const gaps = times.slice(1).map((time, i) => time - (times[i] ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(250);
    expect(gaps[0]).toBeLessThan(500);
    expect(gaps.at(-1)).toBe(2_000);
    expect([...gaps].sort((a, b) => a - b)).toEqual(gaps);
  });

  it('polls a task with progress when it should be done, and a late one less and less often', async () => {
    const [expectedMs, endMs] = [10_000, 20_000];
    const times: number[] = [];
    const client = testClient((request) => {
      const elapsedMs = client.clock.now() - startedAt;
      if (request.target.includes('/log')) {
        const percent = Math.min(100, (elapsedMs / expectedMs) * 100).toFixed(2);
        const t = `transferred 1.0 GiB of 4.0 GiB (${percent}%)`;
        const start = Number(new URLSearchParams(request.target.split('?')[1]).get('start'));
        return ok(percent === '100.00' ? [] : [{ n: start + 1, t }], { total: start + 1 });
      }
      if (request.target.includes('/status')) times.push(elapsedMs);
      return elapsedMs < endMs ? running() : stopped('OK');
    });
    const startedAt = client.clock.now();
    await client.clock.run(() => client.pve.tasks.wait(CLONE, { onProgress: () => {} }));
    expect(times.some((time) => time >= expectedMs && time <= expectedMs + 250)).toBe(true);
    const late = times.filter((time) => time > expectedMs + 250);
    const gaps = late.slice(1).map((time, i) => time - (late[i] ?? 0));
    expect([...gaps].sort((a, b) => a - b)).toEqual(gaps);
    expect(gaps.at(-1)).toBe(2_000);
  });

  it('treats warnings as success, and reports them', async () => {
    const log = ['starting', 'WARN: EFI disk without ms-cert=2023k', 'TASK WARNINGS: 1'];
    const { clock, pve } = testClient(taskServer([() => stopped('WARNINGS: 1')], () => log));
    const result = await clock.run(() => pve.tasks.wait(CLONE));
    expect(result).toMatchObject({ outcome: 'warnings', warnings: 1, log: ['WARN: EFI disk without ms-cert=2023k'] });
  });

  it('ends a failure with the exit status and the last lines of a long log', async () => {
    const log = [...Array.from({ length: 94 }, (_, i) => `line ${i + 1}`), 'TASK ERROR: it broke'];
    const { clock, pve } = testClient(taskServer([() => stopped('it broke')], () => log));
    const error = await errorOf(clock, () => pve.tasks.wait(CLONE, { logLines: 3 }));
    expect(error).toMatchObject({ family: 'task' });
    expect(error.diagnostic).toMatchObject({
      code: 'TASK_FAILED',
      detail: 'qmclone 9000 on pve2 ended with: "it broke".\nLast lines of its log:\n  line 93\n  line 94',
      facts: { serverSaid: 'it broke', taskLog: ['line 93', 'line 94'] },
      where: { upid: CLONE },
    });
  });

  it('gives a failure the code of its cause, so that callers can wait for a lock', async () => {
    const text = "can't lock file '/var/lock/qemu-server/lock-312.conf' - got timeout";
    const { clock, pve } = testClient(
      taskServer([() => stopped(text)], () => ['trying to acquire lock...', `TASK ERROR: ${text}`]),
    );
    const error = await errorOf(clock, () => pve.tasks.wait(CLONE));
    expect(error.code).toBe('CONFIG_LOCKED');
    expect(isLockContention(error)).toBe(true);
    expect(error.diagnostic.detail).toContain('trying to acquire lock...');
  });

  it('finds a full storage in the log if the exit status has only an exit code', async () => {
    const log = [
      'qemu-img: error while writing at byte 67108864: No space left on device',
      'TASK ERROR: clone failed: exit code 1',
    ];
    const { clock, pve } = testClient(taskServer([() => stopped('clone failed: copy failed: exit code 1')], () => log));
    expect((await errorOf(clock, () => pve.tasks.wait(CLONE))).code).toBe('NO_SPACE');
  });

  it.each([
    ["can't lock file '/var/lock/qemu-server/lock-101.conf' - got timeout", 'CONFIG_LOCKED', true],
    ['VM is locked (backup)', 'GUEST_LOCKED', true],
    ["Can't connect to destination address using public key", 'TASK_FAILED', false],
  ])('reads why a migration was aborted from its log: %s', async (reason, code, isBusy) => {
    const log = [
      // A lock of another client that was overcome is not the cause.
      "2026-11-14 12:00:01 ERROR: can't lock file '/var/lock/qemu-server/lock-101.conf' - got timeout",
      `2026-11-14 12:00:11 ERROR: migration aborted (duration 00:00:10): ${reason}`,
      'TASK ERROR: migration aborted',
    ];
    const { clock, pve } = testClient(taskServer([() => stopped('migration aborted')], () => log));
    const error = await errorOf(clock, () => pve.tasks.wait(CLONE));
    expect(error.code).toBe(code);
    expect(isLockContention(error)).toBe(isBusy);
    expect(error.diagnostic.detail).toContain(reason);
  });

  it('reports the failure even if the log cannot be read', async () => {
    const server = taskServer([() => stopped('it broke')]);
    const { clock, pve } = testClient((request) =>
      request.target.includes('/log') ? refused(500, 'no') : server(request),
    );
    expect((await errorOf(clock, () => pve.tasks.wait(CLONE))).diagnostic.detail).toBe(
      'qmclone 9000 on pve2 ended with: "it broke".',
    );
  });

  it('keeps polling while a new task is not known yet', async () => {
    const { clock, pve } = testClient(taskServer([unknown, unknown, unknown, running, () => stopped('OK')]));
    expect((await clock.run(() => pve.tasks.wait(CLONE))).outcome).toBe('ok');
  });

  it('says that a task has vanished when it stays unknown', async () => {
    const { clock, pve } = testClient(taskServer([unknown]));
    const before = clock.now();
    expect((await errorOf(clock, () => pve.tasks.wait(CLONE))).code).toBe('TASK_VANISHED');
    expect(clock.now() - before).toBeGreaterThanOrEqual(10_000);
    expect(clock.now() - before).toBeLessThan(15_000);
  });

  it('polls again when the end is unclear, because responses may alternate', async () => {
    const unclear = () => stopped('unexpected status');
    const { clock, pve } = testClient(taskServer([unclear, unclear, () => stopped('OK')], () => ['copying']));
    expect((await clock.run(() => pve.tasks.wait(CLONE))).outcome).toBe('ok');
  });

  it('uses the last line of the log if the exit status stays unclear', async () => {
    const good = testClient(taskServer([() => stopped('unexpected status')], () => ['copying', 'TASK OK']));
    expect((await good.clock.run(() => good.pve.tasks.wait(CLONE))).outcome).toBe('ok');
    const bad = testClient(taskServer([() => stopped()], () => ['copying', 'TASK ERROR: VM 101 already running']));
    expect((await errorOf(bad.clock, () => bad.pve.tasks.wait(CLONE))).code).toBe('ALREADY_RUNNING');
  });

  it('reports a killed worker as failed', async () => {
    const { clock, pve } = testClient(taskServer([() => stopped('unexpected status')], () => ['copying']));
    const error = await errorOf(clock, () => pve.tasks.wait(CLONE));
    expect(error.code).toBe('TASK_FAILED');
    expect(error.diagnostic.detail).toContain('worker was killed');
  });

  it('does not treat a failed connection as a failed task', async () => {
    const cut = (): never => {
      throw new TransportFailure({ kind: 'cut', delivered: 'perhaps', message: 'cut' });
    };
    const slow = () => bare(596, 'Connection timed out');
    const down = () => bare(595, 'No route to host');
    const answers = [
      running,
      ...Array.from({ length: 9 }, () => down),
      slow,
      slow,
      ...Array.from({ length: 5 }, () => cut),
    ];
    const { clock, pve } = testClient(taskServer([...answers, running, () => stopped('OK')]));
    expect((await clock.run(() => pve.tasks.wait(CLONE))).outcome).toBe('ok');
  });

  it('retries only with the next poll, so that failures cause no additional requests', async () => {
    const times: number[] = [];
    const client = testClient(() => {
      times.push(client.clock.now());
      return times.length <= 6 ? bare(595, 'No route to host') : stopped('OK');
    });
    await client.clock.run(() => client.pve.tasks.wait(CLONE));
    const pauses = times.slice(1).map((at, index) => at - (times[index] ?? at));
    expect(pauses).toEqual([250, 350, 490, 686, 960, 1344]);
  });

  it('accepts a few responses that make no sense, but not many', async () => {
    const strange = () => bare(200, 'OK', '<html>maintenance</html>');
    const once = testClient(taskServer([strange, strange, running, () => stopped('OK')]));
    expect((await once.clock.run(() => once.pve.tasks.wait(CLONE))).outcome).toBe('ok');
    const always = testClient(taskServer([strange]));
    expect((await errorOf(always.clock, () => always.pve.tasks.wait(CLONE))).code).toBe('BAD_ANSWER');
  });

  it('times out, and says for what and how long it waited', async () => {
    const { clock, pve } = testClient(taskServer([running], () => ['transferred 1.0 GiB of 2.0 GiB (50.00%)']));
    const before = clock.now();
    const error = await errorOf(clock, () => pve.tasks.wait(CLONE, { timeoutMs: 90_000 }));
    expect(error.code).toBe('TASK_TIMEOUT');
    expect(error.diagnostic.detail).toBe(
      'Waited 1m 30s for qmclone 9000 on pve2, the whole time allowed. It is still running on the server.\nIts log ends with: "transferred 1.0 GiB of 2.0 GiB (50.00%)".',
    );
    expect(clock.now() - before).toBeGreaterThanOrEqual(90_000);
    expect(clock.now() - before).toBeLessThan(91_000);
  });

  it('can be canceled, and says that the task is still running', async () => {
    const stop = new AbortController();
    const client = testClient(taskServer([running]));
    const error = await errorOf(client.clock, () => {
      const waiting = client.pve.tasks.wait(CLONE, { signal: stop.signal });
      return Promise.all([waiting, client.clock.sleep(5_000).then(() => stop.abort())]);
    });
    expect(error).toMatchObject({ code: 'CANCELED' });
    expect(error.diagnostic.detail).toContain(`is still running on the server: ${CLONE}`);
  });

  it('reports progress from new lines, and reads the log only if progress is requested', async () => {
    const log = ['creating a clone of VM 9000 with ID 210'];
    const answers = [running, running, running, running, () => stopped('OK')].map((answer, i) => () => {
      if (i > 0) log.push(`transferred ${i * 100}.0 MiB of 1.0 GiB (${i}0.00%)`);
      return answer();
    });
    const reports: TaskProgress[] = [];
    const { clock, pve, transport } = testClient(taskServer(answers, () => log));
    await clock.run(() => pve.tasks.wait(CLONE, { onProgress: (progress) => reports.push(progress) }));
    expect(reports.map(({ fraction }) => fraction)).toEqual([undefined, 0.1, 0.3, 1]);
    expect(reports.map(({ lines }) => lines.length)).toEqual([1, 1, 2, 0]);
    expect(
      transport
        .lines()
        .filter((line) => line.includes('/log'))
        .map((line) => line.split('?')[1]),
    ).toEqual([0, 1, 1, 1, 2, 2, 4].map((start) => `start=${start}&limit=500`));
  });

  it('logs the first poll, every tenth, every change and the end', async () => {
    const messages: string[] = [];
    const logger: Logger = { log: (level, message) => messages.push(`${level} ${message}`) };
    const answers = [unknown, ...Array.from({ length: 20 }, () => running), () => stopped('OK')];
    const { clock, pve } = testClient(taskServer(answers), { logger });
    await clock.run(() => pve.tasks.wait(CLONE));
    const polls = messages
      .filter((message) => message.includes(', poll '))
      .map((message) => /: (\w+), poll (\d+)/.exec(message)?.slice(1));
    expect(polls).toEqual([
      ['unknown', '1'],
      ['running', '2'],
      ['running', '10'],
      ['running', '20'],
      ['ended', '22'],
    ]);
    expect(messages.at(-1)).toMatch(/^debug qmclone 9000 on pve2 ended after \d+\.?\d*s: ok$/);
  });

  it('logs what was started', async () => {
    const entries: unknown[] = [];
    const logger: Logger = { log: (_level, message, fields) => entries.push([message, fields]) };
    const { clock, pve } = testClient(() => ok(CLONE), { logger });
    await clock.run(() => pve.node('pve2').vm(9000).clone({ newid: 101 }));
    expect(entries).toContainEqual(['POST /nodes/pve2/qemu/9000/clone started a task', { upid: CLONE }]);
  });
});

describe('many tasks', () => {
  it('share a limited number of polls, in turn', async () => {
    const asked = new Map<string, number>();
    let inFlight = 0;
    let most = 0;
    const client = testClient(
      async (request) => {
        asked.set(request.target, (asked.get(request.target) ?? 0) + 1);
        most = Math.max(most, ++inFlight);
        await client.clock.sleep(30);
        inFlight--;
        return running();
      },
      { limits: { polls: { inFlight: 4, perSecond: 20 } } },
    );
    const seconds = 60;
    const tasks = Array.from({ length: 100 }, (_, i) => upid(1_000 + i));
    await client.clock.run(() =>
      Promise.allSettled(tasks.map((task) => client.pve.tasks.wait(task, { timeoutMs: seconds * 1000 }))),
    );
    const counts = [...asked].filter(([target]) => target.endsWith('/status')).map(([, count]) => count);
    expect(most).toBeLessThanOrEqual(6);
    expect(counts).toHaveLength(100);
    // The last round comes after the deadline, because each task is polled once more before it times out.
    expect(counts.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual((seconds + 10) * 20);
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(2);
  });
});
