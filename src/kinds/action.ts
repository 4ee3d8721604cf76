/**
 * What an action receives when it runs. An action keeps nothing between calls: what must survive a crash goes through
 * `intend`, `attach` and `learn`, which return only after it is on disk.
 */
import type { Address } from '../base/address.ts';
import type { Clock, Ticks } from '../base/clock.ts';
import type { Diagnostic } from '../base/diagnostics.ts';
import type { ProxwrightError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Processes } from '../base/processes.ts';
import type { Random } from '../base/random.ts';
import type { Secret } from '../base/secret.ts';
import type { PortProbe } from '../base/transport.ts';
import type { Pve } from '../pve/client.ts';
import type { Upid } from '../pve/wire/index.ts';
import type { ChangeKind } from './change.ts';
import type { GuestSigns } from './guest-signs.ts';
import type { IdReservations } from './ids.ts';
import type { HookMoment, HookStatus } from './outage.ts';

export interface ActionTimeouts {
  readonly cloneMs: number;
  readonly diskMoveMs: number;
  readonly startMs: number;
  readonly shutdownMs: number;
  /** Total time that one action waits for locks. */
  readonly lockMs: number;
  /** For the whole transfer of an image. */
  readonly imageMs: number;
}

/** What every action receives. */
export interface ActionContext {
  readonly pve: Pve;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly address: Address;
  readonly timeouts: ActionTimeouts;
  /** Name of the stack and lineage of its state, for the ownership line. */
  readonly stack: string;
  readonly lineage?: string | undefined;
  /** Of the run that acts. */
  readonly runId: string;
  /** When the run took the lock. Earlier runs have sent nothing since. */
  readonly lockedTicks: Ticks;
  /** Ids that the VMs of this run have taken or reserved. */
  readonly ids: IdReservations;
  /** The secret value of a configuration key; plans hold only its digest. */
  secret(key: string): Secret | undefined;
  /** Journals what is about to be requested, before the request is sent. */
  intend(intent: Readonly<Record<string, unknown>>): Promise<void>;
  /** Journals the task that the action is about to wait for, and for how long at most. */
  attach(upid: Upid, timeoutMs: number): Promise<void>;
  /** Reports a problem to the user although the step succeeds. */
  warn(problem: Diagnostic): Promise<void>;
  /** Journals a remark that reports about the run show. */
  remark(text: string): Promise<void>;
  /** For readiness: probes of ports, and cheap signs that a guest is up. */
  readonly ports: PortProbe;
  readonly signs: GuestSigns;
  /** Deletes a VM as soon as the limit on concurrent deletions allows it. */
  deleting<T>(work: () => Promise<T>): Promise<T>;
  /** Repeats `work` while another client holds a lock, within the stack's time limit. */
  whileBusy<T>(subject: string, work: () => Promise<T>): Promise<T>;
  /** Runs programs on this machine. */
  readonly processes: Processes;
  /** Records the progress of a hook. */
  hook(event: {
    readonly moment: HookMoment;
    readonly group: string;
    readonly status: HookStatus;
    readonly output?: string | undefined;
  }): Promise<void>;
  /** Progress for the terminal. The text of a wait says how long it lasts at most. */
  progress(text: string, percent?: number): void;
}

/** What this run has observed of the resource it works on. */
export interface LastObserved<Observation> {
  /**
   * The last read of the resource, until a write of ours outdates it. Each write carries the digest of this read, so Proxmox
   * refuses it when another client has changed the resource since.
   */
  last: Observation | undefined;
  /** When the last read was sent. */
  askedAt?: number;
  /** This run has sent a change to the resource. */
  acted?: boolean;
}

/** For kinds that keep a record under the address of each resource, and read the resource before they write. */
export interface RecordedContext<Recorded, Observation> extends ActionContext {
  readonly observed: LastObserved<Observation>;
  /** What the state records about this resource now. */
  recorded(): Recorded | undefined;
  /** What the state records about another resource. */
  recordedOf(address: Address): Recorded | undefined;
  /** The context for the same step on another resource: records and intents concern that one. */
  beside(address: Address): RecordedContext<Recorded, Observation>;
  /** Journals what is about to be requested, with facts to record, before the request is sent. */
  intend(intent: Readonly<Record<string, unknown>>, recorded?: Partial<Recorded>): Promise<void>;
  /** Records a fact about the resource. */
  learn(recorded: Partial<Recorded>): Promise<void>;
  /** Removes this resource from the state: it no longer exists. */
  forget(): Promise<void>;
  /** Moves a record from one address to another, atomically. */
  moveRecord(from: Address, to: Address): Promise<void>;
}

/** What an action with this context reads of its resource. */
export type ObservationOf<Context> = Context extends { readonly observed: LastObserved<infer Observation> }
  ? Observation
  : never;

/** An idempotent action: it reads, then acts, and succeeds without acting if its goal is already reached. */
export type Action<Input, Context = ActionContext> = (context: Context, input: Input) => Promise<void>;

/** A step that an interrupted run started and did not finish, as its journal has it. */
export interface OpenAct {
  readonly action: string;
  readonly intent: unknown;
  /** The last task it waited for. */
  readonly upid: string | undefined;
}

export interface Settled {
  readonly outcome: 'made' | 'nothing' | 'ended' | 'interrupted' | 'gone' | 'locked';
}

/** What a step occupies while it runs; the engine limits how many steps occupy the same thing at once. */
export type Occupancy =
  /** Copies bytes between storages of a node, or from node to node; creations are also spaced by a pause. */
  | {
      readonly kind: 'copy';
      /** Each of them counts it. */
      readonly nodes: readonly string[];
      readonly storages: readonly string[];
      readonly isCreation: boolean;
    }
  /** Mostly waits for a guest to shut down; the action limits only its deletion, by `deleting`. */
  | { readonly kind: 'destroy' }
  /** Only waits for a guest, so it does not count against the limit on resources in progress. */
  | { readonly kind: 'wait' }
  | { readonly kind: 'none' };

/** The name of a stage in output; steps with the same label appear as one stage. */
export type Label =
  | 'prepare'
  | 'snapshot'
  | 'rollback'
  | 'migrate'
  | 'move'
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
  | 'hook'
  | 'destroy';

/** Everything the engine knows of an action. */
export interface ActionDefinition<Input, Context = ActionContext> {
  readonly label: Label;
  readonly run: (context: Context, input: Input) => Promise<void>;
  /**
   * Finds out how a step of an interrupted run ended, and records it. Starts nothing. Absent if nothing can be left
   * over.
   */
  readonly settle?: (context: Context, open: OpenAct) => Promise<Settled>;
  readonly occupies?: (input: Input) => Occupancy;
  /** For a step that only waits: how long at most. */
  readonly waitsUpTo?: (input: Input) => number;
  /** Verbs of a plan, by the kind of change, if this action uses others than its resource kind. */
  readonly verbs?: Partial<Record<ChangeKind, string>>;
  /** A line of a plan about what the step does beyond the fields. */
  readonly describe?: (input: Input) => string;
  /** The ID that a plan chose for it: reserved before the first step runs. */
  readonly claims?: (input: Input) => number | undefined;
  /** Files on this machine that the step reads: checked before anything starts. */
  readonly localFiles?: (input: Input) => readonly string[];
  /** Programs on this machine that the step runs: checked before anything starts. */
  readonly programs?: (input: Input) => readonly string[];
  /** What the user has to decide before it may run. */
  readonly undecided?: (input: Input, address: Address) => ProxwrightError | undefined;
}
