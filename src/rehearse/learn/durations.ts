/**
 * How long things take: learned from the recorded runs of this stack, else from earlier tasks of the cluster, else a default.
 * Every duration has a range, the narrower the more is known.
 */
import type { ResolvedStack } from '../../kinds/stack.ts';
import { type CopySpeeds, sourceOf } from '../copy/copy.ts';
import { DEFAULT_GUEST } from '../copy/guests.ts';
import { PACED_ACTIONS, type Pace } from '../trial/stage.ts';

export interface Learned {
  readonly value: number;
  readonly least: number;
  readonly most: number;
  /** How often it was measured; 0 for a default. */
  readonly from: number;
  readonly origin: 'runs' | 'tasks' | 'default';
}

export interface Durations {
  /** Bytes a second, by storage. */
  readonly copies: ReadonlyMap<string, Learned>;
  /** From power-on until the guest answers, in milliseconds, by template (or address without one). */
  readonly boots: ReadonlyMap<string, Learned>;
  readonly shutdowns: ReadonlyMap<string, Learned>;
  /** How much longer an action takes than in the simulator, in milliseconds. */
  readonly extras: ReadonlyMap<string, Learned>;
  readonly hook: Learned;
  readonly latencyMs: number;
}

const DEFAULT_COPY_BYTES_PER_SECOND = 200_000_000;
const DEFAULT_HOOK_MS = 30_000;
/** A default may be off by this factor, either way. */
const DOUBT = 2;
/** The least range around what was measured often. */
const TOLERANCE = 0.1;
/** What is added to it if it was measured once: machines are not equally busy every day. */
const TOLERANCE_OF_ONE = 0.3;
/** Only the latest count: storages and guests change. */
const MOST_VALUES = 12;
/** The simulator is as fast as an idle server; a busy one takes longer by this share. */
const BUSY_SHARE = 0.5;
const INFINITE_BYTES_PER_SECOND = 1e12;

/** The later of two sources counts, value by value. */
export function mergedDurations(
  first: Partial<Durations>,
  ...others: readonly Partial<Durations>[]
): Partial<Durations> {
  return others.reduce<Partial<Durations>>((known, next) => {
    const merge = <Value>(one?: ReadonlyMap<string, Value>, other?: ReadonlyMap<string, Value>) =>
      new Map([...(one ?? []), ...(other ?? [])]);
    return {
      copies: merge(known.copies, next.copies),
      boots: merge(known.boots, next.boots),
      shutdowns: merge(known.shutdowns, next.shutdowns),
      extras: merge(known.extras, next.extras),
      ...((next.hook ?? known.hook) && { hook: next.hook ?? known.hook }),
    };
  }, first);
}

/** Defaults. `ownMs`: how long the steps of an action take if the server needs no time. */
export function defaultDurations(ownMs: ReadonlyMap<string, number>, latencyMs: number): Durations {
  const extras = PACED_ACTIONS.flatMap((action): [string, Learned][] => {
    const own = ownMs.get(action);
    if (own === undefined) return [];
    return [[action, { value: BUSY_SHARE * own, least: 0, most: DOUBT * own, from: 0, origin: 'default' }]];
  });
  return {
    copies: new Map(),
    boots: new Map(),
    shutdowns: new Map(),
    extras: new Map(extras),
    hook: byDefault(DEFAULT_HOOK_MS),
    latencyMs,
  };
}

/** Neither copies nor guests take time. */
export const IDLE_SPEEDS: CopySpeeds = {
  copy: () => INFINITE_BYTES_PER_SECOND,
  guest: () => ({ bootMs: 0, shutdownMs: 0 }),
};

/** Which end of the ranges a rehearsal uses. */
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

/** From measured values in the order of time. */
export function learned(values: readonly number[], origin: 'runs' | 'tasks'): Learned {
  const latest = values.slice(-MOST_VALUES);
  const value = median(latest);
  const tolerance = 1 + TOLERANCE + TOLERANCE_OF_ONE / Math.max(1, latest.length);
  return {
    value,
    least: Math.min(value / tolerance, ...latest),
    most: Math.max(value * tolerance, ...latest),
    from: values.length,
    origin,
  };
}

function byDefault(value: number): Learned {
  return { value, least: value / DOUBT, most: value * DOUBT, from: 0, origin: 'default' };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return sorted.length === 0 ? 0 : ((sorted[Math.ceil(middle - 1)] ?? 0) + (sorted[Math.floor(middle)] ?? 0)) / 2;
}

/** The bytes copied through a storage, divided by the time in which at least one copy ran: copies share its speed. */
export function unionMs(spans: readonly (readonly [number, number])[]): number {
  let total = 0;
  let until = Number.NEGATIVE_INFINITY;
  for (const [from, to] of spans.toSorted(([a], [b]) => a - b)) {
    total += Math.max(0, to - Math.max(from, until));
    until = Math.max(until, to);
  }
  return total;
}

export function speedOf(bytes: number, ms: number): number {
  return ms < 1 ? INFINITE_BYTES_PER_SECOND : (bytes / ms) * 1_000;
}

/** Where each duration comes from, in sentences. */
export function originOf({ copies, boots, shutdowns, extras, hook }: Durations, stack: ResolvedStack): string[] {
  const sources = [...new Set(stack.vms.map(sourceOf))];
  const start = extras.get('vm.start');
  return [
    ...[...copies].map(
      ([storage, speed]) =>
        `Copies on ${storage}: ${Math.round(speed.value / 1e6)} MB/s, from ${measured(speed, 'clones')}.`,
    ),
    ...(copies.size === 0 ? [`Copies: ${DEFAULT_COPY_BYTES_PER_SECOND / 1e6} MB/s, a default.`] : []),
    ...sources.map((source) => {
      const boot = boots.get(source);
      return boot
        ? `Boot of ${source}: ${seconds(boot.value)}, from ${measured(boot, 'starts')}.`
        : `Boot of ${source}: ${seconds(DEFAULT_GUEST.bootMs)}, a default.`;
    }),
    ...[...shutdowns]
      .filter(([source]) => sources.includes(source))
      .map(([source, each]) => `Shutdown of ${source}: ${seconds(each.value)}, from ${measured(each, 'shutdowns')}.`),
    ...(start ? [`Tasks of the server: ${start.from > 0 ? `from ${measured(start, 'starts')}` : 'a default'}.`] : []),
    ...(stack.vms.some(({ fields }) => fields.hooks)
      ? [`Hooks: ${seconds(hook.value)} each, ${hook.from > 0 ? 'as recorded' : 'a default'}. They are not executed.`]
      : []),
  ];
}

function measured({ from, origin }: Learned, what: string): string {
  const noun = from === 1 ? what.replace(/s$/, '') : what;
  return origin === 'runs' ? `${from} recorded ${noun}` : `${from} earlier ${noun} of the cluster`;
}

const seconds = (ms: number) => `${ms < 9_950 ? (ms / 1000).toFixed(1) : Math.round(ms / 1000)} s`;
