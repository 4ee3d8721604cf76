/**
 * JSON to values, guided by their type. Lenient, because stored data may be old: attributes that the type lacks are dropped
 * and missing ones become null. Strings, numbers and bools are accepted in each other's spelling, as the host does it.
 */

import { type Json, parseJson } from './json-text.ts';
import { canonicalInteger, numberFromFloat, numberFromText, textOfNumber } from './number.ts';
import { type AttributePath, attribute, CtyError, index, key } from './path.ts';
import { type CtyNumber, type CtyType, type CtyValue, Decimal, objectOf, typeFromJson } from './value.ts';

export function decodeJson(bytes: Uint8Array, type: CtyType): CtyValue {
  return fromJson(parseJson(Buffer.from(bytes).toString('utf8')), type);
}

/** From parsed JSON, or from plain data of the same shape. */
export function fromJson(json: unknown, type: CtyType, path: AttributePath = []): CtyValue {
  if (json === null || json === undefined) return null;
  switch (type) {
    case 'string':
      return stringOf(json, path);
    case 'number': {
      const number = numberOf(json);
      if (number === undefined) throw misfit('a number', path);
      return number;
    }
    case 'bool':
      if (json === true || json === 'true') return true;
      if (json === false || json === 'false') return false;
      throw misfit('a bool', path);
    case 'dynamic': {
      if (!isRecord(json)) throw misfit('a type with its value', path);
      return fromJson(json.value, typeFromJson(json.type, path), path);
    }
    default:
      return structureFromJson(json, type, path);
  }
}

function structureFromJson(json: unknown, type: Exclude<CtyType, string>, path: AttributePath): CtyValue {
  switch (type[0]) {
    case 'list':
    case 'set':
      if (!Array.isArray(json)) throw misfit(`a ${type[0]}`, path);
      return json.map((element, position) => fromJson(element, type[1], [...path, index(position)]));
    case 'tuple':
      if (!Array.isArray(json) || json.length !== type[1].length) {
        throw misfit(`a tuple of ${type[1].length}`, path);
      }
      return type[1].map((elementType, position) => fromJson(json[position], elementType, [...path, index(position)]));
    case 'map':
      if (!isRecord(json)) throw misfit('a map', path);
      return objectOf(
        Object.entries(json).map(([name, element]) => [
          name.normalize('NFC'),
          fromJson(element, type[1], [...path, key(name)]),
        ]),
      );
    case 'object':
      if (!isRecord(json)) throw misfit('an object', path);
      return objectOf(
        Object.entries(type[1]).map(([name, attributeType]) => [
          name,
          fromJson(Object.hasOwn(json, name) ? json[name] : null, attributeType, [...path, attribute(name)]),
        ]),
      );
  }
}

function stringOf(json: unknown, path: AttributePath): string {
  if (typeof json === 'string') return json.normalize('NFC');
  if (typeof json === 'boolean') return String(json);
  const number = numberOf(json);
  const text = number === undefined ? undefined : textOfNumber(number);
  if (text === undefined) throw misfit('a string', path);
  return text;
}

function numberOf(json: unknown): CtyNumber | undefined {
  if (typeof json === 'number') return numberFromFloat(json);
  if (typeof json === 'bigint') return canonicalInteger(json);
  if (json instanceof Decimal) return numberFromText(json.text);
  return typeof json === 'string' ? numberFromText(json) : undefined;
}

function isRecord(json: unknown): json is Readonly<Record<string, Json>> {
  return typeof json === 'object' && json !== null && !Array.isArray(json) && !(json instanceof Decimal);
}

function misfit(expected: string, path: AttributePath): CtyError {
  return new CtyError(path, `expected ${expected}`);
}
