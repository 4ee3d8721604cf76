import { describe, expect, it } from 'vitest';
import { vmAddress } from '../base/address.ts';
import { IdReservations } from './ids.ts';

const [a, b] = [vmAddress('a'), vmAddress('b')];

describe('IdReservations', () => {
  it('reserves an id for the first address that asks, and again for the same address', () => {
    const ids = new IdReservations();
    expect([ids.reserve(101, a), ids.reserve(101, b), ids.reserve(101, a)]).toEqual([true, false, true]);
    expect(ids.holderOf(101)).toBe(a);
  });

  it('refuses an id that was in use when the run started', () => {
    expect(new IdReservations([101]).reserve(101, a)).toBe(false);
  });

  it('refuses an id that another client has taken', () => {
    const ids = new IdReservations();
    ids.reserve(101, a);
    ids.markTaken(101);
    expect(ids.reserve(101, a)).toBe(false);
  });
});
