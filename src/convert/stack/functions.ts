/** The functions of Terraform that configurations of VMs use. Undefined: not for these arguments. */
import type { Value } from './value.ts';

export type Known = (...args: Value[]) => Value | undefined;

const list = (value: Value | undefined): readonly Value[] => (Array.isArray(value) ? (value as readonly Value[]) : []);
// `Array.isArray` does not tell readonly lists from objects.
const object = (value: Value | undefined): Readonly<Record<string, Value>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, Value>>)
    : {};
const text = (value: Value | undefined): string => (value === undefined || value === null ? '' : String(value));
const unique = (values: readonly Value[]): readonly Value[] => [
  ...new Map(values.map((value) => [JSON.stringify(value), value])).values(),
];
const sorted = (values: readonly Value[]): readonly Value[] => [...values].sort((a, b) => (text(a) < text(b) ? -1 : 1));
const flat = (values: readonly Value[]): Value[] =>
  values.flatMap((value) => (Array.isArray(value) ? flat(value) : [value]));

export const FUNCTIONS: Readonly<Record<string, Known>> = {
  abs: (value) => Math.abs(Number(value)),
  ceil: (value) => Math.ceil(Number(value)),
  floor: (value) => Math.floor(Number(value)),
  max: (...values) => Math.max(...values.map(Number)),
  min: (...values) => Math.min(...values.map(Number)),
  coalesce: (...values) => values.find((value) => value !== null && value !== ''),
  compact: (values) => list(values).filter((value) => value !== null && value !== ''),
  concat: (...values) => values.flatMap(list),
  contains: (values, value) => list(values).some((each) => each === value),
  distinct: (values) => unique(list(values)),
  element: (values, index) => list(values)[Number(index) % list(values).length],
  endswith: (value, end) => text(value).endsWith(text(end)),
  flatten: (values) => flat(list(values)),
  format: (pattern, ...values) => formatted(text(pattern), values),
  index: (values, value) => {
    const found = list(values).findIndex((each) => each === value);
    return found < 0 ? undefined : found;
  },
  join: (separator, values) => list(values).map(text).join(text(separator)),
  keys: (value) => Object.keys(object(value)).sort(),
  length: (value) =>
    typeof value === 'string' ? [...value].length : list(value).length || Object.keys(object(value)).length,
  lookup: (value, key, byDefault) => object(value)[text(key)] ?? byDefault,
  lower: (value) => text(value).toLowerCase(),
  merge: (...values) => Object.assign({}, ...values.map(object)) as Value,
  nonsensitive: (value) => value,
  one: (values) => list(values)[0] ?? null,
  range: (first, second, step) => range(Number(first), second, step),
  regex: (pattern, value) => {
    const match = new RegExp(text(pattern)).exec(text(value));
    return match ? (match.length > 1 ? match.slice(1) : match[0]) : undefined;
  },
  replace: (value, from, to) =>
    /^\/.*\/$/.test(text(from))
      ? text(value).replace(new RegExp(text(from).slice(1, -1), 'g'), text(to))
      : text(value).replaceAll(text(from), text(to)),
  reverse: (values) => [...list(values)].reverse(),
  sensitive: (value) => value,
  slice: (values, start, end) => list(values).slice(Number(start), Number(end)),
  sort: (values) => sorted(list(values)),
  split: (separator, value) => text(value).split(text(separator)),
  startswith: (value, start) => text(value).startsWith(text(start)),
  substr: (value, start, length) => text(value).substr(Number(start), Number(length)),
  title: (value) => text(value).replace(/\b\w/g, (char) => char.toUpperCase()),
  tobool: (value) => value === true || value === 'true',
  tolist: (values) => list(values),
  tomap: (value) => value,
  tonumber: (value) => (Number.isNaN(Number(value)) ? undefined : Number(value)),
  toset: (values) => sorted(unique(list(values))),
  tostring: (value) => (value === null ? null : text(value)),
  trimprefix: (value, start) =>
    text(value).startsWith(text(start)) ? text(value).slice(text(start).length) : text(value),
  trimspace: (value) => text(value).trim(),
  trimsuffix: (value, end) =>
    text(value).endsWith(text(end)) ? text(value).slice(0, text(value).length - text(end).length) : text(value),
  upper: (value) => text(value).toUpperCase(),
  values: (value) =>
    Object.keys(object(value))
      .sort()
      .map((key) => object(value)[key] ?? null),
  zipmap: (keys, values) =>
    Object.fromEntries(list(keys).map((key, index) => [text(key), list(values)[index] ?? null])),
  cidrhost: (prefix, number) => hostOf(text(prefix), Number(number)),
};

/** Larger than any real count. */
const MOST = 10_000;

function range(first: number, second: Value | undefined, step: Value | undefined): Value | undefined {
  const [start, end, by] = second === undefined ? [0, first, 1] : [first, Number(second), Number(step ?? 1)];
  const count = Math.ceil((end - start) / by);
  if (!(count <= MOST)) return undefined;
  return Array.from({ length: Math.max(0, count) }, (_, index) => start + index * by);
}

/** `%s`, `%d`, `%v`, with zeros in front: `%02d`. */
function formatted(pattern: string, values: readonly Value[]): string | undefined {
  const rest = [...values];
  let isKnown = true;
  const result = pattern.replace(
    /%(%|(0?)(\d*)([sdvq]|.))/g,
    (_, all: string, zero: string, width: string, verb: string) => {
      if (all === '%') return '%';
      if (!['s', 'd', 'v', 'q'].includes(verb)) isKnown = false;
      const value = text(rest.shift());
      return (verb === 'q' ? JSON.stringify(value) : value).padStart(Number(width), zero === '' ? ' ' : '0');
    },
  );
  return isKnown ? result : undefined;
}

function hostOf(prefix: string, number: number): string | undefined {
  const [address = '', length = '32'] = prefix.split('/');
  const parts = address.split('.').map(Number);
  if (parts.length !== 4 || parts.some(Number.isNaN)) return undefined;
  const size = 2 ** (32 - Number(length));
  const base = parts.reduce((sum, part) => sum * 256 + part, 0);
  const host = base - (base % size) + (number < 0 ? size + number : number);
  return [24, 16, 8, 0].map((shift) => Math.floor(host / 2 ** shift) % 256).join('.');
}
