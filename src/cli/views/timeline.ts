/** What a run has told so far, VM by VM: its stage, how far it is, how long each stage took. Views draw it. */
import type { Address } from '../../base/address.ts';
import type { Instant } from '../../base/clock.ts';
import type { Progress } from '../../engine/progress.ts';

/** Steps as people count them: growing and reading back belong to the configuration. */
export const STAGE_NAMES = [
  'migrate',
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
  'destroy',
] as const;
export type StageName = (typeof STAGE_NAMES)[number];

const STAGE_OF_ACTION: Readonly<Record<string, StageName>> = {
  'vm.migrate': 'migrate',
  'vm.clone': 'clone',
  'vm.create': 'create',
  'vm.configure': 'configure',
  'vm.resize': 'configure',
  'vm.verify': 'configure',
  'vm.seed': 'configure',
  'vm.unseed': 'configure',
  'template.install': 'install',
  'template.convert': 'convert',
  'template.retire': 'configure',
  'image.fetch': 'transfer',
  'image.send': 'transfer',
  'vm.start': 'start',
  'vm.restart': 'restart',
  'vm.stop': 'stop',
  'vm.ha': 'ha',
  'vm.destroy': 'destroy',
  'image.remove': 'destroy',
};

export type VmStatus = 'waiting' | 'working' | 'done' | 'failed' | 'notReady' | 'canceled' | 'skipped';

export interface VmTimeline {
  readonly address: Address;
  readonly status: VmStatus;
  readonly stage: StageName | undefined;
  /** What it does just now, where that says more than the stage. */
  readonly text: string | undefined;
  readonly percent: number | undefined;
  readonly stageSince: Instant | undefined;
  readonly startedAt: Instant | undefined;
  readonly endedAt: Instant | undefined;
  readonly durationsMs: Readonly<Partial<Record<StageName, number>>>;
}

export type KnownDurations = ReadonlyMap<StageName, readonly number[]>;

export class Timeline {
  readonly #vms = new Map<Address, VmTimeline>();
  readonly #durations: Map<StageName, number[]>;

  /** `known` are durations of earlier runs: what can be expected of this one. */
  constructor(addresses: Iterable<Address>, known: KnownDurations = new Map()) {
    for (const address of addresses) this.#vms.set(address, newVm(address));
    this.#durations = new Map([...known].map(([stage, list]) => [stage, [...list]]));
  }

  get vms(): readonly VmTimeline[] {
    return [...this.#vms.values()];
  }

  /** A mapping has steps too, but it is no VM: lines tell of it, the picture does not show it. */
  follow(progress: Progress): void {
    const vm = this.#vms.get(progress.address);
    if (vm) this.#vms.set(progress.address, this.#next(vm, progress));
  }

  #next(vm: VmTimeline, progress: Progress): VmTimeline {
    switch (progress.kind) {
      case 'vm':
        return progress.status === 'waiting' ? vm : { ...vm, status: 'working', startedAt: progress.at };
      case 'activity':
        return { ...vm, text: progress.text, percent: progress.percent };
      case 'step':
        return progress.status === 'started'
          ? begin(vm, stageOf(progress.action), progress.at)
          : this.#ended(vm, progress.at, progress.action);
      case 'vmEnded':
        return {
          ...(vm.stage === 'ready' && progress.outcome === 'done' ? this.#closed(vm, progress.at) : vm),
          status: progress.outcome,
          endedAt: progress.at,
          percent: undefined,
        };
    }
  }

  /** Behind a start comes the wait until the VM is ready, which is no step of its own. */
  #ended(vm: VmTimeline, at: Instant, action: string): VmTimeline {
    const closed = this.#closed(vm, at);
    return action === 'vm.start' || action === 'vm.restart' ? begin(closed, 'ready', at) : closed;
  }

  #closed(vm: VmTimeline, at: Instant): VmTimeline {
    const { stage, stageSince } = vm;
    if (stage === undefined || stageSince === undefined) return vm;
    const tookMs = at - stageSince;
    this.#durations.set(stage, [...(this.#durations.get(stage) ?? []), tookMs]);
    const durationsMs = { ...vm.durationsMs, [stage]: (vm.durationsMs[stage] ?? 0) + tookMs };
    return { ...vm, durationsMs, stageSince: undefined, percent: undefined, text: undefined };
  }

  /** How long the stage in hand will take in all: by its own percentage, else as others of its kind did. */
  expectedMs(vm: VmTimeline, now: Instant): number | undefined {
    if (vm.stage === undefined || vm.stageSince === undefined) return undefined;
    const elapsedMs = now - vm.stageSince;
    if (vm.percent !== undefined && vm.percent >= 5) return (elapsedMs * 100) / vm.percent;
    const usualMs = median(this.#durations.get(vm.stage) ?? []);
    // What is late already can no longer be expected.
    return usualMs !== undefined && usualMs > elapsedMs ? usualMs : undefined;
  }
}

export function stageOf(action: string): StageName {
  return STAGE_OF_ACTION[action] ?? 'configure';
}

function newVm(address: Address): VmTimeline {
  return {
    address,
    status: 'waiting',
    stage: undefined,
    text: undefined,
    percent: undefined,
    stageSince: undefined,
    startedAt: undefined,
    endedAt: undefined,
    durationsMs: {},
  };
}

function begin(vm: VmTimeline, stage: StageName, at: Instant): VmTimeline {
  return { ...vm, status: 'working', stage, stageSince: at, text: undefined, percent: undefined };
}

function median(values: readonly number[]): number | undefined {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}
