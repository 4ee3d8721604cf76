import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Channel, fairShares } from './transfers.ts';

const channels = ['a', 'b', 'c', 'd'];
const capacities = fc.tuple(...channels.map(() => fc.integer({ min: 1, max: 1000 })));
const demand = fc.record({
  uses: fc.uniqueArray(fc.nat({ max: channels.length - 1 }), { minLength: 1, maxLength: 2 }),
  limit: fc.option(fc.integer({ min: 1, max: 500 })),
});

describe('fair shares', () => {
  it('never exceed a channel or a limit, and leave no transfer slower than it could be', () => {
    fc.assert(
      fc.property(capacities, fc.array(demand, { minLength: 1, maxLength: 12 }), (capacity, demands) => {
        const channel = (index: number): Channel => ({
          key: channels[index] ?? '',
          bytesPerSecond: capacity[index] ?? 0,
        });
        const transfers = demands.map(({ uses, limit }) => ({
          channels: uses.map(channel),
          limitBytesPerSecond: limit ?? Number.POSITIVE_INFINITY,
        }));
        const shares = fairShares(transfers);
        const load = new Map<string, number>();
        for (const transfer of transfers) {
          const share = shares.get(transfer) ?? 0;
          expect(share).toBeGreaterThan(0);
          expect(share).toBeLessThanOrEqual(transfer.limitBytesPerSecond);
          for (const { key } of transfer.channels) load.set(key, (load.get(key) ?? 0) + share);
        }
        for (const [index, key] of channels.entries()) {
          expect(load.get(key) ?? 0).toBeLessThanOrEqual((capacity[index] ?? 0) * (1 + 1e-6));
        }
        for (const transfer of transfers) {
          const isLimited = (shares.get(transfer) ?? 0) >= transfer.limitBytesPerSecond * (1 - 1e-6);
          const isFull = transfer.channels.some(
            (used) => (load.get(used.key) ?? 0) >= used.bytesPerSecond * (1 - 1e-6),
          );
          expect(isLimited || isFull).toBe(true);
        }
      }),
    );
  });
});
