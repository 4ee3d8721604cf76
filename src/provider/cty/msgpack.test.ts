/**
 * The MessagePack format at every boundary where its form changes. The bytes are written by hand from the specification and
 * are those of go-cty's encoder, which uses the shortest form: https://github.com/msgpack/msgpack/blob/master/spec.md.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MsgpackReader, MsgpackWriter, type Piece } from './msgpack.ts';

function written(write: (writer: MsgpackWriter) => void): string {
  const writer = new MsgpackWriter();
  write(writer);
  return Buffer.from(writer.finish()).toString('hex');
}

const bytesOf = (hex: string) => Buffer.from(hex.replaceAll(' ', ''), 'hex');

function read(hex: string): Piece {
  const reader = new MsgpackReader(bytesOf(hex));
  const piece = reader.next();
  expect(reader.isAtEnd).toBe(true);
  return piece;
}

const INTEGERS: readonly (readonly [bigint, string])[] = [
  [0n, '00'],
  [1n, '01'],
  [127n, '7f'],
  [128n, 'cc80'],
  [255n, 'ccff'],
  [256n, 'cd0100'],
  [65_535n, 'cdffff'],
  [65_536n, 'ce00010000'],
  [2n ** 31n - 1n, 'ce7fffffff'],
  [2n ** 31n, 'ce80000000'],
  [2n ** 32n - 1n, 'ceffffffff'],
  [2n ** 32n, 'cf0000000100000000'],
  [2n ** 53n, 'cf0020000000000000'],
  [2n ** 63n - 1n, 'cf7fffffffffffffff'],
  [2n ** 63n, 'cf8000000000000000'],
  [2n ** 64n - 1n, 'cfffffffffffffffff'],
  [-1n, 'ff'],
  [-32n, 'e0'],
  [-33n, 'd0df'],
  [-128n, 'd080'],
  [-129n, 'd1ff7f'],
  [-32_768n, 'd18000'],
  [-32_769n, 'd2ffff7fff'],
  [-(2n ** 31n), 'd280000000'],
  [-(2n ** 31n) - 1n, 'd3ffffffff7fffffff'],
  [-(2n ** 63n), 'd38000000000000000'],
];

describe('integers', () => {
  it.each(INTEGERS)('writes %s as %s', (value, hex) => {
    expect(written((writer) => writer.int(value))).toBe(hex);
  });

  it.each(INTEGERS)('reads %s from %s', (value, hex) => {
    expect(read(hex)).toEqual({ kind: 'int', value });
  });

  it.each([
    ['cc 01', 1n],
    ['cd 00 01', 1n],
    ['ce 00 00 00 01', 1n],
    ['cf 00 00 00 00 00 00 00 01', 1n],
    ['d0 01', 1n],
    ['d1 00 01', 1n],
    ['d2 00 00 00 01', 1n],
    ['d3 00 00 00 00 00 00 00 01', 1n],
    ['d0 ff', -1n],
    ['d1 ff ff', -1n],
    ['d2 ff ff ff ff', -1n],
    ['d3 ff ff ff ff ff ff ff ff', -1n],
  ])('reads %s, which is longer than necessary', (hex, value) => {
    expect(read(hex)).toEqual({ kind: 'int', value });
  });

  it('writes what an independent reader understands, in the shortest form', () => {
    const integers = fc.oneof(
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }),
      fc
        .tuple(fc.constantFrom(5n, 7n, 8n, 15n, 16n, 31n, 32n, 63n), fc.bigInt({ min: -3n, max: 3n }), fc.boolean())
        .map(([bits, offset, minus]) => (minus ? -(2n ** bits) : 2n ** bits) + offset)
        .filter((value) => value >= -(2n ** 63n)),
    );
    fc.assert(
      fc.property(integers, (value) => {
        const hex = written((writer) => writer.int(value));
        expect(integerIn(hex)).toBe(value);
        expect(hex.length / 2).toBe(shortest(value));
      }),
      { numRuns: 1_000 },
    );
  });
});

/** Reads by arithmetic on the digits, not with a Buffer. */
function integerIn(hex: string): bigint {
  const tag = Number.parseInt(hex.slice(0, 2), 16);
  if (hex.length === 2) return tag < 0x80 ? BigInt(tag) : BigInt(tag) - 256n;
  const digits = BigInt(`0x${hex.slice(2)}`);
  const bits = BigInt((hex.length - 2) * 4);
  const isSigned = tag >= 0xd0;
  expect(2 ** ((tag - (isSigned ? 0xd0 : 0xcc)) as number)).toBe(Number(bits) / 8);
  return isSigned && digits >= 2n ** (bits - 1n) ? digits - 2n ** bits : digits;
}

