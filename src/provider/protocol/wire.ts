/**
 * The bytes of messages (https://protobuf.dev/programming-guides/encoding/), by tables that `tools/generate-protocol.ts` writes: the
 * kinds of fields that the plugin protocol uses, and no others. A message is a plain object with the names of the generated types.
 */

export interface Field {
  readonly number: number;
  readonly name: string;
  /** A kind of value, or the name of a message. */
  readonly type: string;
  readonly many?: 'list' | 'map';
  /** The group of fields of which a message has one. It is read as `{ case, value }`. */
  readonly oneof?: string;
}

/** Every message by its name. */
export type MessageTables = Readonly<Record<string, readonly Field[]>>;

export interface Call {
  /** As the host asks for it. */
  readonly path: string;
  readonly name: string;
  readonly input: string;
  readonly output: string;
}

type Message = Readonly<Record<string, unknown>>;

const VARINT = 0;
const FIXED64 = 1;
const LENGTH = 2;
const FIXED32 = 5;

const NOTHING = new Uint8Array();

/** Fields that the message lacks have the value that the protocol gives them; unknown ones are skipped. */
export function readMessage(tables: MessageTables, name: string, bytes: Uint8Array): Message {
  return new Reader(tables, bytes).message(name, bytes.length);
}

/** Leaves out what a reader adds by itself. */
export function writeMessage(tables: MessageTables, name: string, message: Message): Uint8Array {
  const writer = new Writer(tables);
  writer.message(name, message);
  return writer.finish();
}

function fieldsOf(tables: MessageTables, name: string): readonly Field[] {
  const fields = tables[name];
  if (fields === undefined) throw new Error(`The protocol has no message ${name}.`);
  return fields;
}

function isMessage(tables: MessageTables, type: string): boolean {
  return Object.hasOwn(tables, type);
}

function absent(tables: MessageTables, { type, many }: Field): unknown {
  if (many) return many === 'list' ? [] : {};
  if (isMessage(tables, type)) return undefined;
  return { string: '', bytes: NOTHING, bool: false, int64: 0n, enum: 0 }[type];
}

class Reader {
  readonly #tables: MessageTables;
  readonly #bytes: Buffer;
  #at = 0;

