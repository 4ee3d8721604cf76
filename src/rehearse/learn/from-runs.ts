/**
 * Durations from the recorded runs of this stack. A recorded step includes the time of our own requests and polls. A
 * rehearsal in which nothing else takes time shows how much that is; the rest is the cluster.
 */
import type { RunRecord, StepRecord } from '../../engine/record/run-record.ts';
import type { Observed } from '../../kinds/observed.ts';
import type { ResolvedStack } from '../../kinds/stack.ts';
import { drivesOf, storageOf } from '../../kinds/vm/config/disks.ts';
import type { ResolvedVm } from '../../kinds/vm/stack.ts';
import { parseUpid } from '../../pve/wire/ids.ts';
import { sourceOf } from '../copy/copy.ts';
import { PACED_ACTIONS } from '../trial/stage.ts';
import { type Durations, type Learned, learned, median, speedOf, unionMs } from './durations.ts';

export interface LearnInput {
  readonly runs: readonly RunRecord[];
  readonly stack: ResolvedStack;
  readonly observed: Observed;
  /** Data on a volume of the copy. */
  readonly dataBytes: (volid: string) => number | undefined;
}

/** A wait that ends sooner began when the guest was already up. */
const REAL_WAIT_MS = 2_000;
/** Smaller differences need no correction. */
const CLOSE_MS = 250;
const CLOSE_SHARE = 0.02;
/** Under HA, the task of a request contains the shutdown too. */
const SHUTDOWNS: ReadonlySet<string> = new Set(['qmshutdown', 'qmreboot']);

/** `ownMs`: how long the steps of an action take if nothing else takes time. */
export function learnFromRuns(input: LearnInput, ownMs: ReadonlyMap<string, number>): Partial<Durations> {
  const steps = input.runs.flatMap((run) => run.steps).filter(({ outcome }) => outcome === 'done');
  const isLinked = input.stack.vms.every(({ fields }) => fields.clone?.mode === 'linked');
  const found = PACED_ACTIONS.flatMap((action): [string, Learned][] => {
    const extra = timesOf(steps, action).map((ms) => Math.max(0, ms - (ownMs.get(action) ?? ms)));
    if (extra.length === 0) return [];
    // Copies are measured by their speed; a linked clone copies nothing.
    if (action === 'vm.clone' && !isLinked) return [[action, { ...learned([0], 'runs'), from: extra.length }]];
    return [[action, learned(extra, 'runs')]];
  });
  const extras = new Map(found);
  const hooks = timesOf(steps, 'vm.hook');
  return {
    copies: copySpeeds(input, ownMs.get('vm.clone') ?? 0),
    boots: new Map([...bootSpans(input.runs, input.stack)].map(([source, spans]) => [source, learned(spans, 'runs')])),
    shutdowns: shutdownTimes(input.stack, steps, ownMs, extras.get('vm.start')?.value ?? 0),
    extras,
    ...(hooks.length > 0 && { hook: learned(hooks, 'runs') }),
  };
}

/** Median times of the steps of a rehearsal in which nothing else takes time, by action. */
export function ownTimes(idle: RunRecord): Map<string, number> {
  const actions = new Set(idle.steps.map(({ action }) => action));
  return new Map([...actions].map((action) => [action, median(timesOf(idle.steps, action))]));
}

function timesOf(steps: readonly StepRecord[], action: string): number[] {
  return steps.flatMap((step) => (step.action === action && step.durationMs !== undefined ? [step.durationMs] : []));
}

/** Data that a clone of this VM copies, and between which storages. */
export function copyOf({ observed, dataBytes }: Pick<LearnInput, 'observed' | 'dataBytes'>, { fields }: ResolvedVm) {
  const { clone } = fields;
  if (!clone || clone.mode === 'linked') return undefined;
  const candidates = [...observed.templates].flatMap(([reference, found]) =>
    reference === String(clone.template) || reference === `#${clone.template}` ? found : [],
  );
  const source = (candidates.find(({ node }) => node === fields.node) ?? candidates[0])?.vm;
  if (!source?.ok) return undefined;
  const disks = drivesOf(source.value.current).filter(({ kind }) => kind === 'disk');
  const bytes = disks.reduce((sum, { file, sizeBytes = 0 }) => sum + (dataBytes(file) ?? sizeBytes), 0);
  const from = disks.flatMap((drive) => storageOf(drive) ?? []);
  return { bytes, from, to: clone.storage ?? from[0], node: source.value.node, template: source.value.vmid };
}

