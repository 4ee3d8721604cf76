import { describe, expect, it } from 'vitest';
import type { Address } from '../../base/address.ts';
import { runMetrics } from '../../cli/views/run/run-metrics.ts';
import { JOURNAL_FORMAT, type ResourceOutcome, type RunEvent } from '../../state/events.ts';
import { momentsOf, nameOfStep } from './run-moments.ts';
import { describeRun, RunFold } from './run-record.ts';

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
const planned = (...ids: string[]) =>
  ids.map((id) => ({ id, address: id.split('/')[0] ?? '', stage: 'create', action: 'vm.clone' }));

const started = (steps: ReturnType<typeof planned>): RunEvent[] => [
  { event: 'runStarted', at: at(0), format: JOURNAL_FORMAT, runId: 'r1', command: 'apply', who: 'operator' },
  { event: 'planned', at: at(0), steps },
];
const step = (second: number, id: string, action: string): RunEvent => ({
  event: 'stepStarted',
  at: at(second),
  step: id,
  address: id.split('/')[0] ?? '',
  action,
});
const done = (second: number, id: string): RunEvent => ({ event: 'stepDone', at: at(second), step: id });
const ended = (second: number, outcome: 'done' | 'failed'): RunEvent => ({
  event: 'runEnded',
  at: at(second),
  outcome,
});

const GOOD: RunEvent[] = [
  ...started(planned('vm.a/clone', 'vm.a/start', 'vm.a/ready', 'vm.b/clone')),
  step(1, 'vm.a/clone', 'vm.clone'),
  step(2, 'vm.b/clone', 'vm.clone'),
  { event: 'intended', at: at(3), step: 'vm.a/clone', intent: {} },
  { event: 'taskAttached', at: at(3), step: 'vm.a/clone', upid: 'UPID:1' },
  done(15, 'vm.a/clone'),
  step(15, 'vm.a/start', 'vm.start'),
  { event: 'stepFailed', at: at(16), step: 'vm.b/clone', code: 'NO_SPACE', detail: 'No room.' },
  done(17, 'vm.a/start'),
  step(17, 'vm.a/ready', 'vm.ready'),
  { event: 'learned', at: at(29), step: 'vm.a/ready', patch: { address: 'vm.a', vm: {} } },
  done(29, 'vm.a/ready'),
  ended(30, 'failed'),
];

describe('an earlier run', () => {
  it('is described by VM and step, with durations and failures', () => {
    const run = describeRun({ runId: 'r1', events: GOOD });
    expect(run).toMatchObject({ command: 'apply', who: 'operator', outcome: 'failed', durationMs: 30_000 });
    expect(
      run.resources.map(({ address, durationMs, failed, steps }) => [
        address,
        durationMs,
        failed,
        steps.map(({ action, durationMs: took }) => [action, took]),
      ]),
    ).toEqual([
      [
        'vm.a',
        28_000,
        false,
        [
          ['vm.clone', 14_000],
          ['vm.start', 2_000],
          ['vm.ready', 12_000],
        ],
      ],
      ['vm.b', 14_000, true, [['vm.clone', 14_000]]],
    ]);
    expect(run.steps[0]?.tasks).toEqual([{ upid: 'UPID:1', at: at(3) }]);
    expect(run.steps[1]?.problem).toEqual({ code: 'NO_SPACE', detail: 'No room.' });
  });

  it('is unfinished while its journal is open', () => {
    const run = describeRun({ runId: 'r1', events: GOOD.slice(0, 6) });
    expect(run).toMatchObject({ outcome: 'unfinished', durationMs: undefined });
    expect(run.steps.map(({ outcome }) => outcome)).toEqual(['open', 'open']);
  });

  it('is interrupted if a later run closed it, and lasts until its own last event', () => {
    const dead = describeRun({ runId: 'r1', events: [...GOOD.slice(0, 6), ended(59, 'failed')] });
    expect(dead).toMatchObject({ outcome: 'interrupted', durationMs: 3_000 });
    const between = [
      ...started(planned('vm.a/clone', 'vm.a/start')),
      step(1, 'vm.a/clone', 'vm.clone'),
      done(9, 'vm.a/clone'),
    ];
    expect(describeRun({ runId: 'r1', events: [...between, ended(59, 'failed')] })).toMatchObject({
      outcome: 'interrupted',
      durationMs: 9_000,
    });
  });

  it('has a name even if it only settled what another run had left', () => {
    expect(describeRun({ runId: 'r1', events: [] })).toMatchObject({
      command: 'settle',
      outcome: 'unfinished',
      resources: [],
    });
  });
});

