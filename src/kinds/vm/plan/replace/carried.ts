/**
 * Kept disks on their way from an old VM to the new one: where they are, why they cannot be carried, and the steps.
 * They are handed to a holder before the old VM is destroyed, and to the new VM once it exists. A run that ended in
 * between leaves them on the holder, and the next plan hands them to the VM that then has the address. Pure.
 */
import { type Address, keptAddress } from '../../../../base/address.ts';
import type { Diagnostic } from '../../../../base/diagnostics.ts';
import { ProxwrightError } from '../../../../base/errors.ts';
import { advice, command, type Hint, setting } from '../../../../base/hint.ts';
import { printByteSize } from '../../../../base/values/units.ts';
import { parseBootOrder } from '../../../../pve/wire/index.ts';
import { whereOf } from '../../../fields/positions.ts';
import type { PlanContext } from '../../../kind.ts';
import type { Observed } from '../../../observed.ts';
import type { Step } from '../../../step.ts';
import { drivesOf, parseDrive, storageOf } from '../../config/disks.ts';
import { holderName, lostDisk } from '../../holder.ts';
import { notOurs, sameVm } from '../../identity.ts';
import type { ObservedVm } from '../../observe/observed-vms.ts';
import { effectiveValues, type VmObserved } from '../../observed.ts';
import type { VmRecord } from '../../record.ts';
import type { ResolvedVm } from '../../stack.ts';
import { type HandOverInput, vmStep } from '../../steps.ts';
import { detachedProblem, keptVolumes } from './kept-disks.ts';

/** The holder that an earlier run made for a VM and did not remove. */
export interface Holding {
  readonly address: Address;
  readonly recorded: VmRecord;
  readonly found: ObservedVm | undefined;
  /** The disks it has, by slot. */
  readonly drives: ReadonlyMap<string, string>;
}

export function holdingOf(
  vm: Address,
  { state, observed }: Pick<PlanContext, 'state' | 'observed'>,
): Holding | undefined {
  const address = keptAddress(vm);
  const recorded = state.vms[address];
  if (!recorded) return undefined;
  const found = observed.vms.get(address);
  const values = found?.kind === 'present' ? effectiveValues(found.vm) : new Map<string, string>();
  const disks = drivesOf(values).filter(({ kind }) => kind === 'disk');
  return { address, recorded, found, drives: new Map(disks.map(({ key }) => [key, values.get(key) ?? ''])) };
}

/** Disks that the VM of a plan takes from the holder, by slot. */
export interface Carried {
  readonly drives: ReadonlyMap<string, string>;
  /** The node they are on. */
  readonly node: string;
  /** Slots of kept disks, including those that the VM already has. */
  readonly slots: ReadonlySet<string>;
}

/** What a VM takes from an existing holder; undefined if none exists. Problems are added to `problems`. */
export function carriedFrom(
  holding: Holding | undefined,
  vm: ResolvedVm,
  observedVm: ObservedVm | undefined,
  problems: Diagnostic[],
): Carried | undefined {
  if (!holding) return undefined;
  const own = observedVm?.kind === 'present' ? effectiveValues(observedVm.vm) : new Map<string, string>();
  const found = holdingProblems(holding, vm, own);
  problems.push(...found);
  const node = holding.found?.kind === 'present' ? holding.found.vm.node : holding.recorded.node;
  const slots = new Set([...holding.drives.keys(), ...Object.keys(holding.recorded.holds?.volumes ?? {})]);
  return { drives: holding.drives, node, slots };
}

function holdingProblems(holding: Holding, vm: ResolvedVm, own: ReadonlyMap<string, string>): Diagnostic[] {
  const { address, recorded, found, drives } = holding;
  const { vmid, node, holds } = recorded;
  if (found?.kind === 'hidden') {
    const detail = `VM ${vmid}, which holds its kept disks, cannot be read: the token needs ${found.needs}.`;
    const hint = 'Grant it to the user and to its token, then run the plan again.';
    return [new ProxwrightError({ code: 'PRIVILEGE_MISSING', where: whereOf(vm), detail, hint }).diagnostic];
  }
  if (found?.kind === 'present' && !sameVm(recorded, found.vm)) {
    return [notOurs({ address, recorded, observed: found.vm, where: whereOf(vm) }).diagnostic];
  }
  const isHolderGone = found?.kind !== 'present';
  const lost = Object.entries(holds?.volumes ?? {}).filter(([slot]) => !drives.has(slot) && !own.has(slot));
  const doubled = [...drives.keys()].filter((slot) => own.has(slot));
  return [
    ...lost.map(
      ([slot, volume]) =>
        lostDisk({ holder: address, vmid, node, slot, volume, isHolderGone, where: whereOf(vm, `disks.${slot}`) })
          .diagnostic,
    ),
    ...doubled.map((slot) =>
      refusal(
        vm,
        slot,
        `VM ${vmid} on ${node} holds the kept disk ${slot}, and the VM has another disk in this slot`,
        `Detach the other disk, then repeat the command.`,
      ),
    ),
  ];
}

