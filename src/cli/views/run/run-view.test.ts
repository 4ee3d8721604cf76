import { describe, expect, it } from 'vitest';
import { KnownSecrets, Secret } from '../../../base/secret.ts';
import type { Activity } from '../../../engine/run-memory.ts';
import type { RunEvent } from '../../../state/events.ts';
import { address } from '../../testing/plans.ts';
import { cutVisible, paintFor, plainPaint, visibleWidth } from '../text/paint.ts';
import { createLiveArea } from './live.ts';
import { renderProgress } from './run-view.ts';
import { renderSummary } from './summary.ts';
import { Timeline } from './timeline.ts';

const A = address('vm.web[1]');
const B = address('vm.web[2]');
const C = address('vm.worker');

const time = (ms: number) => new Date(ms).toISOString();
const step = (at: number, vm: typeof A, verb: string, status: 'started' | 'done'): RunEvent =>
  status === 'started'
    ? { event: 'stepStarted', at: time(at), step: `${vm}/${verb}`, address: vm, action: `vm.${verb}` }
    : { event: 'stepDone', at: time(at), step: `${vm}/${verb}` };
const ended = (at: number, address: typeof A, outcome: 'done' | 'failed'): RunEvent => ({
  event: 'resourceEnded',
  at: time(at),
  address,
  outcome,
});

function timelineAfter(
  events: readonly (RunEvent | Activity)[],
  known?: ConstructorParameters<typeof Timeline>[1],
): Timeline {
  const timeline = new Timeline([A, B, C], known);
  for (const event of events) timeline.follow(event);
  return timeline;
}

/** A is ready, B is being cloned, C waits. */
const EVENTS: readonly (RunEvent | Activity)[] = [
  step(0, A, 'clone', 'started'),
  step(14_000, A, 'clone', 'done'),
  step(14_000, B, 'clone', 'started'),
  step(14_000, A, 'configure', 'started'),
  step(14_500, A, 'configure', 'done'),
  step(14_500, A, 'resize', 'started'),
  step(15_000, A, 'resize', 'done'),
  step(15_000, A, 'start', 'started'),
  step(17_000, A, 'start', 'done'),
  step(17_000, A, 'ready', 'started'),
  { event: 'activity', at: 17_100, address: A, text: 'waiting for its guest agent', percent: undefined },
  step(29_000, A, 'ready', 'done'),
  ended(29_000, A, 'done'),
];

const frame = (timeline: Timeline, now: number, height = 20) =>
  renderProgress({ timeline, startedAt: 0, now, paint: plainPaint, height });

