/**
 * The values of one schema to their bytes and back. For one plan a host sends the same value several times (what it read is what it
 * plans from, and what it validated is what it plans), and mostly gets back what it sent, so the newest ones are kept.
 */
import { decodeMsgpack, encodeMsgpack } from './codec.ts';
import type { CtyType, CtyValue } from './value.ts';

/** A host works on ten resources at once, each with a few values. */
const MOST_KEPT = 64;

export class KnownValues {
  readonly type: CtyType;
  /** By their bytes as text, the oldest first. Values are never changed. */
  readonly #values = new Map<string, CtyValue>();
  readonly #texts = new WeakMap<object, string>();

  constructor(type: CtyType) {
    this.type = type;
  }

  decode(bytes: Uint8Array): CtyValue {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
    const value = this.#values.get(text) ?? decodeMsgpack(bytes, this.type);
    this.#remember(text, value);
    return value;
  }

  encode(value: CtyValue): Uint8Array {
    const text = isReference(value) ? this.#texts.get(value) : undefined;
    if (text !== undefined) return Buffer.from(text, 'latin1');
    const bytes = encodeMsgpack(value, this.type);
    this.#remember(Buffer.from(bytes).toString('latin1'), value);
    return bytes;
  }

  #remember(text: string, value: CtyValue): void {
    if (!isReference(value)) return;
    // Behind the others: it is the newest again.
    this.#values.delete(text);
    this.#values.set(text, value);
    this.#texts.set(value, text);
    const [oldest] = this.#values.keys();
    if (this.#values.size > MOST_KEPT && oldest !== undefined) this.#values.delete(oldest);
  }
}

function isReference(value: CtyValue): value is Exclude<CtyValue, null> & object {
  return typeof value === 'object' && value !== null;
}
