import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeForm } from './body-formats.ts';

describe('decodeForm', () => {
  it('returns every value that was fully encoded', () => {
    const text = fc.string({ unit: 'grapheme', minLength: 1 });
    fc.assert(
      fc.property(fc.dictionary(fc.stringMatching(/^[a-z][a-z0-9-]*$/), text, { minKeys: 1 }), (values) => {
        const encoded = Object.entries(values).map(([key, value]) => `${key}=${encodeURIComponent(value)}`);
        expect(Object.fromEntries(decodeForm(encoded.join('&')))).toEqual({ ...values });
      }),
    );
  });

  it('keeps an empty value, and drops earlier ones at a key without a value', () => {
    expect([...decodeForm('a=&b=1&b')]).toEqual([
      ['a', ''],
      ['b', null],
    ]);
  });

  it('turns an empty pair into a nameless parameter, but not empty pairs at the end', () => {
    expect([...decodeForm('a=1&&b=2&&')]).toEqual([
      ['a', '1'],
      ['', null],
      ['b', '2'],
    ]);
  });

  it('treats a lone zero as no data', () => {
    expect(decodeForm('0').size).toBe(0);
  });
});
