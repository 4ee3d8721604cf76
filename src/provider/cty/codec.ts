/**
 * Values to the MessagePack of the plugin protocol and back, guided by their type. A value that does not fit its type is
 * refused with its path and its kind, but never shown: it may be a secret.
 */
import { MsgpackReader, MsgpackWriter, type Piece } from './msgpack.ts';
import { canonicalInteger, numberFromFloat, numberFromText, textOfNumber } from './number.ts';
import { attribute, CtyError, index, key, within } from './path.ts';
import {
  type CtyNumber,
  type CtyObject,
  type CtyType,
  type CtyValue,
  isObject,
  typeFromJson,
  UNKNOWN,
} from './value.ts';

type Structure = Exclude<CtyType, string>;
type Sequence = Exclude<Structure, readonly ['object', unknown]>;
type AttributeTypes = Readonly<Record<string, CtyType>>;

/** Attributes that an object lacks are written as null. An attribute that the type lacks is refused. */
export function encodeMsgpack(value: CtyValue, type: CtyType): Uint8Array {
  const writer = new MsgpackWriter();
  write(writer, value, type);
  return writer.finish();
}

/** Attributes that the message lacks become null. An attribute that the type lacks is refused. */
export function decodeMsgpack(bytes: Uint8Array, type: CtyType): CtyValue {
  const reader = new MsgpackReader(bytes);
  const value = read(reader, type);
  if (!reader.isAtEnd) throw new CtyError([], 'the message has more bytes than one value');
  return value;
}

function write(writer: MsgpackWriter, value: CtyValue, type: CtyType): void {
  if (value === null) writer.nil();
  else if (value === UNKNOWN) writer.unknown();
  else if (type === 'string') {
    if (typeof value !== 'string') throw misfit('a string', kindOf(value));
    writer.string(value.normalize('NFC'));
  } else if (type === 'bool') {
    if (typeof value !== 'boolean') throw misfit('a bool', kindOf(value));
    writer.bool(value);
  } else if (type === 'number') writeNumber(writer, value);
  else if (type === 'dynamic') {
    const actual = inferType(value);
    writer.arrayHead(2);
    writer.binary(Buffer.from(JSON.stringify(actual)));
    write(writer, value, actual);
  } else writeStructure(writer, value, type);
}

function writeStructure(writer: MsgpackWriter, value: CtyValue, type: Structure): void {
  switch (type[0]) {
    case 'list':
    case 'set':
    case 'tuple':
      if (!Array.isArray(value)) throw misfit(`a ${type[0]}`, kindOf(value));
      writeElements(writer, value, type);
      break;
    case 'map':
      if (!isObject(value)) throw misfit('a map', kindOf(value));
      writeMap(writer, value, type[1]);
      break;
    case 'object':
      if (!isObject(value)) throw misfit('an object', kindOf(value));
      writeAttributes(writer, value, type[1]);
      break;
  }
}

function writeElements(writer: MsgpackWriter, elements: readonly CtyValue[], type: Sequence): void {
  const typeAt = elementTypes(type, elements.length);
  writer.arrayHead(elements.length);
  let position = 0;
  try {
    for (; position < elements.length; position += 1) {
      write(writer, elements[position] ?? null, typeAt(position));
    }
  } catch (thrown) {
    throw within(index(position), thrown);
  }
}

function writeMap(writer: MsgpackWriter, map: CtyObject, type: CtyType): void {
  const names = Object.keys(map);
  writer.mapHead(names.length);
  let current = '';
  try {
    for (current of names) {
      writer.string(current.normalize('NFC'));
      write(writer, map[current] ?? null, type);
    }
  } catch (thrown) {
    throw within(key(current), thrown);
  }
}

function writeAttributes(writer: MsgpackWriter, object: CtyObject, types: AttributeTypes): void {
  for (const name in object) if (!Object.hasOwn(types, name)) throw noSuchAttribute(name);
  const names = namesOf(types);
  writer.mapHead(names.length);
  let current = '';
  try {
    for (current of names) {
      writer.string(current);
      const own = Object.hasOwn(object, current) ? object[current] : null;
      write(writer, own ?? null, types[current] ?? 'dynamic');
    }
  } catch (thrown) {
    throw within(attribute(current), thrown);
  }
}

function writeNumber(writer: MsgpackWriter, value: CtyValue): void {
  const text = textOfNumber(value);
  if (text === undefined) throw misfit('a number', kindOf(value));
  const integer = text.includes('.') ? undefined : BigInt(text);
  // Fractions travel as digits, not as floats: the host would take the float's binary value for the exact one.
  if (integer !== undefined && BigInt.asIntN(64, integer) === integer) writer.int(integer);
  else writer.string(text);
}

/** The type that follows from the value. An array could be a list or a tuple; a tuple always fits. */
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

function read(reader: MsgpackReader, type: CtyType): CtyValue {
  const piece = nextPiece(reader);
  if (piece.kind === 'nil') return null;
  if (piece.kind === 'extension') return UNKNOWN;
  switch (type) {
    case 'string':
      if (piece.kind !== 'string') throw misfit('a string', WORDS[piece.kind]);
      return piece.value.normalize('NFC');
    case 'bool':
      if (piece.kind !== 'bool') throw misfit('a bool', WORDS[piece.kind]);
      return piece.value;
    case 'number': {
      const number = numberOf(piece);
      if (number === undefined) throw misfit('a number', WORDS[piece.kind]);
      return number;
    }
    case 'dynamic':
      return readDynamic(reader, piece);
    default:
      return readStructure(reader, piece, type);
  }
}

