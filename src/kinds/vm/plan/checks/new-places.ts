/** Whether the file places a VM on a node, storage or bridge that it does not use yet. Pure. */

import { propertyOf } from '../../config/parts.ts';
import { effectiveValues, type VmObserved } from '../../observed.ts';
import type { ResolvedVm } from '../../stack.ts';

/** Places that the VM uses already exist, so only new ones have to be checked before a change. */
export function namesNewPlaces({ fields }: ResolvedVm, actual: VmObserved): boolean {
  if (fields.node !== actual.node) return true;
  const values = effectiveValues(actual);
  const isOn = (slot: string, storage: string | undefined) =>
    storage === undefined ? values.has(slot) : (values.get(slot)?.startsWith(`${storage}:`) ?? false);
  const disks = Object.entries(fields.disks ?? {}).some(([slot, disk]) => {
    if (disk.remove === true) return false;
    return !isOn(slot, typeof disk.iso === 'string' ? disk.iso.split(':')[0] : disk.storage);
  });
  const nics = Object.entries(fields.nics ?? {}).some(
    ([slot, { bridge }]) => bridge !== undefined && propertyOf(slot, values.get(slot)).get('bridge') !== bridge,
  );
  const efi = fields.efi !== undefined && !isOn('efidisk0', fields.efi.storage);
  const tpm = fields.tpm !== undefined && !isOn('tpmstate0', fields.tpm.storage);
  return disks || nics || efi || tpm;
}
