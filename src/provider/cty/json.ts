/**
 * JSON to values, guided by their type. Lenient, because stored data may be old: attributes that the type lacks are dropped
 * and missing ones become null. Strings, numbers and bools are accepted in each other's spelling, as the host does it.
 */

import { type Json, parseJson } from './json-text.ts';
import { canonicalInteger, numberFromFloat, numberFromText, textOfNumber } from './number.ts';
import { attribute, CtyError, index, key, type PathStep, within } from './path.ts';
import { type CtyNumber, type CtyType, type CtyValue, Decimal, objectOf, typeFromJson } from './value.ts';

export function decodeJson(bytes: Uint8Array, type: CtyType): CtyValue {
  return fromJson(parseJson(Buffer.from(bytes).toString('utf8')), type);
}

/** From parsed JSON, or from plain data of the same shape. */
export function fromJson(json: unknown, type: CtyType): CtyValue {
  if (json === null || json === undefined) return null;
  switch (type) {
    case 'string':
      return stringOf(json);
    case 'number': {
      const number = numberOf(json);
      if (number === undefined) throw misfit('a number');
      return number;
    }
    case 'bool':
      if (json === true || json === 'true') return true;
      if (json === false || json === 'false') return false;
      throw misfit('a bool');
    case 'dynamic': {
      if (!isRecord(json)) throw misfit('a type with its value');
      return fromJson(json.value, typeFromJson(json.type));
    }
    default:
      return structureFromJson(json, type);
  }
}

function structureFromJson(json: unknown, type: Exclude<CtyType, string>): CtyValue {
  switch (type[0]) {
    case 'list':
    case 'set':
      if (!Array.isArray(json)) throw misfit(`a ${type[0]}`);
      return json.map((element, position) => partFromJson(element, type[1], index, position));
    case 'tuple':
      if (!Array.isArray(json) || json.length !== type[1].length) throw misfit(`a tuple of ${type[1].length}`);
      return type[1].map((elementType, position) => partFromJson(json[position], elementType, index, position));
    case 'map':
      if (!isRecord(json)) throw misfit('a map');
      return objectOf(
        Object.entries(json).map(([name, element]) => [
          name.normalize('NFC'),
          partFromJson(element, type[1], key, name),
        ]),
      );
    case 'object':
      if (!isRecord(json)) throw misfit('an object');
      return objectOf(
        Object.entries(type[1]).map(([name, attributeType]) => [
          name,
          partFromJson(Object.hasOwn(json, name) ? json[name] : null, attributeType, attribute, name),
        ]),
      );
  }
}

function partFromJson<At>(json: unknown, type: CtyType, step: (at: At) => PathStep, at: At): CtyValue {
  try {
    return fromJson(json, type);
  } catch (thrown) {
    throw within(step(at), thrown);
  }
}

function stringOf(json: unknown): string {
  if (typeof json === 'string') return json.normalize('NFC');
  if (typeof json === 'boolean') return String(json);
  const number = numberOf(json);
  const text = number === undefined ? undefined : textOfNumber(number);
  if (text === undefined) throw misfit('a string');
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

function misfit(expected: string): CtyError {
  return new CtyError([], `expected ${expected}`);
}