describe('the lines of a run in progress', () => {
  it('show stage, elapsed and expected time of each VM, and a total', () => {
    expect(frame(timelineAfter(EVENTS), 20_000).join('\n')).toMatchInlineSnapshot(`
      "  ✔ vm.web[1]  done       29s
        ⠋ vm.web[2]  clone      6.0s of ~14s
        · vm.worker  waiting
        1 of 3 VMs ended, 20s elapsed"
    `);
  });

  it('estimate the end from the durations of earlier runs and the pace of this one', () => {
    const planned: RunEvent = {
      event: 'planned',
      at: time(0),
      steps: [A, B, C].flatMap((vm) =>
        ['clone', 'ready'].map((verb) => ({ id: `${vm}/${verb}`, address: vm, stage: verb, action: `vm.${verb}` })),
      ),
    };
    const known = new Map([
      ['clone', [10_000]],
      ['ready', [10_000]],
    ] as const);
    const half = [
      ...[step(0, A, 'clone', 'started'), step(10_000, A, 'clone', 'done')],
      ...[step(10_000, A, 'ready', 'started'), step(20_000, A, 'ready', 'done'), ended(20_000, A, 'done')],
      ...[step(10_000, B, 'clone', 'started'), step(20_000, B, 'clone', 'done')],
    ];
    const total = (events: readonly RunEvent[], at: number, durations = known) =>
      frame(timelineAfter([planned, ...events], new Map(durations)), at).at(-1);
    // Half of the work took 20 s, and the other half will too.
    expect(total(half, 20_000)).toContain('20s elapsed, about 20s left');
    // Only a part of one of six steps is done: too early for an estimate.
    expect(total(half.slice(0, 1), 3_000)).not.toContain('left');
    // No run has ever waited for a guest.
    expect(total(half.slice(0, 2), 10_000, new Map([['clone', [10_000]]]))).not.toContain('left');
    expect(total([...half, ended(30_000, B, 'done'), ended(30_000, C, 'done')], 30_000)).not.toContain('left');
  });

  it('show the pause of a roll with its end, and count pauses in the estimate', () => {
    const roll = {
      group: 'vm.web',
      atMost: 1,
      size: 3,
      pauseMs: 60_000,
      onFailure: 'stop' as const,
      again: {},
      waves: [[A], [B], [C]],
    };
    const timeline = new Timeline([A, B, C], new Map([['restart', [10_000]]]), [roll]);
    const planned = [A, B, C].map((vm) => ({ id: `${vm}/restart`, address: vm, stage: 'start', action: 'vm.restart' }));
    timeline.follow({ event: 'planned', at: time(0), steps: planned });
    timeline.follow(step(0, A, 'restart', 'started'));
    timeline.follow(step(10_000, A, 'restart', 'done'));
    timeline.follow(ended(10_000, A, 'done'));
    // Two restarts of 10 s are left, the rest of this pause, and one more.
    expect(frame(timeline, 30_000).slice(-2)).toEqual([
      '  vm.web: 1 of 3 changed and ready, pause of 1m 0s, 40s left',
      '  1 of 3 VMs ended, 30s elapsed, about 2m 0s left',
    ]);
    timeline.follow(step(70_000, B, 'restart', 'started'));
    expect(frame(timeline, 75_000).slice(-2)).toEqual([
      '  vm.web: 1 of 3 changed and ready, now vm.web[2]',
      '  1 of 3 VMs ended, 1m 15s elapsed, about 1m 20s left',
    ]);
  });

  it('count all kinds, not only VMs', () => {
    const timeline = new Timeline([address('image.noble'), A, B]);
    expect(frame(timeline, 1_000).at(-1)).toContain('0 of 3 (2 VMs and 1 image) ended');
  });

  it('estimate from the percentage of the task if it has one', () => {
    const copying = timelineAfter([
      ...EVENTS,
      { event: 'activity', at: 18_000, address: B, text: 'clone, up to 30m 0s', percent: 25 },
    ]);
    expect(frame(copying, 18_000)[1]).toBe('  ⠋ vm.web[2]  clone      ███░░░░░░░  25 %  4.0s of ~16s  up to 30m');
  });

  it('estimate from earlier runs, and give no estimate once that time is over', () => {
    const known = new Map([['clone', [9_000, 10_000, 11_000]]] as const);
    const cloning = timelineAfter([step(0, A, 'clone', 'started')], known);
    expect(frame(cloning, 5_000)[0]).toContain('5.0s of ~10s');
    expect(frame(cloning, 12_000)[0]).toMatch(/12s$/);
  });

  it('fit 80 columns with what is awaited and its bound', () => {
    const text = 'waiting for its guest agent to answer, up to 30m 0s';
    const activity = { event: 'activity', at: 17_100, address: A, text, percent: undefined } as const;
    const known = new Map([['ready', [5_100]]] as const);
    const events = EVENTS.filter((event) => event.event !== 'activity').slice(0, -2);
    expect(frame(timelineAfter([...events, activity], known), 20_200)[0]).toBe(
      '  ⠹ vm.web[1]  ready      3.2s of ~5.1s  up to 30m for its guest agent to answer',
    );
  });

  it('show nothing of a step that has ended while its VM waits for its turn', () => {
    const started: readonly (RunEvent | Activity)[] = [
      step(0, A, 'start', 'started'),
      { event: 'activity', at: 0, address: A, text: 'start, up to 5m 0s', percent: undefined },
      step(2_000, A, 'start', 'done'),
    ];
    expect(frame(timelineAfter(started), 3_000)[0]).toMatch(/vm\.web\[1\] {2}waiting +for its turn$/);
  });

  it('keep active resources visible if not all fit', () => {
    const lines = frame(timelineAfter(EVENTS), 20_000, 3);
    expect(lines).toHaveLength(3);
    expect(lines[0]).toContain('vm.web[2]');
    expect(lines[1]).toBe('  … and 2 more');
  });
});

