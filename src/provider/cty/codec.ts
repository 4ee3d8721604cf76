/**
 * Values to the MessagePack of the plugin protocol and back, guided by their type. A value that does not fit its type is
 * refused with its path and its kind, but never shown: it may be a secret.
 */
import { MsgpackReader, MsgpackWriter, type Piece } from './msgpack.ts';
import { canonicalInteger, numberFromFloat, numberFromText, textOfNumber } from './number.ts';
import { type AttributePath, attribute, CtyError, index, key } from './path.ts';
import { type CtyNumber, type CtyType, type CtyValue, isObject, objectOf, typeFromJson, UNKNOWN } from './value.ts';

type Structure = Exclude<CtyType, string>;

/** Attributes that an object lacks are written as null. An attribute that the type lacks is refused. */
export function encodeMsgpack(value: CtyValue, type: CtyType): Uint8Array {
  const writer = new MsgpackWriter();
  write(writer, value, type, []);
  return writer.finish();
}

/** Attributes that the message lacks become null. An attribute that the type lacks is refused. */
export function decodeMsgpack(bytes: Uint8Array, type: CtyType): CtyValue {
  const reader = new MsgpackReader(bytes);
  const value = read(reader, type, []);
  if (!reader.isAtEnd) throw new CtyError([], 'the message has more bytes than one value');
  return value;
}

function write(writer: MsgpackWriter, value: CtyValue, type: CtyType, path: AttributePath): void {
  if (value === null) writer.nil();
  else if (value === UNKNOWN) writer.unknown();
  else if (type === 'string') {
    if (typeof value !== 'string') throw misfit('a string', kindOf(value), path);
    writer.string(value.normalize('NFC'));
  } else if (type === 'bool') {
    if (typeof value !== 'boolean') throw misfit('a bool', kindOf(value), path);
    writer.bool(value);
  } else if (type === 'number') writeNumber(writer, value, path);
  else if (type === 'dynamic') {
    const actual = inferType(value);
    writer.arrayHead(2);
    writer.binary(Buffer.from(JSON.stringify(actual)));
    write(writer, value, actual, path);
  } else writeStructure(writer, value, type, path);
}

function writeStructure(writer: MsgpackWriter, value: CtyValue, type: Structure, path: AttributePath): void {
  switch (type[0]) {
    case 'list':
    case 'set':
    case 'tuple': {
      if (!Array.isArray(value)) throw misfit(`a ${type[0]}`, kindOf(value), path);
      const types = elementTypes(type, value.length, path);
      writer.arrayHead(value.length);
      for (const [position, elementType] of types.entries()) {
        write(writer, value[position] ?? null, elementType, [...path, index(position)]);
      }
      return;
    }
    case 'map': {
      if (!isObject(value)) throw misfit('a map', kindOf(value), path);
      const entries = Object.entries(value);
      writer.mapHead(entries.length);
      for (const [name, element] of entries) {
        writer.string(name.normalize('NFC'));
        write(writer, element, type[1], [...path, key(name)]);
      }
      return;
    }
    case 'object': {
      if (!isObject(value)) throw misfit('an object', kindOf(value), path);
      const stray = Object.keys(value).find((name) => !Object.hasOwn(type[1], name));
      if (stray !== undefined) throw noSuchAttribute(stray, path);
      const attributes = Object.entries(type[1]);
      writer.mapHead(attributes.length);
      for (const [name, attributeType] of attributes) {
        const own = Object.hasOwn(value, name) ? value[name] : null;
        writer.string(name);
        write(writer, own ?? null, attributeType, [...path, attribute(name)]);
      }
      return;
    }
  }
}

function writeNumber(writer: MsgpackWriter, value: CtyValue, path: AttributePath): void {
  const text = textOfNumber(value);
  if (text === undefined) throw misfit('a number', kindOf(value), path);
  const integer = text.includes('.') ? undefined : BigInt(text);
  // Fractions travel as digits, not as floats: the host would take the float's binary value for the exact one.
  if (integer !== undefined && BigInt.asIntN(64, integer) === integer) writer.int(integer);
  else writer.string(text);
}

/** The type that a value shows by itself. An array could be a list or a tuple; a tuple always fits. */
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

