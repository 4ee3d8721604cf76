/**
 * Whether the desired value equals the present one in another spelling: `8GiB` and `8192MiB`, a MAC address in lower case.
 * There is no table of spellings here: the field's own schema reads both, and the engine's comparison decides.
 */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { DesiredEntry, DesiredField } from '../../../../kinds/vm/config/desired.ts';
import { desiredConfig } from '../../../../kinds/vm/config/desired-config.ts';
import { isFieldSatisfied, mergedText } from '../../../../kinds/vm/diff/merge.ts';
import type { VmFields } from '../../../../kinds/vm/fields/index.ts';
import { type CtyValue, isObject, isWhollyKnown } from '../../../cty/value.ts';
import { type LeafShape, shapeAt } from '../../../schema/shape.ts';
import { equalSets, equalValues } from '../../../values/equal.ts';
import { toFields } from '../../../values/to-fields.ts';
import { VM_SHAPE } from '../shape.ts';

/** `path` is the dotted path of a leaf: `nics.net0.mac`. */
export function sameMeaning(path: string, desired: CtyValue, present: CtyValue): boolean {
  if (equalValues(desired, present)) return true;
  if (desired === null || present === null || !isWhollyKnown(desired) || !isWhollyKnown(present)) return false;
  const shape = shapeAt(VM_SHAPE, path);
  if (shape?.kind !== 'leaf') return false;
  if (isSet(shape) && Array.isArray(desired) && Array.isArray(present) && equalSets(desired, present)) return true;
  if (isObject(desired) && isObject(present)) {
    const [left, right] = [Object.keys(desired), Object.keys(present)];
    return (
      isDeepStrictEqual(left.sort(), right.sort()) &&
      left.every((name) => isFulfilled(`${path}.${name}`, desired[name] ?? null, present[name] ?? null))
    );
  }
  const [a, b] = [parsed(shape, path, desired), parsed(shape, path, present)];
  return a !== undefined && b !== undefined && (isDeepStrictEqual(a, b) || isFulfilled(path, a, b));
}

const isSet = ({ type }: LeafShape) => Array.isArray(type) && type[0] === 'set';

/** What the field's own schema reads; undefined where it refuses the value. */
function parsed(shape: LeafShape, path: string, value: CtyValue): unknown {
  const [name = ''] = path.split('.').slice(-1);
  const { tree } = toFields({ [name]: value }, { ...VM_SHAPE, fields: { [name]: shape } });
  return z.safeParse(shape.schema, tree[name]).data;
}

/** The engine would find nothing to do on a VM that has the one value and should have the other. */
function isFulfilled(path: string, desired: unknown, present: unknown): boolean {
  if (equalValues(desired as CtyValue, present as CtyValue)) return true; // only compared
  const [own, other] = [desiredOne(path, desired), desiredOne(path, present)];
  if (!own || !other || own.entry.desired.kind === 'secret' || other.entry.desired.kind === 'secret') return false;
  const actual = mergedText(other.entry.key, other.entry.desired, isDrive(other.entry) ? SOME_VOLUME : undefined);
  // Some texts cannot be built here, because the engine never changes them either.
  return isFieldSatisfied(other.entry, other.field, actual) && isFieldSatisfied(own.entry, own.field, actual);
}

/** Options need a drive to be options of. */
const SOME_VOLUME = 'storage:volume';

interface DesiredOne {
  readonly entry: DesiredEntry;
  readonly field: DesiredField;
}

/** A drive's volume is compared by its source, which is not a question of spelling. */
function desiredOne(path: string, value: unknown): DesiredOne | undefined {
  const steps = path.split('.');
  const fields = steps.reduceRight<unknown>((inner, step) => ({ [step]: inner }), value);
  // The desired value of one field does not depend on the required fields.
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
