/**
 * The MAC addresses that a VM takes over from the one that it replaces, so that DHCP servers and switches recognise it.
 */
import { partOf, rowAt } from '../fields/rows.ts';
import type { DesiredConfig, DesiredEntry } from './desired.ts';

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
