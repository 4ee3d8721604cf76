/** Lists in short: items by a key, numbers as ranges, names by their ends. */

/** Node 20 has no `Map.groupBy`. Groups and their members keep their order. */
export function groupedBy<Item, Key>(items: Iterable<Item>, keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}

/** `106–165, 170`. */
export function rangesOf(numbers: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const each of numbers.toSorted((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last && each <= last[1] + 1) last[1] = each;
    else ranges.push([each, each]);
  }
  return ranges.map(([from, to]) => (from === to ? `${from}` : `${from}–${to}`)).join(', ');
}

/** More ranges than this are shown by their ends. */
export const MOST_RANGES = 4;

/** `106–165`, or `2001 … 2247` where a placement has given every third number to one node. */
export function shortRangesOf(numbers: readonly number[]): string {
  const ranges = rangesOf(numbers);
  return ranges.split(', ').length > MOST_RANGES ? `${Math.min(...numbers)} … ${Math.max(...numbers)}` : ranges;
}