function shortest(value: bigint): number {
  if (value >= -32n && value <= 127n) return 1;
  const payload = [1, 2, 4, 8].find((bytes) => {
    const bits = BigInt(8 * bytes);
    return value >= 0n ? value < 2n ** bits : value >= -(2n ** (bits - 1n));
  });
  return 1 + (payload ?? Number.NaN);
}

const LENGTHS = {
  string: [
    [0, 'a0'],
    [31, 'bf'],
    [32, 'd920'],
    [255, 'd9ff'],
    [256, 'da0100'],
    [65_535, 'daffff'],
    [65_536, 'db00010000'],
  ],
  binary: [
    [0, 'c400'],
    [255, 'c4ff'],
    [256, 'c50100'],
    [65_535, 'c5ffff'],
    [65_536, 'c600010000'],
  ],
  array: [
    [0, '90'],
    [15, '9f'],
    [16, 'dc0010'],
    [65_535, 'dcffff'],
    [65_536, 'dd00010000'],
  ],
  map: [
    [0, '80'],
    [15, '8f'],
    [16, 'de0010'],
    [65_535, 'deffff'],
    [65_536, 'df00010000'],
  ],
} as const;

describe('strings', () => {
  it.each(LENGTHS.string)('of %i bytes begin with %s', (length, head) => {
    const text = 'x'.repeat(length);
    const hex = written((writer) => writer.string(text));
    expect(hex).toBe(head + '78'.repeat(length));
    expect(read(hex)).toEqual({ kind: 'string', value: text });
  });

  it('count bytes, not characters', () => {
    const text = 'é'.repeat(16);
    expect(written((writer) => writer.string(text))).toBe(`d920${'c3a9'.repeat(16)}`);
    expect(read(`d920${'c3a9'.repeat(16)}`)).toEqual({ kind: 'string', value: text });
  });
});

describe('bytes', () => {
  it.each(LENGTHS.binary)('%i of them begin with %s', (length, head) => {
    const hex = written((writer) => writer.binary(new Uint8Array(length).fill(0x2a)));
    expect(hex).toBe(head + '2a'.repeat(length));
    expect(read(hex)).toEqual({ kind: 'binary', value: Buffer.alloc(length, 0x2a) });
  });
});

describe('arrays and maps', () => {
  it.each(LENGTHS.array)('an array of %i elements begins with %s', (count, head) => {
    expect(written((writer) => writer.arrayHead(count))).toBe(head);
    expect(new MsgpackReader(bytesOf(head + 'c0'.repeat(count))).next()).toEqual({ kind: 'array', count });
  });

  it.each(LENGTHS.map)('a map of %i pairs begins with %s', (count, head) => {
    expect(written((writer) => writer.mapHead(count))).toBe(head);
    expect(new MsgpackReader(bytesOf(head + 'c0'.repeat(2 * count))).next()).toEqual({ kind: 'map', count });
  });

  it.each([
    ['an array', '92 c0'],
    ['an array with a long head', 'dc 00 01'],
    ['a map', '81 c0'],
    ['a map with a long head', 'df 00 00 00 02 c0 c0 c0'],
  ])('are refused at their head if there are fewer bytes than elements: %s', (_, hex) => {
    expect(() => new MsgpackReader(bytesOf(hex)).next()).toThrow(new RangeError('the message ends too early'));
  });
});

