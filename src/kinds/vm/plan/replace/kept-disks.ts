/**
 * Disks that outlive their VM (`keep: true`): which ones they are, and the plans that are refused because of them
 * unless the user names the VM whose data may be destroyed. Pure.
 */
import type { Address } from '../../../../base/address.ts';
import type { Diagnostic } from '../../../../base/diagnostics.ts';
import { ProxwrightError } from '../../../../base/errors.ts';
import { advice, command, setting } from '../../../../base/hint.ts';
import { printByteSize } from '../../../../base/values/units.ts';
import type { DestroyedVolume } from '../../../change.ts';
import type { ObservedVm } from '../../../observed.ts';
import type { VmRecord } from '../../../recorded.ts';
import { type ResolvedVm, whereOf } from '../../../stack.ts';
import { volumesOf } from '../../config/disks.ts';
import { effectiveValues } from '../../observed.ts';

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
  const applied = Object.entries(recorded?.lastApplied ?? {}).flatMap(([path, value]) => {
    const slot = /^disks\.(\w+)\.keep$/.exec(path)?.[1];
    return slot !== undefined && value === true ? [slot] : [];
  });
  return new Set([...inFile, ...applied, ...carried]);
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

function namesOf({ vm, recorded }: Keeping): string[] {
  return [vm?.fields.name, recorded?.name].filter((name) => name !== undefined);
}

/** Why a plan that destroys these volumes is refused; undefined where there are none. */
export function keptProblem(
  keeping: Keeping,
  volumes: readonly DestroyedVolume[],
  by: 'destroy' | 'apply',
): Diagnostic | undefined {
  const [first] = volumes;
  if (!first) return undefined;
  const { address, vm } = keeping;
  const [name = ''] = namesOf(keeping);
  const listed = volumes.map(({ slot, volume, sizeBytes }) =>
    sizeBytes === undefined ? `${slot} (${volume})` : `${slot} (${printByteSize(sizeBytes)}, ${volume})`,
  );
  return new ProxwrightError({
    code: 'DATA_KEPT',
    where: vm ? whereOf(vm, `disks.${first.slot}.keep`) : { address },
    detail: `This would destroy ${listed.join(' and ')} of "${name}", which the stack keeps: keep is true. Nothing was changed.`,
    hint: advice`To give the disk up, set ${setting('keep', false)}, apply that, and try again. To destroy the data now: ${command(by, '--destroy-data', name)}`,
  }).diagnostic;
}