/** The bytes copied through a storage, divided by the time in which at least one copy ran: copies share its speed. */
function copySpeeds(input: LearnInput, ownMs: number): Map<string, Learned> {
  const speeds = new Map<string, number[]>();
  const counts = new Map<string, number>();
  for (const run of input.runs) {
    const channels = new Map<string, { bytes: number; spans: [number, number][]; storages: Set<string> }>();
    for (const step of run.steps) {
      const vm = input.stack.vms.find(({ address }) => address === step.address);
      const copy = vm && step.action === 'vm.clone' && step.outcome === 'done' ? copyOf(input, vm) : undefined;
      if (!copy?.to || copy.bytes === 0 || step.endedAt === undefined) continue;
      const key = `${copy.node}/${copy.to}`;
      const channel = channels.get(key) ?? { bytes: 0, spans: [], storages: new Set<string>() };
      channel.bytes += copy.bytes;
      channel.spans.push([Date.parse(step.startedAt), Date.parse(step.endedAt)]);
      for (const storage of [copy.to, ...copy.from]) channel.storages.add(storage);
      channels.set(key, channel);
    }
    for (const { bytes, spans, storages } of channels.values()) {
      const busyMs = unionMs(spans);
      const concurrent = spans.reduce((sum, [from, to]) => sum + to - from, 0) / Math.max(1, busyMs);
      const copyMs = busyMs - (spans.length * ownMs) / Math.max(1, concurrent);
      for (const storage of storages) {
        speeds.set(storage, [...(speeds.get(storage) ?? []), speedOf(bytes, copyMs)]);
        counts.set(storage, (counts.get(storage) ?? 0) + spans.length);
      }
    }
  }
  return new Map(
    [...speeds].map(([storage, found]) => [storage, { ...learned(found, 'runs'), from: counts.get(storage) ?? 0 }]),
  );
}

/**
 * From the end of a start to the end of the wait that follows; a wait that found the guest up gives only an upper
 * bound.
 */
function bootSpans(runs: readonly RunRecord[], stack: ResolvedStack): Map<string, number[]> {
  const waited = new Map<string, number[]>();
  const bounds = new Map<string, number[]>();
  for (const run of runs) {
    for (const { address, steps } of run.resources) {
      const vm = stack.vms.find((each) => each.address === address);
      const ready = steps.findLast(({ action, outcome }) => action === 'vm.ready' && outcome === 'done');
      const start = steps.findLast(({ action }) => action === 'vm.start' || action === 'vm.restart');
      if (!vm || ready?.endedAt === undefined || start?.endedAt === undefined) continue;
      const spanMs = Date.parse(ready.endedAt) - Date.parse(start.endedAt);
      const found = (ready.durationMs ?? 0) > REAL_WAIT_MS ? waited : bounds;
      found.set(sourceOf(vm), [...(found.get(sourceOf(vm)) ?? []), Math.max(0, spanMs)]);
    }
  }
  const least = [...bounds].map(([source, spans]): [string, number[]] => [source, [Math.min(...spans)]]);
  return new Map([...least, ...waited]);
}

/**
 * Durations, corrected by a rehearsal with them: a wait polls at intervals, so a guest is up somewhat before it is
 * noticed, and a busy server answers later than an idle one. `next` is undefined once the rehearsal takes as long as
 * the recorded runs did; `offMs` says how far it is from that.
 */
