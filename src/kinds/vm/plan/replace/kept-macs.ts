/** The MAC addresses that a replacement keeps, so that DHCP servers and switches recognise the new VM. Pure. */
import type { OutageRecord } from '../../../outage.ts';
import type { DesiredConfig, DesiredEntry } from '../../config/desired.ts';
import { macsOf } from '../../config/parts.ts';
import { partOf, rowAt } from '../../fields/rows.ts';
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

/** For the NICs of the new VM whose address the file does not set. `base`: the values of its template, or its own. */
export function withTakenOverMacs(
  desired: DesiredConfig,
  macs: Readonly<Record<string, string>>,
  base: ReadonlyMap<string, string>,
): DesiredConfig {
  const added = Object.entries(macs).flatMap(([slot, mac]): [string, DesiredEntry][] => {
    const entry = desired.get(slot) ?? (base.has(slot) ? inherited(slot) : undefined);
    const row = rowAt('nics.*.mac');
    const part = partOf(row);
    if (entry?.desired.kind !== 'property' || entry.desired.set[part] !== undefined) return [];
    const field = {
      path: `nics.${slot}.${row.name}`,
      value: mac,
      words: row.words,
      parts: [part],
      takenOver: true,
    } as const;
    const set = { ...entry.desired.set, [part]: mac };
    return [[slot, { ...entry, desired: { ...entry.desired, set }, fields: [...entry.fields, field] }]];
  });
  return added.length > 0 ? new Map([...desired, ...added]) : desired;
}

/** A NIC that only the template has. */
const inherited = (key: string): DesiredEntry => ({ key, desired: { kind: 'property', set: {} }, fields: [] });
