/**
 * The fourth door: what a stack remembers between runs. A store holds small named documents, append-only logs and one lock.
 * What is in them — state, journal, backups — is the business of the files beside this one and of the engine.
 */

export interface StateStore {
  /** The document's text, or undefined when there is none. */
  read(name: string): Promise<string | undefined>;
  /** Replaces the document as a whole: a reader sees the old text or the new one, never a part, whatever dies. */
  write(name: string, text: string): Promise<void>;
  /** Adds one line to a log and returns once it would survive a crash. */
  append(name: string, line: string): Promise<void>;
  remove(name: string): Promise<void>;
  /** Where people find a document. */
  placeOf(name: string): string;
  /** Names that start with `prefix`, sorted. */
  list(prefix?: string): Promise<string[]>;
  /** Takes the store for one run; refuses with STATE_LOCKED, saying who holds it since when. */
  lock(owner: LockOwner): Promise<StoreLock>;
  /** Who holds the lock; undefined where nobody does. */
  holder(): Promise<LockHolder | undefined>;
  /**
   * Takes the lock away from a run that no longer lives, and says whose it was. One that lives, or may live, keeps it —
   * STATE_LOCKED, saying who holds it since when — unless just that run is named: `evenOf`.
   */
  unlock(options?: { readonly evenOf?: LockOwner | undefined }): Promise<LockOwner | undefined>;
}

/** Who holds the lock, in words a person can act on. */
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
  /** Unknown where the process cannot be looked up from here. */
  readonly life: 'alive' | 'dead' | 'unknown';
}

export interface StoreLock {
  readonly owner: LockOwner;
  /** Set when the lock of a run that no longer lives was taken over. */
  readonly takenOverFrom: LockOwner | undefined;
  release(): Promise<void>;
}
