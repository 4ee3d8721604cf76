/**
 * Whether two values of the host's language are equal, including their spelling. A set looks like a list here; only its
 * type distinguishes them.
 */
import { type CtyValue, Decimal, isObject } from '../cty/value.ts';

export function equalValues(a: CtyValue, b: CtyValue): boolean {
  if (a === b) return true;
  if (a instanceof Decimal || b instanceof Decimal) {
    return a instanceof Decimal && b instanceof Decimal && a.text === b.text;
  }
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item: CtyValue, place) => equalValues(item, b[place] ?? null));
  }
  if (!isObject(a) || !isObject(b)) return false;
  const [left, right] = [Object.keys(a), Object.keys(b)];
  return (
    left.length === right.length &&
    left.every((name) => Object.hasOwn(b, name) && equalValues(a[name] ?? null, b[name] ?? null))
  );
}

/** The same elements, in any order and number. */
export function equalSets(a: readonly CtyValue[], b: readonly CtyValue[]): boolean {
  const isIn = (item: CtyValue, set: readonly CtyValue[]) => set.some((each) => equalValues(item, each));
  return a.every((item) => isIn(item, b)) && b.every((item) => isIn(item, a));
}