export function correctedDurations(
  durations: Durations,
  rehearsed: RunRecord,
  { runs, stack }: Pick<LearnInput, 'runs' | 'stack'>,
): { readonly next: Durations | undefined; readonly offMs: number } {
  const recorded = bootSpans(runs, stack);
  const predicted = bootSpans([rehearsed], stack);
  let isCorrected = false;
  let totalMs = 0;
  const boots = [...durations.boots].map(([source, boot]): [string, Learned] => {
    const [was, is] = [recorded.get(source), predicted.get(source)];
    const offMs = was && is ? median(is) - median(was) : 0;
    totalMs += Math.abs(offMs);
    if (Math.abs(offMs) < CLOSE_MS) return [source, boot];
    isCorrected = true;
    const moved = (ms: number) => Math.max(0, ms - offMs);
    return [source, { ...boot, value: moved(boot.value), least: moved(boot.least), most: moved(boot.most) }];
  });
  const extras = new Map(durations.extras);
  for (const action of PACED_ACTIONS) {
    const is = timesOf(rehearsed.steps, action);
    // Copies share a storage: only equally concurrent ones can be compared.
    const like = runs.filter(({ steps }) => action !== 'vm.clone' || timesOf(steps, action).length === is.length);
    const was = like.flatMap(({ steps }) =>
      timesOf(
        steps.filter(({ outcome }) => outcome === 'done'),
        action,
      ),
    );
    const offMs = is.length > 0 && was.length > 0 ? median(was) - median(is) : 0;
    totalMs += Math.abs(offMs);
    const known = extras.get(action)?.value ?? 0;
    if (Math.abs(offMs) < CLOSE_MS || known + offMs < 0) continue;
    isCorrected = true;
    extras.set(action, { ...learned([known + offMs], 'runs'), from: was.length });
  }
  return { next: isCorrected ? { ...durations, boots: new Map(boots), extras } : undefined, offMs: totalMs };
}

/**
 * Durations, stretched so that the rehearsal as a whole takes as long as runs that did the same: a run ends with its
 * slowest VM, and between the steps of a busy server time passes too, which the median of each step does not tell.
 * `next` is undefined once that is so, and if no run did the same.
 */
export function stretchedDurations(
  durations: Durations,
  rehearsed: RunRecord,
  runs: readonly RunRecord[],
): { readonly next: Durations | undefined; readonly offMs: number } {
  const tookMs = rehearsed.durationMs ?? 0;
  const like = runs.flatMap((run) =>
    actionsOf(run) === actionsOf(rehearsed) && run.durationMs !== undefined ? [run.durationMs] : [],
  );
  const missingMs = like.length === 0 ? 0 : median(like) - tookMs;
  const offMs = Math.abs(missingMs);
  if (offMs <= CLOSE_SHARE * tookMs) return { next: undefined, offMs };
  const times = PACED_ACTIONS.flatMap((action): [string, number][] => {
    const found = timesOf(rehearsed.steps, action);
    return found.length > 0 ? [[action, median(found)]] : [];
  });
  const totalMs = times.reduce((sum, [, ms]) => sum + ms, 0);
  if (totalMs === 0) return { next: undefined, offMs };
  const extras = new Map(durations.extras);
  for (const [action, ms] of times) {
    const known = extras.get(action) ?? learned([0], 'runs');
    const value = Math.max(0, known.value + (missingMs * ms) / totalMs);
    extras.set(action, { ...learned([value], 'runs'), from: known.from });
  }
  return { next: { ...durations, extras }, offMs };
}

/** What a run did, whatever the order: only runs that did the same tell how long one takes. */
function actionsOf({ steps }: RunRecord): string {
  return steps
    .map(({ action, outcome }) => `${action} ${outcome}`)
    .toSorted()
    .join();
}

/** Of steps that shut a guest down; a stop that pulls the plug tells nothing. A restart contains a start. */
function shutdownTimes(
  stack: ResolvedStack,
  steps: readonly StepRecord[],
  own: ReadonlyMap<string, number>,
  startExtraMs: number,
): Map<string, Learned> {
  const found = new Map<string, number[]>();
  for (const { action, address, durationMs, tasks } of steps) {
    const vm = stack.vms.find((each) => each.address === address);
    if (!vm || durationMs === undefined || (action !== 'vm.restart' && action !== 'vm.stop')) continue;
    if (!tasks.some(({ upid }) => SHUTDOWNS.has(parseUpid(upid)?.type ?? ''))) continue;
    const ms = Math.max(0, durationMs - (own.get(action) ?? 0) - (action === 'vm.restart' ? startExtraMs : 0));
    found.set(sourceOf(vm), [...(found.get(sourceOf(vm)) ?? []), ms]);
  }
  return new Map([...found].map(([source, times]) => [source, learned(times, 'runs')]));
}
