import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../base/virtual-clock.ts';
import { owner as ownerOf } from '../testing/conformance.ts';
import { type KeptLease, type Lease, type LeasePlace, Leases } from './lease.ts';

/** A run of another machine: only its renewals show whether it lives. */
const owner = (runId: string) => ownerOf(runId, { host: `host-of-${runId}` });

const ELSEWHERE = { factsOf: async () => ({}), lifeOf: async () => ({ life: 'unknown' as const }) };

class Place implements LeasePlace {
  readonly shown = 'store://lab';
  /** While it is set, nothing answers. */
  isCut = false;
  /** The next answer to a write is lost, though the write takes effect. */
  losesAnswer = false;
  #kept: (KeptLease & { readonly writtenAt: number }) | undefined;
  #writes = 0;
  readonly #clock: VirtualClock;
  /** How far the clock of the server jumped forward. */
  jumpedMs = 0;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  async read(): Promise<KeptLease | undefined> {
    if (this.isCut) throw new Error('cut');
    return this.#kept && { ...this.#kept, ageMs: this.#clock.ticks() + this.jumpedMs - this.#kept.writtenAt };
  }

  async replace(lease: Lease, version: string | undefined): Promise<string | undefined> {
    if (this.isCut) throw new Error('cut');
    if (this.#kept?.version !== version) return undefined;
    const next = String(++this.#writes);
    this.#kept = { lease, version: next, ageMs: 0, writtenAt: this.#clock.ticks() };
    if (!this.losesAnswer) return next;
    this.losesAnswer = false;
    return undefined;
  }
}

function scene() {
  const clock = new VirtualClock();
  const place = new Place(clock);
  const leases = () => new Leases({ place, clock, ttlMs: 60_000, processes: ELSEWHERE });
  return { clock, place, leases };
}

describe('a lease', () => {
  it('lasts as long as its run renews it, and is free immediately after its release', async () => {
    const { clock, leases } = scene();
    await clock.run(async () => {
      const held = await leases().take(owner('one'));
      await clock.sleep(3_600_000);
      held.assertHeld();
      await expect(leases().take(owner('two'))).rejects.toMatchObject({ code: 'STATE_LOCKED' });
      await held.release();
      const next = await leases().take(owner('two'));
      expect(next).toMatchObject({ takenOverFrom: undefined });
      expect(next.epoch).toBeGreaterThan(held.epoch);
      await next.release();
    });
  });

  it('is not taken from a live run because the clock of the server jumps', async () => {
    const { clock, place, leases } = scene();
    await clock.run(async () => {
      const held = await leases().take(owner('one'));
      await clock.sleep(1_000);
      place.jumpedMs = 3_600_000;
      const told: string[] = [];
      const other = new Leases({ place, clock, ttlMs: 60_000, processes: ELSEWHERE, tell: (text) => told.push(text) });
      await expect(other.take(owner('two'))).rejects.toMatchObject({ code: 'STATE_LOCKED' });
      expect(told).toEqual([
        'The lock of operator on host-of-one has expired. Waiting 16s to see whether that run renews it.',
      ]);
      held.assertHeld();
      place.isCut = true;
      await clock.sleep(60_000);
      expect(() => held.assertHeld()).toThrow();
      place.isCut = false;
      await held.release();
    });
  });

  it('is lost to its run before another one can take it over', async () => {
    const { clock, place, leases } = scene();
    await clock.run(async () => {
      const held = await leases().take(owner('one'));
      await clock.sleep(20_000);
      place.isCut = true;
      let lostAt: number | undefined;
      const cutAt = clock.ticks();
      while (lostAt === undefined) {
        await clock.sleep(500);
        try {
          held.assertHeld();
        } catch {
          lostAt = clock.ticks();
        }
      }
      place.isCut = false;
      // It was last renewed up to a quarter of its length before the cut.
      expect(lostAt - cutAt).toBeGreaterThan(60_000 * 0.5 - 1);
      await expect(leases().take(owner('two'))).rejects.toMatchObject({ code: 'STATE_LOCKED' });
    });
  });

  it('ends by itself when its run dies, and late requests of the dead run are refused', async () => {
    const { clock, place, leases } = scene();
    let isCut = false;
    const behindWire: LeasePlace = {
      shown: place.shown,
      read: async () => (isCut ? Promise.reject(new Error('cut')) : place.read()),
      replace: async (...args) => (isCut ? Promise.reject(new Error('cut')) : place.replace(...args)),
    };
    await clock.run(async () => {
      const first = new Leases({ place: behindWire, clock, ttlMs: 60_000, processes: ELSEWHERE });
      const held = await first.take(owner('one'));
      isCut = true;
      await clock.sleep(70_000);
      // The run that was cut off could renew an ended lease only if no other run took it: here one did.
      const next = await leases().take(owner('two'));
      isCut = false;
      expect(next).toMatchObject({ epoch: held.epoch + 1, takenOverFrom: owner('one'), wasExpired: true });
      await clock.sleep(2_000);
      expect(() => held.assertHeld()).toThrow(expect.objectContaining({ code: 'LOCK_LOST' }));
      await held.release();
      next.assertHeld();
      await expect(leases().take(owner('three'))).rejects.toMatchObject({ code: 'STATE_LOCKED' });
      await next.release();
    });
  });

  it('counts as expired, not as that of a dead process, unless the process is known to be dead', async () => {
    const { clock, place, leases } = scene();
    await clock.run(async () => {
      const held = await leases().take(owner('one'));
      place.isCut = true;
      await clock.sleep(70_000);
      place.isCut = false;
      expect(await leases().holder()).toEqual({ owner: owner('one'), life: 'dead', hasExpired: true });
      const here = { ...ELSEWHERE, lifeOf: async () => ({ life: 'dead' as const }) };
      const known = await new Leases({ place, clock, ttlMs: 60_000, processes: here }).holder();
      expect(known).toEqual({ owner: owner('one'), life: 'dead', endsInMs: 0 });
      await held.release();
    });
  });

  it('survives a renewal whose answer was lost', async () => {
    const { clock, place, leases } = scene();
    await clock.run(async () => {
      const held = await leases().take(owner('one'));
      place.losesAnswer = true;
      await clock.sleep(300_000);
      held.assertHeld();
      await held.release();
    });
  });

  it('counts the time while the machine was suspended', async () => {
    const { clock, place } = scene();
    await clock.run(async () => {
      let suspendedMs = 0;
      const awake = () => clock.ticks() + suspendedMs;
      const held = await new Leases({ place, clock, ttlMs: 60_000, awake, processes: ELSEWHERE }).take(owner('one'));
      held.assertHeld();
      suspendedMs = 50_000;
      expect(() => held.assertHeld()).toThrow(expect.objectContaining({ code: 'LOCK_LOST' }));
      await held.release();
    });
  });

  it('is taken by exactly one of many that try at the same time', async () => {
    const { clock, leases } = scene();
    await clock.run(async () => {
      const tries = Array.from({ length: 8 }, (_, number) => leases().take(owner(`run-${number}`)));
      const taken = (await Promise.allSettled(tries)).flatMap((each) =>
        each.status === 'fulfilled' ? [each.value] : [],
      );
      expect(taken).toHaveLength(1);
      await taken[0]?.release();
    });
  });

  it('is removed by the id of its run, and the run notices', async () => {
    const { clock, leases } = scene();
    await clock.run(async () => {
      const held = await leases().take(owner('one'));
      await expect(leases().unlock(undefined)).rejects.toMatchObject({ code: 'STATE_LOCKED' });
      await expect(leases().unlock(owner('two'))).rejects.toMatchObject({ code: 'STATE_LOCKED' });
      expect(await leases().unlock(owner('one'))).toEqual(owner('one'));
      await clock.sleep(16_000);
      expect(() => held.assertHeld()).toThrow(expect.objectContaining({ code: 'LOCK_LOST' }));
      await held.release();
    });
  });
});