function readStructure(reader: MsgpackReader, piece: Piece, type: Structure): CtyValue {
  switch (type[0]) {
    case 'list':
    case 'set':
    case 'tuple':
      if (piece.kind !== 'array') throw misfit(`a ${type[0]}`, WORDS[piece.kind]);
      return readElements(reader, piece.count, type);
    case 'map':
      if (piece.kind !== 'map') throw misfit('a map', WORDS[piece.kind]);
      return readMap(reader, piece.count, type[1]);
    case 'object':
      if (piece.kind !== 'map') throw misfit('an object', WORDS[piece.kind]);
      return readAttributes(reader, piece.count, type[1]);
  }
}

function readElements(reader: MsgpackReader, count: number, type: Sequence): CtyValue[] {
  const typeAt = elementTypes(type, count);
  const elements: CtyValue[] = [];
  try {
    while (elements.length < count) elements.push(read(reader, typeAt(elements.length)));
  } catch (thrown) {
    throw within(index(elements.length), thrown);
  }
  return elements;
}

function readMap(reader: MsgpackReader, count: number, type: CtyType): CtyObject {
  const map: Record<string, CtyValue> = Object.create(null);
  for (let left = count; left > 0; left -= 1) {
    const name = readKey(reader);
    try {
      map[name] = read(reader, type);
    } catch (thrown) {
      throw within(key(name), thrown);
    }
  }
  return map;
}

function readAttributes(reader: MsgpackReader, count: number, types: AttributeTypes): CtyObject {
  const object: Record<string, CtyValue> = Object.create(null);
  // In the order of the type, whatever the order of the message.
  for (const name of namesOf(types)) object[name] = null;
  for (let left = count; left > 0; left -= 1) {
    const name = readKey(reader);
    const type = Object.hasOwn(types, name) ? types[name] : undefined;
    if (type === undefined) throw noSuchAttribute(name);
    try {
      object[name] = read(reader, type);
    } catch (thrown) {
      throw within(attribute(name), thrown);
    }
  }
  return object;
}

/** Cached: schemas do not change while the process runs, and every value needs this list. */
const names = new WeakMap<AttributeTypes, readonly string[]>();

function namesOf(types: AttributeTypes): readonly string[] {
  const known = names.get(types);
  if (known) return known;
  const found = Object.keys(types);
  names.set(types, found);
  return found;
}

/** The type as JSON, then the value. */
function readDynamic(reader: MsgpackReader, piece: Piece): CtyValue {
  if (piece.kind !== 'array') throw misfit('a type with its value', WORDS[piece.kind]);
  if (piece.count !== 2) throw new CtyError([], `expected a type with its value, got ${piece.count} elements`);
  const head = nextPiece(reader);
  if (head.kind !== 'binary' && head.kind !== 'string') throw misfit('a type', WORDS[head.kind]);
  return read(reader, typeFromText(Buffer.from(head.value).toString('utf8')));
}

function typeFromText(text: string): CtyType {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    // Undefined is not a type either.
  }
  return typeFromJson(json);
}

function readKey(reader: MsgpackReader): string {
  const piece = nextPiece(reader);
  if (piece.kind !== 'string') throw misfit('a key', WORDS[piece.kind]);
  return piece.value.normalize('NFC');
}

function nextPiece(reader: MsgpackReader): Piece {
  try {
    return reader.next();
  } catch (error) {
    throw new CtyError([], error instanceof Error ? error.message : String(error));
  }
}

function numberOf(piece: Piece): CtyNumber | undefined {
  if (piece.kind === 'int') return canonicalInteger(piece.value);
  if (piece.kind === 'float') return numberFromFloat(piece.value);
  return piece.kind === 'string' ? numberFromText(piece.value) : undefined;
}

/** The type of each of `count` elements. */
function elementTypes(type: Sequence, count: number): (position: number) => CtyType {
  if (type[0] !== 'tuple') return () => type[1];
  const types = type[1];
  if (types.length !== count) throw new CtyError([], `a tuple of ${types.length} has ${count} elements`);
  return (position) => types[position] ?? 'dynamic';
}

function misfit(expected: string, actual: string): CtyError {
  return new CtyError([], `expected ${expected}, got ${actual}`);
}

function noSuchAttribute(name: string): CtyError {
  return new CtyError([attribute(name)], 'the type has no such attribute');
}

/** What a piece is called in messages. */
const WORDS: Readonly<Record<Piece['kind'], string>> = {
  nil: 'null',
  bool: 'a bool',
  int: 'an integer',
  float: 'a float',
  string: 'a string',
  binary: 'bytes',
  array: 'an array',
  map: 'a map',
  extension: 'an unknown value',
};

/** What a value is called in messages. */
function kindOf(value: CtyValue): string {
  if (Array.isArray(value)) return 'an array';
  if (isObject(value)) return 'an object';
  if (typeof value === 'string') return 'a string';
  if (typeof value === 'boolean') return 'a bool';
  return typeof value === 'number' && !Number.isFinite(value) ? String(value) : 'a number';
}
