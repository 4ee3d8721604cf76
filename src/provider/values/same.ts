/**
 * Whether what the user wants already is what stands, in another spelling: `8GiB` and `8192MiB`, a MAC address in small
 * letters. There is no table of spellings here: a field's own schema reads both, and the engine's comparison decides.
 */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { DesiredEntry, DesiredField } from '../../kinds/vm/desired.ts';
import { desiredConfig } from '../../kinds/vm/desired-config.ts';
import { isFieldSatisfied, mergedText } from '../../kinds/vm/diff/merge.ts';
import type { VmFields } from '../../kinds/vm/fields/index.ts';
import { type CtyValue, isObject, isWhollyKnown } from '../cty/value.ts';
import { VM_SHAPE } from '../schema/from-fields.ts';
import { type LeafShape, shapeAt } from '../schema/shape.ts';
import { equalSets, equalValues } from './equal.ts';
import { toFields } from './to-fields.ts';

/** `path` is the dotted path of a leaf: `nics.net0.mac`. */
export function sameMeaning(path: string, wanted: CtyValue, present: CtyValue): boolean {
  if (equalValues(wanted, present)) return true;
  if (wanted === null || present === null || !isWhollyKnown(wanted) || !isWhollyKnown(present)) return false;
  const shape = shapeAt(VM_SHAPE, path);
  if (shape?.kind !== 'leaf') return false;
  if (isSet(shape) && Array.isArray(wanted) && Array.isArray(present) && equalSets(wanted, present)) return true;
  if (isObject(wanted) && isObject(present)) {
    const [left, right] = [Object.keys(wanted), Object.keys(present)];
    return (
      isDeepStrictEqual(left.sort(), right.sort()) &&
      left.every((name) => isFulfilled(`${path}.${name}`, wanted[name] ?? null, present[name] ?? null))
    );
  }
  const [a, b] = [parsed(shape, path, wanted), parsed(shape, path, present)];
  return a !== undefined && b !== undefined && (isDeepStrictEqual(a, b) || isFulfilled(path, a, b));
}

const isSet = ({ type }: LeafShape) => Array.isArray(type) && type[0] === 'set';

/** What the field's own schema makes of it; undefined where it refuses. */
function parsed(shape: LeafShape, path: string, value: CtyValue): unknown {
  const [name = ''] = path.split('.').slice(-1);
  const { tree } = toFields({ [name]: value }, { ...VM_SHAPE, fields: { [name]: shape } });
  return z.safeParse(shape.schema, tree[name]).data;
}

/** The engine, told the one thing on a VM that has the other, would find nothing to do. */
function isFulfilled(path: string, wanted: unknown, present: unknown): boolean {
  if (equalValues(wanted as CtyValue, present as CtyValue)) return true; // only compared
  const [wish, other] = [wishFor(path, wanted), wishFor(path, present)];
  if (!wish || !other || wish.entry.desired.kind === 'secret' || other.entry.desired.kind === 'secret') return false;
  const actual = mergedText(other.entry.key, other.entry.desired, isDrive(other.entry) ? SOME_VOLUME : undefined);
  // Some texts cannot be built here, because the engine never changes such a thing either.
  return isFieldSatisfied(other.entry, other.field, actual) && isFieldSatisfied(wish.entry, wish.field, actual);
}

/** Options need a drive to be options of. */
const SOME_VOLUME = 'storage:volume';

interface OneWish {
  readonly entry: DesiredEntry;
  readonly field: DesiredField;
}

/** A drive's volume is compared by what it was made from, which is no matter of spelling. */
function wishFor(path: string, value: unknown): OneWish | undefined {
  const steps = path.split('.');
  const fields = steps.reduceRight<unknown>((inner, step) => ({ [step]: inner }), value);
  // What is wanted of one field does not depend on those that every VM has.
  for (const entry of desiredConfig(fields as VmFields, {}).values()) {
    const field = entry.fields.find((each) => each.path === path);
    if (!field) continue;
    const { desired } = entry;
    const isOption = !isDrive(entry) || ('set' in desired && field.parts.every((part) => part in desired.set));
    return isOption ? { entry, field } : undefined;
  }
  return undefined;
}

function isDrive({ desired }: DesiredEntry): boolean {
  return desired.kind === 'disk' || desired.kind === 'cloud-init-drive';
}
