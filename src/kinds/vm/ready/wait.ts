/**
 * Waits until a started VM is ready: makes each check in turn until all of them hold, then once more after they have
 * settled. The wait has a time limit on the injected clock and keeps the load on the server low: each question to a
 * silent agent occupies one of Proxmox's three workers for 3 s, so the agent is asked once its guest shows signs of
 * life, and pauses grow while nothing changes. The client limits how many agents are asked at once.
 */
import { type Clock, throwIfCanceled } from '../../../base/clock.ts';
import { isCanceled } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { PortProbe } from '../../../base/transport.ts';
import { printDuration, upTo } from '../../../base/values/units.ts';
import type { Pve } from '../../../pve/index.ts';
import type { GuestSigns } from '../../guest-signs.ts';
import type { NicAddresses } from './addresses.ts';
import type { ReadyChecks, ReadyTarget } from './checks.ts';
import { type Look, type Looks, looksFor, type Miss, notReady } from './looks.ts';

export interface ReadyContext {
  readonly pve: Pve;
  readonly clock: Clock;
  readonly log: Logger;
  readonly ports: PortProbe;
  /** Shared by all waits of a run. */
  readonly signs: GuestSigns;
  readonly signal?: AbortSignal | undefined;
  /** Progress for the terminal. */
  progress?(text: string): void;
}

export interface Readiness {
  readonly addresses: NicAddresses;
  readonly waitedMs: number;
}

/** Readiness is noticed at most this much later, relative to how long it took. */
const PAUSE_SHARE = 0.05;
const SHORTEST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 10_000;
/** While the agent is silent, each question is expensive. */
const SILENCE_SHARE = 0.1;
const SHORTEST_PAUSE_IN_SILENCE_MS = 1_000;
const LONGEST_PAUSE_IN_SILENCE_MS = 60_000;
/** Most guests boot in less. */
const SUSPICIOUS_SILENCE_MS = 15_000;
/** Between two questions to the one silent agent that is asked early; longer once most guests would have booted. */
const EARLY_PAUSE_SHARE = { booting: 0.048, slow: 0.055 };
const USUAL_BOOT_MS = 60_000;
/** Signs of life are cheap to read, so they are read more often. */
const SIGN_SHARE = 0.04;
const SHORTEST_SIGN_PAUSE_MS = 1_500;
const LONGEST_SIGN_PAUSE_MS = 5_000;
/** No node is asked for signs of life more often than this, however many VMs it has. */
const FRESH_MS = 900;
/** A guest may be up without having sent a packet, so its agent is asked after this long anyway. */
const PATIENCE_MS = 10_000;
/** At most this share of the time limit is spent waiting for a sign of life. */
const PATIENCE_SHARE_OF_TIMEOUT = 0.25;
/** An answer that took longer was held by Proxmox until the agent was up. */
const AT_ONCE_MS = 1_000;
/** A reboot through Proxmox stops the VM briefly; one that stays stopped will not start by itself. */
const STOPPED_FOR_GOOD_MS = 60_000;
/** How often the pulse is checked while all conditions must hold. */
const PULSE_MS = 5_000;
const MISSES_PER_LOG_LINE = 10;

/** Returns what was observed, or throws an error that says what was awaited; the VM is kept either way. */
export async function waitUntilReady(
  context: ReadyContext,
  target: ReadyTarget,
  checks: ReadyChecks,
): Promise<Readiness> {
  const wait = new Wait(context, target, checks);
  return wait.run();
}

type Aim = Pick<Miss, 'awaited' | 'code'>;

class Wait {
  readonly #context: ReadyContext;
  readonly #target: ReadyTarget;
  readonly #checks: ReadyChecks;
  readonly #startedAt: number;
  /** When a condition last became true. */
  #movedAt: number;
  #stoppedSince: number | undefined;
  #hasSign = false;
  /** A question has found the agent silent. */
  #wasSilent = false;
  /** Whether a silent agent has already led to a check that the VM runs. */
  #isChecked = false;
  #lastMiss: Miss | undefined;
  #misses = 0;
  #aim: Aim | undefined;

  constructor(context: ReadyContext, target: ReadyTarget, checks: ReadyChecks) {
    this.#context = context;
    this.#target = target;
    this.#checks = checks;
    this.#startedAt = context.clock.ticks();
    this.#movedAt = this.#startedAt;
  }

