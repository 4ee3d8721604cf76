/** Shows a run while it works: drawn on a terminal, plain lines with times elsewhere, JSON lines with --json. */
import type { Clock, Instant } from '../../../base/clock.ts';
import type { Diagnostic } from '../../../base/diagnostics.ts';
import { isCanceled } from '../../../base/errors.ts';
import { printDuration } from '../../../base/values/units.ts';
import { nameOfStep } from '../../../engine/record/run-moments.ts';
import type { Activity, RunListener } from '../../../engine/run-memory.ts';
import type { RunEvent } from '../../../state/events.ts';
import type { Terminal } from '../../terminal.ts';
import { type Paint, padVisible, type Style } from '../text/paint.ts';
import { partOf } from './counted-kinds.ts';
import type { LiveArea } from './live.ts';
import { type RollProgress, stageOf, type Timeline, type VmTimeline } from './timeline.ts';

export interface RunView {
  readonly onEvent: RunListener;
  /** Shows the final state, and stops. */
  end(): Promise<void>;
}

const FRAME_MS = 100;

export interface LiveViewOptions {
  readonly timeline: Timeline;
  /** Writes above the block. */
  readonly terminal: Terminal;
  readonly area: LiveArea;
  readonly paint: Paint;
  /** The time of the run. */
  readonly clock: Clock;
  /** The clock of the person watching; it differs from the run's clock if that one runs faster. */
  readonly frames?: Clock;
}

export function liveView({ timeline, terminal, area, paint, clock, frames = clock }: LiveViewOptions): RunView {
  const startTicks = clock.ticks();
  // The time of day at tick 0, from the timestamps of the run: the wall clock may be set meanwhile.
  let zero = clock.now() - startTicks;
  const stop = new AbortController();
  const draw = () => {
    const [startedAt, now] = [zero + startTicks, zero + clock.ticks()];
    area.draw(renderProgress({ timeline, startedAt, now, paint, height: area.height }));
  };
  const drawing = (async () => {
    while (!stop.signal.aborted) {
      draw();
      await frames.sleep(FRAME_MS, stop.signal);
    }
  })().catch((error: unknown) => {
    if (!isCanceled(error)) throw error;
  });
  return {
    onEvent: (event) => {
      zero = new Date(event.at).getTime() - clock.ticks();
      timeline.follow(event);
      showProblem(event, terminal);
    },
    end: async () => {
      stop.abort();
      await drawing;
      draw();
      area.end();
    },
  };
}

export function lineView(timeline: Timeline, terminal: Terminal): RunView {
  return {
    onEvent: (event) => {
      timeline.follow(event);
      if (showProblem(event, terminal)) return;
      const line = lineOf(event, timeline);
      if (line !== undefined) terminal.log('info', `${new Date(event.at).toISOString()} ${line}`);
    },
    end: async () => {},
  };
}

/** A failure or warning is shown in full when it happens, and not again at the end. False if the event has none. */
function showProblem(event: RunEvent | Activity, terminal: Terminal): boolean {
  if (event.event !== 'resourceEnded' || !event.problem) return false;
  terminal.diagnostic(event.problem as unknown as Diagnostic); // the run recorded it as JSON
  return event.outcome !== 'done';
}

/** Undefined for what needs no line: it takes no time, or only an animation can show it. */
function lineOf(event: RunEvent | Activity, timeline: Timeline): string | undefined {
  if (event.event === 'resourceEnded') {
    const roll = timeline.rollOf(event.address);
    const soFar = roll ? ` (${roll.group}: ${roll.changed} of ${roll.members} changed and ready)` : '';
    return `${event.address}: ${ENDINGS[event.outcome]}${soFar}`;
  }
  if (event.event !== 'stepStarted' && event.event !== 'stepDone') return undefined;
  const step = timeline.step(event.step);
  if (!step || stageOf(step.action) === undefined) return undefined;
  const name = `${step.address}: ${nameOfStep(step)}`;
  return event.event === 'stepStarted' ? `${name} starts` : `${name} done after ${printDuration(step.durationMs ?? 0)}`;
}

const ENDINGS = {
  done: 'done',
  failed: 'failed',
  notReady: 'not ready in time; it is kept',
  canceled: 'stopped',
  skipped: 'not begun',
} as const;

/** The shape of these lines is stable: programs read them. */
export function jsonView(
  timeline: Timeline,
  terminal: Terminal,
  print: (object: Readonly<Record<string, unknown>>) => void,
): RunView {
  return {
    onEvent: (event) => {
      timeline.follow(event);
      showProblem(event, terminal);
      const line = jsonOf(event, timeline);
      if (line) print({ type: 'progress', time: new Date(event.at).toISOString(), ...line });
    },
    end: async () => {},
  };
}

function jsonOf(event: RunEvent | Activity, timeline: Timeline): Readonly<Record<string, unknown>> | undefined {
  switch (event.event) {
    case 'activity': {
      const { address, text, percent } = event;
      return { kind: 'activity', address, text, percent };
    }
    case 'stepStarted':
    case 'stepDone': {
      const step = timeline.step(event.step);
      const status = event.event === 'stepStarted' ? 'started' : 'done';
      return step && { kind: 'step', address: step.address, step: step.step, action: step.action, status };
    }
    case 'resourceEnded': {
      const { address, outcome, problem } = event;
      const roll = timeline.rollOf(address);
      return { kind: 'vmEnded', address, outcome, ...(problem && { problem }), ...(roll && { roll }) };
    }
    default:
      return undefined;
  }
}

