import { describe, expect, it } from 'vitest';
import { closest } from './closest.ts';

describe('closest', () => {
  it.each([
    ['memmory', 'memory'],
    ['stroages', 'storages'],
    ['Cut-After', 'cut-after'],
    ['vm', 'vms'],
  ])('suggests what %s was meant to be', (typed, meant) => {
    expect(closest(typed, ['memory', 'storages', 'cut-after', 'vms'])).toBe(meant);
  });

  it('suggests nothing if no word is close', () => {
    expect(closest('banana', ['memory', 'storages'])).toBeUndefined();
    expect(closest('x', [])).toBeUndefined();
  });

  it('suggests nothing for a text of a hundred million letters, and does not compare them', () => {
    expect(closest('memory'.repeat(2e7), ['memory', 'storages'])).toBeUndefined();
  });

  it('prefers the closest of several', () => {
    expect(closest('lock', ['locks', 'lock', 'clock'])).toBe('lock');
  });
});
