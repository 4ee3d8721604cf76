/**
 * What an action is given when it runs. It keeps nothing between calls: what must survive a crash goes through `intend`,
 * `attach` and `learn`, which return only once it is on disk.
 */
import type { Address } from '../base/address.ts';
import type { Clock } from '../base/clock.ts';
import type { Diagnostic } from '../base/diagnostics.ts';
import type { Logger } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import type { Secret } from '../base/secret.ts';
import type { PortProbe } from '../base/transport.ts';
import type { Pve } from '../pve/client.ts';
import type { Upid } from '../pve/wire/index.ts';
import type { ChangeKind } from './change.ts';
import type { IdReservations } from './vm/ids.ts';
import type { VmObserved } from './vm/observed.ts';
import type { GuestSigns } from './vm/ready/signs.ts';
import type { VmRecord } from './vm/record.ts';

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
export interface LastObserved {
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
  readonly observed: LastObserved;
  /** The value of a configuration key that plans hold only as a digest. */
  secret(key: string): Secret | undefined;
  /** What is remembered of this VM right now. */
  recorded(): VmRecord | undefined;
  /** What is remembered of another one. */
  recordedOf(address: Address): VmRecord | undefined;
  /** Says what is about to be asked of the server, before it is asked. */
  intend(intent: Readonly<Record<string, unknown>>, recorded?: Partial<VmRecord>): Promise<void>;
  /** Names the task we are about to wait for. */
  attach(upid: Upid): Promise<void>;
  /** Records a fact about the VM. */
  learn(recorded: Partial<VmRecord>): Promise<void>;
  /** Forgets this resource: it is gone. */
  forget(): Promise<void>;
  /** Moves what is recorded under one address to another, in one breath. */
  moveRecord(from: Address, to: Address): Promise<void>;
  /** Something the user has to know although the step succeeds. */
  warn(problem: Diagnostic): Promise<void>;
  /** What readiness is told by: ports that answer, and guests that show signs of life. */
  readonly ports: PortProbe;
  readonly signs: GuestSigns;
  /** Repeats `work` while somebody else holds a lock, within the budget of the stack. */
  whileBusy<T>(subject: string, work: () => Promise<T>): Promise<T>;
  /** For people: where the work stands. */
  progress(text: string, percent?: number): void;
}

/** An action: idempotent. It looks, then acts, and succeeds where its goal is reached already. */
export type Action<Input> = (context: ActionContext, input: Input) => Promise<void>;

/** A step that a dead run started and did not end, as its journal has it. */
export interface OpenAct {
  readonly action: string;
  readonly intent: unknown;
  /** The last task it waited for. */
  readonly upid: string | undefined;
}

/** What became of it, in a word for the log. */
export interface Settled {
  readonly outcome: string;
}

/** What a step occupies while it runs; the engine limits how many steps occupy the same at once. */
export type Occupancy =
  /** Copies bytes on a node between storages; a creation also keeps the pause between two creations. */
  | {
      readonly kind: 'copy';
      readonly node: string;
      readonly storages: readonly string[];
      readonly isCreation: boolean;
    }
  | { readonly kind: 'destroy' }
  /** Waits for a guest and does no work of its own: it gives up its place among the resources that are worked on. */
  | { readonly kind: 'wait' }
  | { readonly kind: 'none' };

/** What people call a stage of the work; steps with the same label are one stage to them. */
export type Label =
  | 'prepare'
  | 'migrate'
  | 'transfer'
  | 'clone'
  | 'create'
  | 'configure'
  | 'install'
  | 'convert'
  | 'start'
  | 'restart'
  | 'stop'
  | 'ha'
  | 'ready'
  | 'destroy';

/** Everything the engine knows of an action. */
export interface ActionDefinition<Input, Context = ActionContext> {
  readonly label: Label;
  readonly run: (context: Context, input: Input) => Promise<void>;
  /** Finds out what became of a step that a dead run started, and records it. Starts nothing. Absent where nothing can be left. */
  readonly settle?: (context: Context, open: OpenAct) => Promise<Settled>;
  readonly occupies?: (input: Input) => Occupancy;
  /** Verbs of a plan, by the kind of change, where this action has others than its kind. */
  readonly verbs?: Partial<Record<ChangeKind, string>>;
  /** A line of a plan about what the step does beyond the fields. */
  readonly describe?: (input: Input) => string;
  /** Files of this machine that the step reads: they are looked for before anything starts. */
  readonly localFiles?: (input: Input) => readonly string[];
}
