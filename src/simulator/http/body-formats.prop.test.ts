import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeForm } from './body-formats.ts';

describe('decodeForm', () => {
  it('gives back every value that was encoded completely', () => {
    const text = fc.string({ unit: 'grapheme', minLength: 1 });
    fc.assert(
      fc.property(fc.dictionary(fc.stringMatching(/^[a-z][a-z0-9-]*$/), text, { minKeys: 1 }), (values) => {
        const encoded = Object.entries(values).map(([key, value]) => `${key}=${encodeURIComponent(value)}`);
        expect(Object.fromEntries(decodeForm(encoded.join('&')))).toEqual({ ...values });
      }),
    );
  });

  it('keeps an empty value, and forgets earlier ones at a key without a value', () => {
    expect([...decodeForm('a=&b=1&b')]).toEqual([
      ['a', ''],
      ['b', null],
    ]);
  });

  it('makes a nameless parameter of an empty pair, but not of empty pairs at the end', () => {
    expect([...decodeForm('a=1&&b=2&&')]).toEqual([
      ['a', '1'],
      ['', null],
      ['b', '2'],
    ]);
  });

  it('takes a lone zero for no data', () => {
    expect(decodeForm('0').size).toBe(0);
  });
});