describe('other values', () => {
  it('writes null, bools and unknown', () => {
    expect(written((writer) => writer.nil())).toBe('c0');
    expect(written((writer) => writer.bool(true))).toBe('c3');
    expect(written((writer) => writer.bool(false))).toBe('c2');
    expect(written((writer) => writer.unknown())).toBe('d40000');
  });

  it('reads null, bools and floats', () => {
    expect(read('c0')).toEqual({ kind: 'nil' });
    expect(read('c2')).toEqual({ kind: 'bool', value: false });
    expect(read('c3')).toEqual({ kind: 'bool', value: true });
    expect(read('ca 3f c0 00 00')).toEqual({ kind: 'float', value: 1.5 });
    expect(read('cb bf f8 00 00 00 00 00 00')).toEqual({ kind: 'float', value: -1.5 });
  });

  it.each([
    ['of 1 byte', 'd4 00 00'],
    ['of 2 bytes', 'd5 0c 80 00'],
    ['of 4 bytes', 'd6 0c 81 01 c2 00'],
    ['of 8 bytes', `d7 0c ${'00'.repeat(8)}`],
    ['of 16 bytes', `d8 0c ${'00'.repeat(16)}`],
    ['of 0 bytes', 'c7 00 00'],
    ['of 3 bytes, a value that is not null', 'c7 03 0c 81 01 c2'],
    ['of 255 bytes', `c7 ff 0c ${'00'.repeat(255)}`],
    ['of 256 bytes', `c8 01 00 0c ${'00'.repeat(256)}`],
    ['of 65,536 bytes', `c9 00 01 00 00 0c ${'00'.repeat(65_536)}`],
  ])('skips an extension %s completely', (_, hex) => {
    expect(read(hex)).toEqual({ kind: 'extension' });
  });

  it('refuses the one byte that the format does not use', () => {
    expect(() => read('c1')).toThrow(new RangeError('byte 0xc1 does not begin a MessagePack value'));
  });

  it('refuses every message that is cut anywhere', () => {
    const whole = [...INTEGERS.map(([, hex]) => hex), 'a178', 'd90178', 'c40178', 'd40000', 'c7010000', 'ca3fc00000'];
    for (const hex of whole) {
      for (let length = 0; length < hex.length / 2; length += 1) {
        expect(() => read(hex.slice(0, 2 * length))).toThrow(new RangeError('the message ends too early'));
      }
    }
  });
});

describe('a reader', () => {
  it('reads a part of a larger buffer', () => {
    const reader = new MsgpackReader(bytesOf('ff ff 01 02 ff').subarray(2, 4));
    expect([reader.next(), reader.isAtEnd, reader.next(), reader.isAtEnd]).toEqual([
      { kind: 'int', value: 1n },
      false,
      { kind: 'int', value: 2n },
      true,
    ]);
  });
});

describe('a writer', () => {
  it('keeps what it has written when its buffer grows', () => {
    const hex = written((writer) => {
      for (let value = 0n; value < 600n; value += 1n) writer.int(value % 128n);
      writer.string('y'.repeat(5_000));
      writer.nil();
    });
    const integers = Array.from({ length: 600 }, (_, value) => (value % 128).toString(16).padStart(2, '0')).join('');
    expect(hex).toBe(`${integers}da1388${'79'.repeat(5_000)}c0`);
  });

  it('grows at every offset at which a value may meet the end of its buffer', () => {
    for (let offset = 500; offset <= 512; offset += 1) {
      const hex = written((writer) => {
        for (let count = 0; count < offset; count += 1) writer.nil();
        writer.int(2n ** 40n);
      });
      expect(hex).toBe(`${'c0'.repeat(offset)}cf0000010000000000`);
    }
  });
});
