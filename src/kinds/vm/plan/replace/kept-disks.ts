/**
 * Disks that outlive their VM (`keep: true`): which ones they are, and the plans that are refused because of them
 * unless the user names the VM whose data may be destroyed. Pure.
 */
import { type Address, kindOf } from '../../../../base/address.ts';
import type { Diagnostic } from '../../../../base/diagnostics.ts';
import { ProxwrightError } from '../../../../base/errors.ts';
import { advice, command, type Hint, setting } from '../../../../base/hint.ts';
import { nodeCommand } from '../../../../base/text/node-command.ts';
import { printByteSize } from '../../../../base/values/units.ts';
import type { DestroyedVolume } from '../../../change.ts';
import { whereOf } from '../../../fields/positions.ts';
import { drivesOf, volumesOf } from '../../config/disks.ts';
import type { ObservedVm } from '../../observe/observed-vms.ts';
import { effectiveValues } from '../../observed.ts';
import type { VmRecord } from '../../record.ts';
import type { ResolvedVm } from '../../stack.ts';

/**
 * Marked in the file or by the last apply (a mark that left the file counts until the next one), or being handed over.
 */
export function keptSlots(
  vm: ResolvedVm | undefined,
  recorded: VmRecord | undefined,
  carried: Iterable<string> = [],
): ReadonlySet<string> {
  const disks = vm?.fields.disks ?? {};
  const inFile = Object.keys(disks).filter((slot) => disks[slot]?.keep);
  return new Set([...inFile, ...appliedKept(recorded), ...carried]);
}

function appliedKept(recorded: VmRecord | undefined): string[] {
  return Object.entries(recorded?.lastApplied ?? {}).flatMap(([path, value]) => {
    const slot = /^disks\.(\w+)\.keep$/.exec(path)?.[1];
    return slot !== undefined && value === true ? [slot] : [];
  });
}

export interface Keeping {
  readonly address: Address;
  /** Undefined once it has left the file. */
  readonly vm: ResolvedVm | undefined;
  readonly recorded: VmRecord | undefined;
  readonly observedVm: ObservedVm | undefined;
  /** Names of VMs whose data may be destroyed. */
  readonly destroyData: readonly string[];
  /** Slots of disks that a replacement carries from one VM to the next. */
  readonly carried?: Iterable<string> | undefined;
}

/** The volumes of kept disks; none of a VM whose data may be destroyed. `slots`: only these of its drives. */
export function keptVolumes(keeping: Keeping, slots?: ReadonlySet<string>): DestroyedVolume[] {
  const { vm, recorded, observedVm, destroyData, carried } = keeping;
  if (observedVm?.kind !== 'present' || namesOf(keeping).some((name) => destroyData.includes(name))) return [];
  const kept = keptSlots(vm, recorded, carried);
  const meant = slots ? new Set([...kept].filter((slot) => slots.has(slot))) : kept;
  return volumesOf(effectiveValues(observedVm.vm), meant);
}

/**
 * Volumes that another client may have detached from the slot of a kept disk: unused ones, and disks on slots that neither the
 * file nor the last apply has. Which volume a slot had is not recorded, so each of them may be the kept one.
 */
function detached(keeping: Keeping): { readonly slots: readonly string[]; readonly volumes: DestroyedVolume[] } {
  const { vm, recorded, observedVm, destroyData, carried = [] } = keeping;
  const nothing = { slots: [], volumes: [] };
  if (observedVm?.kind !== 'present' || namesOf(keeping).some((name) => destroyData.includes(name))) return nothing;
  const values = effectiveValues(observedVm.vm);
  const present = new Set([...volumesOf(values).map(({ slot }) => slot), ...carried]);
  const slots = appliedKept(recorded).filter((slot) => !present.has(slot));
  if (slots.length === 0) return nothing;
  const applied = Object.keys(recorded?.lastApplied ?? {}).map((path) => /^disks\.(\w+)\./.exec(path)?.[1]);
  const known = new Set([...applied, ...Object.keys(vm?.fields.disks ?? {})]);
  const disks = new Set(drivesOf(values).flatMap(({ key, kind }) => (kind === 'disk' ? [key] : [])));
  const isCandidate = (slot: string) => /^unused\d+$/.test(slot) || (disks.has(slot) && !known.has(slot));
  return { slots, volumes: volumesOf(values).filter(({ slot }) => isCandidate(slot)) };
}

/** Why a plan that destroys the VM is refused although no slot of a kept disk has a volume any more. */
export function detachedProblem(keeping: Keeping, by: DestroyedBy): Diagnostic | undefined {
  const { slots, volumes } = detached(keeping);
  const [[slot = ''], [first]] = [slots, volumes];
  if (!first || keeping.observedVm?.kind !== 'present') return undefined;
  const [name = ''] = namesOf(keeping);
  const { vmid } = keeping.observedVm.vm;
  return new ProxwrightError({
    code: 'DATA_KEPT',
    where: keeping.vm ? whereOf(keeping.vm, `disks.${slot}.keep`) : { address: keeping.address },
    detail: `Another client detached ${slots.join(' and ')} of "${name}", which is marked as kept. This would destroy ${listed(volumes)}, which may be the data. Nothing was changed.`,
    hint: advice`Attach the right volume again, on the node: ${nodeCommand('qm set', [vmid], { [slot]: first.volume })}. ${givingUp(keeping, name, by)}`,
  }).diagnostic;
}

function listed(volumes: readonly DestroyedVolume[]): string {
  return volumes
    .map(({ slot, volume, sizeBytes }) =>
      sizeBytes === undefined ? `${slot} (${volume})` : `${slot} (${printByteSize(sizeBytes)}, ${volume})`,
    )
    .join(' and ');
}

function namesOf({ vm, recorded }: Keeping): string[] {
  return [vm?.fields.name, recorded?.name].filter((name) => name !== undefined);
}

/** What would destroy the data. */
export type DestroyedBy = 'destroy' | 'apply' | 'replace';

/** Destroys what the refused command would have destroyed of this VM, and nothing of others. */
function givingUp({ address, vm }: Keeping, name: string, by: DestroyedBy): Hint {
  const data = ['--destroy-data', name];
  if (by === 'replace') return advice`This destroys the data: ${command('apply', '--replace', address, ...data)}`;
  const only = kindOf(address) === 'vm' ? ['--only', address] : [];
  const left = by === 'apply' && !vm ? ['--allow-delete'] : [];
  return advice`To destroy the data now: ${command(by, ...only, ...left, ...data)}`;
}

/** Why a plan that destroys these volumes is refused; undefined where there are none. */
export function keptProblem(
  keeping: Keeping,
  volumes: readonly DestroyedVolume[],
  by: DestroyedBy,
): Diagnostic | undefined {
  const [first] = volumes;
  if (!first) return undefined;
  const { address, vm } = keeping;
  const [name = ''] = namesOf(keeping);
  return new ProxwrightError({
    code: 'DATA_KEPT',
    where: vm ? whereOf(vm, `disks.${first.slot}.keep`) : { address },
    detail: `This would destroy ${listed(volumes)} of "${name}", which is marked as kept: keep is true. Nothing was changed.`,
    hint: advice`To give the disk up, set ${setting('keep', false)}, apply that, and try again. ${givingUp(keeping, name, by)}`,
  }).diagnostic;
}
