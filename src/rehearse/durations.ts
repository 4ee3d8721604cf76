/**
 * How long things take: learned from the recorded runs of this stack, else a default. A recorded step contains what our own
 * requests and polls cost. A rehearsal in which nothing else takes time shows how much that is; the rest is the cluster.
 */
import type { RunRecord, StepRecord } from '../engine/record/run-record.ts';
import type { Observed } from '../kinds/observed.ts';
import type { StackState } from '../kinds/recorded.ts';
import type { ResolvedStack, ResolvedVm } from '../kinds/stack.ts';
import { drivesOf, storageOf } from '../kinds/vm/config/disks.ts';
import { type CopySpeeds, sourceOf } from './copy/copy.ts';
import { DEFAULT_GUEST } from './copy/guests.ts';
import { PACED_ACTIONS, type Pace } from './trial/stage.ts';

export interface Learned {
  readonly value: number;
  readonly least: number;
  readonly most: number;
  /** Recorded steps behind it; 0 for a default. */
  readonly from: number;
}

export interface Durations {
  /** Bytes a second, by storage. */
  readonly copies: ReadonlyMap<string, Learned>;
  /** From power-on until the guest answers, in milliseconds, by template (or address without one). */
  readonly boots: ReadonlyMap<string, Learned>;
  readonly shutdowns: ReadonlyMap<string, Learned>;
  /** What an action takes longer than in the simulator, in milliseconds. */
  readonly extras: ReadonlyMap<string, Learned>;
  readonly hook: Learned;
  readonly latencyMs: number;
}

const DEFAULT_COPY_BYTES_PER_SECOND = 200_000_000;
const DEFAULT_HOOK_MS = 30_000;
/** A default may be off by this factor, either way. */
const DOUBT = 2;
/** The least range around what was learned. */
const TOLERANCE = 1.1;
/** A wait for a guest that ends sooner began when the guest was up. */
const REAL_WAIT_MS = 2_000;
const INFINITE_BYTES_PER_SECOND = 1e12;

export interface LearnInput {
  readonly runs: readonly RunRecord[];
  readonly stack: ResolvedStack;
  readonly state: StackState;
  readonly observed: Observed;
  /** Data on a volume of the copy. */
  readonly dataBytes: (volid: string) => number | undefined;
  readonly latencyMs: number;
  /** A rehearsal in which neither copies nor guests take time. */
  readonly idle: RunRecord | undefined;
}

export function learnDurations(input: LearnInput): Durations {
  const { runs, idle, latencyMs } = input;
  const own = ownTimes(idle);
  const steps = runs.flatMap((run) => run.steps).filter(({ outcome }) => outcome === 'done');
  const extras = PACED_ACTIONS.flatMap((action): [string, Learned][] => {
    const extra = timesOf(steps, action).map((ms) => Math.max(0, ms - (own.get(action) ?? ms)));
    // Copies are told by their speed; a linked clone copies nothing.
    const isCopy = action === 'vm.clone' && !isLinked(input);
    return extra.length === 0 || isCopy ? [] : [[action, learned(extra)]];
  });
  const hooks = timesOf(steps, 'vm.hook');
  return {
    copies: copySpeeds(input, own.get('vm.clone') ?? 0),
    boots: new Map([...bootSpans(runs, input.stack)].map(([source, spans]) => [source, learned(spans)])),
    shutdowns: shutdownTimes(input, steps, own),
    extras: new Map(extras),
    hook: hooks.length > 0 ? learned(hooks) : byDefault(DEFAULT_HOOK_MS),
    latencyMs,
  };
}

/** Neither copies nor guests take time. */
export const IDLE_SPEEDS: CopySpeeds = {
  copy: () => INFINITE_BYTES_PER_SECOND,
  guest: () => ({ bootMs: 0, shutdownMs: 0 }),
};

/** Which end of the ranges a rehearsal takes. */
export type Side = 'value' | 'fastest' | 'slowest' | 'idle';

export function speedsOf({ copies, boots, shutdowns }: Durations, side: Side): CopySpeeds {
  if (side === 'idle') return IDLE_SPEEDS;
  const time = (each: Learned) => (side === 'value' ? each.value : side === 'fastest' ? each.least : each.most);
  const speed = (each: Learned) => (side === 'value' ? each.value : side === 'fastest' ? each.most : each.least);
  const { bootMs, shutdownMs } = DEFAULT_GUEST;
  return {
    copy: (storage) => speed(copies.get(storage) ?? byDefault(DEFAULT_COPY_BYTES_PER_SECOND)),
    guest: (source) => ({
      bootMs: time(boots.get(source) ?? byDefault(bootMs)),
      shutdownMs: time(shutdowns.get(source) ?? byDefault(shutdownMs)),
    }),
  };
}

export function paceOf({ extras, hook, latencyMs }: Durations, side: Side): Pace {
  const time = (each: Learned) => (side === 'fastest' ? each.least : side === 'slowest' ? each.most : each.value);
  if (side === 'idle') return { latencyMs, hookMs: 0, extraMs: new Map() };
  return {
    latencyMs,
    hookMs: time(hook),
    extraMs: new Map([...extras].map(([action, each]) => [action, time(each)])),
  };
}