const SPINNER = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const SPINNER_STEP_MS = 100;
const BAR_WIDTH = 10;
/** As wide as `configure` and `not ready`. */
const STAGE_WIDTH = 9;

const SIGNS: Readonly<
  Record<Exclude<VmTimeline['status'], 'working'>, readonly [sign: string, style: Style, words: string]>
> = {
  waiting: ['·', 'dim', 'waiting'],
  done: ['✔', 'green', 'done'],
  failed: ['✖', 'red', 'failed'],
  notReady: ['!', 'yellow', 'not ready'],
  canceled: ['■', 'yellow', 'stopped'],
  skipped: ['-', 'dim', 'not begun'],
};

interface ProgressFrame {
  readonly timeline: Timeline;
  readonly startedAt: Instant;
  readonly now: Instant;
  readonly paint: Paint;
  /** The number of lines that fit; active resources come first. */
  readonly height: number;
}

/** One line for each VM, template and image, and a total. */
export function renderProgress(frame: ProgressFrame): string[] {
  const { timeline, startedAt, now, paint, height } = frame;
  const { vms } = timeline;
  const width = Math.max(0, ...vms.map(({ address }) => address.length));
  const rolls = timeline.rolls.map((roll) => paint('dim', `  ${describeRoll(roll, now)}`));
  const fits = vms.length + rolls.length < height;
  const room = Math.max(0, height - 2 - rolls.length);
  const shown = fits ? vms : vms.toSorted((a, b) => urgency(a) - urgency(b)).slice(0, room);
  const lines = shown.map((vm) => renderVm(vm, width, frame));
  const ended = vms.filter(({ endedAt }) => endedAt !== undefined).length;
  const more = fits ? [] : [paint('dim', `  … and ${vms.length - shown.length} more`)];
  const addresses = vms.map(({ address }) => address);
  const leftMs = ended < vms.length ? timeline.leftMs(startedAt, now) : undefined;
  const left = leftMs === undefined ? '' : `, about ${printDuration(roughly(leftMs))} left`;
  const total = `${partOf(ended, addresses)} ended, ${printDuration(now - startedAt)} elapsed${left}`;
  return [...lines, ...more, ...rolls, paint('bold', `  ${total}`)];
}

/** An estimate does not pretend to know tenths of seconds. */
function roughly(ms: number): number {
  const unitMs = ms < 60_000 ? 1_000 : 10_000;
  return Math.max(unitMs, Math.round(ms / unitMs) * unitMs);
}

function describeRoll(
  { group, changed, members, unavailable, pauseMs, pausedUntil }: RollProgress,
  now: Instant,
): string {
  const current = unavailable.length === 0 ? '' : `, now ${unavailable.join(', ')}`;
  const pauseLeftMs = pausedUntil === undefined ? 0 : pausedUntil - now;
  const pause =
    pauseLeftMs <= 0 ? '' : `, pause of ${printDuration(pauseMs)}, ${printDuration(roughly(pauseLeftMs))} left`;
  return `${group}: ${changed} of ${members} changed and ready${current}${pause}`;
}

function urgency({ status }: VmTimeline): number {
  if (status === 'working') return 0;
  if (status === 'failed' || status === 'notReady') return 1;
  return status === 'waiting' ? 2 : 3;
}

function renderVm(vm: VmTimeline, width: number, { timeline, now, paint }: ProgressFrame): string {
  const name = padVisible(vm.address, width);
  if (vm.status !== 'working') {
    const [sign, style, words] = SIGNS[vm.status];
    const took = vm.startedAt === undefined || vm.endedAt === undefined ? '' : printDuration(vm.endedAt - vm.startedAt);
    return `  ${paint(style, sign)} ${name}  ${padVisible(paint(style, words), STAGE_WIDTH)}  ${took}`.trimEnd();
  }
  const sign = SPINNER[Math.floor(now / SPINNER_STEP_MS) % SPINNER.length] ?? '';
  const elapsed = vm.stageSince === undefined ? '' : printDuration(now - vm.stageSince);
  const expectedMs = timeline.expectedMs(vm, now);
  const expected = expectedMs === undefined ? '' : ` of ~${printDuration(expectedMs)}`;
  const percent = vm.percent === undefined ? '' : `${bar(vm.percent)} ${String(vm.percent).padStart(3)} %  `;
  const more = vm.stage === undefined ? 'for its turn' : vm.text === vm.stage ? '' : briefly(vm.text ?? '', vm.stage);
  const text = more ? `  ${paint('dim', more)}` : '';
  return `  ${paint('cyan', sign)} ${name}  ${padVisible(vm.stage ?? 'waiting', STAGE_WIDTH)}  ${percent}${elapsed}${expected}${text}`;
}

/** The column before says the stage. The bound comes first: the end of the line is what a narrow terminal cuts. */
function briefly(text: string, stage: string): string {
  const [, all = text, bound = ''] = /^(.*), (up to [^,]+)$/.exec(text) ?? [];
  const what = all === stage ? '' : all.replace(`${stage}, `, '').replace(/^waiting /, '');
  return [bound.replace(/(\d[hm]) 0[ms]$/, '$1'), what].filter((part) => part !== '').join(' ');
}

function bar(percent: number): string {
  const full = Math.round((BAR_WIDTH * Math.min(100, Math.max(0, percent))) / 100);
  return '█'.repeat(full) + '░'.repeat(BAR_WIDTH - full);
}