describe('a run that is followed', () => {
  const follow = (...events: Parameters<RunFold['follow']>[0][]) => {
    const fold = new RunFold('r1');
    for (const event of events) fold.follow(event);
    return fold;
  };
  const activity = (percent: number) =>
    ({ event: 'activity', at: 0, address: 'vm.a' as Address, text: 'copying', percent }) as const;
  const out = (outcome: ResourceOutcome): RunEvent => ({
    event: 'resourceEnded',
    at: at(20),
    address: 'vm.a',
    outcome,
  });
  const PLANNED = started(planned('vm.a/clone', 'vm.b/clone'));

  it('knows every resource of the plan before its first step', () => {
    const statuses = follow(...PLANNED).resources.map(({ address, status }) => [address, status]);
    expect(statuses).toEqual([
      ['vm.a', 'waiting'],
      ['vm.b', 'waiting'],
    ]);
  });

  it('shows a resource as working from its first step until it ended, also between two steps', () => {
    const fold = follow(...PLANNED, step(1, 'vm.a/clone', 'vm.clone'));
    expect(fold.resource('vm.a')?.status).toBe('working');
    fold.follow(done(9, 'vm.a/clone'));
    expect(fold.resource('vm.a')).toMatchObject({ status: 'working', durationMs: 8_000, endedAt: undefined });
    fold.follow(out('notReady'));
    expect(fold.resource('vm.a')).toMatchObject({ status: 'notReady', endedAt: at(20) });
  });

  it('shows an activity until the next step or the end, and never counts it as a step', () => {
    const fold = follow(...PLANNED, step(1, 'vm.a/clone', 'vm.clone'), activity(40));
    expect(fold.resource('vm.a')?.activity).toEqual({ text: 'copying', percent: 40 });
    fold.follow(done(9, 'vm.a/clone'));
    fold.follow(step(9, 'vm.a/start', 'vm.start'));
    expect(fold.resource('vm.a')?.activity).toBeUndefined();
    fold.follow(activity(60));
    fold.follow(out('done'));
    expect(fold.resource('vm.a')?.activity).toBeUndefined();
    expect(fold.record.steps).toHaveLength(2);
  });

  it('has the same record after each event as the journal read up to there', () => {
    const fold = new RunFold('r1');
    for (const [index, event] of GOOD.entries()) {
      fold.follow(event);
      expect(fold.record).toEqual(describeRun({ runId: 'r1', events: GOOD.slice(0, index + 1) }));
    }
  });

  it('counts the steps of all its plans, and a step that the second plan repeats once', () => {
    const again = [
      ...PLANNED,
      step(1, 'vm.a/clone', 'vm.clone'),
      { event: 'stepFailed', at: at(2), step: 'vm.a/clone', code: 'BUSY', detail: 'Locked.' } as const,
      { event: 'planned', at: at(3), steps: planned('vm.a/clone') } as const,
      step(4, 'vm.a/clone', 'vm.clone'),
      done(6, 'vm.a/clone'),
    ];
    const { planned: count, resources } = follow(...again).record;
    expect(count).toBe(3);
    expect(resources[0]).toMatchObject({ failed: false, durationMs: 2_000 });
    expect(resources[0]?.steps).toMatchObject([{ outcome: 'done', startedAt: at(4) }]);
  });
});

describe('the moments of a run', () => {
  it('list what it recorded, in order, between its start and its end', () => {
    const busy: RunEvent = { event: 'note', at: at(4), level: 'warn', address: 'vm.b', text: 'busy' };
    const moments = momentsOf(describeRun({ runId: 'r1', events: [...GOOD.slice(0, 6), busy, ...GOOD.slice(6)] }));
    expect(
      moments.map(({ at: when, address, what }) => [Date.parse(when) / 1000 - Date.parse(at(0)) / 1000, address, what]),
    ).toEqual([
      [0, '', 'apply starts, 4 steps planned'],
      [1, 'vm.a', 'clone starts'],
      [2, 'vm.b', 'clone starts'],
      [3, 'vm.a', 'waits for task UPID:1'],
      [4, 'vm.b', 'busy'],
      [15, 'vm.a', 'clone done after 14s'],
      [15, 'vm.a', 'start starts'],
      [16, 'vm.b', '**clone failed after 14s:** NO_SPACE: No room.'],
      [17, 'vm.a', 'start done after 2.0s'],
      [17, 'vm.a', 'ready starts'],
      [29, 'vm.a', 'ready done after 12s'],
      [30, '', 'the run ends: failed'],
    ]);
  });

  it.each([
    ['vm.web/clone', 'vm.web', 'vm.clone', 'clone'],
    ['vm.web/resize/scsi0', 'vm.web', 'vm.resize', 'resize scsi0'],
    ['state/mv', 'vm.web', 'state.edit', 'edit'],
  ])('call the step %s of %s (%s) %s', (id, address, action, name) => {
    expect(nameOfStep({ step: id, address, action })).toBe(name);
  });
});

describe('the metrics of a run', () => {
  it('are valid Prometheus text', () => {
    const text = runMetrics('la"b', describeRun({ runId: 'r1', events: GOOD }));
    for (const line of text.trimEnd().split('\n')) {
      expect(line).toMatch(/^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+\{([a-z]+="([^"\\]|\\.)*",?)+\} -?[0-9.e+]+)$/);
    }
    expect(text).toContain('proxwright_run_duration_seconds{stack="la\\"b",command="apply"} 30\n');
    expect(text).toContain('proxwright_run_success{stack="la\\"b",command="apply"} 0\n');
    expect(text).toContain('step="vm.a/clone",action="clone",outcome="done"} 14\n');
    expect(text).toContain('proxwright_run_vms{stack="la\\"b",command="apply",outcome="failed"} 1\n');
  });

  it('omit unknown values', () => {
    expect(runMetrics('lab', describeRun({ runId: 'r1', events: GOOD.slice(0, 3) }))).not.toContain('duration');
  });
});
