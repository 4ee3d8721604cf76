/**
 * Durations from earlier tasks of the cluster, for stacks that were never applied: how long starts and shutdowns take
 * here, and how fast clones of these templates were. A list of tasks has whole seconds, so short tasks count only in
 * aggregate.
 */
import type { TaskEntry } from '../../pve/index.ts';
import { sourceOf } from '../copy/copy.ts';
import { type Durations, type Learned, learned, speedOf, unionMs } from './durations.ts';
import { copyOf, type LearnInput } from './from-runs.ts';

export interface TaskInput extends Pick<LearnInput, 'stack' | 'observed' | 'dataBytes'> {
  readonly history: readonly TaskEntry[];
  /** How long tasks of a type take in the simulator if neither copies nor guests take time. */
  readonly ownMs: ReadonlyMap<string, number>;
}

const ACTIONS: Readonly<Record<string, string>> = {
  'vm.start': 'qmstart',
  'vm.resize': 'resize',
  'vm.destroy': 'qmdestroy',
  'vm.snapshot': 'qmsnapshot',
};
/** Fewer say little. */
const LEAST_TASKS = 3;
const MOST_TASKS = 20;
/** A faster clone was a linked one: it copies nothing, and its task does not say so. */
const FASTEST_BYTES_PER_SECOND = 1.5e9;
/** A task that lasts less than the second of the list takes about this long. */
const SHORT_MS = 250;
/** Tasks at both ends are left out: some ran while the node was busy, some did nothing. */
const TRIMMED_SHARE = 0.25;

interface Ended {
  readonly type: string;
  readonly id: string;
  readonly span: readonly [number, number];
}

export function learnFromTasks({ history, stack, observed, dataBytes, ownMs }: TaskInput): Partial<Durations> {
  const ended = history
    .flatMap(({ type, id, starttime, endtime, status }): Ended[] =>
      endtime === undefined || status !== 'OK' ? [] : [{ type, id, span: [1000 * starttime, 1000 * endtime] }],
    )
    .toSorted((a, b) => a.span[0] - b.span[0]);
  const latest = (isMeant: (task: Ended) => boolean) => ended.filter(isMeant).slice(-MOST_TASKS);
  const extras = Object.entries(ACTIONS).flatMap(([action, type]): [string, Learned][] => {
    const tasks = latest((task) => task.type === type);
    const own = ownMs.get(type);
    return tasks.length < LEAST_TASKS || own === undefined
      ? []
      : [[action, meanOf(tasks, (ms) => Math.max(0, ms - own))]];
  });
  const shutdowns = new Map<string, Learned>();
  const copies = new Map<string, Learned>();
  for (const vm of stack.vms) {
    const source = sourceOf(vm);
    const here = observed.vms.get(vm.address);
    const ids = new Set(here?.kind === 'present' ? [String(here.vm.vmid)] : []);
    const ownShutdowns = latest(({ type, id }) => type === 'qmshutdown' && ids.has(id));
    if (ownShutdowns.length > 0)
      shutdowns.set(
        source,
        meanOf(ownShutdowns, (ms) => ms),
      );
    const copy = copyOf({ observed, dataBytes }, vm);
    if (!copy || copy.bytes === 0) continue;
    const shortestMs = (1_000 * copy.bytes) / FASTEST_BYTES_PER_SECOND - 1_000;
    const clones = latest(
      ({ type, id, span }) => type === 'qmclone' && id === String(copy.template) && span[1] - span[0] >= shortestMs,
    );
    if (clones.length === 0) continue;
    const speed = copySpeed(clones, copy.bytes, ownMs.get('qmclone') ?? 0);
    const known = { ...learned([speed], 'tasks'), from: clones.length };
    // Their speed contains everything that a clone takes longer here.
    extras.push(['vm.clone', { ...learned([0], 'tasks'), from: clones.length }]);
    for (const storage of new Set([...copy.from, ...(copy.to === undefined ? [] : [copy.to])]))
      copies.set(storage, known);
  }
  return { copies, shutdowns, extras: new Map(extras) };
}

/**
 * Clones that overlap share the storage, so they are measured together. The slowest and the fastest of these groups are
 * left out: a single clone to a throttled storage would otherwise outweigh all others. A clone takes `ownMs` even if it
 * copies nothing; that is not part of the speed.
 */
function copySpeed(clones: readonly Ended[], bytes: number, ownMs: number): number {
  const groups: Ended[][] = [];
  let until = Number.NEGATIVE_INFINITY;
  for (const clone of clones) {
    const group = clone.span[0] < until ? groups.at(-1) : undefined;
    if (group) group.push(clone);
    else groups.push([clone]);
    until = Math.max(until, clone.span[1]);
  }
  const measuredGroups = groups
    .map((group) => {
      const busyMs = Math.max(SHORT_MS * group.length, unionMs(group.map(({ span }) => span)));
      const concurrent = Math.max(1, group.reduce((sum, { span: [from, to] }) => sum + to - from, 0) / busyMs);
      return { bytes: group.length * bytes, busyMs, ownMs: (group.length * ownMs) / concurrent };
    })
    .toSorted((a, b) => speedOf(a.bytes, a.busyMs) - speedOf(b.bytes, b.busyMs));
  const cut = Math.floor(TRIMMED_SHARE * (groups.length + 1));
  const middle = measuredGroups.slice(cut, groups.length - cut);
  const total = (part: 'bytes' | 'busyMs' | 'ownMs') => middle.reduce((sum, group) => sum + group[part], 0);
  return Math.min(FASTEST_BYTES_PER_SECOND, speedOf(total('bytes'), total('busyMs') - total('ownMs')));
}

/** Whole seconds, so the mean of several is nearer than any of them. */
function meanOf(tasks: readonly Ended[], correct: (ms: number) => number): Learned {
  const times = tasks.map(({ span }) => span[1] - span[0]).toSorted((a, b) => a - b);
  const cut = Math.floor(TRIMMED_SHARE * times.length);
  const middle = times.slice(cut, times.length - cut);
  const mean = middle.reduce((sum, ms) => sum + ms, 0) / middle.length;
  const [least = mean, most = mean] = [middle[0], middle.at(-1)];
  const { value, ...range } = learned([correct(mean)], 'tasks');
  return {
    ...range,
    value,
    least: Math.min(range.least, correct(least)),
    most: Math.max(range.most, correct(most)),
    from: tasks.length,
  };
}
