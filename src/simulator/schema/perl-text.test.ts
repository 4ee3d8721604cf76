import { describe, expect, it } from 'vitest';
import { isIntegerText, isNumberText, scalarText, splitLikePerl, splitList, textLength } from './perl-text.ts';

describe('values as Perl sees them', () => {
  it('prints numbers with up to 15 significant digits', () => {
    expect([42, 1.5, 0.1 + 0.2, 1e-7, -2.5e-6, 0.00015].map(scalarText)).toEqual([
      '42',
      '1.5',
      '0.3',
      '1e-07',
      '-2.5e-06',
      '0.00015',
    ]);
  });

  it('splits lists at commas, semicolons and blanks, or at NUL alone', () => {
    expect(splitList(' a,b; c\td,')).toEqual(['a', 'b', 'c', 'd']);
    expect(splitList('a,b\0c')).toEqual(['a,b', 'c']);
    expect(splitList('')).toEqual([]);
  });

  it('drops empty parts at the end and keeps the others', () => {
    expect(splitLikePerl(',a,,b,,', ',')).toEqual(['', 'a', '', 'b']);
  });

  it('counts characters, not UTF-16 units', () => {
    expect(textLength('aü😀')).toBe(3);
  });

  it('knows numbers and whole numbers by their text', () => {
    expect(['+5', '-3', '007', '1\n'].every(isIntegerText)).toBe(true);
    expect(['1.5', '', ' 1', '1e3', '0x1'].some(isIntegerText)).toBe(false);
    expect(['1.', '.5', '1e3', '-2.5E-3'].every(isNumberText)).toBe(true);
    expect(['.', '1,5', '1e', 'NaN'].some(isNumberText)).toBe(false);
  });
});
