/** Values to the MessagePack of the protocol, led by their type: what does not fit is refused with its place. */
import { CtyError } from './error.ts';
import { fitsInt64, MsgpackWriter } from './msgpack-writer.ts';
import { textOfNumber } from './number.ts';
import { type AttributePath, attribute, index, key } from './path.ts';
import type { CtyType } from './type.ts';
import { type CtyObject, type CtyValue, Decimal, isObject, UNKNOWN } from './value.ts';

/** Attributes that an object lacks are written as null; one that its type lacks is refused. */
export function encodeMsgpack(value: CtyValue, type: CtyType): Uint8Array {
  const writer = new MsgpackWriter();
  write(writer, value, type, []);
  return writer.finish();
}

function write(writer: MsgpackWriter, value: CtyValue, type: CtyType, path: AttributePath): void {
  if (value === null) writer.nil();
  else if (value === UNKNOWN) writer.unknown();
  else if (type === 'string') {
    if (typeof value !== 'string') throw misfit(value, 'a string', path);
    writer.string(value.normalize('NFC'));
  } else if (type === 'bool') {
    if (typeof value !== 'boolean') throw misfit(value, 'a bool', path);
    writer.bool(value);
  } else if (type === 'number') writeNumber(writer, value, path);
  else if (type === 'dynamic') {
    const actual = inferType(value);
    writer.arrayHead(2);
    writer.binary(Buffer.from(JSON.stringify(actual)));
    write(writer, value, actual, path);
  } else writeStructure(writer, value, type, path);
}

function writeStructure(
  writer: MsgpackWriter,
  value: Exclude<CtyValue, null | typeof UNKNOWN>,
  type: Exclude<CtyType, string>,
  path: AttributePath,
): void {
  switch (type[0]) {
    case 'list':
    case 'set':
    case 'tuple': {
      if (!Array.isArray(value)) throw misfit(value, `a ${type[0]}`, path);
      const types = type[0] === 'tuple' ? type[1] : undefined;
      if (types && types.length !== value.length) {
        throw new CtyError(path, `a tuple of ${types.length} has ${value.length} elements`);
      }
      writer.arrayHead(value.length);
      for (const [place, element] of value.entries()) {
        const elementType = type[0] === 'tuple' ? type[1][place] : type[1];
        write(writer, element, elementType ?? 'dynamic', [...path, index(place)]);
      }
      return;
    }
    case 'map': {
      if (!isObject(value)) throw misfit(value, 'a map', path);
      const entries = Object.entries(value);
      writer.mapHead(entries.length);
      for (const [name, element] of entries) {
        writer.string(name.normalize('NFC'));
        write(writer, element, type[1], [...path, key(name)]);
      }
      return;
    }
    case 'object': {
      if (!isObject(value)) throw misfit(value, 'an object', path);
      const stray = Object.keys(value).find((name) => !Object.hasOwn(type[1], name));
      if (stray !== undefined) throw new CtyError([...path, attribute(stray)], 'the type has no such attribute');
      const attributes = Object.entries(type[1]);
      writer.mapHead(attributes.length);
      for (const [name, attributeType] of attributes) {
        writer.string(name);
        write(writer, ownValue(value, name), attributeType, [...path, attribute(name)]);
      }
      return;
    }
  }
}

function ownValue(object: CtyObject, name: string): CtyValue {
  return Object.hasOwn(object, name) ? (object[name] ?? null) : null;
}

function writeNumber(writer: MsgpackWriter, value: CtyValue, path: AttributePath): void {
  const isNumber = typeof value === 'number' || typeof value === 'bigint' || value instanceof Decimal;
  const text = isNumber ? textOfNumber(value) : undefined;
  if (text === undefined) throw misfit(value, 'a number', path);
  const integer = text.includes('.') ? undefined : BigInt(text);
  // A fraction as digits, not as a float: the host would take the float's binary value for the exact one.
  if (integer !== undefined && fitsInt64(integer)) writer.int(integer);
  else writer.string(text);
}

/** The type a value shows by itself: an array could be a list as well as a tuple, a tuple always fits. */
function inferType(value: CtyValue): CtyType {
  if (value === null || value === UNKNOWN) return 'dynamic';
  if (typeof value === 'string') return 'string';
  if (typeof value === 'boolean') return 'bool';
  if (Array.isArray(value)) return ['tuple', value.map(inferType)];
  if (isObject(value)) {
    const entries = Object.entries(value).map(([name, inner]): [string, CtyType] => [name, inferType(inner)]);
    return ['object', Object.fromEntries(entries)];
  }
  return 'number';
}

/** Names the kind and never the value, which may be a secret. */
function misfit(value: unknown, wanted: string, path: AttributePath): CtyError {
  return new CtyError(path, `${wanted} is needed here and not ${kindOf(value)}`);
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'an array';
  if (value instanceof Decimal || typeof value === 'bigint') return 'a number';
  if (typeof value === 'number') return Number.isFinite(value) ? 'a number' : String(value);
  return value === undefined ? 'nothing' : `a ${typeof value}`;
}
