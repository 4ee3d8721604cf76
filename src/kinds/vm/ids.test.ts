import { describe, expect, it } from 'vitest';
import { vmAddress } from '../../base/address.ts';
import { IdReservations } from './ids.ts';

const [a, b] = [vmAddress('a'), vmAddress('b')];

describe('IdReservations', () => {
  it('gives an id to whoever asks first, as often as he asks', () => {
    const ids = new IdReservations();
    expect([ids.reserve(101, a), ids.reserve(101, b), ids.reserve(101, a)]).toEqual([true, false, true]);
    expect(ids.holderOf(101)).toBe(a);
  });

  it('gives nobody an id that was in use when the run began', () => {
    expect(new IdReservations([101]).reserve(101, a)).toBe(false);
  });

  it('gives nobody an id that a stranger turned out to have', () => {
    const ids = new IdReservations();
    ids.reserve(101, a);
    ids.markTaken(101);
    expect(ids.reserve(101, a)).toBe(false);
  });
});
