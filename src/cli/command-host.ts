/** What a command gets from the process that runs it. */
import type { LogLevel } from '../base/log.ts';
import type { Terminal } from './terminal.ts';

/** Options that every command has. */
export interface GlobalOptions {
  readonly logLevel?: string;
  readonly json?: boolean;
}

export interface CommandHost {
  readonly terminal: Terminal;
  readonly level: LogLevel;
  readonly json: boolean;
  /** Resolves with the first SIGINT or SIGTERM; the second one ends the process at once. */
  stopRequested(): Promise<void>;
}

/** Exit codes: 0 done, 1 failed, 2 changes present, 130 canceled. */
export type ExitCode = 0 | 1 | 2 | 130;

export const EXIT_CANCELED = 130;
