/** The MAC addresses that a replacement keeps. Pure. */

import type { OutageRecord } from '../../../outage.ts';
import { macsOf } from '../../config/parts.ts';
import type { ObservedVm } from '../../observe/observed-vms.ts';
import { effectiveValues } from '../../observed.ts';
import type { VmRecord } from '../../record.ts';

/**
 * Those of the VM that is replaced. While an earlier replacement is unfinished, its record counts: the existing VM may
 * be half destroyed or half created.
 */
export function keptMacs(
  recorded: VmRecord,
  observedVm: ObservedVm | undefined,
  outage: OutageRecord | undefined,
): Readonly<Record<string, string>> {
  if (outage?.keeps) return outage.keeps.macs;
  return observedVm?.kind === 'present' ? macsOf(effectiveValues(observedVm.vm)) : recorded.macs;
}
