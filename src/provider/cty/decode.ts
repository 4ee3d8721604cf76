/** The MessagePack of the protocol to values, led by their type. */
import { CtyError } from './error.ts';
import { MsgpackReader, type Piece } from './msgpack-reader.ts';
import { canonicalInteger, numberFromFloat, numberFromText } from './number.ts';
import { type AttributePath, attribute, index, key } from './path.ts';
import { type CtyType, typeFromJson } from './type.ts';
import { type CtyNumber, type CtyValue, objectOf, UNKNOWN } from './value.ts';

export function decodeMsgpack(bytes: Uint8Array, type: CtyType): CtyValue {
  const reader = new MsgpackReader(bytes);
  const value = read(reader, type, []);
  if (!reader.isAtEnd) throw new CtyError([], 'more bytes than one value has');
  return value;
}

function read(reader: MsgpackReader, type: CtyType, path: AttributePath): CtyValue {
  const piece = nextPiece(reader, path);
  if (piece.kind === 'nil') return null;
  if (piece.kind === 'extension') return UNKNOWN;
  switch (type) {
    case 'string':
      if (piece.kind !== 'string') throw misfit(piece, 'a string', path);
      return piece.value.normalize('NFC');
    case 'bool':
      if (piece.kind !== 'bool') throw misfit(piece, 'a bool', path);
      return piece.value;
    case 'number': {
      const number = numberOf(piece);
      if (number === undefined) throw misfit(piece, 'a number', path);
      return number;
    }
    case 'dynamic':
      return readDynamic(reader, piece, path);
    default:
      return readStructure(reader, piece, type, path);
  }
}

function readStructure(
  reader: MsgpackReader,
  piece: Piece,
  type: Exclude<CtyType, string>,
  path: AttributePath,
): CtyValue {
  switch (type[0]) {
    case 'list':
    case 'set':
    case 'tuple': {
      if (piece.kind !== 'array') throw misfit(piece, `a ${type[0]}`, path);
      if (type[0] === 'tuple' && type[1].length !== piece.count) {
        throw new CtyError(path, `a tuple of ${type[1].length} has ${piece.count} elements`);
      }
      return Array.from({ length: piece.count }, (_, place) => {
        const elementType = type[0] === 'tuple' ? type[1][place] : type[1];
        return read(reader, elementType ?? 'dynamic', [...path, index(place)]);
      });
    }
    case 'map':
      if (piece.kind !== 'map') throw misfit(piece, 'a map', path);
      return objectOf(
        Array.from({ length: piece.count }, (): [string, CtyValue] => {
          const name = readKey(reader, path);
          return [name, read(reader, type[1], [...path, key(name)])];
        }),
      );
    case 'object': {
      if (piece.kind !== 'map') throw misfit(piece, 'an object', path);
      const found = new Map<string, CtyValue>();
      for (let left = piece.count; left > 0; left -= 1) {
        const name = readKey(reader, path);
        const attributeType = Object.hasOwn(type[1], name) ? type[1][name] : undefined;
        if (attributeType === undefined) {
          throw new CtyError([...path, attribute(name)], 'the type has no such attribute');
        }
        found.set(name, read(reader, attributeType, [...path, attribute(name)]));
      }
      return objectOf(Object.keys(type[1]).map((name) => [name, found.get(name) ?? null]));
    }
  }
}

/** The type as JSON, then the value. */
function readDynamic(reader: MsgpackReader, piece: Piece, path: AttributePath): CtyValue {
  if (piece.kind !== 'array' || piece.count !== 2) throw misfit(piece, 'a type with its value', path);
  const head = nextPiece(reader, path);
  if (head.kind !== 'binary' && head.kind !== 'string') throw misfit(head, 'a type', path);
  const text = typeof head.value === 'string' ? head.value : Buffer.from(head.value).toString('utf8');
  return read(reader, typeFromJson(text), path);
}

function readKey(reader: MsgpackReader, path: AttributePath): string {
  const piece = nextPiece(reader, path);
  if (piece.kind !== 'string') throw misfit(piece, 'a key', path);
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

/** Names the kind and never the value, which may be a secret. */
function misfit(piece: Piece, wanted: string, path: AttributePath): CtyError {
  return new CtyError(path, `${wanted} is needed here and not ${piece.kind}`);
}