  async run(): Promise<Readiness> {
    const { clock, signal: outer } = this.#context;
    const limit = new AbortController();
    const timer = new AbortController();
    clock.sleep(this.#checks.timeoutMs, timer.signal).then(
      () => limit.abort(),
      () => {},
    );
    const signal = AbortSignal.any([limit.signal, ...(outer ? [outer] : [])]);
    try {
      return await this.#untilItHolds(signal);
    } catch (error) {
      if (isCanceled(error) && limit.signal.aborted && !outer?.aborted) throw this.#tooLate();
      throw error;
    } finally {
      timer.abort();
      this.#context.signs.release(this.#target.vmid);
    }
  }

  async #untilItHolds(signal: AbortSignal): Promise<Readiness> {
    const { clock, log } = this.#context;
    const all = looksFor({ ...this.#context, target: this.#target, checks: this.#checks, signal });
    const { looks, pulse, guest } = all;
    for (;;) {
      await this.#untilSeen(all, signal);
      if (this.#checks.settleMs === 0 || (await this.#hasSettled(looks, pulse, signal))) break;
    }
    const waitedMs = clock.ticks() - this.#startedAt;
    log.log('debug', `${this.#target.address}: ready after ${printDuration(waitedMs)}`);
    return { addresses: guest.addresses, waitedMs };
  }

  /** Makes one check after the other. If the guest becomes silent, starts over. */
  async #untilSeen({ looks, firstQuestion, running }: Looks, signal: AbortSignal): Promise<void> {
    for (let index = 0; index < looks.length; ) {
      const look = looks[index];
      if (!look) break;
      if (look.isFulfilled?.()) {
        index++;
        continue;
      }
      this.#say(look);
      if (look === firstQuestion) await this.#untilSignOfLife(signal);
      const askedAt = this.#context.clock.ticks();
      const miss = await this.#look(look, running);
      if (!miss) {
        if (look === firstQuestion) this.#answered(askedAt);
        this.#movedAt = this.#context.clock.ticks();
        this.#stoppedSince = undefined;
        index++;
        continue;
      }
      this.#missed(miss);
      if (miss.lost) index = 0;
      await this.#context.clock.sleep(this.#pauseMs(miss), signal);
    }
  }

  #answered(askedAt: number): void {
    const { clock, signs } = this.#context;
    const { vmid } = this.#target;
    signs.release(vmid);
    signs.answered(vmid, { atOnce: !this.#wasSilent && clock.ticks() - askedAt < AT_ONCE_MS });
  }

  /** An agent that stays silent may mean that the VM is stopped, or was started without an agent. */
  async #look(look: Look, running: Look): Promise<Miss | undefined> {
    const miss = await look.look();
    const silentMs = this.#context.clock.ticks() - this.#movedAt;
    if (miss?.lost !== 'agent' || this.#isChecked || silentMs < SUSPICIOUS_SILENCE_MS) return miss;
    this.#isChecked = true;
    return (await running.look()) ?? miss;
  }

  /** Whether all conditions held the whole time: checks the pulse meanwhile, and everything again at the end. */
  async #hasSettled(looks: readonly Look[], pulse: Look, signal: AbortSignal): Promise<boolean> {
    const { clock } = this.#context;
    const { settleMs } = this.#checks;
    this.#say({ code: pulse.code, awaited: `everything to hold for ${printDuration(settleMs)}` });
    for (let leftMs = settleMs; leftMs > 0; ) {
      const sleptMs = Math.min(PULSE_MS, leftMs);
      await clock.sleep(sleptMs, signal);
      leftMs -= sleptMs;
      for (const look of leftMs > 0 ? [pulse] : looks) {
        const miss = await look.look();
        if (!miss) continue;
        this.#missed(miss);
        this.#context.log.log('info', `${this.#target.address}: did not hold for ${printDuration(settleMs)}`);
        return false;
      }
    }
    return true;
  }

  #say(aim: Aim): void {
    if (this.#aim?.awaited !== aim.awaited) {
      this.#context.progress?.(upTo(`waiting for ${aim.awaited}`, this.#checks.timeoutMs));
    }
    this.#aim = aim;
  }

