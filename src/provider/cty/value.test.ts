/** Plain data for values and types of the host's language. */
import { describe, expect, it } from 'vitest';
import { attribute, CtyError, formatPath, index, key } from './path.ts';
import { type CtyValue, Decimal, isObject, isWhollyKnown, objectOf, typeFromJson, UNKNOWN } from './value.ts';

describe('isObject', () => {
  it('is true of records only', () => {
    expect(isObject({})).toBe(true);
    expect(isObject(objectOf([]))).toBe(true);
    const others: (CtyValue | undefined)[] = [undefined, null, UNKNOWN, 'a', 1, 1n, true, [], new Decimal('0.1')];
    for (const other of others) expect(isObject(other)).toBe(false);
  });
});

describe('isWhollyKnown', () => {
  it('finds an unknown value at any depth', () => {
    const values: CtyValue[] = [UNKNOWN, [1, UNKNOWN], { a: 1, b: UNKNOWN }, { a: [{ b: [UNKNOWN] }] }];
    for (const value of values) {
      expect(isWhollyKnown(value)).toBe(false);
    }
  });

  it('is true of everything else', () => {
    for (const value of [null, 'a', 0, 1n, false, new Decimal('0.1'), [], {}, [1, [2]], { a: [{ b: null }] }]) {
      expect(isWhollyKnown(value)).toBe(true);
    }
  });
});

describe('typeFromJson', () => {
  it.each([
    '"string"',
    '"number"',
    '"bool"',
    '"dynamic"',
    '["list","string"]',
    '["set",["map","number"]]',
    '["tuple",[]]',
    '["tuple",["bool",["list","dynamic"]]]',
    '["object",{}]',
    '["object",{"a":"string","b":["object",{"__proto__":"bool"}]}]',
  ])('reads %s', (json) => {
    expect(JSON.stringify(typeFromJson(JSON.parse(json)))).toBe(json);
  });

  it('skips the names of optional attributes', () => {
    expect(typeFromJson(['object', { a: 'string' }, ['a']])).toEqual(['object', { a: 'string' }]);
  });

  it.each([
    'null',
    '1',
    '{}',
    '[]',
    '"text"',
    '["list"]',
    '["list","text"]',
    '["tuple","string"]',
    '["tuple",{}]',
    '["tuple",["text"]]',
    '["object",null]',
    '["object","string"]',
    '["object",1]',
    '["object",["string"]]',
    '["object",{"a":"text"}]',
    '["other","string"]',
    '{"0":"list","1":"string"}',
  ])('refuses %s', (json) => {
    expect(() => typeFromJson(JSON.parse(json))).toThrow(
      new CtyError([], 'the value comes with something that is not a type'),
    );
  });
});

describe('a step of a path', () => {
  it('says which kind it is', () => {
    expect([attribute('a'), key('b'), index(1)]).toEqual([
      { kind: 'attribute', name: 'a' },
      { kind: 'key', key: 'b' },
      { kind: 'index', index: 1 },
    ]);
  });
});

describe('formatPath', () => {
  it('writes paths as the host does', () => {
    expect(formatPath([attribute('rules'), index(1), attribute('a')])).toBe('rules[1].a');
    expect(formatPath([attribute('tags'), key('x"y')])).toBe('tags["x\\"y"]');
    expect(formatPath([index(0), attribute('a'), attribute('b')])).toBe('[0].a.b');
    expect(formatPath([])).toBe('');
    expect(index(1)).toEqual({ kind: 'index', index: 1 });
  });
});

describe('CtyError', () => {
  it('names the place, except for the whole value', () => {
    const error = new CtyError([attribute('a'), key('b')], 'wrong');
    expect(error).toMatchObject({ name: 'CtyError', message: 'a["b"]: wrong', path: [attribute('a'), key('b')] });
    expect(new CtyError([], 'wrong').message).toBe('wrong');
  });
});
