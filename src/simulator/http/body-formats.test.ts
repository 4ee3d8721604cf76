import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeJson } from './body-formats.ts';

describe('decodeJson', () => {
  it('reads every JSON value', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        fc.pre(!/\d{16}/.test(text)); // long whole numbers stay text, see below
        const decoded = decodeJson(text);
        expect(decoded).toEqual({ ok: true, value: JSON.parse(text) });
      }),
    );
  });

  it('refuses what JSON.parse refuses', () => {
    const fragment = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"a"',
      '1',
      '-',
      '.',
      'e',
      '0',
      'true',
      'nul',
      ' ',
      '\\',
      '"',
    );
    fc.assert(
      fc.property(fc.array(fragment, { maxLength: 8 }), (fragments) => {
        const text = fragments.join('');
        let isValid = true;
        try {
          JSON.parse(text);
        } catch {
          isValid = false;
        }
        expect(decodeJson(text).ok).toBe(isValid);
      }),
      { numRuns: 2000 },
    );
  });

  it('leaves whole numbers beyond 53 bits as text', () => {
    expect(decodeJson('[9007199254740993, 1e400]')).toEqual({ ok: true, value: ['9007199254740993', Infinity] });
  });

  it.each([
    [
      '',
      'malformed JSON string, neither tag, array, object, number, string or atom, at character offset 0 (before "(end of string)")',
    ],
    [
      '{"a":',
      'malformed JSON string, neither tag, array, object, number, string or atom, at character offset 5 (before "(end of string)")',
    ],
    [
      '{"a":x=1}',
      'malformed JSON string, neither tag, array, object, number, string or atom, at character offset 5 (before "x=1}")',
    ],
    ['{"a" 1}', `':' expected, at character offset 5 (before "1}")`],
    ['{a:1}', `'"' expected, at character offset 1 (before "a:1}")`],
    ['{"a":1 "b":2}', ', or } expected while parsing object/hash, at character offset 7 (before ""b":2}")'],
    ['[1 2]', ', or ] expected while parsing array, at character offset 3 (before "2]")'],
    [
      '{} and a long text behind it',
      'garbage after JSON object, at character offset 3 (before "and a long text behi...")',
    ],
    ['tru', `'true' expected, at character offset 0 (before "tru")`],
    ['"abc', 'unexpected end of string while parsing JSON string, at character offset 4 (before "(end of string)")'],
    ['01', 'malformed number (leading zero must not be followed by another digit), at character offset 1 (before "1")'],
    ['-', 'malformed number (no digits after initial minus), at character offset 1 (before "(end of string)")'],
  ])('rejects %j with the message of the server', (text, message) => {
    expect(decodeJson(text)).toEqual({ ok: false, message });
  });
});
