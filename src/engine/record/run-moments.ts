/** The timeline of a run: each step and note, in order. Pure. */
import { counted, printDuration, upTo } from '../../base/values/units.ts';
import { firstLine } from '../evidence/text.ts';
import type { RunRecord, StepRecord } from './run-record.ts';

/** `vm.web: clone`, with a suffix if the action has several steps: `vm.web: resize scsi0`. */
export function nameOfStep({ step, action, address }: Pick<StepRecord, 'step' | 'action' | 'address'>): string {
  const rest = step.startsWith(`${address}/`) ? step.slice(address.length + 1).replaceAll('/', ' ') : '';
  return rest || action.replace(/^[a-z]+\./, '');
}

/** One line of the timeline. */
export interface Moment {
  readonly at: string;
  readonly address: string;
  readonly what: string;
}

/** Everything a run recorded, in order. */
export function momentsOf(run: RunRecord): Moment[] {
  const moments: Moment[] = [
    ...run.steps.flatMap(momentsOfStep),
    ...run.notes.map(({ at, address = '', text }) => ({ at, address, what: text })),
  ];
  const inOrder = moments.toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at));
  const { startedAt, endedAt, planned, command, outcome } = run;
  const start =
    startedAt === undefined
      ? []
      : [{ at: startedAt, address: '', what: `${command} starts, ${counted(planned, 'step')} planned` }];
  const end = endedAt === undefined ? [] : [{ at: endedAt, address: '', what: `the run ends: ${outcome}` }];
  return [...start, ...inOrder, ...end];
}

function momentsOfStep(step: StepRecord): Moment[] {
  const { address, startedAt, endedAt, durationMs, outcome, problem, tasks, timeoutMs } = step;
  const name = nameOfStep(step);
  const after = durationMs === undefined ? '' : ` after ${printDuration(durationMs)}`;
  const end = problem
    ? `**${name} failed${after}:** ${problem.code}: ${firstLine(problem.detail)}`
    : `${name} done${after}`;
  return [
    { at: startedAt, address, what: `${name} starts${atMost(timeoutMs)}` },
    ...tasks.map((task) => ({
      at: task.at,
      address,
      what: `waits for task ${task.upid}${atMost(task.timeoutMs)}`,
    })),
    ...(endedAt === undefined || outcome === 'open' ? [] : [{ at: endedAt, address, what: end }]),
  ];
}

const atMost = (timeoutMs: number | undefined) => (timeoutMs === undefined ? '' : upTo('', timeoutMs));
