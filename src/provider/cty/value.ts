/**
 * Values of the host's language as plain data. A set is an array whose order means nothing; maps and objects are records
 * without a prototype, because `__proto__` is a legal key. Numbers have one form each, so that equal numbers are equal here.
 */

/** Not known before apply. */
export const UNKNOWN = Symbol('unknown');

/** A fraction that no JavaScript number is exactly. */
export class Decimal {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A safe integer or an exact fraction as `number`, larger integers as `bigint`, the rest as their digits. */
export type CtyNumber = number | bigint | Decimal;

export type CtyValue = null | typeof UNKNOWN | string | boolean | CtyNumber | readonly CtyValue[] | CtyObject;

export interface CtyObject {
  readonly [name: string]: CtyValue;
}

export function isObject(value: CtyValue | undefined): value is CtyObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Decimal);
}

/** A record without a prototype. */
export function objectOf(entries: Iterable<readonly [string, CtyValue]>): CtyObject {
  const object: Record<string, CtyValue> = Object.create(null);
  for (const [name, value] of entries) object[name] = value;
  return object;
}

/** No unknown anywhere in it. */
export function isWhollyKnown(value: CtyValue): boolean {
  if (value === UNKNOWN) return false;
  if (Array.isArray(value)) return value.every(isWhollyKnown);
  return isObject(value) ? Object.values(value).every(isWhollyKnown) : true;
}
