import { describe, expect, it } from 'vitest';
import { API_FACTS } from './api-facts.generated.ts';
import { matchesPerlPattern } from './perl-pattern.ts';
import type { ParamSchema } from './types.ts';

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
