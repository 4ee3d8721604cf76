/** Reading and filling in attribute values, the same way for every kind. */
import { type CtyObject, type CtyValue, isObject, objectOf, UNKNOWN } from '../cty/value.ts';
import type { Attributes } from '../schema/model.ts';
import { equalValues } from '../values/equal.ts';

export function textAt(object: CtyObject, name: string): string | undefined {
  const value = object[name];
  return typeof value === 'string' ? value : undefined;
}

export function numberAt(object: CtyObject, name: string): number | undefined {
  const value = object[name];
  return typeof value === 'number' ? value : undefined;
}

export function valueIn(object: CtyObject, name: string): CtyValue {
  return object[name] ?? null;
}

/** Each of these attributes, unknown until apply. */
export function allUnknown(attributes: Attributes): CtyObject {
  return objectOf(Object.keys(attributes).map((name): [string, CtyValue] => [name, UNKNOWN]));
}

/** These attributes as they are in `object`. */
export function picked(attributes: Attributes, object: CtyObject): CtyObject {
  return objectOf(Object.keys(attributes).map((name): [string, CtyValue] => [name, valueIn(object, name)]));
}

/** The plan with what only the server knew filled in. Nothing stays unknown after apply. */
export function filledIn(attributes: Attributes, planned: CtyObject, computed: CtyObject): CtyObject {
  return objectOf(
    Object.keys(attributes).map((name): [string, CtyValue] => {
      const value = valueIn(planned, name);
      return [name, value === UNKNOWN ? valueIn(computed, name) : known(value)];
    }),
  );
}

function known(value: CtyValue): CtyValue {
  if (value === UNKNOWN) return null;
  return isObject(value) ? objectOf(Object.entries(value).map(([name, inner]) => [name, known(inner)])) : value;
}

export interface ValueChange {
  readonly path: readonly string[];
  readonly before: CtyValue;
  readonly after: CtyValue;
}

/**
 * Undefined if nothing changes. A value that the state never had, as after an import, or that is no longer set, is no
 * change.
 */
export function changeAt(path: readonly string[], prior: CtyObject, planned: CtyObject): ValueChange | undefined {
  const before: CtyValue = valueAt(prior, path);
  const after: CtyValue = valueAt(planned, path);
  const isChange = before !== null && after !== null && !equalValues(before, after);
  return isChange ? { path, before, after } : undefined;
}

function valueAt(object: CtyObject, path: readonly string[]): CtyValue {
  return path.reduce<CtyValue>(
    (value, name) => (isObject(value) ? (value[name] ?? null) : value === UNKNOWN ? UNKNOWN : null),
    object,
  );
}