describe('the table at the end', () => {
  it('shows id, node, address and the time of each stage', () => {
    const view = {
      address: A,
      name: 'web-1',
      group: 'web',
      role: null,
      isTalos: false,
      status: 'complete',
      nics: [],
    } as const;
    const table = renderSummary(
      timelineAfter([...EVENTS, ended(20_000, B, 'failed')]),
      [{ ...view, vmid: 401, node: 'pve1', ip: '10.0.0.5' }],
      plainPaint,
    );
    expect(table.join('\n')).toMatchInlineSnapshot(`
      "VM         name   id   node  address   result     clone  configure  start  ready  total
      vm.web[1]  web-1  401  pve1  10.0.0.5  done       14s    1.0s       2.0s   12s    29s
      vm.web[2]                              failed                                     6.0s
      vm.worker                              not begun"
    `);
  });

  it('lets the longest stages share a column where a column for each does not fit', () => {
    const narrow = paintFor({ write: () => true, isTTY: true, columns: 80, hasColors: () => false });
    const at = (ip: string) => {
      const vm = { address: A, name: 'web-1', vmid: 401, node: 'pve1', ip };
      return renderSummary(timelineAfter(EVENTS), [vm], narrow).slice(0, 2);
    };
    expect(at('10.0.0.5')).toEqual([
      'VM         name   id   node  address   result     total  longest',
      'vm.web[1]  web-1  401  pve1  10.0.0.5  done       29s    clone 14s, ready 12s',
    ]);
    expect(at('10.100.200.115')[1]).toBe('vm.web[1]  web-1  401  pve1  10.100.200.115  done       29s    clone 14s');
  });
});

describe('the block at the bottom of a terminal', () => {
  function terminal(columns = 20) {
    let written = '';
    const stream = {
      isTTY: true,
      columns,
      rows: 10,
      write: (text: string) => {
        written += text;
      },
    };
    const area = createLiveArea(stream, new KnownSecrets([new Secret('hunter22')]));
    return {
      area,
      taken: () => {
        const text = written;
        written = '';
        return text;
      },
    };
  }

  it('uses the usual width if the terminal reports none', () => {
    const { area, taken } = terminal(0);
    area.draw(['something to see']);
    expect(taken()).toContain('something to see');
  });

  it('is redrawn in place', () => {
    const { area, taken } = terminal();
    area.draw(['one', 'two']);
    expect(taken()).toBe('one\ntwo\n');
    area.draw(['three']);
    expect(taken()).toBe('\u001b[2A\r\u001b[Jthree\n');
  });

  it('stays below whatever else is written', () => {
    const { area, taken } = terminal();
    area.output.write('before\n');
    area.draw(['block']);
    taken();
    area.output.write('message\n');
    expect(taken()).toBe('\u001b[1A\r\u001b[Jmessage\nblock\n');
    area.end();
    area.output.write('after\n');
    expect(taken()).toBe('after\n');
  });

  it('never wraps a line, because it could not be drawn over then', () => {
    const { area, taken } = terminal(10);
    const red = paintFor({ write: () => {}, isTTY: true })('red', 'abcdefghijklmnop');
    area.draw([red]);
    expect(taken()).toBe('\u001b[31mabcdefgh\u001b[39m…\n');
    expect(visibleWidth(cutVisible(red, 9))).toBe(9);
  });

  it('shows what a task says on one line, without control characters and secrets', () => {
    const { area, taken } = terminal(80);
    area.draw(['copy \u001b[2J\u009b31m of hunter22\n\rSUCCESS']);
    expect(taken()).toBe('copy \\x1b[2J\\x9b31m of •••\\n\\x0dSUCCESS\n');
  });
});
