import { describe, expect, it } from 'vitest';
import { counted, inNumber } from './units.ts';

describe('counts in messages', () => {
  it.each([
    [0, '0 VMs'],
    [1, '1 VM'],
    [2, '2 VMs'],
    [1n, '1 VM'],
  ])('put %s before the right form of the noun', (number, expected) => {
    expect(counted(number, 'VM')).toBe(expected);
  });

  it('accept an irregular plural', () => {
    expect(counted(2, 'address', 'addresses')).toBe('2 addresses');
    expect([0, 1, 2].map((number) => inNumber(number, 'is', 'are'))).toEqual(['are', 'is', 'are']);
  });
});
