import { describe, expect, it } from 'vitest';
import { API_FACTS } from './api-facts.generated.ts';
import {
  isIntegerText,
  isNumberText,
  matchesPerlPattern,
  scalarText,
  splitLikePerl,
  splitList,
  textLength,
} from './perl-text.ts';
import type { ParamSchema } from './types.ts';

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

describe('matchesPerlPattern', () => {
  it('anchors a pattern at both ends and tolerates one final line feed', () => {
    expect(matchesPerlPattern('[acdn]{1,4}', 'cdn')).toBe(true);
    expect(matchesPerlPattern('[acdn]{1,4}', 'cdn\n')).toBe(true);
    expect(matchesPerlPattern('[acdn]{1,4}', 'cdn\n\n')).toBe(false);
    expect(matchesPerlPattern('[acdn]{1,4}', 'xcdn')).toBe(false);
  });

  it('anchors only the outer ends of alternatives, as the server does', () => {
    const pattern = '/dev/parport\\d+|/dev/usb/lp\\d+';
    expect(matchesPerlPattern(pattern, '/dev/parport0 and more')).toBe(true);
    expect(matchesPerlPattern(pattern, 'anything /dev/usb/lp1')).toBe(true);
    expect(matchesPerlPattern(pattern, 'x/dev/parport0')).toBe(false);
  });

  it('ignores case only inside a group that says so', () => {
    const pattern = '(?^i:[a-z_]b\\+);(?^:[a-z]c)';
    expect(matchesPerlPattern(pattern, 'AB+;ac')).toBe(true);
    expect(matchesPerlPattern(pattern, 'AB+;AC')).toBe(false);
  });

  it('reads a quantifier without a lower bound', () => {
    expect(matchesPerlPattern('[A-Za-z0-9\\-_\\s]{,8}', '')).toBe(true);
    expect(matchesPerlPattern('[A-Za-z0-9\\-_\\s]{,8}', 'QEMU-2_0')).toBe(true);
    expect(matchesPerlPattern('[A-Za-z0-9\\-_\\s]{,8}', 'QEMU-2_00')).toBe(false);
  });

  it('keeps an end inside the pattern and a dot that stops at a line feed', () => {
    expect(matchesPerlPattern('(?^:^0x[0-9a-fA-F]{4}$)', '0x1af4')).toBe(true);
    expect(matchesPerlPattern('http://.*', 'http://a\nb')).toBe(false);
  });

  it('compiles every pattern of the API', () => {
    const patterns = new Set<string>();
    const collect = (schema: ParamSchema): void => {
      if (schema.pattern !== undefined) patterns.add(schema.pattern);
      if (schema.items !== undefined) collect(schema.items);
      if (typeof schema.format === 'object') for (const inner of Object.values(schema.format)) collect(inner);
    };
    for (const facts of Object.values(API_FACTS)) for (const schema of Object.values(facts.params)) collect(schema);
    expect(patterns.size).toBeGreaterThan(30);
    for (const pattern of patterns) expect(() => matchesPerlPattern(pattern, 'x')).not.toThrow();
  });
});
