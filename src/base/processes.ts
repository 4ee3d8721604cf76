/**
 * Programs on this machine: the fifth interface, after clock, random, network and store. Simulations record instead of
 * running.
 */

/** The variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

export interface Program {
  /** The program and its arguments; no shell reads them. */
  readonly command: readonly string[];
  /** Set in addition to the environment of Proxwright. */
  readonly environment: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Receives every line of both outputs, without its line break, when it is written. */
  readonly onLine: (line: string) => void;
}

export type ProgramEnd =
  | { readonly kind: 'exited'; readonly code: number }
  /** Another process ended it. */
  | { readonly kind: 'killed'; readonly signal: string }
  | { readonly kind: 'timed-out' }
  /** The words of the operating system: `spawn kubectl ENOENT`. */
  | { readonly kind: 'not-started'; readonly reason: string };

export interface Processes {
  /** Resolves once the program has ended; rejects only with `Canceled`, after it was stopped. */
  run(program: Program): Promise<ProgramEnd>;
}
