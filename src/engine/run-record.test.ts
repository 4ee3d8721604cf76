import { describe, expect, it } from 'vitest';
import type { RunEvent } from '../state/events.ts';
import { runMetrics } from './run-metrics.ts';
import { describeRun } from './run-record.ts';

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
const planned = (...ids: string[]) =>
  ids.map((id) => ({ id, address: id.split('/')[0] ?? '', stage: 'create', action: 'vm.clone' }));

const started = (steps: ReturnType<typeof planned>): RunEvent => ({
  event: 'runStarted',
  at: at(0),
  runId: 'r1',
  command: 'apply',
  who: 'operator',
  steps,
});
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
  started(planned('vm.a/clone', 'vm.a/start', 'vm.b/clone')),
  step(1, 'vm.a/clone', 'vm.clone'),
  step(2, 'vm.b/clone', 'vm.clone'),
  // What it is about to do is said once more, with its intent.
  step(3, 'vm.a/clone', 'vm.clone'),
  { event: 'taskAttached', at: at(3), step: 'vm.a/clone', upid: 'UPID:1' },
  done(15, 'vm.a/clone'),
  step(15, 'vm.a/start', 'vm.start'),
  { event: 'stepFailed', at: at(16), step: 'vm.b/clone', code: 'NO_SPACE', detail: 'No room.' },
  done(17, 'vm.a/start'),
  { event: 'learned', at: at(29), step: 'vm.a/ready', patch: { address: 'vm.a', vm: {} } },
  ended(30, 'failed'),
];

describe('the readiness of a VM', () => {
  it('lasts from its last step until everything about it was learned, however often something was', () => {
    const learned = (second: number): RunEvent => ({
      event: 'learned',
      at: at(second),
      step: 'vm.a/ready',
      patch: { address: 'vm.a', vm: {} },
    });
    const events = [
      started(planned('vm.a/start')),
      step(1, 'vm.a/start', 'vm.start'),
      done(3, 'vm.a/start'),
      learned(9),
      learned(10),
      ended(10, 'done'),
    ];
    const { steps } = describeRun({ runId: 'r1', events });
    expect(steps.map(({ action, startedAt, durationMs }) => [action, startedAt, durationMs])).toEqual([
      ['start', at(1), 2_000],
      ['ready', at(3), 7_000],
    ]);
  });
});

describe('an earlier run', () => {
  it('is told by VM and step, with durations and failures', () => {
    const run = describeRun({ runId: 'r1', events: GOOD });
    expect(run).toMatchObject({ command: 'apply', who: 'operator', outcome: 'failed', durationMs: 30_000 });
    expect(
      run.vms.map(({ address, durationMs, failed, steps }) => [
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
          ['clone', 14_000],
          ['start', 2_000],
          ['ready', 12_000],
        ],
      ],
      ['vm.b', 14_000, true, [['clone', 14_000]]],
    ]);
    expect(run.steps[0]?.tasks).toEqual(['UPID:1']);
    expect(run.steps[1]?.problem).toEqual({ code: 'NO_SPACE', detail: 'No room.' });
  });

  it('is unfinished while nobody has closed its journal', () => {
    const run = describeRun({ runId: 'r1', events: GOOD.slice(0, 5) });
    expect(run).toMatchObject({ outcome: 'unfinished', durationMs: undefined });
    expect(run.steps.map(({ outcome }) => outcome)).toEqual(['open', 'open']);
  });

  it('was interrupted where a later run closed it, and lasted until its own last word', () => {
    const dead = describeRun({ runId: 'r1', events: [...GOOD.slice(0, 5), ended(59, 'failed')] });
    expect(dead).toMatchObject({ outcome: 'interrupted', durationMs: 3_000 });
    const between = [
      started(planned('vm.a/clone', 'vm.a/start')),
      step(1, 'vm.a/clone', 'vm.clone'),
      done(9, 'vm.a/clone'),
    ];
    expect(describeRun({ runId: 'r1', events: [...between, ended(59, 'failed')] })).toMatchObject({
      outcome: 'interrupted',
      durationMs: 9_000,
    });
  });

  it('has a name even where it only took up what another had left', () => {
    expect(describeRun({ runId: 'r1', events: [] })).toMatchObject({
      command: 'settle',
      outcome: 'unfinished',
      vms: [],
    });
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

  it('say nothing about what is not known', () => {
    expect(runMetrics('lab', describeRun({ runId: 'r1', events: GOOD.slice(0, 2) }))).not.toContain('duration');
  });
});
