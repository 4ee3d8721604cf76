/**
 * A VM after a refresh: the values of the state, in their own spelling, except where the engine observed something else.
 * What the state does not mention is not managed and stays unmentioned.
 */
import { assertNever } from '../../../../base/errors.ts';
import { type CtyObject, type CtyValue, isObject, objectOf } from '../../../cty/value.ts';
import { type GroupShape, type LeafShape, type Shape, type SlotsShape, SWITCH } from '../../../schema/shape.ts';
import { VM_SHAPE } from '../shape.ts';

export interface RefreshedInput {
  readonly state: CtyObject;
  /** Everything the VM has, as `fromFields` gives it. */
  readonly actual: CtyObject;
  /** Dotted paths of the fields that differ from the state. */
  readonly differing: readonly string[];
}

/** Attributes that are not fields stay as they are. */
export function refreshedAttributes({ state, actual, differing }: RefreshedInput): CtyObject {
  return refreshGroup(VM_SHAPE, state, actual, '', differing);
}

function refreshGroup(
  shape: GroupShape,
  state: CtyObject,
  actual: CtyObject | undefined,
  path: string,
  differing: readonly string[],
): CtyObject {
  return objectOf(
    Object.entries(state).map(([name, value]) => {
      const found = actual?.[name] ?? null;
      if (shape.hasSwitch && name === SWITCH) return [name, value !== null && isAmong(path, differing) ? found : value];
      const inner = Object.hasOwn(shape.fields, name) ? shape.fields[name] : undefined;
      return [name, inner === undefined ? value : refresh(inner, value, found, below(path, name), differing)];
    }),
  );
}

function refresh(
  shape: Shape,
  state: CtyValue,
  actual: CtyValue,
  path: string,
  differing: readonly string[],
): CtyValue {
  if (state === null) return null;
  switch (shape.kind) {
    case 'leaf':
      return refreshLeaf(shape, state, actual, path, differing);
    case 'group': {
      if (!isObject(state)) return state;
      const group = refreshGroup(shape, state, isObject(actual) ? actual : undefined, path, differing);
      // A group that lost all its values is gone.
      return isEmpty(group) && !isEmpty(state) ? null : group;
    }
    case 'slots':
      return isObject(state) ? refreshSlots(shape, state, actual, path, differing) : state;
    default:
      return assertNever(shape);
  }
}

function refreshLeaf(
  shape: LeafShape,
  state: CtyValue,
  actual: CtyValue,
  path: string,
  differing: readonly string[],
): CtyValue {
  if (isAmong(path, differing)) return actual;
  // A value that applies only at creation is recorded, not observed.
  if (shape.facts?.effect === 'creation') return state;
  if (!isObject(state)) return differing.some((each) => each.startsWith(`${path}.`)) ? actual : state;
  const found = isObject(actual) ? actual : {};
  return objectOf(
    Object.entries(state).flatMap(([key, value]): [string, CtyValue][] => {
      if (!isAmong(below(path, key), differing)) return [[key, value]];
      const other = found[key];
      return other === undefined ? [] : [[key, other]];
    }),
  );
}

function refreshSlots(
  shape: SlotsShape,
  state: CtyObject,
  actual: CtyValue,
  path: string,
  differing: readonly string[],
): CtyObject {
  const found = isObject(actual) ? actual : {};
  return objectOf(
    Object.entries(state).flatMap(([slot, value]): [string, CtyValue][] => {
      const at = below(path, slot);
      const device = found[slot];
      const isTouched = differing.some((each) => each === at || each.startsWith(`${at}.`));
      if (device === undefined && isTouched) return [];
      if (!isObject(value)) return [[slot, value]];
      return [[slot, refreshGroup(shape.item, value, isObject(device) ? device : undefined, at, differing)]];
    }),
  );
}

/** The path itself, or a whole that contains it. */
function isAmong(path: string, differing: readonly string[]): boolean {
  return differing.some((each) => each === path || path.startsWith(`${each}.`));
}

function isEmpty(object: CtyObject): boolean {
  return Object.values(object).every((value) => value === null);
}

function below(path: string, step: string): string {
  return path === '' ? step : `${path}.${step}`;
}