function read(reader: MsgpackReader, type: CtyType, path: AttributePath): CtyValue {
  const piece = nextPiece(reader, path);
  if (piece.kind === 'nil') return null;
  if (piece.kind === 'extension') return UNKNOWN;
  switch (type) {
    case 'string':
      if (piece.kind !== 'string') throw misfit('a string', WORDS[piece.kind], path);
      return piece.value.normalize('NFC');
    case 'bool':
      if (piece.kind !== 'bool') throw misfit('a bool', WORDS[piece.kind], path);
      return piece.value;
    case 'number': {
      const number = numberOf(piece);
      if (number === undefined) throw misfit('a number', WORDS[piece.kind], path);
      return number;
    }
    case 'dynamic':
      return readDynamic(reader, piece, path);
    default:
      return readStructure(reader, piece, type, path);
  }
}

function readStructure(reader: MsgpackReader, piece: Piece, type: Structure, path: AttributePath): CtyValue {
  switch (type[0]) {
    case 'list':
    case 'set':
    case 'tuple':
      if (piece.kind !== 'array') throw misfit(`a ${type[0]}`, WORDS[piece.kind], path);
      return elementTypes(type, piece.count, path).map((elementType, position) =>
        read(reader, elementType, [...path, index(position)]),
      );
    case 'map':
      if (piece.kind !== 'map') throw misfit('a map', WORDS[piece.kind], path);
      return objectOf(
        Array.from({ length: piece.count }, (): [string, CtyValue] => {
          const name = readKey(reader, path);
          return [name, read(reader, type[1], [...path, key(name)])];
        }),
      );
    case 'object': {
      if (piece.kind !== 'map') throw misfit('an object', WORDS[piece.kind], path);
      const found = new Map<string, CtyValue>();
      for (let left = piece.count; left > 0; left -= 1) {
        const name = readKey(reader, path);
        const attributeType = Object.hasOwn(type[1], name) ? type[1][name] : undefined;
        if (attributeType === undefined) throw noSuchAttribute(name, path);
        found.set(name, read(reader, attributeType, [...path, attribute(name)]));
      }
      return objectOf(Object.keys(type[1]).map((name) => [name, found.get(name) ?? null]));
    }
  }
}

/** The type as JSON, then the value. */
function readDynamic(reader: MsgpackReader, piece: Piece, path: AttributePath): CtyValue {
  if (piece.kind !== 'array') throw misfit('a type with its value', WORDS[piece.kind], path);
  if (piece.count !== 2) throw new CtyError(path, `expected a type with its value, got ${piece.count} elements`);
  const head = nextPiece(reader, path);
  if (head.kind !== 'binary' && head.kind !== 'string') throw misfit('a type', WORDS[head.kind], path);
  return read(reader, typeFromText(Buffer.from(head.value).toString('utf8'), path), path);
}

function typeFromText(text: string, path: AttributePath): CtyType {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    // Undefined is not a type either.
  }
  return typeFromJson(json, path);
}

function readKey(reader: MsgpackReader, path: AttributePath): string {
  const piece = nextPiece(reader, path);
  if (piece.kind !== 'string') throw misfit('a key', WORDS[piece.kind], path);
  return piece.value.normalize('NFC');
}

function nextPiece(reader: MsgpackReader, path: AttributePath): Piece {
  try {
    return reader.next();
  } catch (error) {
    throw new CtyError(path, error instanceof Error ? error.message : String(error));
  }
}

function numberOf(piece: Piece): CtyNumber | undefined {
  if (piece.kind === 'int') return canonicalInteger(piece.value);
  if (piece.kind === 'float') return numberFromFloat(piece.value);
  return piece.kind === 'string' ? numberFromText(piece.value) : undefined;
}

/** One type for each of `count` elements. */
function elementTypes(
  type: Extract<Structure, readonly ['list' | 'set' | 'map' | 'tuple', unknown]>,
  count: number,
  path: AttributePath,
): readonly CtyType[] {
  if (type[0] !== 'tuple') return Array.from({ length: count }, () => type[1]);
  if (type[1].length !== count) throw new CtyError(path, `a tuple of ${type[1].length} has ${count} elements`);
  return type[1];
}

function misfit(expected: string, actual: string, path: AttributePath): CtyError {
  return new CtyError(path, `expected ${expected}, got ${actual}`);
}

function noSuchAttribute(name: string, path: AttributePath): CtyError {
  return new CtyError([...path, attribute(name)], 'the type has no such attribute');
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