  constructor(tables: MessageTables, bytes: Uint8Array) {
    this.#tables = tables;
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  message(name: string, end: number): Message {
    const fields = fieldsOf(this.#tables, name);
    const message: Record<string, unknown> = {};
    for (const field of fields) {
      if (field.oneof === undefined) message[field.name] = absent(this.#tables, field);
      else message[field.oneof] = { case: undefined };
    }
    while (this.#at < end) {
      const tag = Number(this.#varint(end));
      const field = fields.find(({ number }) => number === tag >>> 3);
      if (field) this.#field(message, field, tag & 7, end);
      else this.#skip(tag & 7, end);
    }
    return message;
  }

  #field(message: Record<string, unknown>, field: Field, wireType: number, end: number): void {
    const { name, oneof, many } = field;
    const expected = ['bool', 'int64', 'enum'].includes(field.type) ? VARINT : LENGTH;
    if (wireType !== expected) throw new RangeError(`the field ${name} has the wire type ${wireType}`);
    const before = message[name];
    if (oneof !== undefined) message[oneof] = { case: name, value: this.#value(field.type, end) };
    else if (many === 'list' && Array.isArray(before)) before.push(this.#value(field.type, end));
    else if (many === 'map') {
      const entryEnd = this.#length(end);
      const [key, value] = this.#entry(field, entryEnd);
      // `__proto__` is a key like any other.
      Object.defineProperty(before, key, { value, enumerable: true, writable: true, configurable: true });
    } else message[name] = this.#value(field.type, end);
  }

  #entry({ type }: Field, end: number): [string, unknown] {
    let key = '';
    let value = isMessage(this.#tables, type) ? undefined : absent(this.#tables, { number: 2, name: 'value', type });
    while (this.#at < end) {
      const tag = Number(this.#varint(end));
      if (tag === ((1 << 3) | LENGTH)) key = this.#text(end);
      else if (tag >>> 3 === 2) value = this.#value(type, end);
      else this.#skip(tag & 7, end);
    }
    return [key, value ?? this.message(type, this.#at)];
  }

  #value(type: string, end: number): unknown {
    switch (type) {
      case 'string':
        return this.#text(end);
      case 'bytes': {
        const last = this.#length(end);
        const value = this.#bytes.subarray(this.#at, last);
        this.#at = last;
        return value;
      }
      case 'bool':
        return this.#varint(end) !== 0n;
      case 'int64':
        return BigInt.asIntN(64, this.#varint(end));
      case 'enum':
        return Number(BigInt.asIntN(32, this.#varint(end)));
      default: {
        const last = this.#length(end);
        return this.message(type, last);
      }
    }
  }

  #text(end: number): string {
    const last = this.#length(end);
    const text = this.#bytes.toString('utf8', this.#at, last);
    this.#at = last;
    return text;
  }

  /** Where what follows ends. */
  #length(end: number): number {
    const length = Number(this.#varint(end));
    if (length > end - this.#at) throw endsTooEarly();
    return this.#at + length;
  }

  /** Most are one byte. */
  #varint(end: number): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      if (this.#at >= end) throw endsTooEarly();
      const byte = this.#bytes[this.#at] ?? 0;
      this.#at += 1;
      if (shift === 0n && byte < 0x80) return BigInt(byte);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw new RangeError('a number has too many bytes');
  }

  #skip(wireType: number, end: number): void {
    if (wireType === VARINT) this.#varint(end);
    else if (wireType === LENGTH) this.#at = this.#length(end);
    else if (wireType === FIXED64) this.#at += 8;
    else if (wireType === FIXED32) this.#at += 4;
    else throw new RangeError(`${wireType} is no wire type`);
    if (this.#at > end) throw endsTooEarly();
  }
}

function endsTooEarly(): RangeError {
  return new RangeError('the message ends too early');
}

class Writer {
  readonly #tables: MessageTables;
  readonly #parts: Uint8Array[] = [];

  constructor(tables: MessageTables) {
    this.#tables = tables;
  }

  finish(): Uint8Array {
    return Buffer.concat(this.#parts);
  }

  message(name: string, message: Message): void {
    for (const field of fieldsOf(this.#tables, name)) {
      if (field.oneof === undefined) this.#field(field, message[field.name]);
      else this.#chosen(field, message[field.oneof]);
    }
  }

  /** The tables say which type a field has, and callers fill messages by types made from the same tables. */
  #field(field: Field, value: unknown): void {
    if (value === undefined) return;
    if (field.many === 'list') for (const item of value as readonly unknown[]) this.#value(field, item);
    else if (field.many === 'map') {
      for (const [key, item] of Object.entries(value as object)) {
        const entry = new Writer(this.#tables);
        entry.#value({ number: 1, name: 'key', type: 'string' }, key);
        entry.#value({ number: 2, name: 'value', type: field.type }, item);
        this.#bytes(field.number, entry.finish());
      }
    } else if (isMessage(this.#tables, field.type) || !isNothing(value)) this.#value(field, value);
  }

  #chosen(field: Field, group: unknown): void {
    const { case: chosen, value } = (group ?? {}) as { readonly case?: string; readonly value?: unknown };
    if (chosen === field.name) this.#value(field, value);
  }

  /** Each assertion is what the table says about the field. */
  #value({ number, type }: Field, value: unknown): void {
    switch (type) {
      case 'string':
        this.#bytes(number, Buffer.from(value as string));
        break;
      case 'bytes':
        this.#bytes(number, value as Uint8Array);
        break;
      case 'bool':
      case 'int64':
      case 'enum':
        this.#varint(BigInt((number << 3) | VARINT));
        this.#varint(BigInt.asUintN(64, BigInt(value as bigint | number | boolean)));
        break;
      default: {
        const inner = new Writer(this.#tables);
        inner.message(type, value as Message);
        this.#bytes(number, inner.finish());
      }
    }
  }

  #bytes(number: number, bytes: Uint8Array): void {
    this.#varint(BigInt((number << 3) | LENGTH));
    this.#varint(BigInt(bytes.length));
    this.#parts.push(bytes);
  }

  #varint(value: bigint): void {
    const bytes: number[] = [];
    let left = value;
    for (; left > 0x7fn; left >>= 7n) bytes.push(Number(left & 0x7fn) | 0x80);
    bytes.push(Number(left));
    this.#parts.push(Uint8Array.from(bytes));
  }
}

/** The default value of a field. */
function isNothing(value: unknown): boolean {
  return (
    value === '' ||
    value === false ||
    value === 0 ||
    value === 0n ||
    (value instanceof Uint8Array && value.length === 0)
  );
}
