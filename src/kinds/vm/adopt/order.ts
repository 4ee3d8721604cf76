/** The order of fields in a file: as the reference page has them, with the place of the VM first. Pure. */
import { once } from '../../../base/values/once.ts';
import { vmFieldRows } from '../fields/rows.ts';
import { type Leaves, SLOT } from './shared-values.ts';

const ranks = once(() => new Map(vmFieldRows().map(({ path }, index) => [path, index])));

export function inOrder(leaves: Leaves): Map<string, unknown> {
  const ranked = [...leaves].map(([path, value]) => {
    const slot = SLOT.exec(path)?.[0];
    return { path, value, slot, rank: rankOf(path), device: slot === undefined ? undefined : rankOf(slot) };
  });
  // Devices one after the other, each with all of its fields.
  return new Map(
    ranked
      .sort(
        (a, b) =>
          (a.device ?? a.rank) - (b.device ?? b.rank) ||
          (a.slot ?? '').localeCompare(b.slot ?? '', 'en', { numeric: true }) ||
          a.rank - b.rank,
      )
      .map(({ path, value }) => [path, value]),
  );
}

function rankOf(path: string): number {
  if (path === 'node' || path === 'nodes') return -1;
  // Addresses of members are a list; parts without a row, such as `extra.args`, take the position of their owner.
  for (let at = path.replace(SLOT, '$1.*').replace(/\.addresses$/, '.address'); at !== ''; at = ownerOf(at)) {
    const rank = ranks().get(at) ?? firstBelow(at);
    if (rank !== undefined) return rank;
  }
  return ranks().size;
}

const ownerOf = (path: string) => path.slice(0, Math.max(0, path.lastIndexOf('.')));

function firstBelow(branch: string): number | undefined {
  for (const [path, rank] of ranks()) if (path.startsWith(`${branch}.`)) return rank;
  return undefined;
}