  /** Logged when it changes, and every tenth time. */
  #missed(miss: Miss): void {
    const { clock, log } = this.#context;
    const isNew = miss.observed !== this.#lastMiss?.observed;
    this.#misses = isNew ? 0 : this.#misses + 1;
    this.#lastMiss = miss;
    if (this.#misses % MISSES_PER_LOG_LINE === 0) {
      const waitedMs = clock.ticks() - this.#startedAt;
      log.log('debug', `${this.#target.address}: waiting for ${miss.awaited}. ${miss.observed}`, { waitedMs });
    }
    if (miss.lost === 'agent') this.#wasSilent = true;
    if (miss.lost !== 'guest') {
      this.#stoppedSince = undefined;
      return;
    }
    this.#stoppedSince ??= clock.ticks();
    const stoppedMs = clock.ticks() - this.#stoppedSince;
    if (stoppedMs >= STOPPED_FOR_GOOD_MS) {
      const observed = `It is stopped, and has been for ${printDuration(stoppedMs)}.`;
      throw notReady(this.#target, { ...miss, observed }, clock.ticks() - this.#startedAt);
    }
  }

  /**
   * An agent is asked once the NIC of its guest has sent a packet: many questions to guests that still boot would occupy all
   * workers of Proxmox. One of the silent agents may be asked anyway; so is one without a NIC, or if nothing is sent for long.
   */
  async #untilSignOfLife(signal: AbortSignal): Promise<void> {
    const { clock, signs } = this.#context;
    const { node, vmid, managedNic } = this.#target;
    const mostMs = PATIENCE_SHARE_OF_TIMEOUT * this.#checks.timeoutMs;
    const bootsForMs = (signs.expectedAnswer(vmid)?.at ?? 0) - clock.ticks();
    if (bootsForMs > 0) await clock.sleep(Math.min(bootsForMs, mostMs), signal);
    // By now a guest like it would answer.
    const isExpected = !this.#wasSilent && signs.expectedAnswer(vmid)?.isLearned;
    if (managedNic === undefined || isExpected) return;
    const until = clock.ticks() + Math.min(PATIENCE_MS, mostMs);
    while (!this.#hasSign && !signs.mayAskEarly(vmid)) {
      this.#hasSign = await signs.hasSent(node, vmid, FRESH_MS);
      throwIfCanceled(signal);
      if (this.#hasSign) this.#movedAt = clock.ticks();
      const leftMs = until - clock.ticks();
      if (this.#hasSign || leftMs <= 0) return;
      const pauseMs = this.#quiet(SIGN_SHARE, SHORTEST_SIGN_PAUSE_MS, LONGEST_SIGN_PAUSE_MS);
      await clock.sleep(Math.min(pauseMs, leftMs), signal);
    }
  }

  #pauseMs({ lost }: Miss): number {
    if (lost !== 'agent') {
      const waitedMs = this.#context.clock.ticks() - this.#startedAt;
      return bounded(PAUSE_SHARE * waitedMs, SHORTEST_PAUSE_MS, LONGEST_PAUSE_MS);
    }
    const { managedNic, vmid } = this.#target;
    if (!this.#hasSign && managedNic !== undefined) {
      const isEarly = this.#context.signs.mayAskEarly(vmid);
      // Otherwise the pause is spent waiting for a sign of life.
      if (!isEarly) return 0;
      const share = this.#quietMs() > USUAL_BOOT_MS ? EARLY_PAUSE_SHARE.slow : EARLY_PAUSE_SHARE.booting;
      return this.#quiet(share, 0, LONGEST_PAUSE_IN_SILENCE_MS);
    }
    return this.#quiet(SILENCE_SHARE, SHORTEST_PAUSE_IN_SILENCE_MS, LONGEST_PAUSE_IN_SILENCE_MS);
  }

  /** A share of the time since something last changed, within limits. */
  #quiet(share: number, shortestMs: number, longestMs: number): number {
    return bounded(share * this.#quietMs(), shortestMs, longestMs);
  }

  #quietMs(): number {
    return this.#context.clock.ticks() - this.#movedAt;
  }

  #tooLate() {
    const aim: Aim = this.#aim ?? { code: 'NOT_RUNNING', awaited: 'the VM to run' };
    const miss = this.#lastMiss?.awaited === aim.awaited ? this.#lastMiss : undefined;
    const waitedMs = this.#context.clock.ticks() - this.#startedAt;
    return notReady(this.#target, miss ?? { ...aim, observed: 'The time limit was reached.' }, waitedMs);
  }
}

function bounded(ms: number, shortestMs: number, longestMs: number): number {
  return Math.min(longestMs, Math.max(shortestMs, Math.round(ms)));
}
