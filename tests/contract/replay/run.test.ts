// biome-ignore-all lint/suspicious/noTemplateCurlyInString: recorded placeholders are written like this
/** Steps that are more than one exchange: what they demand of a server, shown on small scenarios made for it. */
import { describe, expect, it } from 'vitest';
import type { WireRequest } from '../../../src/base/transport.ts';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import { RECORDED_CREDENTIALS } from './credentials.ts';
import { type ReplayResult, replayScenario } from './run.ts';
import type { Json, PollStep, RequestStep, Step } from './types.ts';

const UPID = (serial: number) => `UPID:pve1:0000000${serial}:00000001:00000001:qmstart:100:root@pam:`;

/** Replays `steps` against a server that gives `answers` one after the other, and repeats the last one. */
async function replay(steps: readonly Step[], answers: readonly Json[], exactTime = true) {
  const clock = new VirtualClock();
  const start = clock.now();
  const requests: WireRequest[] = [];
  const transport = {
    send: async (request: WireRequest) => {
      const body = { data: answers[Math.min(requests.length, answers.length - 1)] ?? null };
      requests.push(request);
      return { status: 200, reason: 'OK', headers: {}, body: JSON.stringify(body) };
    },
    close: async () => {},
  };
  const scenario = { scenario: 'made-up', covers: '', pve: '', steps };
  const options = { transport, clock, credentials: RECORDED_CREDENTIALS, exactTime };
  const result = await clock.run(() => replayScenario(scenario, options));
  return { result, requests, elapsedMs: clock.now() - start };
}

const answer = (data: Json) => ({ status: 200, reason: 'OK', body: { data } });
const request = (id: string, data: Json): RequestStep => ({
  id,
  kind: 'request',
  method: 'GET',
  path: `/${id}`,
  response: answer(data),
  ms: 1,
});
const complaints = (result: ReplayResult) => result.mismatches.flatMap(({ mismatches }) => mismatches);

describe('a step', () => {
  it('is counted as failed when its request cannot be built, and the rest continues', async () => {
    const broken: RequestStep = { ...request('a', 1), path: '/${upid:nobody}' };
    const { result } = await replay([broken, request('b', 1)], [1]);
    expect(result).toMatchObject({ ok: 1, total: 2, mismatches: [{ step: 'a' }] });
  });

  it('lets time pass while it sleeps', async () => {
    const { elapsedMs } = await replay([{ id: 's', kind: 'sleep', ms: 2500 }], []);
    expect(elapsedMs).toBe(2500);
  });
});

describe('an awaited task', () => {
  const steps: readonly Step[] = [
    request('s1', '${upid:s1}'),
    { id: 's2', kind: 'await', task: 's1', response: { status: { data: { status: 'stopped' } }, log: ['x'] }, ms: 1 },
  ];

  it('is asked every 0.3 s until it has stopped, then for its whole log', async () => {
    const running = { status: 'running' };
    const answers = [UPID(1), running, running, { status: 'stopped' }, [{ n: 1, t: 'x' }]];
    const { result, requests, elapsedMs } = await replay(steps, answers);
    expect(result.mismatches).toEqual([]);
    expect(elapsedMs).toBe(600);
    expect(requests.at(-1)?.target).toMatch(/\/nodes\/pve1\/tasks\/UPID%3A.*\/log\?limit=0$/);
  });

  it('is given up after five minutes if it never stops', async () => {
    const { result, elapsedMs } = await replay(steps, [UPID(1), { status: 'running' }]);
    expect(result.ok).toBe(1);
    expect(elapsedMs).toBeGreaterThan(300_000);
  });

  it('must have been started', async () => {
    const { result } = await replay(steps, ['no UPID']);
    expect(result.ok).toBe(0);
  });

  it('may have a run of progress lines of any length, but of the recorded total', async () => {
    const progress = (total: string, percent: string) => `transferred 1.0 MiB of ${total} (${percent}%)`;
    const copied = steps.map((step) =>
      step.kind === 'await'
        ? { ...step, response: { ...step.response, log: [progress('1.0 GiB', '0.10'), 'done'] } }
        : step,
    );
    const log = (total: string) => ['0.00', '50.00', '100.00'].map((percent) => ({ t: progress(total, percent) }));
    const stopped = { status: 'stopped' };
    const good = await replay(copied, [UPID(1), stopped, [...log('1.0 GiB'), { t: 'done' }]]);
    expect(good.result.mismatches).toEqual([]);
    const bad = await replay(copied, [UPID(1), stopped, [...log('2.0 GiB'), { t: 'done' }]]);
    expect(bad.result.ok).toBe(1);
  });
});

