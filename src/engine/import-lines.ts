/**
 * The stack lines of an imported VM as they fare in the user's own file. Defaults of the file reach every VM; those that
 * are not true of this one are undone in its lines, by `null`, so that the next plan is empty.
 */
import type { VmFields } from '../kinds/vm/fields/index.ts';
import { type ImportedFields, isTree, type Tree } from './import-fields.ts';

/** What the file, with these lines in it, says of the VM; undefined where it is not valid then. */
export type ReadLines = (written: Readonly<Tree>) => Promise<VmFields | undefined>;

export interface FittedLines {
  readonly written: Readonly<Tree>;
  /** What the file says of the VM once the lines stand in it. */
  readonly fields: VmFields;
}

/** `untruePaths` tells what of some fields is not true of the VM. */
export async function fittedLines(
  found: ImportedFields,
  read: ReadLines,
  untruePaths: (fields: VmFields) => readonly string[],
): Promise<FittedLines> {
  let written = found.written;
  for (;;) {
    const fields = await read(written);
    if (!fields) return found;
    const fitted = untruePaths(fields).reduce(withNull, written);
    if (fitted === written) return { written, fields };
    written = fitted;
  }
}

/** Undoes what a default says at `path`, unless the lines themselves speak of it. */
function withNull(tree: Readonly<Tree>, path: string): Readonly<Tree> {
  const [key = '', ...rest] = path.split('.');
  const below = tree[key];
  if (!(key in tree)) return { ...tree, [key]: null };
  if (rest.length === 0 || !isTree(below)) return tree;
  const changed = withNull(below, rest.join('.'));
  return changed === below ? tree : { ...tree, [key]: changed };
}
