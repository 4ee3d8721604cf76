/**
 * From the host's values to the fields of a VM, as a stack file would write them. Every part knows its own path, so that
 * the field table and the rules of a stack file can report problems. Unknown values are left out and listed.
 */
import { assertNever } from '../../base/errors.ts';
import { type Located, type LocatedMap, type ScalarValue, toPlain } from '../../spec/located.ts';
import { type CtyObject, type CtyValue, Decimal, isObject, objectOf, UNKNOWN } from '../cty/value.ts';
import { type GroupShape, type LeafShape, type Shape, SWITCH } from '../schema/shape.ts';

/** A value that the table cannot express. */
export interface ValueProblem {
  /** `nics.net0.ipv4.gateway`. */
  readonly path: string;
  readonly detail: string;
}

export interface FileValues {
  /** Plain data, as a stack file would have it. */
  readonly tree: Readonly<Record<string, unknown>>;
  /** The same with the path of every part. Unknown and unusable values are in it as such. */
  readonly located: LocatedMap;
  /** Dotted paths, outermost. */
  readonly unknown: readonly string[];
  readonly problems: readonly ValueProblem[];
}

/** Attributes that are not fields are skipped. */
export function toFields(object: CtyObject, shape: GroupShape): FileValues {
  const reading: Reading = { unknown: [], problems: [] };
  const node = readGroup(object, shape, '', reading);
  const located: LocatedMap = node.kind === 'map' ? node : { kind: 'map', entries: new Map(), at: {} };
  return { tree: toPlain(located) as Record<string, unknown>, located, ...reading }; // a map becomes a record
}

interface Reading {
  readonly unknown: string[];
  readonly problems: ValueProblem[];
}

/** Undefined: not set. */
function read(value: CtyValue | undefined, shape: Shape, path: string, reading: Reading): Located | undefined {
  if (value === null || value === undefined) return undefined;
  if (value === UNKNOWN) return unknown(path, reading);
  switch (shape.kind) {
    case 'leaf':
      return readLeaf(value, shape, path, reading);
    case 'group':
      return isObject(value) ? readGroup(value, shape, path, reading) : undefined;
    case 'slots':
      if (!isObject(value)) return undefined;
      return mapOf(
        Object.entries(value).map(([slot, item]) => [slot, read(item, shape.item, below(path, slot), reading)]),
        path,
      );
    default:
      return assertNever(shape);
  }
}

function readGroup(object: CtyObject, shape: GroupShape, path: string, reading: Reading): Located {
  if (shape.hasSwitch && object[SWITCH] === UNKNOWN) return unknown(path, reading);
  if (shape.hasSwitch && object[SWITCH] === false) return scalarAt(false, path);
  const { keyword } = shape;
  const given = keyword && object[keyword.field];
  // It may become a keyword.
  if (keyword && given === UNKNOWN) return unknown(path, reading);
  if (keyword && typeof given === 'string' && keyword.words.includes(given)) {
    const beside = Object.keys(shape.fields).filter(
      (name) => name !== keyword.field && (object[name] ?? null) !== null,
    );
    for (const name of beside) {
      const detail = `"${name}" cannot be set together with ${keyword.field} = "${given}".`;
      reading.problems.push({ path: below(path, name), detail });
    }
    return scalarAt(given, path);
  }
  return mapOf(
    Object.entries(shape.fields).map(([name, inner]) => [name, read(object[name], inner, below(path, name), reading)]),
    path,
  );
}

function readLeaf(value: CtyValue, shape: LeafShape, path: string, reading: Reading): Located | undefined {
  switch (shape.spelling) {
    case 'true-or-nothing':
      return value === false ? undefined : readPlain(value, path, reading);
    case 'zero-is-false':
      return value === 0 ? scalarAt(false, path) : readPlain(value, path, reading);
    case 'none-is-false':
      return value === 'none' ? scalarAt(false, path) : readPlain(value, path, reading);
    case 'digits-are-number': {
      const isNumber = typeof value === 'string' && /^\d{1,15}$/.test(value);
      return isNumber ? scalarAt(Number(value), path) : readPlain(value, path, reading);
    }
    case 'texts':
      return readPlain(isObject(value) ? withFlags(value) : value, path, reading);
    case 'same':
      return readPlain(value, path, reading);
    default:
      return assertNever(shape.spelling);
  }
}

/** The host turns `true` in a map of strings into a string; no string of Proxmox is "true" or "false". */
function withFlags(texts: CtyObject): CtyObject {
  const flag = (text: CtyValue) => (text === 'true' ? true : text === 'false' ? false : text);
  return objectOf(Object.entries(texts).map(([name, text]) => [name, flag(text)]));
}

/** A list with an unknown element is unknown as a whole. */
function readPlain(value: CtyValue, path: string, reading: Reading): Located | undefined {
  if (value === null) return undefined;
  if (value === UNKNOWN) return unknown(path, reading);
  if (typeof value === 'bigint' || value instanceof Decimal) {
    const digits = typeof value === 'bigint' ? String(value) : value.text;
    reading.problems.push({ path, detail: `"${path}" is ${digits}, which is too large or too precise.` });
    return { kind: 'unknown', at: { field: path } };
  }
  if (Array.isArray(value)) {
    if (value.some(holdsUnknown)) return unknown(path, reading);
    const items = value.map((item: CtyValue, place) => readPlain(item, below(path, String(place)), reading));
    const nothing = scalarAt(null, path);
    return { kind: 'list', items: items.map((item) => item ?? nothing), at: { field: path } };
  }
  if (isObject(value)) {
    return mapOf(
      Object.entries(value).map(([name, item]) => [name, readPlain(item, below(path, name), reading)]),
      path,
    );
  }
  return scalarAt(value as ScalarValue, path); // lists are gone, which the compiler does not see in a readonly array
}

function holdsUnknown(value: CtyValue): boolean {
  return value === UNKNOWN || (Array.isArray(value) && value.some(holdsUnknown));
}

function unknown(path: string, reading: Reading): Located {
  reading.unknown.push(path);
  return { kind: 'unknown', at: { field: path } };
}

function scalarAt(value: ScalarValue, path: string): Located {
  return { kind: 'scalar', value, at: { field: path } };
}

function mapOf(entries: readonly (readonly [string, Located | undefined])[], path: string): Located {
  const present = entries.flatMap(([name, value]) =>
    value === undefined ? [] : [[name, { keyAt: { field: below(path, name) }, value }] as const],
  );
  return { kind: 'map', entries: new Map(present), at: path === '' ? {} : { field: path } };
}

function below(path: string, step: string): string {
  return path === '' ? step : `${path}.${step}`;
}
