/** Merges the layers of a VM key by key: defaults ← group ← overrides. Values keep their positions. */
import type { Entry, LocatedMap } from './located.ts';

/** Keys that exclude each other; the choice of a later layer removes that of an earlier one. */
const ALTERNATIVES: readonly (readonly string[])[] = [
  ['address', 'addresses'],
  ['mapping', 'device', 'spice'],
  ['image', 'import_from', 'iso'],
  ['env', 'file', 'command', 'text'],
];

/** `null` in a later layer removes the value of an earlier one. */
export function mergeMaps(base: LocatedMap, over: LocatedMap): LocatedMap {
  // "remove" is about the whole slot, so it replaces what an earlier layer says about it.
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

/** The lowest layer: its nulls have nothing to remove. */
export function withoutNulls(map: LocatedMap): LocatedMap {
  const entries = new Map<string, Entry>();
  for (const [key, entry] of map.entries) {
    if (entry.value.kind === 'map') entries.set(key, { ...entry, value: withoutNulls(entry.value) });
    else if (entry.value.kind !== 'scalar' || entry.value.value !== null) entries.set(key, entry);
  }
  return { ...map, entries };
}
