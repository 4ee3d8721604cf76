/** A run as shown live: the fold of its events, resource by resource, with the stage of each and its expected time. */
import type { Address } from '../../../base/address.ts';
import type { Instant } from '../../../base/clock.ts';
import { type ResourceRecord, RunFold, type StepRecord } from '../../../engine/record/run-record.ts';
import type { Activity } from '../../../engine/run-memory.ts';
import type { Label } from '../../../kinds/action.ts';
import type { Roll } from '../../../kinds/change.ts';
import { labelOf } from '../../../kinds/registry.ts';
import type { RunEvent } from '../../../state/events.ts';

/** Stages as people count them, in the order of the table: growing and reading back belong to the configuration. */
export const STAGE_NAMES = [
  'snapshot',
  'rollback',
  'migrate',
  'move',
  'transfer',
  'clone',
  'create',
  'configure',
  'install',
  'convert',
  'start',
  'restart',
  'stop',
  'ha',
  'ready',
  'hook',
  'destroy',
] as const satisfies readonly Label[];
export type StageName = (typeof STAGE_NAMES)[number];

export interface VmTimeline {
  readonly address: Address;
  readonly status: ResourceRecord['status'];
  /** Undefined while it waits for its turn. */
  readonly stage: StageName | undefined;
  /** Its current activity, if that says more than the stage. */
  readonly text: string | undefined;
  readonly percent: number | undefined;
  readonly stageSince: Instant | undefined;
  readonly startedAt: Instant | undefined;
  readonly endedAt: Instant | undefined;
  readonly durationsMs: Readonly<Partial<Record<StageName, number>>>;
}

/** The progress of a group whose members take turns being unavailable. */
export interface RollProgress {
  readonly group: string;
  readonly changed: number;
  readonly members: number;
  /** Members that are being changed right now. */
  readonly unavailable: readonly Address[];
  /** Between a member that is ready again and the next one. */
  readonly pauseMs: number;
  /** When the pause ends that lasts now; absent if none does. */
  readonly pausedUntil?: Instant;
}

export type KnownDurations = ReadonlyMap<StageName, readonly number[]>;

export class Timeline {
  readonly #fold = new RunFold('live');
  readonly #addresses: readonly Address[];
  readonly #durations: Map<StageName, number[]>;
  readonly #rolls: readonly Roll[];
  /** Steps of the plan that take time. */
  readonly #planned = new Map<string, StageName>();

  /** `known` are durations of earlier runs, the basis of estimates. */
  constructor(addresses: Iterable<Address>, known: KnownDurations = new Map(), rolls: readonly Roll[] = []) {
    this.#addresses = [...new Set(addresses)];
    this.#rolls = rolls.filter(({ waves }) => waves.length > 1);
    this.#durations = new Map([...known].map(([stage, list]) => [stage, [...list]]));
  }

  /** The resources that are shown; others appear only in the log. */
  get vms(): readonly VmTimeline[] {
    return this.#addresses.map((address) => describe(address, this.#fold.resource(address)));
  }

