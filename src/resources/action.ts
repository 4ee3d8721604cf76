/**
 * What an action is given when it runs. It keeps nothing between calls: what must survive a crash goes through `intend`,
 * `attach` and `learn`, which return only once it is on disk.
 */
import type { Address } from '../base/address.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import type { Secret } from '../base/secret.ts';
import type { Pve } from '../pve/client.ts';
import type { Upid } from '../pve/wire/index.ts';
import type { IdReservations } from './vm/ids.ts';
import type { VmMemory } from './vm/memory.ts';
import type { VmObserved } from './vm/observed.ts';

export interface ActionTimeouts {
  readonly cloneMs: number;
  readonly startMs: number;
  readonly shutdownMs: number;
  /** All waiting for locks of one act. */
  readonly lockMs: number;
  /** Until an image is in its storage. */
  readonly imageMs: number;
}

/** What this run knows of the VM it works on. */
export interface Sight {
  /**
   * The last read of the VM, until an act of ours outdates it. What is written carries its digest, so the server refuses a
   * write that rests on a read that another client has outdated.
   */
  last: VmObserved | undefined;
  /** An act on the VM has been begun. */
  acted?: boolean;
}

export interface ActionContext {
  readonly pve: Pve;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly address: Address;
  readonly timeouts: ActionTimeouts;
  /** Name of the stack, for the ownership line. */
  readonly stack: string;
  /** Ids that the VMs of this run have taken or are about to take. */
  readonly ids: IdReservations;
  readonly sight: Sight;
  /** The value of a configuration key that plans hold only as a digest. */
  secret(key: string): Secret | undefined;
  /** What is remembered of this VM right now. */
  memory(): VmMemory | undefined;
  /** What is remembered of another one. */
  memoryOf(address: Address): VmMemory | undefined;
  /** Says what is about to be asked of the server, before it is asked. */
  intend(intent: Readonly<Record<string, unknown>>, memory?: Partial<VmMemory>): Promise<void>;
  /** Names the task we are about to wait for. */
  attach(upid: Upid): Promise<void>;
  /** Records a fact about the VM. */
  learn(memory: Partial<VmMemory>): Promise<void>;
  /** Repeats `work` while somebody else holds a lock, within the budget of the stack. */
  whileBusy<T>(subject: string, work: () => Promise<T>): Promise<T>;
  /** For people: where the work stands. */
  progress(text: string, percent?: number): void;
}

/** An action: idempotent — it looks, then acts, and ends well where its goal is reached already. */
export type Action<Input> = (context: ActionContext, input: Input) => Promise<void>;