/** Why a disk of this VM cannot be carried to a new one. */
function carryProblems(
  vm: ResolvedVm,
  actual: VmObserved,
  slots: readonly string[],
  { storages }: Pick<Observed, 'storages'>,
): Diagnostic[] {
  const { boot } = vm.fields;
  const rows = storages.get(actual.node);
  const order = parseBootOrder(actual.current.get('boot'));
  const booted = order?.kind === 'order' ? order.devices : [];
  const [first] = slots;
  const snapshot = actual.current.get('parent');
  // The snapshots would go with the old VM in any case, so it does not matter which disks they hold.
  if (first !== undefined && snapshot !== undefined) {
    return [
      refusal(
        vm,
        first,
        `${first} is kept and the VM has snapshots (the last one is ${snapshot}). Proxmox gives no disk in a snapshot to another VM, and the replacement would destroy the snapshots`,
        advice`Delete them first: ${command('snapshot delete', snapshot, '--only', vm.address)}`,
      ),
    ];
  }
  return slots.flatMap((slot): Diagnostic[] => {
    const storage = storageOf(parseDrive(slot, actual.current.get(slot) ?? ''));
    const type = rows?.ok ? rows.value.find((each) => each.storage === storage)?.type : undefined;
    const found: Diagnostic[] = [];
    if (type !== undefined && CANNOT_RENAME.has(type)) {
      found.push(
        refusal(
          vm,
          slot,
          `${slot} is kept and on "${storage}" (${type}), and Proxmox cannot give a volume of such a storage to another VM`,
          advice`Move the disk to another storage first: ${setting(`disks.${slot}.storage`)}.`,
        ),
      );
    }
    if (boot === undefined && booted.includes(slot)) {
      found.push(
        refusal(
          vm,
          slot,
          `${slot} is kept and in the boot order, which the file does not set, and Proxmox takes a disk that changes hands out of it`,
          advice`Set the boot order in the file: ${setting('boot', booted)}.`,
        ),
      );
    }
    return found;
  });
}

/** Volumes that are LUNs of another server have no name that Proxmox could change. */
const CANNOT_RENAME: ReadonlySet<string> = new Set(['iscsi', 'iscsidirect', 'zfs']);

/** Why the VM cannot take these disks: drives of its template in their slots, another node, or a file that removes them. */
export function slotProblems(
  vm: ResolvedVm,
  { drives, node }: Carried,
  { place, template }: { readonly place: string; readonly template?: ReadonlyMap<string, string> | undefined },
): Diagnostic[] {
  const slots = [...drives.keys()];
  const { disks = {}, clone } = vm.fields;
  return [
    ...slots
      .filter((slot) => disks[slot]?.remove)
      .map((slot) =>
        refusal(
          vm,
          slot,
          `${slot} is kept, and the file removes it`,
          advice`Let the VM have its disk back first: remove ${setting(`disks.${slot}.remove`)}, apply, then give it up with ${setting('keep', false)}.`,
        ),
      ),
    ...slots
      .filter((slot) => template?.has(slot))
      .map((slot) =>
        refusal(
          vm,
          slot,
          `${slot} is kept, and the template ${clone?.template} already has a disk in this slot`,
          'Use another slot for one of them: a new VM could not have both.',
        ),
      ),
    ...(node === place
      ? []
      : slots
          .slice(0, 1)
          .map((slot) =>
            refusal(
              vm,
              slot,
              `The kept disks of ${vm.address} are on ${node}, and the VM would get them on ${place}. Disks change hands within a node only`,
              advice`Leave the VM on its node for now (${setting('node', node)}); once it has its disks, a later apply can move it.`,
            ),
          )),
  ];
}

