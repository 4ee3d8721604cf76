/** Laws of the codec: nothing changes in a round trip. */
import { deepStrictEqual } from 'node:assert';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeMsgpack, encodeMsgpack } from './codec.ts';
import { numberFromText, textOfNumber } from './number.ts';
import { CtyError } from './path.ts';
import { digits, typedValues } from './testing/arbitraries.ts';
import { type CtyValue, Decimal, isObject } from './value.ts';

describe('MessagePack', () => {
  it('returns every value of every type', () => {
    fc.assert(
      fc.property(typedValues, ({ type, value }) => {
        deepStrictEqual(decodeMsgpack(encodeMsgpack(value, type), type), value);
      }),
      { numRuns: 500 },
    );
  });

  it('returns every value that carries its type', () => {
    fc.assert(
      fc.property(typedValues, ({ value }) => {
        deepStrictEqual(decodeMsgpack(encodeMsgpack(value, 'dynamic'), 'dynamic'), value);
      }),
    );
  });

  it('encodes a decoded value to the same bytes', () => {
    fc.assert(
      fc.property(typedValues, ({ type, value }) => {
        const bytes = Buffer.from(encodeMsgpack(value, type));
        expect(Buffer.from(encodeMsgpack(decodeMsgpack(bytes, type), type)).equals(bytes)).toBe(true);
      }),
    );
  });

  it('refuses every message that is cut, with a CtyError', () => {
    fc.assert(
      fc.property(typedValues, fc.double({ min: 0, max: 1, noNaN: true }), ({ type, value }, share) => {
        const bytes = encodeMsgpack(value, type);
        const cut = bytes.subarray(0, Math.floor(share * (bytes.length - 1)));
        expect(() => decodeMsgpack(cut, type)).toThrow(CtyError);
      }),
    );
  });

  it('refuses arbitrary bytes only with a CtyError', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), typedValues, (bytes, { type }) => {
        try {
          decodeMsgpack(bytes, type);
        } catch (error) {
          expect(error).toBeInstanceOf(CtyError);
        }
      }),
    );
  });

  it('creates no object with a prototype', () => {
    fc.assert(
      fc.property(typedValues, ({ type, value }) => {
        expect(hasPrototype(decodeMsgpack(encodeMsgpack(value, type), type))).toBe(false);
      }),
    );
  });
});

describe('numbers', () => {
  it('keep every digit, and equal numbers have equal forms', () => {
    fc.assert(
      fc.property(digits, fc.nat(5), (text, zeros) => {
        const number = numberFromText(text);
        expect(number).toBeDefined();
        if (number === undefined) return;
        const plain = textOfNumber(number);
        expect(plain).toBe(withoutSurplusZeros(text));
        const padded = text.includes('.') ? text + '0'.repeat(zeros) : `${text}.${'0'.repeat(zeros + 1)}`;
        expect(numberFromText(padded)).toStrictEqual(number);
        expect(numberFromText(`${text}e0`)).toStrictEqual(number);
      }),
      { numRuns: 500 },
    );
  });

  it('move their point with an exponent', () => {
    fc.assert(
      fc.property(digits, fc.nat(40), (text, places) => {
        const moved = textOfNumber(numberFromText(`${text}e-${places}`) ?? 0) ?? '';
        expect(textOfNumber(numberFromText(`${moved}e${places}`) ?? 0)).toBe(withoutSurplusZeros(text));
      }),
    );
  });
});

function withoutSurplusZeros(text: string): string {
  const trimmed = text.includes('.') ? text.replace(/0+$/, '').replace(/\.$/, '') : text;
  return trimmed === '-0' ? '0' : trimmed;
}

function hasPrototype(value: CtyValue): boolean {
  if (Array.isArray(value)) return value.some(hasPrototype);
  if (!isObject(value) || value instanceof Decimal) return false;
  return Object.getPrototypeOf(value) !== null || Object.values(value).some(hasPrototype);
}