describe('parallel requests', () => {
  const requests = [request('a', 'won'), request('b', 'lost')];

  it('have an answer each unless the order is free', async () => {
    const step: Step = { id: 'p', kind: 'parallel', requests };
    expect((await replay([step], ['won', 'lost'])).result.ok).toBe(1);
    expect((await replay([step], ['lost', 'won'])).result.ok).toBe(0);
  });

  it('share a multiset of answers where the order is free', async () => {
    const step: Step = { id: 'p', kind: 'parallel', requests, orderFree: true };
    expect((await replay([step], ['lost', 'won'])).result.ok).toBe(1);
    expect((await replay([step], ['won', 'won'])).result.ok).toBe(0);
  });

  it('may get any recorded answer in any number where the step says so', async () => {
    const step: Step = { id: 'p', kind: 'parallel', requests, orderFree: true, anyOf: true };
    expect((await replay([step], ['won', 'won'])).result.ok).toBe(1);
    expect((await replay([step], ['won', 'neither'])).result.ok).toBe(0);
  });
});

describe('a group of tasks', () => {
  const outcome = (exitstatus: string) => ({ status: { data: { exitstatus } }, log: [] });
  const start: Step = { id: 'p', kind: 'parallel', requests: [request('a', '${upid:a}'), request('b', '${upid:b}')] };
  const group: Step = { id: 'g', kind: 'awaitgroup', tasks: ['a', 'b'], responses: [outcome('OK'), outcome('taken')] };
  const ended = (exitstatus: string) => [{ status: 'stopped', exitstatus }, []];
  const answers = (first: string, second: string) => [UPID(1), UPID(2), ...ended(first), ...ended(second)];

  it('ends with the recorded outcomes in any order', async () => {
    expect((await replay([start, group], answers('taken', 'OK'))).result.ok).toBe(2);
    expect((await replay([start, group], answers('OK', 'OK'))).result.ok).toBe(1);
  });

  it('has as many successes as demanded and no outcome that was not recorded', async () => {
    const counted: Step = { ...group, expectOk: 1, loose: true };
    expect((await replay([start, counted], answers('OK', 'taken'))).result.ok).toBe(2);
    expect((await replay([start, counted], answers('OK', 'OK'))).result.ok).toBe(1);
    expect((await replay([start, counted], answers('OK', 'exploded'))).result.ok).toBe(1);
  });
});

describe('a poll', () => {
  const poll: PollStep = {
    id: 'w',
    kind: 'poll',
    request: { method: 'GET', path: '/x' },
    until: 'it is there',
    samples: ['absent', 'partly', 'there'].map((data, index) => ({ t: index, response: answer(data) })),
    every_ms: 250,
    timeout_ms: 1000,
  };

  it('asks until the last sample comes', async () => {
    const { result, elapsedMs } = await replay([poll], ['absent', 'partly', 'partly', 'there']);
    expect(result.ok).toBe(1);
    expect(elapsedMs).toBe(750);
  });

  it('demands the first sample first only when polls are strict', async () => {
    expect((await replay([poll], ['there'], true)).result.ok).toBe(0);
    expect((await replay([poll], ['there'], false)).result.ok).toBe(1);
  });

  it('accepts no answer on the way that was not recorded, unless it is loose', async () => {
    const answers = ['absent', 'exploded', 'there'];
    expect(complaints((await replay([poll], answers)).result)).toHaveLength(1);
    expect((await replay([{ ...poll, loose: true }], answers)).result.ok).toBe(1);
    expect((await replay([{ ...poll, allowed: [answer('exploded')] }], answers)).result.ok).toBe(1);
  });

  it('fails when the last sample does not come in time', async () => {
    const { result, elapsedMs } = await replay([poll], ['absent']);
    expect(result.ok).toBe(0);
    expect(elapsedMs).toBeLessThanOrEqual(1500);
  });
});
