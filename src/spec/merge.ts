/** Layers of a VM, laid over each other key by key: defaults ← group ← overrides. Positions travel with the values. */
import type { Entry, LocatedMap } from './located.ts';

/** Keys of which only one can be meant; a later layer's choice takes the earlier layer's away. */
const ALTERNATIVES: readonly (readonly string[])[] = [
  ['address', 'addresses'],
  ['mapping', 'device', 'spice'],
  ['image', 'import_from', 'iso'],
  ['env', 'file', 'command', 'text'],
];

/** `null` in a later layer takes a value of an earlier one away. */
export function mergeMaps(base: LocatedMap, over: LocatedMap): LocatedMap {
  // "remove" speaks of the whole slot, so it does not mix with what an earlier layer says of it.
  if (over.entries.has('remove') || base.entries.has('remove')) return withoutNulls(over);
  const entries = new Map<string, Entry>(base.entries);
  for (const key of over.entries.keys()) {
    for (const other of ALTERNATIVES.find((keys) => keys.includes(key)) ?? []) {
      if (other !== key && !over.entries.has(other)) entries.delete(other);
    }
  }
  for (const [key, entry] of over.entries) {
    const earlier = base.entries.get(key)?.value;
    if (entry.value.kind === 'scalar' && entry.value.value === null) entries.delete(key);
    else if (entry.value.kind !== 'map') entries.set(key, entry);
    else {
      const value = earlier?.kind === 'map' ? mergeMaps(earlier, entry.value) : withoutNulls(entry.value);
      entries.set(key, { ...entry, value });
    }
  }
  return { ...over, entries };
}

/** A layer on its own: nothing lies below, so its nulls have nothing to take away. */
export function withoutNulls(map: LocatedMap): LocatedMap {
  const entries = new Map<string, Entry>();
  for (const [key, entry] of map.entries) {
    if (entry.value.kind === 'map') entries.set(key, { ...entry, value: withoutNulls(entry.value) });
    else if (entry.value.kind !== 'scalar' || entry.value.value !== null) entries.set(key, entry);
  }
  return { ...map, entries };
}