/** Median times of the steps of a rehearsal in which nothing else takes time, by action. */
function ownTimes(idle: RunRecord | undefined): Map<string, number> {
  const actions = new Set((idle?.steps ?? []).map(({ action }) => action));
  return new Map([...actions].map((action) => [action, median(timesOf(idle?.steps ?? [], action))]));
}

function timesOf(steps: readonly StepRecord[], action: string): number[] {
  return steps.flatMap((step) => (step.action === action && step.durationMs !== undefined ? [step.durationMs] : []));
}

/** Data that a clone of this VM copies, and between which storages. */
function copyOf({ observed, dataBytes }: LearnInput, { fields }: ResolvedVm) {
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
  return { bytes, from, to: clone.storage ?? from[0], node: source.value.node };
}

function isLinked({ stack }: LearnInput): boolean {
  return stack.vms.every(({ fields }) => fields.clone?.mode === 'linked');
}

/** What went through a storage, by the time in which at least one copy ran: copies share its speed. */
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
        const speed = copyMs < 1 ? INFINITE_BYTES_PER_SECOND : (bytes / copyMs) * 1_000;
        speeds.set(storage, [...(speeds.get(storage) ?? []), speed]);
        counts.set(storage, (counts.get(storage) ?? 0) + spans.length);
      }
    }
  }
  return new Map(
    [...speeds].map(([storage, found]) => [storage, { ...learned(found), from: counts.get(storage) ?? 0 }]),
  );
}

function unionMs(spans: readonly (readonly [number, number])[]): number {
  let total = 0;
  let until = Number.NEGATIVE_INFINITY;
  for (const [from, to] of spans.toSorted(([a], [b]) => a - b)) {
    total += Math.max(0, to - Math.max(from, until));
    until = Math.max(until, to);
  }
  return total;
}

/** From the end of a start to the end of the wait that follows; a wait that found the guest up tells only an upper bound. */
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
 * Durations, corrected by a rehearsal with them: a wait looks only now and then, so a guest is up somewhat before it is
 * seen, and a busy server answers later than one that is only asked. `next` is undefined
 * once the rehearsal takes as long as the recorded runs did; `offMs` says how far it is from that.
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
    // Copies share a storage: only as many of them at once tell something about each other.
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
    extras.set(action, { ...learned([known + offMs]), from: was.length });
  }
  return { next: isCorrected ? { ...durations, boots: new Map(boots), extras } : undefined, offMs: totalMs };
}

const CLOSE_MS = 250;

function shutdownTimes(
  { stack }: LearnInput,
  steps: readonly StepRecord[],
  own: ReadonlyMap<string, number>,
): Map<string, Learned> {
  const found = new Map<string, number[]>();
  for (const { action, address, durationMs } of steps) {
    const vm = stack.vms.find((each) => each.address === address);
    if (!vm || durationMs === undefined || (action !== 'vm.restart' && action !== 'vm.stop')) continue;
    const ms = Math.max(0, durationMs - (own.get(action) ?? 0));
    found.set(sourceOf(vm), [...(found.get(sourceOf(vm)) ?? []), ms]);
  }
  return new Map([...found].map(([source, times]) => [source, learned(times)]));
}

function learned(values: readonly number[]): Learned {
  const value = median(values);
  return {
    value,
    least: Math.min(value / TOLERANCE, ...values),
    most: Math.max(value * TOLERANCE, ...values),
    from: values.length,
  };
}

function byDefault(value: number): Learned {
  return { value, least: value / DOUBT, most: value * DOUBT, from: 0 };
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return sorted.length === 0 ? 0 : ((sorted[Math.ceil(middle - 1)] ?? 0) + (sorted[Math.floor(middle)] ?? 0)) / 2;
}

/** Where each duration comes from, in sentences. */
export function originOf({ copies, boots, hook }: Durations, { stack }: Pick<LearnInput, 'stack'>): string[] {
  const sources = [...new Set(stack.vms.map(sourceOf))];
  return [
    ...[...copies].map(
      ([storage, { value, from }]) =>
        `Copies on ${storage}: ${Math.round(value / 1e6)} MB/s, from ${from} recorded clones.`,
    ),
    ...(copies.size === 0 ? [`Copies: ${DEFAULT_COPY_BYTES_PER_SECOND / 1e6} MB/s, a default.`] : []),
    ...sources.map((source) => {
      const boot = boots.get(source);
      return boot
        ? `Boot of ${source}: ${Math.round(boot.value / 1000)} s, from ${boot.from} recorded starts.`
        : `Boot of ${source}: ${DEFAULT_GUEST.bootMs / 1000} s, a default.`;
    }),
    ...(stack.vms.some(({ fields }) => fields.hooks)
      ? [
          `Hooks: ${Math.round(hook.value / 1000)} s each, ${hook.from > 0 ? 'as recorded' : 'a default'}. They are not executed.`,
        ]
      : []),
  ];
}
