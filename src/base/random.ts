/** Randomness. A stream can be forked by label, so that one extra draw does not change the draws of other parts. */
import { randomBytes } from 'node:crypto';

export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  /** An independent stream; the same label of the same parent always gives the same stream. */
  fork(label: string): Random;
}

/** Unpredictable numbers for real runs. */
export const systemRandom: Random = {
  next: () => randomBytes(4).readUInt32BE() / 2 ** 32,
  fork: () => systemRandom,
};

/** The same seed always gives the same numbers. */
export function seededRandom(seed: number | string): Random {
  const root = hash(String(seed));
  let state = root;
  return {
    next: () => {
      // mulberry32: small, fast, and good enough for choices; never used for secrets.
      state = (state + 0x6d2b79f5) | 0;
      let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
      mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
    },
    fork: (label) => seededRandom(`${root}/${label}`),
  };
}

/** A whole number from `min` to `max`, both included. */
export function randomInteger(random: Random, min: number, max: number): number {
  return min + Math.floor(random.next() * (max - min + 1));
}

export function randomHex(random: Random, digits: number): string {
  return Array.from({ length: digits }, () => randomInteger(random, 0, 15).toString(16)).join('');
}

/** A version 4 UUID. */
export function randomUuid(random: Random): string {
  const variant = randomInteger(random, 8, 11).toString(16);
  const part = (digits: number) => randomHex(random, digits);
  return `${part(8)}-${part(4)}-4${part(3)}-${variant}${part(3)}-${part(12)}`;
}

export function shuffled<T>(random: Random, items: readonly T[]): T[] {
  const result = [...items];
  for (let i = result.length - 1; i > 0; i--) {
    const j = randomInteger(random, 0, i);
    [result[i], result[j]] = [result[j] as T, result[i] as T]; // both are within the list
  }
  return result;
}

/** FNV-1a, 32 bits: turns a label into an initial state. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return value | 0;
}
