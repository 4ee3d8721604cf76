/**
 * The lock of a store that several machines reach: a lease with an epoch. It lasts for a while from its last renewal,
 * which its run repeats in the background, so that the lease of a run that died or was cut off expires. Each new owner
 * has a higher epoch; the store refuses writes that carry an older one.
 *
 * No clocks are compared. The server reports the age of a lease. Its owner counts from the moment before it sent the
 * renewal, which is never later than the moment at which the server received it, and stops some time before the end. The
 * clock of a server can be set, and several servers behind one address have several clocks, so a lease that seems to have
 * expired is watched for one renewal before it is taken over.
 */
import { z } from 'zod';
import type { Clock, Ticks } from '../../base/clock.ts';
import { isCanceled, ProxwrightError } from '../../base/errors.ts';
import { printDuration } from '../../base/values/units.ts';
import { assertMayUnlock, describeLock, lockedBy } from '../lock-refusal.ts';
import { type ProcessKnowledge, processSchema, systemProcesses } from '../process-life.ts';
import type { LockHolder, LockOwner, StoreLock } from '../store.ts';

export const leaseSchema = z.object({
  epoch: z.number().int().nonnegative(),
  ttlMs: z.number().positive(),
  /** Counts the renewals: no two versions of a lease are equal. */
  beat: z.number().int(),
  /** Absent once the lease was released. */
  owner: z
    .object({
      runId: z.string(),
      who: z.string(),
      host: z.string(),
      pid: z.number(),
      since: z.string(),
      command: z.string(),
    })
    .optional(),
  process: processSchema.optional(),
});
export type Lease = z.output<typeof leaseSchema>;

/** A lease as the server keeps it. */
export interface KeptLease {
  readonly lease: Lease;
  /** What `replace` needs in order to replace exactly this version. */
  readonly version: string;
  /** Since it was written, by the server's own clock. */
  readonly ageMs: number;
}

/** The one place of a store where its lease is kept. */
export interface LeasePlace {
  /** For messages. */
  readonly shown: string;
  read(): Promise<KeptLease | undefined>;
  /** Replaces the version that was read, or creates the lease. Undefined if another run was faster. */
  replace(lease: Lease, version: string | undefined): Promise<string | undefined>;
}

export interface LeaseDeps {
  readonly place: LeasePlace;
  readonly clock: Clock;
  /** Like the ticks of the clock, but also counts while the machine is suspended. */
  readonly awake?: () => Ticks;
  readonly ttlMs?: number;
  /** What this machine knows about processes. */
  readonly processes?: ProcessKnowledge;
  /** Tells a person what takes time. */
  readonly tell?: ((text: string) => void) | undefined;
}

/** A lease that is held. */
interface HeldLease extends StoreLock {
  readonly epoch: number;
}

const TTL_MS = 60_000;
/** The share of a lease after which it is renewed, and the share that must be left for a change to begin. */
const RENEW_AFTER = 1 / 4;
const LEAST_LEFT = 1 / 4;
/** After a renewal that failed. */
const RETRY_MS = 1_000;

/** The lock of a store as one process has it. */
export class Leases {
  readonly #deps: LeaseDeps;
  readonly #awake: () => Ticks;
  #held: HeldLease | undefined;

  constructor(deps: LeaseDeps) {
    this.#deps = deps;
    this.#awake = deps.awake ?? (() => deps.clock.ticks());
  }

  /** The lease of this process, until it releases it. */
  get held(): HeldLease | undefined {
    return this.#held;
  }

