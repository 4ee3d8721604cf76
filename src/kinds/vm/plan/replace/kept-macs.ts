/** The MAC addresses that a replacement keeps. Pure. */
import type { ObservedVm } from '../../../observed.ts';
import type { OutageRecord } from '../../../outage.ts';
import { macsOf } from '../../config/parts.ts';
import { effectiveValues } from '../../observed.ts';
import type { VmRecord } from '../../record.ts';

/**
 * Those of the VM that is replaced. While an earlier replacement has not ended, what it recorded counts: the VM that is there
 * may be half destroyed, or half made.
 */
export function keptMacs(
  recorded: VmRecord,
  observedVm: ObservedVm | undefined,
  outage: OutageRecord | undefined,
): Readonly<Record<string, string>> {
  if (outage?.keeps) return outage.keeps.macs;
  return observedVm?.kind === 'present' ? macsOf(effectiveValues(observedVm.vm)) : recorded.macs;
}
