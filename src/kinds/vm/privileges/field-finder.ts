/** Finds the line of the file behind a configuration key: from the key back to the field, and to its position. */
import type { Address } from '../../../base/address.ts';
import type { Where } from '../../../base/diagnostics.ts';
import { whereOf } from '../../fields/positions.ts';
import type { Observed } from '../../observed.ts';
import { pciMappingsFor } from '../../pci-mapping/plan.ts';
import type { Cause } from '../../privileges/need.ts';
import { desiredConfig } from '../config/desired-config.ts';
import type { ResolvedVm } from '../stack.ts';

export interface FieldFinder {
  whereOf(cause: Cause): Where;
}

/** `vm` is undefined if the VM left the file: then only its address is known. */
export function fieldFinder(vm: ResolvedVm | undefined, address: Address, observed: Observed): FieldFinder {
  if (!vm) return { whereOf: () => ({ address }) };
  const desired = desiredConfig(vm.fields, { ownershipLine: ' ', pciMappings: pciMappingsFor(vm, observed) });
  return {
    whereOf: (cause) => {
      if ('field' in cause) return whereOf(vm, cause.field);
      const { key, part } = cause;
      const fields = desired.get(key)?.fields ?? [];
      const field = fields.find(({ parts }) => part !== undefined && parts.includes(part)) ?? fields[0];
      // Secrets are left out above: this needs their keys, not their values.
      return whereOf(
        vm,
        field?.path ?? (key === 'cipassword' ? 'cloud_init.password' : OWNERS[key.replace(/\d+$/, '')]),
      );
    },
  };
}

/** Keys that are written because of a field with another name. */
const OWNERS: Readonly<Record<string, string>> = {
  net: 'nics',
  scsi: 'disks',
  ide: 'disks',
  sata: 'disks',
  virtio: 'disks',
};
