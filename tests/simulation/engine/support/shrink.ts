/** Reduces a failing list to the shortest one, of the simplest items, that still fails. Pure. */

/**
 * Takes away one item after the other, and then makes those that are left simpler, for as long as it still fails. What comes
 * back is a list of which no item can be missed; it need not be the only one. `simpler` gives the next simpler form of an
 * item, or undefined where there is none.
 */
export async function shrink<Item>(
  failing: readonly Item[],
  simpler: (item: Item) => Item | undefined,
  stillFails: (items: readonly Item[]) => Promise<boolean>,
): Promise<readonly Item[]> {
  const next = await firstFailing(candidates(failing, simpler), stillFails);
  return next === undefined ? failing : shrink(next, simpler, stillFails);
}

/** Shorter lists first: one item that is gone is worth more than one that is simpler. */
function* candidates<Item>(items: readonly Item[], simpler: (item: Item) => Item | undefined): Generator<Item[]> {
  // Large parts first, so that a long list is short soon.
  for (let size = Math.ceil(items.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < items.length; from += size) yield [...items.slice(0, from), ...items.slice(from + size)];
  }
  for (const [index, item] of items.entries()) {
    const other = simpler(item);
    if (other !== undefined) yield items.with(index, other);
  }
}

async function firstFailing<Item>(
  lists: Iterable<Item[]>,
  stillFails: (items: readonly Item[]) => Promise<boolean>,
): Promise<Item[] | undefined> {
  for (const list of lists) if (await stillFails(list)) return list;
  return undefined;
}
