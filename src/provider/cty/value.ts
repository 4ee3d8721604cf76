/**
 * Values and types of the host's language as plain data. A set is an array whose order means nothing. Maps and objects are
 * records without a prototype, because `__proto__` is a legal key. Each number has one form, so equal numbers compare equal.
 */
import { CtyError } from './path.ts';

/** A value that is not known before apply. */
export const UNKNOWN = Symbol('unknown');

/** A fraction that no JavaScript number equals. */
export class Decimal {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Safe integers and short fractions as `number`, larger integers as `bigint`, all others by their digits. */
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

/** Whether nothing in the value is unknown. */
export function isWhollyKnown(value: CtyValue): boolean {
  if (value === UNKNOWN) return false;
  if (Array.isArray(value)) return value.every(isWhollyKnown);
  return isObject(value) ? Object.values(value).every(isWhollyKnown) : true;
}

/** A type, in the form in which the protocol writes it as JSON. */
export type CtyType =
  | 'string'
  | 'number'
  | 'bool'
  | 'dynamic'
  | readonly ['list' | 'set' | 'map', CtyType]
  | readonly ['object', Readonly<Record<string, CtyType>>]
  | readonly ['tuple', readonly CtyType[]];

/** The type that comes with a value, from parsed JSON. A list of optional attributes, if there is one, is skipped. */
export function typeFromJson(json: unknown): CtyType {
  if (json === 'string' || json === 'number' || json === 'bool' || json === 'dynamic') return json;
  const [kind, inner]: readonly unknown[] = Array.isArray(json) ? json : [];
  if (kind === 'list' || kind === 'set' || kind === 'map') return [kind, typeFromJson(inner)];
  if (kind === 'tuple' && Array.isArray(inner)) return ['tuple', inner.map((type) => typeFromJson(type))];
  if (kind === 'object' && typeof inner === 'object' && inner !== null && !Array.isArray(inner)) {
    const entries = Object.entries(inner).map(([name, type]): [string, CtyType] => [name, typeFromJson(type)]);
    return ['object', Object.fromEntries(entries)];
  }
  throw new CtyError([], 'the value comes with something that is not a type');
}
