/**
 * What a stack keeps between runs. A store has small named documents, append-only logs and one lock. Their content (state,
 * journal, backups) is defined in the other files of this folder.
 */

import { hasCode } from '../base/errors.ts';

export interface StateStore {
  /** The text of the document, or undefined if there is none. */
  read(name: string): Promise<string | undefined>;
  /** How long the document is, if that is cheaper to find out than to read it; undefined if there is none. */
  sizeOf?(name: string): Promise<number | undefined>;
  /** Replaces the document atomically: even after a crash a reader sees the old text or the new one, never a part. */
  write(name: string, text: string): Promise<void>;
  /** Appends one line to a log and returns when it would survive a crash. */
  append(name: string, line: string): Promise<void>;
  remove(name: string): Promise<void>;
  /** Set if journals stay on the machine that writes them, so that others do not see its runs. */
  readonly journalsAreLocal?: true;
  /** The path of a document, for messages. */
  placeOf(name: string): string;
  /** Names that start with `prefix`, sorted. */
  list(prefix?: string): Promise<string[]>;
  /** Locks the store for one run; fails with STATE_LOCKED, which names the owner and since when it holds the lock. */
  lock(owner: LockOwner): Promise<StoreLock>;
  /** The owner of the lock; undefined if there is none. */
  holder(): Promise<LockHolder | undefined>;
  /**
   * Removes the lock of a dead run and returns its owner. Fails with STATE_LOCKED if the run is or may be alive, unless
   * `evenOf` names exactly that run.
   */
  unlock(options?: { readonly evenOf?: LockOwner | undefined }): Promise<LockOwner | undefined>;
  /** Closes its connections; not needed right before the process exits. */
  close?(): Promise<void>;
  /** Of a store that may stop answering in the middle of a run. */
  readonly outbox?: Outbox | undefined;
}

/** Where this machine keeps the lines of a log that its store did not receive; the next `lock` sends them. */
export interface Outbox {
  /** Keeps a line that follows one which could not be appended. */
  keep(name: string, line: string): Promise<void>;
  unsent(): Promise<readonly Unsent[]>;
}

/** Events of one run that wait to be sent. */
export interface Unsent {
  readonly runId: string;
  readonly events: number;
  readonly place: string;
}

/** What happened to kept events. */
export interface Delivery {
  readonly runId: string;
  readonly events: number;
  readonly end: 'sent' | 'superseded' | 'set aside';
  /** Why they were set aside, and where they are now. */
  readonly why?: string;
  readonly place?: string;
}

/** The store did not accept what a run has to record: the run stops, and the next one looks up what is unknown. */
export function isStoreFailure(error: unknown): boolean {
  return hasCode(error, 'STATE_UNREACHABLE', 'STATE_UNWRITABLE', 'LOCK_LOST');
}

/** The owner of the lock, described so that a person can find it. */
export interface LockOwner {
  readonly runId: string;
  readonly who: string;
  readonly host: string;
  readonly pid: number;
  /** ISO 8601. */
  readonly since: string;
  /** What the run is doing: `apply`, `destroy` … */
  readonly command: string;
}

export interface LockHolder {
  readonly owner: LockOwner;
  /** Unknown if the process cannot be checked from here. */
  readonly life: 'alive' | 'dead' | 'unknown';
  /** Why it is unknown, as the end of a sentence. */
  readonly doubt?: string;
  /** For a lease: when it ends unless its run renews it. */
  readonly endsInMs?: number;
  /** The lease was not renewed in time, so the run has lost it; whether its process still exists is not known. */
  readonly hasExpired?: true;
}

export interface StoreLock {
  readonly owner: LockOwner;
  /** Set if the lock of a dead run was taken over. */
  readonly takenOverFrom: LockOwner | undefined;
  /** That run is not known to be dead: its lease had expired. */
  readonly wasExpired?: boolean;
  /** Of a lease: higher than that of every run before. */
  readonly epoch?: number;
  /** What earlier runs of this machine had kept for this store. */
  readonly delivered?: readonly Delivery[];
  /** Fails with LOCK_LOST once another run may hold the lock. Call it right before each change to the cluster. */
  assertHeld(): void;
  release(): Promise<void>;
  /** Of a lock without an end: whether it could not be released. */
  leftLocked?(): boolean;
}