  /** `beforeRelease`: the last work of the store under its lock; the next run does what it leaves undone. */
  async take(owner: LockOwner, beforeRelease?: () => Promise<void>): Promise<HeldLease> {
    const { place, ttlMs = TTL_MS, processes = systemProcesses } = this.#deps;
    for (;;) {
      const kept = await place.read();
      const holder = kept && (await this.#holderOf(kept));
      if (holder && holder.life !== 'dead') throw lockedBy(holder, place.shown);
      if (kept && (await this.#isRenewed(kept)))
        throw lockedBy({ owner: kept.lease.owner ?? owner, life: 'alive' }, place.shown);
      const lease: Lease = {
        epoch: (kept?.lease.epoch ?? 0) + 1,
        ttlMs,
        beat: 0,
        owner,
        process: await processes.factsOf(owner.pid),
      };
      const since = this.#awake();
      const version = await place.replace(lease, kept?.version);
      if (version === undefined) continue;
      const holding = new Holding(this.#deps, this.#awake, lease, version, since);
      const held: HeldLease = {
        owner,
        epoch: lease.epoch,
        takenOverFrom: holder?.owner,
        wasExpired: holder?.hasExpired ?? false,
        assertHeld: () => holding.assertHeld(),
        release: async () => {
          await beforeRelease?.().catch(() => {});
          await holding.release();
          if (this.#held === held) this.#held = undefined;
        },
      };
      this.#held = held;
      return held;
    }
  }

  async holder(): Promise<LockHolder | undefined> {
    const kept = await this.#deps.place.read();
    return kept && this.#holderOf(kept);
  }

  /** The epoch still increases: later writes of that run are refused. */
  async unlock(evenOf: LockOwner | undefined): Promise<LockOwner | undefined> {
    const { place } = this.#deps;
    for (;;) {
      const kept = await place.read();
      const holder = kept && (await this.#holderOf(kept));
      if (!kept || !holder) return undefined;
      assertMayUnlock(holder, evenOf, place.shown);
      const { epoch, ttlMs, beat } = kept.lease;
      if ((await place.replace({ epoch: epoch + 1, ttlMs, beat: beat + 1 }, kept.version)) !== undefined)
        return holder.owner;
    }
  }

  /** Whether the owner of an expired lease still renews it, unless it is known to be dead. */
  async #isRenewed({ lease, version }: KeptLease): Promise<boolean> {
    const { place, clock, processes = systemProcesses } = this.#deps;
    const { owner, process, ttlMs, epoch } = lease;
    if (!owner || (await processes.lifeOf(owner, process)).life === 'dead') return false;
    const watchMs = ttlMs * RENEW_AFTER + Math.min(RETRY_MS, ttlMs * RENEW_AFTER);
    this.#deps.tell?.(
      `The lock of ${owner.who} on ${owner.host} has expired. Waiting ${printDuration(watchMs)} to see whether that run renews it.`,
    );
    await clock.sleep(watchMs);
    const now = await place.read();
    return now !== undefined && now.version !== version && now.lease.epoch === epoch && now.lease.owner !== undefined;
  }

  /**
   * Undefined if the lease was released. There is no need to wait for a run of this machine that has certainly ended.
   */
  async #holderOf({ lease, ageMs }: KeptLease): Promise<LockHolder | undefined> {
    const { owner, ttlMs, process } = lease;
    if (!owner) return undefined;
    const { life } = await (this.#deps.processes ?? systemProcesses).lifeOf(owner, process);
    if (life !== 'dead' && ageMs > ttlMs) return { owner, life: 'dead', hasExpired: true };
    // Its renewals show that it lives, wherever it runs.
    return { owner, life: life === 'dead' ? 'dead' : 'alive', endsInMs: Math.max(0, ttlMs - ageMs) };
  }
}

/** Renews a lease in the background until it is released or lost. */
class Holding {
  readonly #deps: LeaseDeps;
  readonly #awake: () => Ticks;
  readonly #ended = new AbortController();
  readonly #renewing: Promise<void>;
  #lease: Lease;
  #version: string;
  /** From here the lease lasts for its `ttlMs`. */
  #since: Ticks;
  #lostTo: string | undefined;

  constructor(deps: LeaseDeps, awake: () => Ticks, lease: Lease, version: string, since: Ticks) {
    this.#deps = deps;
    this.#awake = awake;
    this.#lease = lease;
    this.#version = version;
    this.#since = since;
    this.#renewing = this.#renewUntilReleased();
  }

  assertHeld(): void {
    const { ttlMs } = this.#lease;
    if (this.#lostTo !== undefined) throw this.#lost(this.#lostTo);
    const silentMs = this.#awake() - this.#since;
    if (silentMs < ttlMs * (1 - LEAST_LEFT)) return;
    throw this.#lost(`It could not be renewed for ${printDuration(silentMs)}.`);
  }

  async release(): Promise<void> {
    this.#ended.abort();
    await this.#renewing;
    if (this.#lostTo !== undefined) return;
    const { epoch, ttlMs, beat } = this.#lease;
    // A lease that cannot be released expires.
    await this.#deps.place.replace({ epoch, ttlMs, beat: beat + 1 }, this.#version).catch(() => undefined);
  }

  async #renewUntilReleased(): Promise<void> {
    const { clock } = this.#deps;
    const { signal } = this.#ended;
    let pauseMs = this.#lease.ttlMs * RENEW_AFTER;
    while (this.#lostTo === undefined) {
      try {
        await clock.sleep(pauseMs, signal);
        await this.#renew();
        pauseMs = this.#lease.ttlMs * RENEW_AFTER;
      } catch (error) {
        if (isCanceled(error)) return;
        pauseMs = Math.min(RETRY_MS, this.#lease.ttlMs * RENEW_AFTER);
      }
    }
  }

  async #renew(): Promise<void> {
    const { place } = this.#deps;
    const since = this.#awake();
    const next: Lease = { ...this.#lease, beat: this.#lease.beat + 1 };
    const version = (await place.replace(next, this.#version)) ?? (await this.#versionOf(next));
    if (version === undefined) return;
    this.#lease = next;
    this.#version = version;
    this.#since = since;
  }

  /** The version of our own renewal whose answer was lost. Anything else there means that the lease is lost. */
  async #versionOf(ours: Lease): Promise<string | undefined> {
    const kept = await this.#deps.place.read();
    const now = kept?.lease;
    if (kept && now?.epoch === ours.epoch && now.beat === ours.beat && now.owner?.runId === ours.owner?.runId)
      return kept.version;
    this.#lostTo = now?.owner ? describeLock(now.owner) : 'It was removed, or another run took it over and has ended.';
    return undefined;
  }

  #lost(why: string): ProxwrightError {
    return lockLost(this.#deps.place.shown, why);
  }
}

export function lockLost(shown: string, why: string): ProxwrightError {
  return new ProxwrightError({
    code: 'LOCK_LOST',
    where: { file: shown },
    detail: `This run no longer holds the lock of the state. ${why}`,
    hint: 'Nothing more was changed. When the other run has ended, run the command again: it resumes.',
  });
}
