/**
 * What is recorded about a VM: private state, the engine's record made from it and the attributes, and unfinished
 * restarts.
 */
import { z } from 'zod';
import type { Instant } from '../../../base/clock.ts';
import type { VmObserved } from '../../../kinds/vm/observed.ts';
import { appliedSchema, type VmRecord, vmPatchSchema } from '../../../kinds/vm/record.ts';
import type { ResolvedVm } from '../../../kinds/vm/stack.ts';
import { parseUpid, type Upid } from '../../../pve/index.ts';
import { numberAt, textAt } from '../../adapter/attributes.ts';
import type { Deps } from '../../adapter/deps.ts';
import { EMPTY_STACK, type EngineWork } from '../../adapter/engine-run.ts';
import { privateFormat } from '../../adapter/private-state.ts';
import type { Timeouts } from '../../adapter/timeouts.ts';
import { type CtyObject, type CtyValue, isObject } from '../../cty/value.ts';
import type { VmSecrets } from './secrets.ts';

const schema = z.object({
  /** Imported, and not read yet. */
  imported: z.literal(true).optional(),
  /** A digest of the password that the former provider of the VM has set. */
  formerPassword: z.string().optional(),
  /** Off, because a run of ours stopped between the two halves of a restart. */
  switchedOff: z.literal(true).optional(),
  /** Dotted paths of the attributes that the configuration set when it was last applied. */
  managed: z.array(z.string()),
  /** Field path → value, as the engine records it. */
  applied: appliedSchema,
  /** The volume with the user's cloud-init files, and earlier ones of the VM that may still exist. */
  seed: vmPatchSchema.shape.seed,
  oldSeeds: vmPatchSchema.shape.oldSeeds,
});

export type VmPrivate = z.output<typeof schema>;

/** Then nothing counts as managed, and nothing is lost. */
export const NOTHING_KEPT: VmPrivate = { managed: [], applied: {} };

export const VM_PRIVATE_STATE = privateFormat<VmPrivate>(schema, NOTHING_KEPT);

/** `node` and `power` act only when they change, so what they were before comes from the state. */
export function recordedVm(state: CtyObject, kept: VmPrivate): VmRecord {
  const node = textAt(state, 'node') ?? '';
  const power = kept.switchedOff ? 'stopped' : (textAt(state, 'power') ?? 'running');
  const uuid = textAt(state, 'id');
  return {
    vmid: numberAt(state, 'vmid') ?? 0,
    ...(uuid !== undefined && { uuid }),
    node: textAt(state, 'current_node') ?? node,
    name: textAt(state, 'name') ?? '',
    phase: 'complete',
    lastApplied: { ...kept.applied, ...keptMarks(state), node, power },
    secrets: {},
    macs: textsOf(state.macs),
    addresses: addressesOf(state),
    ...(kept.seed && { seed: kept.seed }),
    ...(kept.oldSeeds && { oldSeeds: kept.oldSeeds }),
  };
}

/** The state of the host says which disks outlive the VM. */
function keptMarks({ disks }: CtyObject): Record<string, boolean> {
  const slots = isObject(disks) ? Object.entries(disks) : [];
  return Object.fromEntries(
    slots.flatMap(([slot, disk]): [string, boolean][] =>
      isObject(disk) && disk.keep === true ? [[`disks.${slot}.keep`, true]] : [],
    ),
  );
}

export function addressesOf(state: CtyObject): Record<string, string[]> {
  const known = isObject(state.addresses) ? Object.entries(state.addresses) : [];
  return Object.fromEntries(known.map(([nic, list]) => [nic, Array.isArray(list) ? list.filter(isText) : []]));
}

function textsOf(value: CtyValue | undefined): Record<string, string> {
  if (!isObject(value)) return {};
  return Object.fromEntries(Object.entries(value).filter((entry): entry is [string, string] => isText(entry[1])));
}

const isText = (value: unknown): value is string => typeof value === 'string';

/** One VM, as input of the engine. */
export interface SoloVm {
  readonly vm: ResolvedVm;
  /** Undefined for a VM that does not exist yet. */
  readonly recorded: VmRecord | undefined;
  readonly secrets: VmSecrets;
  readonly timeouts: Timeouts;
  /** Since when it is known to be off because of a run of ours. */
  readonly offSince?: Instant | undefined;
}

/** The engine's name for the VMs that take turns. */
export const outageGroup = ({ group }: ResolvedVm): string => `vm.${group}`;

export function workOn({ vm, recorded, secrets, timeouts, offSince }: SoloVm): EngineWork {
  const outage = offSince !== undefined && {
    [vm.address]: { group: outageGroup(vm), since: new Date(offSince).toISOString(), hooks: {} },
  };
  return {
    desired: { ...EMPTY_STACK, vms: [vm] },
    recorded: { vms: recorded ? { [vm.address]: recorded } : {}, ...(outage && { outages: outage }) },
    secrets: new Map([[vm.address, secrets]]),
    timeouts,
  };
}

/*
 * A VM that is off because a run of ours stopped between the two halves of a restart. Proxwright does not keep a VM running
 * as the configuration says: guests shut themselves down, and people power VMs off. But a VM that it powered off itself on
 * the way to something else has to run again. The task list of the server says who powered it off.
 */

const SWITCHES = /^qm(start|shutdown|stop|reboot|reset|suspend|resume)$/;
const OFF = /^qm(shutdown|stop)$/;
const TASKS_MAX = 50;

export function isSwitchOff(upid: Upid): boolean {
  return OFF.test(parseUpid(upid)?.type ?? '');
}

/** The private state that matters for this configuration: only a VM that may be restarted was being restarted. */
export function keptFor({ fields }: ResolvedVm, kept: VmPrivate): VmPrivate {
  if (fields.restart === 'when_needed') return kept;
  const { switchedOff: _, ...rest } = kept;
  return rest;
}

/** Asks the server only where the VM ran at the last refresh and does not run now. */
export async function isSwitchedOff(deps: Deps, state: CtyObject, kept: VmPrivate, vm: VmObserved): Promise<boolean> {
  if (vm.running || (textAt(state, 'power') ?? 'running') !== 'running') return false;
  if (kept.switchedOff) return true;
  if (textAt(state, 'status') !== 'running') return false;
  return isOffBecauseOfUs(deps, vm);
}

/** Whether the last task that switched it on or off was one of this token that switched it off. */
export async function isOffBecauseOfUs(
  { looks, signal }: Deps,
  { node, vmid }: Pick<VmObserved, 'node' | 'vmid'>,
): Promise<boolean> {
  const tasks = await looks.node(node).tasks.list({ source: 'all', vmid, limit: TASKS_MAX }, { signal });
  const [last] = tasks.filter(({ type }) => SWITCHES.test(type)).sort((a, b) => b.starttime - a.starttime);
  return last !== undefined && isSwitchOff(last.upid) && parseUpid(last.upid)?.user === looks.principal;
}
