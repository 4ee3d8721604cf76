/**
 * The MessagePack format (https://github.com/msgpack/msgpack/blob/master/spec.md), without types: a reader that yields one
 * piece at a time, and a writer that picks the shortest form, as the host's encoder does.
 */

export type Piece =
  | { readonly kind: 'nil' }
  | { readonly kind: 'bool'; readonly value: boolean }
  | { readonly kind: 'int'; readonly value: bigint }
  | { readonly kind: 'float'; readonly value: number }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'binary'; readonly value: Uint8Array }
  /** The elements, or the pairs of key and value, follow as pieces. */
  | { readonly kind: 'array' | 'map'; readonly count: number }
  /** Every extension that the host uses stands for an unknown value. What it says about that value is skipped. */
  | { readonly kind: 'extension' };

const NIL: Piece = { kind: 'nil' };
const TRUE: Piece = { kind: 'bool', value: true };
const FALSE: Piece = { kind: 'bool', value: false };
const EXTENSION: Piece = { kind: 'extension' };

export class MsgpackReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  next(): Piece {
    const tag = this.#bytes[this.#skip(1)] ?? 0;
    if (tag < 0x80) return { kind: 'int', value: BigInt(tag) };
    if (tag < 0x90) return this.#collection('map', tag & 0x0f);
    if (tag < 0xa0) return this.#collection('array', tag & 0x0f);
    if (tag < 0xc0) return this.#string(tag & 0x1f);
    if (tag >= 0xe0) return { kind: 'int', value: BigInt(tag - 0x100) };
    switch (tag) {
      case 0xc0:
        return NIL;
      case 0xc2:
      case 0xc3:
        return tag === 0xc3 ? TRUE : FALSE;
      case 0xc4:
      case 0xc5:
      case 0xc6:
        return this.#binary(this.#uint(1 << (tag - 0xc4)));
      case 0xc7:
      case 0xc8:
      case 0xc9:
        return this.#extension(this.#uint(1 << (tag - 0xc7)));
      case 0xca:
        return { kind: 'float', value: this.#bytes.readFloatBE(this.#skip(4)) };
      case 0xcb:
        return { kind: 'float', value: this.#bytes.readDoubleBE(this.#skip(8)) };
      case 0xcc:
      case 0xcd:
      case 0xce:
        return { kind: 'int', value: BigInt(this.#uint(1 << (tag - 0xcc))) };
      case 0xcf:
        return { kind: 'int', value: this.#bytes.readBigUInt64BE(this.#skip(8)) };
      case 0xd0:
      case 0xd1:
      case 0xd2:
        return { kind: 'int', value: BigInt(this.#int(1 << (tag - 0xd0))) };
      case 0xd3:
        return { kind: 'int', value: this.#bytes.readBigInt64BE(this.#skip(8)) };
      case 0xd4:
      case 0xd5:
      case 0xd6:
      case 0xd7:
      case 0xd8:
        return this.#extension(1 << (tag - 0xd4));
      case 0xd9:
      case 0xda:
      case 0xdb:
        return this.#string(this.#uint(1 << (tag - 0xd9)));
      case 0xdc:
      case 0xdd:
        return this.#collection('array', this.#uint(2 << (tag - 0xdc)));
      case 0xde:
      case 0xdf:
        return this.#collection('map', this.#uint(2 << (tag - 0xde)));
      default:
        throw new RangeError(`byte 0x${tag.toString(16)} does not begin a MessagePack value`);
    }
  }

  #string(length: number): Piece {
    const start = this.#skip(length);
    return { kind: 'string', value: this.#bytes.toString('utf8', start, this.#at) };
  }

  #binary(length: number): Piece {
    const start = this.#skip(length);
    return { kind: 'binary', value: this.#bytes.subarray(start, this.#at) };
  }

  #extension(length: number): Piece {
    this.#skip(1 + length);
    return EXTENSION;
  }

  /** Every element takes at least one byte, so a count beyond the rest is refused before it can reserve memory. */
  #collection(kind: 'array' | 'map', count: number): Piece {
    const least = kind === 'map' ? 2 * count : count;
    if (least > this.#bytes.length - this.#at) throw endsTooEarly();
    return { kind, count };
  }

  #uint(bytes: number): number {
    return this.#bytes.readUIntBE(this.#skip(bytes), bytes);
  }

  #int(bytes: number): number {
    return this.#bytes.readIntBE(this.#skip(bytes), bytes);
  }

  /** Where the next bytes begin; the ones behind them are read next. */
  #skip(length: number): number {
    const start = this.#at;
    if (start + length > this.#bytes.length) throw endsTooEarly();
    this.#at = start + length;
    return start;
  }
}

function endsTooEarly(): RangeError {
  return new RangeError('the message ends too early');
}

export class MsgpackWriter {
  #bytes = Buffer.allocUnsafe(512);
  #length = 0;

  /** What has been written. */
  finish(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  nil(): void {
    this.#byte(0xc0);
  }

  /** Extension 0 with one byte, which readers ignore: the shortest extension. */
  unknown(): void {
    this.#byte(0xd4);
    this.#byte(0);
    this.#byte(0);
  }

  bool(value: boolean): void {
    this.#byte(value ? 0xc3 : 0xc2);
  }

  /** From -2^63 to 2^64 - 1. */
  int(value: bigint): void {
    if (value >= -32n && value < 128n) this.#byte(Number(value) & 0xff);
    else if (value >= 0n) this.#unsigned(value);
    else this.#signed(value);
  }

  string(text: string): void {
    const length = Buffer.byteLength(text);
    if (length < 32) this.#byte(0xa0 | length);
    else this.#sized(0xd9, length);
    const at = this.#reserve(length);
    this.#bytes.write(text, at);
  }

  binary(bytes: Uint8Array): void {
    this.#sized(0xc4, bytes.length);
    const at = this.#reserve(bytes.length);
    this.#bytes.set(bytes, at);
  }

  /** The elements follow. */
  arrayHead(count: number): void {
    if (count < 16) this.#byte(0x90 | count);
    else this.#counted(0xdc, count);
  }

  /** Pairs of key and value follow. */
  mapHead(count: number): void {
    if (count < 16) this.#byte(0x80 | count);
    else this.#counted(0xde, count);
  }

  #unsigned(value: bigint): void {
    if (value < 0x1_00n) this.#tagged(0xcc, Number(value), 1);
    else if (value < 0x1_00_00n) this.#tagged(0xcd, Number(value), 2);
    else if (value < 0x1_00_00_00_00n) this.#tagged(0xce, Number(value), 4);
    else this.#tagged64(0xcf, value);
  }

  #signed(value: bigint): void {
    if (value >= -0x80n) this.#tagged(0xd0, Number(value) + 0x1_00, 1);
    else if (value >= -0x80_00n) this.#tagged(0xd1, Number(value) + 0x1_00_00, 2);
    else if (value >= -0x80_00_00_00n) this.#tagged(0xd2, Number(value) + 0x1_00_00_00_00, 4);
    else this.#tagged64(0xd3, BigInt.asUintN(64, value));
  }

  /** One, two or four bytes of length, by three tags in a row. */
  #sized(tag: number, length: number): void {
    if (length < 0x1_00) this.#tagged(tag, length, 1);
    else this.#counted(tag + 1, length);
  }

  /** Two or four bytes of length, by two tags in a row. */
  #counted(tag: number, count: number): void {
    if (count < 0x1_00_00) this.#tagged(tag, count, 2);
    else this.#tagged(tag + 1, count, 4);
  }

  #tagged(tag: number, value: number, bytes: 1 | 2 | 4): void {
    this.#byte(tag);
    const at = this.#reserve(bytes);
    this.#bytes.writeUIntBE(value, at, bytes);
  }

  #tagged64(tag: number, value: bigint): void {
    this.#byte(tag);
    const at = this.#reserve(8);
    this.#bytes.writeBigUInt64BE(value, at);
  }

  #byte(value: number): void {
    const at = this.#reserve(1);
    this.#bytes[at] = value;
  }

  /** Makes room and returns where it begins. Call it before touching `#bytes`, which it may replace by a larger buffer. */
  #reserve(count: number): number {
    const at = this.#length;
    this.#length += count;
    if (this.#length > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(this.#length, this.#bytes.length * 2));
      this.#bytes.copy(larger, 0, 0, at);
      this.#bytes = larger;
    }
    return at;
  }
}
