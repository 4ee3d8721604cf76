/** Stored JSON as values, digits and odd keys included. */
import { deepStrictEqual } from 'node:assert';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeJson, fromJson } from './json.ts';
import { parseJson } from './json-text.ts';
import { textOfNumber } from './number.ts';
import { CtyError } from './path.ts';
import { knownTypedValues } from './testing/arbitraries.ts';
import { type CtyType, type CtyValue, Decimal, isObject, objectOf } from './value.ts';

const decoded = (text: string, type: CtyType) => decodeJson(Buffer.from(text), type);

describe('reading JSON', () => {
  it('keeps the digits of long numbers', () => {
    expect(parseJson('[9007199254740993123, 0.1, 1.50, 1e3, -0, 3.14159265358979323846]')).toEqual([
      9007199254740993123n,
      0.1,
      1.5,
      1000,
      0,
      new Decimal('3.14159265358979323846'),
    ]);
  });

  it('leaves digits inside strings alone', () => {
    expect(parseJson('"9007199254740993123 \\"1\\" \\\\"')).toBe('9007199254740993123 "1" \\');
  });

  it('has __proto__ as an ordinary key', () => {
    expect(Object.entries(parseJson('{"__proto__": {"a": 1}}') as object)).toEqual([
      ['__proto__', objectOf([['a', 1]])],
    ]);
  });

  it('reads strings of megabytes full of escapes', () => {
    const long = '\\"\n'.repeat(1_000_000);
    expect(parseJson(JSON.stringify([long]))).toEqual([long]);
  });

  it.each(['', '{', '[1,]', '{"a" 1}', '"a', '"a\\', '01', '1 2', 'nul', '{a:1}', '[1 2]', '"\n"', '1e999999999999'])(
    'refuses %j',
    (text) => {
      expect(() => parseJson(text)).toThrow(SyntaxError);
    },
  );

  it('refuses bottomless nesting instead of dying of it', () => {
    expect(() => parseJson('['.repeat(100_000))).toThrow('nested too deeply');
  });

  it('agrees with JSON.parse wherever that loses nothing', () => {
    const plain = fc.jsonValue();
    fc.assert(
      fc.property(plain, fc.nat(2), (json, indent) => {
        const text = JSON.stringify(json, null, indent);
        const viaPlain = JSON.parse(
          JSON.stringify(parseJson(text), (_, value) => (typeof value === 'bigint' ? Number(value) : value)),
        );
        expect(viaPlain).toEqual(JSON.parse(text));
      }),
    );
  });
});

describe('stored values', () => {
  const type: CtyType = ['object', { name: 'string', count: 'number', tags: ['set', 'string'] }];

  it('lose attributes that are gone and gain missing ones as null', () => {
    expect(decoded('{"name":"a","gone":1}', type)).toEqual(
      objectOf([
        ['name', 'a'],
        ['count', null],
        ['tags', null],
      ]),
    );
  });

  it('are refused with their place', () => {
    expect(() => decoded('{"tags":[[]]}', type)).toThrow('tags[0]: expected a string');
    expect(() => decoded('{"count":"many"}', type)).toThrow(CtyError);
    expect(() => decoded('[]', type)).toThrow('expected an object');
  });

  it('carry their type where it is not fixed', () => {
    expect(decoded('{"type":["list","number"],"value":[1]}', 'dynamic')).toEqual([1]);
  });

  it('may be plain data after a migration', () => {
    expect(fromJson({ name: 'a', count: 2 ** 60, tags: undefined }, type)).toEqual(
      objectOf([
        ['name', 'a'],
        ['count', 2n ** 60n],
        ['tags', null],
      ]),
    );
  });

  it('come back as they were written', () => {
    fc.assert(
      fc.property(knownTypedValues, ({ type: anyType, value }) => {
        deepStrictEqual(decoded(written(value), anyType), value);
      }),
    );
  });
});

/** As the host's state file has it. */
function written(value: CtyValue): string {
  if (Array.isArray(value)) return `[${value.map(written).join()}]`;
  if (isObject(value)) {
    return `{${Object.entries(value).map(([name, inner]) => `${JSON.stringify(name)}:${written(inner)}`)}}`;
  }
  if (typeof value === 'number' || typeof value === 'bigint' || value instanceof Decimal)
    return textOfNumber(value) ?? '';
  return JSON.stringify(value);
}
