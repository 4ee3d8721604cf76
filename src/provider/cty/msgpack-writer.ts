/** Writes the few kinds of MessagePack that values of the host's language need, always in the shortest form. */

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;

export const fitsInt64 = (integer: bigint) => integer >= INT64_MIN && integer <= INT64_MAX;

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

  /** Extension 0: the content is ignored by every reader, one byte is the shortest. */
  unknown(): void {
    this.#byte(0xd4);
    this.#byte(0);
    this.#byte(0);
  }

  bool(value: boolean): void {
    this.#byte(value ? 0xc3 : 0xc2);
  }

  /** Must fit into 64 bits with a sign. */
  int(value: bigint): void {
    if (value >= -32n && value < 128n) {
      this.#byte(Number(value) & 0xff);
      return;
    }
    const [tag, bytes] = intForm(value);
    this.#byte(tag);
    const at = this.#reserve(bytes);
    if (bytes === 8) this.#bytes.writeBigInt64BE(value, at);
    else if (value < 0n) this.#bytes.writeIntBE(Number(value), at, bytes);
    else this.#bytes.writeUIntBE(Number(value), at, bytes);
  }

  string(text: string): void {
    const length = Buffer.byteLength(text);
    if (length < 32) this.#byte(0xa0 | length);
    else this.#sized(0xd9, length);
    const at = this.#reserve(length);
    this.#bytes.write(text, at, 'utf8');
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

  /** A tag with one, two or four bytes of length: three tags in a row. */
  #sized(tag: number, length: number): void {
    if (length < 0x1_00) {
      this.#byte(tag);
      this.#byte(length);
    } else this.#counted(tag + 1, length);
  }

  #counted(tag: number, count: number): void {
    const bytes = count < 0x1_00_00 ? 2 : 4;
    this.#byte(bytes === 2 ? tag : tag + 1);
    const at = this.#reserve(bytes);
    this.#bytes.writeUIntBE(count, at, bytes);
  }

  #byte(value: number): void {
    const at = this.#reserve(1);
    this.#bytes[at] = value;
  }

  /** Makes room and says where it begins. Comes before any use of the bytes, which it may replace by more. */
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

function intForm(value: bigint): [tag: number, bytes: 1 | 2 | 4 | 8] {
  const unsigned = value >= 0n;
  const magnitude = unsigned ? value : -value - 1n;
  const half = unsigned ? 1n : 2n;
  if (magnitude < 0x1_00n / half) return [unsigned ? 0xcc : 0xd0, 1];
  if (magnitude < 0x1_00_00n / half) return [unsigned ? 0xcd : 0xd1, 2];
  if (magnitude < 0x1_00_00_00_00n / half) return [unsigned ? 0xce : 0xd2, 4];
  return [0xd3, 8];
}