  /** Groups of which more members become unavailable than may be at once. */
  get rolls(): readonly RollProgress[] {
    return this.#rolls.map(({ group, waves, pauseMs, atMost }) => {
      const members = waves.flat();
      const having = (status: ResourceRecord['status']) =>
        members.filter((address) => this.#fold.resource(address)?.status === status);
      const [done, unavailable] = [having('done'), having('working')];
      const lastEnd = Math.max(0, ...done.map((address) => instant(this.#fold.resource(address)?.endedAt) ?? 0));
      const isPaused =
        pauseMs > 0 &&
        lastEnd > 0 &&
        unavailable.length < atMost &&
        members.some((address) => this.#isWaiting(address));
      return {
        group,
        changed: done.length,
        members: members.length,
        unavailable,
        pauseMs,
        ...(isPaused && { pausedUntil: lastEnd + pauseMs }),
      };
    });
  }

  #isWaiting(address: Address): boolean {
    return (this.#fold.resource(address)?.status ?? 'waiting') === 'waiting';
  }

  /** How long the rolls have paused so far, and how long they still will: pauses do not follow the pace of the work. */
  #pauses(now: Instant): { readonly pastMs: number; readonly leftMs: number } {
    let [pastMs, leftMs] = [0, 0];
    for (const [index, { pausedUntil, pauseMs }] of this.rolls.entries()) {
      const { waves = [], atMost = 1 } = this.#rolls[index] ?? {};
      const waiting = waves.flat().filter((address) => this.#isWaiting(address)).length;
      const all = Math.max(0, waves.flat().length - atMost);
      const ahead = Math.min(all, waiting);
      const currentMs = pausedUntil === undefined ? 0 : pauseMs - Math.max(0, Math.min(pauseMs, pausedUntil - now));
      // Members that go down together pause together.
      pastMs += ((all - ahead) * pauseMs + currentMs) / atMost;
      leftMs += (ahead * pauseMs - currentMs) / atMost;
    }
    return { pastMs, leftMs };
  }

  /** The roll that a resource takes part in. */
  rollOf(address: string): RollProgress | undefined {
    const at = this.#rolls.findIndex(({ waves }) => waves.flat().some((member) => member === address));
    return this.rolls[at];
  }

  step(id: string): StepRecord | undefined {
    return this.#fold.step(id);
  }

  follow(event: RunEvent | Activity): void {
    this.#fold.follow(event);
    if (event.event === 'planned') this.#expect(event.steps);
    if (event.event !== 'stepDone') return;
    const step = this.#fold.step(event.step);
    const stage = step && stageOf(step.action);
    if (stage !== undefined) addDuration(this.#durations, stage, step?.durationMs ?? 0);
  }

  #expect(steps: readonly { readonly id: string; readonly action: string }[]): void {
    for (const { id, action } of steps) {
      const stage = stageOf(action);
      if (stage !== undefined) this.#planned.set(id, stage);
    }
  }

  /**
   * How much longer the run will take at its present pace, with the same concurrency and waits. Undefined if too little
   * is done, or if a stage has no known duration.
   */
  leftMs(startedAt: Instant, now: Instant): number | undefined {
    let [doneMs, leftMs] = [0, 0];
    for (const [id, stage] of this.#planned) {
      const usualMs = median(this.#durations.get(stage) ?? []);
      if (usualMs === undefined) return undefined;
      const workedMs = workedOn(this.#fold.step(id), usualMs, now);
      doneMs += workedMs;
      leftMs += usualMs - workedMs;
    }
    const isTooEarly = doneMs === 0 || doneMs < LEAST_PART * (doneMs + leftMs);
    if (isTooEarly) return undefined;
    const pauses = this.#pauses(now);
    return (Math.max(0, now - startedAt - pauses.pastMs) * leftMs) / doneMs + pauses.leftMs;
  }

  /** How long the current stage will take in total: from its own percentage, else from earlier stages of its kind. */
  expectedMs(vm: VmTimeline, now: Instant): number | undefined {
    if (vm.stage === undefined || vm.stageSince === undefined) return undefined;
    const elapsedMs = now - vm.stageSince;
    if (vm.percent !== undefined && vm.percent >= 5) return (elapsedMs * 100) / vm.percent;
    const usualMs = median(this.#durations.get(vm.stage) ?? []);
    // A stage that is already late has no estimate.
    return usualMs !== undefined && usualMs > elapsedMs ? usualMs : undefined;
  }
}

/** Share of the work of a run: with less done than this, its pace says little. */
const LEAST_PART = 0.1;

/** A late stage counts as done: its rest is unknown. */
function workedOn(step: StepRecord | undefined, usualMs: number, now: Instant): number {
  if (step?.outcome !== 'open') return step ? usualMs : 0;
  return Math.min(usualMs, now - (instant(step.startedAt) ?? now));
}

/** How long each stage of some runs took, from the start of a step to its successful end. */
export function durationsOf(steps: readonly StepRecord[]): Map<StageName, number[]> {
  const durations = new Map<StageName, number[]>();
  for (const { action, outcome, durationMs = 0 } of steps) {
    const stage = stageOf(action);
    if (outcome === 'done' && stage !== undefined) addDuration(durations, stage, durationMs);
  }
  return durations;
}

function addDuration(durations: Map<StageName, number[]>, stage: StageName, ms: number): void {
  durations.set(stage, [...(durations.get(stage) ?? []), ms]);
}

/** Undefined for steps that only change records: they take no time. */
export function stageOf(action: string): StageName | undefined {
  const label = labelOf(action);
  return STAGE_NAMES.find((stage) => stage === label);
}

function describe(address: Address, resource: ResourceRecord | undefined): VmTimeline {
  const steps = resource?.steps ?? [];
  const open = steps.find(({ outcome }) => outcome === 'open');
  const last = open ?? steps.findLast(({ outcome }) => outcome === 'failed');
  const durationsMs: Partial<Record<StageName, number>> = {};
  for (const { action, outcome, durationMs = 0 } of steps) {
    const stage = stageOf(action);
    if (outcome === 'done' && stage !== undefined) durationsMs[stage] = (durationsMs[stage] ?? 0) + durationMs;
  }
  return {
    address,
    status: resource?.status ?? 'waiting',
    stage: last && stageOf(last.action),
    text: resource?.activity?.text,
    percent: resource?.activity?.percent,
    stageSince: instant(open?.startedAt),
    startedAt: instant(resource?.startedAt),
    endedAt: instant(resource?.endedAt),
    durationsMs,
  };
}

function instant(at: string | undefined): Instant | undefined {
  return at === undefined ? undefined : Date.parse(at);
}

function median(values: readonly number[]): number | undefined {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}
