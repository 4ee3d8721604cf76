import { describe, expect, it } from 'vitest';
import {
  allocationSizeBytes,
  compareSizes,
  GIB,
  KIB,
  MIB,
  parseSize,
  printAllocation,
  printSize,
  TIB,
} from './scalars.ts';

describe('parseSize', () => {
  it.each([
    ['32G', 32 * GIB],
    ['32GiB', 32 * GIB],
    ['1.5G', 1.5 * GIB],
    ['528K', 528 * KIB],
    ['2M', 2 * MIB],
    ['1T', TIB],
    ['512', 512],
    ['0T', 0],
    ['0.3', 0],
  ])('reads %s', (text, sizeBytes) => {
    expect(parseSize(text)).toBe(sizeBytes);
  });

  it.each(['32GB', '32g', '', '-1G', '1 G', 'G', '1.G', '.5G', '99999999T'])('rejects %j', (text) => {
    expect(parseSize(text)).toBeUndefined();
  });
});

describe('printSize', () => {
  it.each([
    [1024 * MIB, '1G'],
    [1.5 * GIB, '1536M'],
    [1024 * GIB, '1T'],
    [528 * KIB, '528K'],
    [1025, '1025'],
    [0, '0T'],
    [2048 * TIB, '2048T'],
  ])('prints %d bytes in the largest exact unit', (sizeBytes, text) => {
    expect(printSize(sizeBytes)).toBe(text);
  });

  it('rejects values that are not a number of bytes', () => {
    expect(() => printSize(-1)).toThrow('not a size');
    expect(() => printSize(0.5)).toThrow('not a size');
  });
});

describe('allocation', () => {
  it.each([
    [1, '1G'],
    [0.5, '512M'],
    [0.1, '104858K'],
    [0.2, '209716K'],
    [0.05, '52429K'],
    [0, '0T'],
  ])('of %d GiB gives %s, rounded up as the server does', (sizeGiB, text) => {
    expect(printSize(allocationSizeBytes(sizeGiB))).toBe(text);
  });

  it('is written as a plain number of GiB', () => {
    expect(printAllocation(32 * GIB)).toBe('32');
    expect(printAllocation(512 * MIB)).toBe('0.5');
    expect(printAllocation(KIB)).toBe('0.00000095367431640625');
  });
});

describe('compareSizes', () => {
  it('compares bytes, not text', () => {
    expect(compareSizes('1024M', '1G')).toBe(0);
    expect(compareSizes('9G', '10G')).toBeLessThan(0);
    expect(compareSizes('1G', 'much')).toBeUndefined();
  });
});
