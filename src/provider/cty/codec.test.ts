/** What values look like on the wire, byte by byte where the host is particular about it. */
import { describe, expect, it } from 'vitest';
import { decodeMsgpack, encodeMsgpack } from './codec.ts';
import { attribute, CtyError, formatPath, index, key } from './path.ts';
import { type CtyType, type CtyValue, Decimal, objectOf, UNKNOWN } from './value.ts';

const hex = (value: CtyValue, type: CtyType) => Buffer.from(encodeMsgpack(value, type)).toString('hex');
const decoded = (bytes: string, type: CtyType) => decodeMsgpack(Buffer.from(bytes.replaceAll(' ', ''), 'hex'), type);

function pathOfRefusal(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof CtyError) return formatPath(error.path);
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('unknown values', () => {
  it('are written as the shortest extension 0', () => {
    expect(hex(UNKNOWN, 'string')).toBe('d40000');
    expect(hex([UNKNOWN], ['list', 'number'])).toBe('91d40000');
  });

  it('are recognised with and without refinements, and in any extension yet to come', () => {
    expect(decoded('d4 00 00', 'string')).toBe(UNKNOWN);
    // Extension 12 of five bytes: not null, begins with "b-".
    expect(decoded('c7 07 0c 82 01 c2 02 a2 62 2d', 'string')).toBe(UNKNOWN);
    expect(decoded('d5 63 ff ff', ['list', 'string'])).toBe(UNKNOWN);
    expect(decoded('c8 00 01 00 00', 'dynamic')).toBe(UNKNOWN);
  });

  it('do not disturb what follows them', () => {
    expect(decoded('92 c7 07 0c 82 01 c2 02 a2 62 2d a1 78', ['list', 'string'])).toEqual([UNKNOWN, 'x']);
  });
});

describe('numbers', () => {
  it('get one form however they arrive', () => {
    expect(decoded('01', 'number')).toBe(1);
    expect(decoded('cb 3f f0 00 00 00 00 00 00', 'number')).toBe(1);
    expect(decoded('a1 31', 'number')).toBe(1);
    expect(decoded(`a4${Buffer.from('1.00').toString('hex')}`, 'number')).toBe(1);
    expect(decoded('a3 30 2e 31', 'number')).toBe(0.1);
    expect(decoded('cb 3f b9 99 99 99 99 99 9a', 'number')).toBe(0.1);
    expect(decoded('cf ff ff ff ff ff ff ff ff', 'number')).toBe(18446744073709551615n);
    expect(decoded('d3 80 00 00 00 00 00 00 00', 'number')).toBe(-(2n ** 63n));
    expect(decoded('d0 80', 'number')).toBe(-128);
    expect(decoded('ff', 'number')).toBe(-1);
  });

  it('keep digits that no JavaScript number has', () => {
    const text = '3.14159265358979323846264338327950288';
    const bytes = encodeMsgpack(new Decimal(text), 'number');
    expect(decodeMsgpack(bytes, 'number')).toEqual(new Decimal(text));
    expect(Buffer.from(bytes).subarray(2).toString()).toBe(text);
  });

  it('are written as integers within 64 bits, and beyond them and as fractions as digits', () => {
    expect(hex(5, 'number')).toBe('05');
    expect(hex(-33, 'number')).toBe('d0df');
    expect(hex(200, 'number')).toBe('ccc8');
    expect(hex(70_000, 'number')).toBe('ce00011170');
    expect(hex(2n ** 63n - 1n, 'number')).toBe('cf7fffffffffffffff');
    expect(hex(2n ** 63n, 'number')).toBe(`b3${Buffer.from('9223372036854775808').toString('hex')}`);
    expect(hex(0.1, 'number')).toBe('a3302e31');
    expect(hex(1e-7, 'number')).toBe(`a9${Buffer.from('0.0000001').toString('hex')}`);
    expect(hex(-0, 'number')).toBe('00');
  });

  it('are refused where they are none', () => {
    expect(() => hex(Number.NaN, 'number')).toThrow(CtyError);
    expect(() => hex(Number.POSITIVE_INFINITY, 'number')).toThrow('Infinity');
    expect(() => decoded('cb 7f f0 00 00 00 00 00 00', 'number')).toThrow(CtyError);
    expect(() => decoded('a1 78', 'number')).toThrow(CtyError);
  });
});

describe('objects and maps', () => {
  it('are complete on the wire: what is missing is null', () => {
    expect(hex({}, ['object', { a: 'string' }])).toBe('81a161c0');
    expect(decoded('80', ['object', { a: 'string' }])).toEqual(objectOf([['a', null]]));
  });

  it('refuse an attribute that the type lacks', () => {
    expect(pathOfRefusal(() => hex({ a: { b: 1 } }, ['object', { a: ['object', {}] }]))).toBe('a.b');
    expect(pathOfRefusal(() => decoded('81 a1 61 c0', ['object', {}]))).toBe('a');
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

  it('keep null and empty apart', () => {
    for (const type of [
      ['list', 'string'],
      ['set', 'string'],
      ['map', 'string'],
    ] as const) {
      expect(hex(null, type)).toBe('c0');
      expect(decoded(type[0] === 'map' ? '80' : '90', type)).not.toBeNull();
    }
  });
});

describe('strings', () => {
  it('are brought to the composed form in both directions', () => {
    expect(hex('e\u0301', 'string')).toBe('a2c3a9');
    expect(decoded('a3 65 cc 81', 'string')).toBe('\u00e9');
  });
});

describe('values whose type comes with them', () => {
  it('carry it as JSON in bytes', () => {
    expect(hex(true, 'dynamic')).toBe(`92c406${Buffer.from('"bool"').toString('hex')}c3`);
    expect(hex(null, 'dynamic')).toBe('c0');
  });

  it('are read by the type they carry', () => {
    const type = Buffer.from('["object",{"a":["list","number"]},["a"]]');
    const bytes = `92c4${type.length.toString(16)}${type.toString('hex')}81a1619101`;
    expect(decoded(bytes, 'dynamic')).toEqual(objectOf([['a', [1]]]));
  });
});

describe('a value of the wrong type', () => {
  const type: CtyType = ['object', { disks: ['map', ['object', { size: ['list', 'number'] }]] }];

  it('is refused with its place and without the value', () => {
    const value = { disks: { scsi0: { size: [1, 'hunter2'] } } };
    expect(pathOfRefusal(() => hex(value, type))).toBe('disks["scsi0"].size[1]');
    expect(() => hex(value, type)).not.toThrow('hunter2');
    expect(() => hex('text', 'bool')).toThrow('expected a bool, got a string');
    expect(() => hex([1], ['tuple', ['number', 'number']])).toThrow('a tuple of 2 has 1 elements');
    expect(() => decoded('91 a1 78', ['list', 'bool'])).toThrow('[0]: expected a bool, got a string');
  });

  it.each(['', '92 01', 'a5 61', 'dd ff ff ff ff', 'df ff ff ff ff', 'c1', 'd9'])(
    'or cut short (%s) is refused',
    (bytes) => {
      expect(() => decoded(bytes, ['list', 'number'])).toThrow(CtyError);
    },
  );

  it('or followed by more is refused', () => {
    expect(() => decoded('01 01', 'number')).toThrow('more bytes');
  });
});

describe('paths', () => {
  it('read as the host writes them', () => {
    expect(formatPath([attribute('rules'), index(1), attribute('a')])).toBe('rules[1].a');
    expect(formatPath([attribute('tags'), key('x"y')])).toBe('tags["x\\"y"]');
  });
});
