/** What values look like on the wire, byte by byte where the host is particular about it. */
import { describe, expect, it } from 'vitest';
import { decodeMsgpack, encodeMsgpack } from './codec.ts';
import { CtyError, formatPath } from './path.ts';
import { type CtyType, type CtyValue, Decimal, objectOf, UNKNOWN } from './value.ts';

const hex = (value: CtyValue, type: CtyType) => Buffer.from(encodeMsgpack(value, type)).toString('hex');
const decoded = (bytes: string, type: CtyType) => decodeMsgpack(Buffer.from(bytes.replaceAll(' ', ''), 'hex'), type);
const text = (digits: string) => (0xa0 + digits.length).toString(16) + Buffer.from(digits).toString('hex');

function refusal(act: () => unknown): { readonly path: string; readonly message: string } {
  try {
    act();
  } catch (error) {
    if (error instanceof CtyError) return { path: formatPath(error.path), message: error.message };
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('unknown values', () => {
  it('are written as the shortest extension 0, whatever their type', () => {
    expect(hex(UNKNOWN, 'string')).toBe('d40000');
    expect(hex([UNKNOWN], ['list', 'number'])).toBe('91d40000');
    expect(hex({ a: UNKNOWN }, ['object', { a: ['map', 'bool'] }])).toBe('81a161d40000');
    expect(hex(UNKNOWN, 'dynamic')).toBe('d40000');
  });

  it.each([
    ['without refinements', 'd4 00 00', 'string'],
    ['not null', 'c7 03 0c 81 01 c2', 'string'],
    ['not null, with a prefix', 'c7 07 0c 82 01 c2 02 a2 62 2d', 'string'],
    ['a number of at least 0 and less than 256', 'c7 0b 0c 82 03 92 00 c3 04 92 cd 01 00 c2', 'number'],
    ['a list of 1 to 300 elements', 'c7 07 0c 82 05 01 06 cd 01 2c', ['list', 'string']],
    ['with an extension yet to be invented', 'd5 63 ff ff', ['list', 'string']],
    ['with a two-byte length', 'c8 00 01 00 00', 'dynamic'],
  ] as const)('are read %s', (_, bytes, type) => {
    expect(decoded(bytes, type)).toBe(UNKNOWN);
  });

  it('do not disturb what follows them', () => {
    expect(decoded('92 c7 07 0c 82 01 c2 02 a2 62 2d a1 78', ['list', 'string'])).toEqual([UNKNOWN, 'x']);
  });
});

describe('numbers', () => {
  it('have one form, whatever their encoding', () => {
    expect(decoded('01', 'number')).toBe(1);
    expect(decoded('cb 3f f0 00 00 00 00 00 00', 'number')).toBe(1);
    expect(decoded('ca 3f 80 00 00', 'number')).toBe(1);
    expect(decoded('a1 31', 'number')).toBe(1);
    expect(decoded(text('1.00'), 'number')).toBe(1);
    expect(decoded('a3 30 2e 31', 'number')).toBe(0.1);
    expect(decoded('cb 3f b9 99 99 99 99 99 9a', 'number')).toBe(0.1);
    expect(decoded('cf ff ff ff ff ff ff ff ff', 'number')).toBe(18446744073709551615n);
    expect(decoded('d3 80 00 00 00 00 00 00 00', 'number')).toBe(-(2n ** 63n));
    expect(decoded('d0 80', 'number')).toBe(-128);
    expect(decoded('ff', 'number')).toBe(-1);
  });

  it('keep digits that no JavaScript number has', () => {
    const digits = '3.14159265358979323846264338327950288';
    const bytes = encodeMsgpack(new Decimal(digits), 'number');
    expect(decodeMsgpack(bytes, 'number')).toEqual(new Decimal(digits));
    expect(Buffer.from(bytes).subarray(2).toString()).toBe(digits);
  });

  it.each<[CtyValue, string]>([
    [5, '05'],
    [-0, '00'],
    [-33, 'd0df'],
    [200, 'ccc8'],
    [256, 'cd0100'],
    [65_536, 'ce00010000'],
    [70_000, 'ce00011170'],
    [2 ** 53, 'cf0020000000000000'],
    [2n ** 63n - 1n, 'cf7fffffffffffffff'],
    [-(2n ** 63n), 'd38000000000000000'],
    [new Decimal('7'), '07'],
  ])('are written as integers if they have 64 bits with a sign: %s', (value, bytes) => {
    expect(hex(value, 'number')).toBe(bytes);
  });

  it.each<[CtyValue, string]>([
    [2n ** 63n, '9223372036854775808'],
    [-(2n ** 63n) - 1n, '-9223372036854775809'],
    [2n ** 64n, '18446744073709551616'],
    [1e21, '1000000000000000000000'],
    [0.1, '0.1'],
    [0.5, '0.5'],
    [-1.25, '-1.25'],
    [1e-7, '0.0000001'],
    [new Decimal('0.10000000000000000001'), '0.10000000000000000001'],
  ])('are written as digits otherwise: %s', (value, digits) => {
    expect(hex(value, 'number')).toBe(text(digits));
  });

  it('are refused if they are not numbers', () => {
    expect(() => hex(Number.NaN, 'number')).toThrow('expected a number, got NaN');
    expect(() => hex(Number.POSITIVE_INFINITY, 'number')).toThrow('expected a number, got Infinity');
    expect(() => decoded('cb 7f f0 00 00 00 00 00 00', 'number')).toThrow('expected a number, got a float');
    expect(() => decoded('a1 78', 'number')).toThrow('expected a number, got a string');
  });
});

describe('bools', () => {
  it('are one byte', () => {
    expect([hex(true, 'bool'), hex(false, 'bool')]).toEqual(['c3', 'c2']);
    expect([decoded('c3', 'bool'), decoded('c2', 'bool')]).toEqual([true, false]);
  });
});

describe('lists, sets and tuples', () => {
  it('are arrays', () => {
    expect(hex([1, null], ['list', 'number'])).toBe('9201c0');
    expect(hex(['a'], ['set', 'string'])).toBe('91a161');
    expect(hex([1, 'a'], ['tuple', ['number', 'string']])).toBe('9201a161');
    expect(decoded('92 01 a1 61', ['tuple', ['number', 'string']])).toEqual([1, 'a']);
  });

  it.each(['list', 'set'] as const)('a %s may be longer than a short head can say', (kind) => {
    const values = Array.from({ length: 65_536 }, (_, place) => place % 100);
    const bytes = encodeMsgpack(values, [kind, 'number']);
    expect(Buffer.from(bytes.subarray(0, 5)).toString('hex')).toBe('dd00010000');
    expect(decodeMsgpack(bytes, [kind, 'number'])).toEqual(values);
  });

  it('a tuple has as many elements as its type', () => {
    const type: CtyType = ['tuple', ['number', 'number']];
    expect(() => hex([1], type)).toThrow('a tuple of 2 has 1 elements');
    expect(() => decoded('93 01 01 01', type)).toThrow('a tuple of 2 has 3 elements');
  });
});

describe('objects and maps', () => {
  it('are complete on the wire: missing attributes are null', () => {
    expect(hex({}, ['object', { a: 'string' }])).toBe('81a161c0');
    expect(decoded('80', ['object', { a: 'string' }])).toEqual(objectOf([['a', null]]));
  });

  it('keep the attributes that are present', () => {
    const type: CtyType = ['object', { a: 'string', b: 'number' }];
    expect(hex({ b: 2, a: 'x' }, type)).toBe('82a161a178a16202');
    expect(decoded('82 a1 62 02 a1 61 a1 78', type)).toEqual(
      objectOf([
        ['a', 'x'],
        ['b', 2],
      ]),
    );
  });

  it('refuse an attribute that the type lacks', () => {
    expect(refusal(() => hex({ a: { b: 1 } }, ['object', { a: ['object', {}] }]))).toEqual({
      path: 'a.b',
      message: 'a.b: the type has no such attribute',
    });
    expect(refusal(() => decoded('81 a1 61 c0', ['object', {}]))).toEqual({
      path: 'a',
      message: 'a: the type has no such attribute',
    });
    expect(refusal(() => decoded('81 ab 63 6f 6e 73 74 72 75 63 74 6f 72 c0', ['object', {}])).path).toBe(
      'constructor',
    );
    expect(refusal(() => hex({ toString: 'x' }, ['object', {}])).path).toBe('toString');
  });

  it('do not take an inherited property for an attribute', () => {
    expect(hex({}, ['object', Object.fromEntries([['constructor', 'string'] as const])])).toBe(
      `81ab${Buffer.from('constructor').toString('hex')}c0`,
    );
  });

  it('may have __proto__ as a key', () => {
    const value = objectOf([['__proto__', 'x']]);
    const copy = decodeMsgpack(encodeMsgpack(value, ['map', 'string']), ['map', 'string']);
    expect(copy).toEqual(value);
    expect(Object.keys(copy as object)).toEqual(['__proto__']);
  });

  it('may be larger than a short head can say', () => {
    const value = objectOf(Array.from({ length: 16 }, (_, place) => [String(place), place]));
    const bytes = encodeMsgpack(value, ['map', 'number']);
    expect(Buffer.from(bytes.subarray(0, 3)).toString('hex')).toBe('de0010');
    expect(decodeMsgpack(bytes, ['map', 'number'])).toEqual(value);
  });

  it('keep null and empty apart', () => {
    for (const type of [
      ['list', 'string'],
      ['set', 'string'],
      ['map', 'string'],
    ] as const) {
      expect(hex(null, type)).toBe('c0');
      expect(decoded('c0', type)).toBeNull();
      expect(decoded(type[0] === 'map' ? '80' : '90', type)).not.toBeNull();
    }
  });
});

describe('strings', () => {
  it('are normalised to the composed form in both directions, as keys too', () => {
    expect(hex('e\u0301', 'string')).toBe('a2c3a9');
    expect(decoded('a3 65 cc 81', 'string')).toBe('\u00e9');
    expect(hex({ 'e\u0301': true }, ['map', 'bool'])).toBe('81a2c3a9c3');
    expect(decoded('81 a3 65 cc 81 c3', ['map', 'bool'])).toEqual(objectOf([['\u00e9', true]]));
  });
});

describe('values that carry their type', () => {
  const withType = (json: string, value: string) =>
    `92c4${Buffer.from(json).length.toString(16).padStart(2, '0')}${Buffer.from(json).toString('hex')}${value}`;

  it.each<[CtyValue, string, string]>([
    [true, '"bool"', 'c3'],
    ['x', '"string"', 'a178'],
    [1, '"number"', '01'],
    [2n ** 60n, '"number"', 'cf1000000000000000'],
    [new Decimal('1.5'), '"number"', 'a3312e35'],
    [[1, 'x', null], '["tuple",["number","string","dynamic"]]', '9301a178c0'],
    [{ a: UNKNOWN, b: [] }, '["object",{"a":"dynamic","b":["tuple",[]]}]', '82a161d40000a16290'],
  ])('carry it as JSON in bytes: %s', (value, json, bytes) => {
    expect(hex(value, 'dynamic')).toBe(withType(json, bytes));
  });

  it('need none for null', () => {
    expect(hex(null, 'dynamic')).toBe('c0');
    expect(decoded('c0', 'dynamic')).toBeNull();
  });

  it('are read by the type they carry', () => {
    const type = '["object",{"a":["list","number"]},["a"]]';
    expect(decoded(withType(type, '81a1619101'), 'dynamic')).toEqual(objectOf([['a', [1]]]));
    expect(decoded(`92a6${Buffer.from('"bool"').toString('hex')}c3`, 'dynamic')).toBe(true);
  });

  it.each([
    ['01', 'expected a type with its value, got an integer'],
    ['91 c0', 'expected a type with its value, got 1 elements'],
    ['93 c0 c0 c0', 'expected a type with its value, got 3 elements'],
    ['92 01 01', 'expected a type, got an integer'],
    [withType('text', '01'), 'the value comes with something that is not a type'],
    [withType('"text"', '01'), 'the value comes with something that is not a type'],
  ])('are refused if they carry none: %s', (bytes, message) => {
    expect(refusal(() => decoded(bytes, 'dynamic')).message).toBe(message);
  });
});

describe('a value of the wrong type', () => {
  const type: CtyType = ['object', { disks: ['map', ['object', { size: ['list', 'number'] }]] }];

  it('is refused with its place and without the value', () => {
    const value = { disks: { scsi0: { size: [1, 'hunter2'] } } };
    expect(refusal(() => hex(value, type)).path).toBe('disks["scsi0"].size[1]');
    expect(() => hex(value, type)).not.toThrow('hunter2');
    const bytes = hex({ disks: { scsi0: { size: [1, 2] } } }, type).replace(/02$/, 'c3');
    expect(refusal(() => decoded(bytes, type))).toEqual({
      path: 'disks["scsi0"].size[1]',
      message: 'disks["scsi0"].size[1]: expected a number, got a bool',
    });
  });

  it.each<[CtyValue, CtyType, string]>([
    [1, 'string', 'expected a string, got a number'],
    [2n ** 70n, 'string', 'expected a string, got a number'],
    [new Decimal('0.1'), 'string', 'expected a string, got a number'],
    [true, 'string', 'expected a string, got a bool'],
    ['x', 'bool', 'expected a bool, got a string'],
    ['x', 'number', 'expected a number, got a string'],
    [[], 'number', 'expected a number, got an array'],
    [{}, ['list', 'string'], 'expected a list, got an object'],
    ['x', ['set', 'string'], 'expected a set, got a string'],
    ['x', ['tuple', []], 'expected a tuple, got a string'],
    [[], ['map', 'string'], 'expected a map, got an array'],
    ['x', ['object', {}], 'expected an object, got a string'],
  ])('%s cannot be written as %j', (value, wrongType, message) => {
    expect(refusal(() => hex(value, wrongType)).message).toBe(message);
  });

  it.each<[string, CtyType, string]>([
    ['01', 'string', 'expected a string, got an integer'],
    ['a1 78', 'bool', 'expected a bool, got a string'],
    ['c3', 'number', 'expected a number, got a bool'],
    ['c4 00', 'string', 'expected a string, got bytes'],
    ['90', 'string', 'expected a string, got an array'],
    ['80', 'string', 'expected a string, got a map'],
    ['cb 3f f8 00 00 00 00 00 00', 'string', 'expected a string, got a float'],
    ['80', ['list', 'string'], 'expected a list, got a map'],
    ['80', ['set', 'string'], 'expected a set, got a map'],
    ['80', ['tuple', []], 'expected a tuple, got a map'],
    ['90', ['map', 'string'], 'expected a map, got an array'],
    ['90', ['object', {}], 'expected an object, got an array'],
    ['81 01 c0', ['map', 'string'], 'expected a key, got an integer'],
    ['81 c0 c0', ['map', 'string'], 'expected a key, got null'],
    ['81 d4 00 00 c0', ['map', 'string'], 'expected a key, got an unknown value'],
    ['91 a1 78', ['list', 'bool'], '[0]: expected a bool, got a string'],
    ['92 01', ['list', 'number'], 'the message ends too early'],
    ['92 01 cc', ['list', 'number'], '[1]: the message ends too early'],
    ['', ['list', 'number'], 'the message ends too early'],
    ['c1', 'string', 'byte 0xc1 does not begin a MessagePack value'],
    ['01 01', 'number', 'the message has more bytes than one value'],
  ])('%s cannot be read as %j', (bytes, wrongType, message) => {
    expect(refusal(() => decoded(bytes, wrongType)).message).toBe(message);
  });

  it.each(['a5 61', 'dd ff ff ff ff', 'df ff ff ff ff', 'd9'])('or cut short (%s) is refused', (bytes) => {
    expect(() => decoded(bytes, ['list', 'number'])).toThrow(CtyError);
  });
});
