/** Stored JSON as values, including long numbers and unusual keys. */
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
    const long = '\\"\n'.repeat(400_000);
    expect(parseJson(JSON.stringify([long]))).toEqual([long]);
  });

  it.each(['', '{', '[1,]', '{"a" 1}', '"a', '"a\\', '01', '1 2', 'nul', '{a:1}', '[1 2]', '"\n"', '1e999999999999'])(
    'refuses %j',
    (text) => {
      expect(() => parseJson(text)).toThrow(SyntaxError);
    },
  );

  it.each([
    ['', 'JSON at character 0: expected a value'],
    ['[1,]', 'JSON at character 3: expected a value'],
    ['{"a" 1}', 'JSON at character 5: expected a colon'],
    ['{a:1}', 'JSON at character 1: expected a string'],
    ['[1 2]', 'JSON at character 3: expected a comma or ]'],
    ['{"a":1 "b":2}', 'JSON at character 7: expected a comma or }'],
    ['"a', 'JSON at character 2: the string does not end'],
    ['1 2', 'JSON at character 2: there is more text than one value'],
  ])('says where %j is wrong', (text, message) => {
    expect(() => parseJson(text)).toThrow(new SyntaxError(message));
  });

  it('accepts space wherever JSON does', () => {
    expect(parseJson(' \t\n\r{ "a" : [ 1 , true ] , "b" : { } , "c" : [ ] } \n')).toEqual(
      objectOf([
        ['a', [1, true]],
        ['b', objectOf([])],
        ['c', []],
      ]),
    );
  });

  it('reads the three words, and nothing that only begins like them', () => {
    expect(parseJson('[true,false,null]')).toEqual([true, false, null]);
    expect(() => parseJson('truex')).toThrow(SyntaxError);
  });

  it('refuses bottomless nesting instead of overflowing the stack', () => {
    expect(() => parseJson('['.repeat(100_000))).toThrow('nested too deeply');
    const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
    expect(() => parseJson(nested(501))).not.toThrow();
    expect(() => parseJson(nested(502))).toThrow('nested too deeply');
    expect(() => parseJson(`${'{"a":'.repeat(501)}1${'}'.repeat(501)}`)).toThrow('nested too deeply');
  });

  it('agrees with JSON.parse unless that loses digits', () => {
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

  it.each<[string, CtyType, CtyValue]>([
    ['"x"', 'string', 'x'],
    ['"e\u0301"', 'string', '\u00e9'],
    ['true', 'string', 'true'],
    ['1.50', 'string', '1.5'],
    ['9007199254740993123', 'string', '9007199254740993123'],
    ['3.14159265358979323846', 'string', '3.14159265358979323846'],
    ['"12"', 'number', 12],
    ['"3.14159265358979323846"', 'number', new Decimal('3.14159265358979323846')],
    ['3.14159265358979323846', 'number', new Decimal('3.14159265358979323846')],
    ['9007199254740993123', 'number', 9007199254740993123n],
    ['true', 'bool', true],
    ['"true"', 'bool', true],
    ['false', 'bool', false],
    ['"false"', 'bool', false],
    ['null', 'bool', null],
    ['[1,"2"]', ['tuple', ['number', 'number']], [1, 2]],
    ['{"e\u0301":1}', ['map', 'number'], objectOf([['\u00e9', 1]])],
  ])('%s is read as %j', (text, anyType, value) => {
    expect(decoded(text, anyType)).toEqual(value);
  });

  it.each<[string, CtyType, string]>([
    ['{}', 'string', 'expected a string'],
    ['true', 'number', 'expected a number'],
    ['["5"]', 'number', 'expected a number'],
    ['"x"', 'bool', 'expected a bool'],
    ['1', 'bool', 'expected a bool'],
    ['{}', ['list', 'string'], 'expected a list'],
    ['1', ['set', 'string'], 'expected a set'],
    ['[1]', ['tuple', ['number', 'number']], 'expected a tuple of 2'],
    ['{}', ['tuple', []], 'expected a tuple of 0'],
    ['[]', ['map', 'string'], 'expected a map'],
    ['1.00000000000000000001', ['map', 'string'], 'expected a map'],
    ['"x"', ['object', {}], 'expected an object'],
    ['1', 'dynamic', 'expected a type with its value'],
    ['{"type":"text","value":1}', 'dynamic', 'the value comes with something that is not a type'],
    ['{"a":{"type":"text"}}', ['object', { a: 'dynamic' }], 'a: the value comes with something that is not a type'],
    ['[[1],["x"]]', ['list', ['list', 'number']], '[1][0]: expected a number'],
    ['[1,"x"]', ['tuple', ['number', 'number']], '[1]: expected a number'],
    ['{"a":"x"}', ['map', 'number'], '["a"]: expected a number'],
    ['{"a":{"b":"x"}}', ['object', { a: ['object', { b: 'number' }] }], 'a.b: expected a number'],
  ])('%s is refused as %j', (text, anyType, message) => {
    expect(() => decoded(text, anyType)).toThrow(expect.objectContaining({ name: 'CtyError', message }));
  });

  it('are refused at the top without a path', () => {
    expect(() => fromJson([], 'string')).toThrow(expect.objectContaining({ name: 'CtyError', path: [] }));
  });

  it('do not take an inherited property for an attribute', () => {
    expect(fromJson({}, ['object', Object.fromEntries([['toString', 'string'] as const])])).toEqual(
      objectOf([['toString', null]]),
    );
  });

  it('carry their type if it is not fixed', () => {
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
