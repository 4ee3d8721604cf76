/** Reads MessagePack piece by piece; what a piece means is decided by whoever knows the type. */

export type Piece =
  | { readonly kind: 'nil' }
  | { readonly kind: 'bool'; readonly value: boolean }
  | { readonly kind: 'int'; readonly value: bigint }
  | { readonly kind: 'float'; readonly value: number }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'binary'; readonly value: Uint8Array }
  /** The elements, or the pairs of key and value, follow as pieces. */
  | { readonly kind: 'array' | 'map'; readonly count: number }
  /** Every extension the host uses stands for a value that is not known yet; what it says about it is passed over. */
  | { readonly kind: 'extension' };

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
    const tag = this.#uint(1);
    if (tag < 0x80) return { kind: 'int', value: BigInt(tag) };
    if (tag < 0x90) return this.#collection('map', tag & 0x0f);
    if (tag < 0xa0) return this.#collection('array', tag & 0x0f);
    if (tag < 0xc0) return this.#string(tag & 0x1f);
    if (tag >= 0xe0) return { kind: 'int', value: BigInt(tag - 0x100) };
    switch (tag) {
      case 0xc0:
        return { kind: 'nil' };
      case 0xc2:
      case 0xc3:
        return { kind: 'bool', value: tag === 0xc3 };
      case 0xc4:
      case 0xc5:
      case 0xc6:
        return { kind: 'binary', value: this.#take(this.#uint(1 << (tag - 0xc4))) };
      case 0xc7:
      case 0xc8:
      case 0xc9:
        return this.#extension(this.#uint(1 << (tag - 0xc7)));
      case 0xca:
        return { kind: 'float', value: this.#take(4).readFloatBE() };
      case 0xcb:
        return { kind: 'float', value: this.#take(8).readDoubleBE() };
      case 0xcc:
      case 0xcd:
      case 0xce:
        return { kind: 'int', value: BigInt(this.#uint(1 << (tag - 0xcc))) };
      case 0xcf:
        return { kind: 'int', value: this.#take(8).readBigUInt64BE() };
      case 0xd0:
      case 0xd1:
      case 0xd2:
        return { kind: 'int', value: BigInt(this.#int(1 << (tag - 0xd0))) };
      case 0xd3:
        return { kind: 'int', value: this.#take(8).readBigInt64BE() };
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
        throw new RangeError(`byte ${tag} begins nothing known`);
    }
  }

  #string(length: number): Piece {
    return { kind: 'string', value: this.#take(length).toString('utf8') };
  }

  #extension(length: number): Piece {
    this.#take(1 + length);
    return { kind: 'extension' };
  }

  /** Every element takes at least a byte, so a count beyond the rest is a lie that must not reserve memory. */
  #collection(kind: 'array' | 'map', count: number): Piece {
    const least = kind === 'map' ? 2 * count : count;
    if (least > this.#bytes.length - this.#at) throw new RangeError('the message ends too early');
    return { kind, count };
  }

  #uint(bytes: number): number {
    return this.#take(bytes).readUIntBE(0, bytes);
  }

  #int(bytes: number): number {
    return this.#take(bytes).readIntBE(0, bytes);
  }

  #take(length: number): Buffer {
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new RangeError('the message ends too early');
    const taken = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }
}
