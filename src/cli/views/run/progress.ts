/** The lines of a run in progress, for a terminal: one for each VM, template and image, and a total. */

import type { Instant } from '../../../base/clock.ts';
import { printDuration } from '../../../base/values/units.ts';
import { type Paint, padVisible, type Style } from '../text/paint.ts';
import { partOf } from './counted-kinds.ts';
import type { RollProgress, Timeline, VmTimeline } from './timeline.ts';

const SPINNER = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const SPINNER_STEP_MS = 100;
const BAR_WIDTH = 10;

const SIGNS: Readonly<
  Record<Exclude<VmTimeline['status'], 'working'>, readonly [sign: string, style: Style, words: string]>
> = {
  waiting: ['·', 'dim', 'waiting'],
  done: ['✔', 'green', 'done'],
  failed: ['✖', 'red', 'failed'],
  notReady: ['!', 'yellow', 'not ready'],
  canceled: ['■', 'yellow', 'stopped'],
  skipped: ['-', 'dim', 'not started'],
};

export interface ProgressFrame {
  readonly timeline: Timeline;
  readonly startedAt: Instant;
  readonly now: Instant;
  readonly paint: Paint;
  /** The number of lines that fit; active resources come first. */
  readonly height: number;
}

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
    return `  ${paint(style, sign)} ${name}  ${padVisible(paint(style, words), 10)}  ${took}`.trimEnd();
  }
  const sign = SPINNER[Math.floor(now / SPINNER_STEP_MS) % SPINNER.length] ?? '';
  const elapsed = vm.stageSince === undefined ? '' : printDuration(now - vm.stageSince);
  const expectedMs = timeline.expectedMs(vm, now);
  const expected = expectedMs === undefined ? '' : ` of about ${printDuration(expectedMs)}`;
  const percent = vm.percent === undefined ? '' : `${bar(vm.percent)} ${String(vm.percent).padStart(3)} %  `;
  const more = vm.text === vm.stage ? '' : vm.text?.replace(`${vm.stage}, `, '');
  const text = more ? `  ${paint('dim', more)}` : '';
  return `  ${paint('cyan', sign)} ${name}  ${padVisible(vm.stage ?? 'waiting', 10)}  ${percent}${elapsed}${expected}${text}`;
}

function bar(percent: number): string {
  const full = Math.round((BAR_WIDTH * Math.min(100, Math.max(0, percent))) / 100);
  return '█'.repeat(full) + '░'.repeat(BAR_WIDTH - full);
}
