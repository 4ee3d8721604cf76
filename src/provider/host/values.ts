/** Values between the protocol's messages and the provider, by the type of their schema. */
import { create } from '@bufbuild/protobuf';
import { decodeMsgpack, encodeMsgpack } from '../cty/codec.ts';
import { decodeJson, fromJson } from '../cty/json.ts';
import { type Json, parseJson } from '../cty/json-text.ts';
import { CtyError } from '../cty/path.ts';
import { type CtyObject, type CtyType, type CtyValue, isObject } from '../cty/value.ts';
import { type DynamicValue, DynamicValueSchema, type RawState } from '../protocol/generated/tfplugin6.generated.ts';
import { objectType, type Schema } from '../schema/model.ts';

const types = new WeakMap<Schema, CtyType>();

function typeOf(schema: Schema): CtyType {
  let type = types.get(schema);
  if (type === undefined) {
    type = objectType(schema.attributes);
    types.set(schema, type);
  }
  return type;
}

/** Null where there is no object; a value that is not known as a whole is none of the cases a host may send. */
export function readObject(message: DynamicValue | undefined, schema: Schema): CtyObject | null {
  const value = readValue(message, typeOf(schema));
  if (value === null || isObject(value)) return value;
  throw new CtyError([], 'expected an object');
}

/** A configuration, which always is an object. */
export function readConfig(message: DynamicValue | undefined, schema: Schema): CtyObject {
  const value = readObject(message, schema);
  if (value === null) throw new CtyError([], 'the configuration is missing');
  return value;
}

export function writeObject(value: CtyObject | null, schema: Schema): DynamicValue {
  return create(DynamicValueSchema, { msgpack: encodeMsgpack(value, typeOf(schema)) });
}

/** An object made of stored data, complete by the current schema. */
export function writeStored(state: unknown, schema: Schema): DynamicValue {
  return create(DynamicValueSchema, { msgpack: encodeMsgpack(fromJson(state, typeOf(schema)), typeOf(schema)) });
}

/** Null where nothing is stored. */
export function readStored(state: RawState | undefined): Json {
  return state === undefined || state.json.length === 0 ? null : parseJson(Buffer.from(state.json).toString('utf8'));
}

function readValue(message: DynamicValue | undefined, type: CtyType): CtyValue {
  if (message === undefined) return null;
  if (message.msgpack.length > 0) return decodeMsgpack(message.msgpack, type);
  return message.json.length > 0 ? decodeJson(message.json, type) : null;
}
