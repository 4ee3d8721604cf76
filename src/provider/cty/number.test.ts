/** One form for every number, and its digits. */
import { describe, expect, it } from 'vitest';
import { canonicalInteger, numberFromFloat, numberFromText, textOfNumber } from './number.ts';
import { Decimal } from './value.ts';

describe('numberFromText', () => {
  it.each([
    ['0', 0],
    ['-0', 0],
    ['+7', 7],
    ['007', 7],
    ['-12', -12],
    ['1.50', 1.5],
    ['.5', 0.5],
    ['5.', 5],
    ['-0.000', 0],
    ['1e3', 1000],
    ['1E+3', 1000],
    ['15e-1', 1.5],
    ['1.5e1', 15],
    ['0.1', 0.1],
    ['-0.25', -0.25],
    ['00.125', 0.125],
    ['1e-7', 1e-7],
    ['9007199254740991', Number.MAX_SAFE_INTEGER],
    ['9007199254740992', 9007199254740992n],
    ['-9007199254740991', Number.MIN_SAFE_INTEGER],
    ['-9007199254740992', -9007199254740992n],
    ['9223372036854775808', 2n ** 63n],
    ['1e20', 10n ** 20n],
  ])('reads %s', (text, number) => {
    expect(numberFromText(text)).toBe(number);
  });

  it.each([
    ['3.14159265358979323846', '3.14159265358979323846'],
    ['-0.10000000000000000001', '-0.10000000000000000001'],
    ['1.00000000000000000010', '1.0000000000000000001'],
    ['12345678901234567890.5', '12345678901234567890.5'],
    ['00012345678901234567890.5', '12345678901234567890.5'],
    ['1e-400', `0.${'0'.repeat(399)}1`],
  ])('keeps the digits of %s, which no JavaScript number has', (text, digits) => {
    expect(numberFromText(text)).toEqual(new Decimal(digits));
  });

  it.each([
    '',
    '.',
    '-',
    '+.',
    'e5',
    'x',
    '1x',
    'x1',
    '1e',
    '1e1.5',
    '0x10',
    '1 ',
    ' 1',
    '--1',
    'NaN',
    'Infinity',
    '1_000',
  ])('refuses %j', (text) => {
    expect(numberFromText(text)).toBeUndefined();
  });

  it('accepts up to 2,000 digits and no more, in any notation', () => {
    expect(numberFromText('1'.repeat(2_000))).toBe(BigInt('1'.repeat(2_000)));
    expect(numberFromText('1'.repeat(2_001))).toBeUndefined();
    expect(numberFromText('1e2000')).toBe(10n ** 2_000n);
    expect(numberFromText('1e2001')).toBeUndefined();
    expect(numberFromText('1e-2000')).toEqual(new Decimal(`0.${'0'.repeat(1_999)}1`));
    expect(numberFromText('1e-2001')).toBeUndefined();
    expect(numberFromText('1e999999999')).toBeUndefined();
    expect(numberFromText('1e0000000003')).toBeUndefined();
  });
});

describe('numberFromFloat', () => {
  it.each([
    [0, 0],
    [-0, 0],
    [1.5, 1.5],
    [2 ** 53 - 1, 2 ** 53 - 1],
    [2 ** 53, 2n ** 53n],
    [-(2 ** 63), -(2n ** 63n)],
    [1e21, 10n ** 21n],
    [Number.MIN_VALUE, Number.MIN_VALUE],
  ])('gives %d its one form', (float, number) => {
    expect(numberFromFloat(float)).toBe(number);
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])('refuses %d', (float) => {
    expect(numberFromFloat(float)).toBeUndefined();
  });
});

describe('canonicalInteger', () => {
  it('is a number while that is safe', () => {
    expect(canonicalInteger(2n ** 53n - 1n)).toBe(2 ** 53 - 1);
    expect(canonicalInteger(2n ** 53n)).toBe(2n ** 53n);
    expect(canonicalInteger(-(2n ** 53n) + 1n)).toBe(-(2 ** 53) + 1);
    expect(canonicalInteger(-(2n ** 53n))).toBe(-(2n ** 53n));
  });
});

describe('textOfNumber', () => {
  it.each([
    [0, '0'],
    [-0, '0'],
    [42, '42'],
    [1e21, '1000000000000000000000'],
    [1.5e300, String(BigInt(1.5e300))],
    [-1.25, '-1.25'],
    [1e-7, '0.0000001'],
    [-1.5e-10, '-0.00000000015'],
    [2n ** 64n, '18446744073709551616'],
    [new Decimal('3.14159265358979323846'), '3.14159265358979323846'],
    [new Decimal('1.50'), '1.5'],
    [new Decimal('-1e-3'), '-0.001'],
    [new Decimal('2.0'), '2'],
    [new Decimal('-0.0'), '0'],
    [new Decimal('-0.5'), '-0.5'],
    [new Decimal('-10'), '-10'],
    [new Decimal('00100.00100'), '100.001'],
  ])('writes %s without an exponent', (number, text) => {
    expect(textOfNumber(number)).toBe(text);
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, new Decimal('x')])('refuses %s', (number) => {
    expect(textOfNumber(number)).toBeUndefined();
  });

  it.each([null, '1', true, [], {}])('refuses %j, which is not a number', (value) => {
    expect(textOfNumber(value)).toBeUndefined();
  });
});
