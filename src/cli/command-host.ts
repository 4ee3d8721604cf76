/** What a command gets from the process that runs it. */
import type { Clock } from '../base/clock.ts';
import type { LogLevel } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import type { Output, Terminal } from './terminal.ts';

/** Options that every command has. */
export interface GlobalOptions {
  readonly logLevel?: string;
  readonly json?: boolean;
}

export interface CommandHost {
  readonly terminal: Terminal;
  readonly level: LogLevel;
  readonly json: boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The working directory. */
  readonly directory: string;
  readonly stdout: Output;
  readonly stderr: Output;
  /** Resolves with the first SIGINT or SIGTERM; the second one ends the process at once. */
  stopRequested(): Promise<void>;
  /** Whether somebody sits at a terminal. */
  readonly canAsk: boolean;
  /** Asks on the terminal; undefined where nobody can answer. */
  ask(question: string): Promise<string | undefined>;
}

/** Exit codes: 0 done, 1 failed, 2 changes present, 130 canceled. */
export type ExitCode = 0 | 1 | 2 | 130;

export const EXIT_CANCELED = 130;

/** Ends a command whose problems have been printed already. */
export class AlreadyShown extends Error {
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode = 1) {
    super('the problems have been shown');
    this.exitCode = exitCode;
  }
}