function refusal(vm: ResolvedVm, slot: string, reason: string, hint: Hint | string): Diagnostic {
  return new ProxwrightError({
    code: 'DATA_KEPT',
    where: whereOf(vm, `disks.${slot}`),
    detail: `${reason}. Nothing was changed.`,
    hint,
  }).diagnostic;
}

/** The VM as it is once it has taken the disks. */
export function withDrives(vm: VmObserved, carried: Carried | undefined): VmObserved {
  return carried ? { ...vm, current: new Map([...vm.current, ...carried.drives]) } : vm;
}

/** `kept: scsi1 (100GiB) is carried to the new VM`. */
export function carryNotes({ drives }: Carried, words = 'is carried to the new VM'): string[] {
  return [...drives].map(([slot, text]) => {
    const { sizeBytes } = parseDrive(slot, text);
    return `kept: ${slot}${sizeBytes === undefined ? '' : ` (${printByteSize(sizeBytes)})`} ${words}`;
  });
}

function handOverInput(vm: ResolvedVm, slot: string, text: string): HandOverInput {
  const drive = parseDrive(slot, text);
  const { sizeBytes } = drive;
  return { slot, storage: storageOf(drive) ?? '', ...(sizeBytes !== undefined && { sizeBytes }), ...poolOf(vm) };
}

const poolOf = ({ fields: { pool } }: ResolvedVm) => (pool === undefined ? {} : { pool });

interface Replaced extends Pick<PlanContext, 'observed' | 'options' | 'ids'> {
  readonly recorded: VmRecord;
  readonly observedVm: ObservedVm | undefined;
}

interface Replacement {
  /** What the new VM takes over; undefined if nothing is kept. */
  readonly carried: Carried | undefined;
  readonly problems: readonly Diagnostic[];
  /** Up to the destruction of the old VM. */
  readonly steps: readonly Step[];
}

/** Removes the old VM and keeps its kept disks. `held`: what an earlier run has handed over already. */
export function carriedThrough(vm: ResolvedVm, replaced: Replaced, held: Carried | undefined): Replacement {
  const { recorded, observedVm, observed, options, ids } = replaced;
  const { address } = vm;
  const keeping = { address, vm, recorded, observedVm, destroyData: options.destroyData ?? [], carried: held?.slots };
  const actual = observedVm?.kind === 'present' ? observedVm.vm : undefined;
  const lost = detachedProblem(keeping, 'replace');
  if (lost) return { carried: held, problems: [lost], steps: [] };
  const given = new Map(keptVolumes(keeping).map(({ slot }) => [slot, actual?.current.get(slot) ?? '']));
  if (!actual || (given.size === 0 && !held)) {
    return { carried: held, problems: [], steps: [vmStep(address, 'vm.destroy', { stop: 'shutdown' })] };
  }
  const drives = new Map([...given, ...(held?.drives ?? [])]);
  const { name } = vm.fields;
  const planned = held ? undefined : ids.spare(vm, keptAddress(address));
  const holder = { node: actual.node, name: holderName(name), of: name, ...(planned !== undefined && { planned }) };
  return {
    carried: { drives, node: actual.node, slots: new Set(drives.keys()) },
    problems: carryProblems(vm, actual, [...given.keys()], observed),
    steps: [
      vmStep(address, 'vm.hold', { ...holder, ...poolOf(vm) }),
      vmStep(address, 'vm.stop', { how: 'shutdown', forNow: true }),
      ...[...given].map(([slot, text]) =>
        vmStep(address, 'vm.give-disk', handOverInput(vm, slot, text), { part: slot }),
      ),
      vmStep(address, 'vm.destroy', { stop: 'shutdown', without: [...drives.keys()] }),
    ],
  };
}

export function takingSteps(vm: ResolvedVm, carried: Carried | undefined): Step[] {
  return [...(carried?.drives ?? [])].map(([slot, text]) =>
    vmStep(vm.address, 'vm.take-disk', handOverInput(vm, slot, text), { part: slot }),
  );
}

/**
 * Removes the holder once the VM was read back with its disks. `steps`: those of the VM that take the disks, and all
 * later ones.
 */
export function withoutHolder(vm: ResolvedVm, carried: Carried | undefined, steps: readonly Step[]): Step[] {
  if (!carried) return [...steps];
  const unhold = vmStep(vm.address, 'vm.unhold', poolOf(vm));
  const at = steps.findLastIndex(({ action }) => action === 'vm.verify' || action === 'vm.take-disk') + 1;
  return [...steps.slice(0, at), unhold, ...steps.slice(at)];
}
