/** The MAC addresses that a VM has, by slot: as read, or as recorded where it cannot be read. Pure. */
import type { ObservedVm } from '../../observed.ts';
import { macsOf } from '../config/parts.ts';
import { effectiveValues } from '../observed.ts';
import type { VmRecord } from '../record.ts';

export function currentMacs({ macs }: VmRecord, observedVm: ObservedVm | undefined): Readonly<Record<string, string>> {
  return observedVm?.kind === 'present' ? macsOf(effectiveValues(observedVm.vm)) : macs;
}
