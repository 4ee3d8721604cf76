/** What a command is: its row in the list, the options and dependencies it receives, and how it ends. */
import type { Clock } from '../base/clock.ts';
import { ProxwrightError } from '../base/errors.ts';
import type { LogLevel } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import type { KnownSecrets } from '../base/secret.ts';
import type { Output, Terminal } from './terminal.ts';

/** A command as `command-list.ts` declares it. */
export interface CommandRow {
  readonly name: string;
  readonly about: string;
  /** For programs; help, reference and completion leave it out. */
  readonly isHidden?: boolean;
  readonly arguments?: readonly ArgumentRow[];
  /** Adds the options of a stack file. */
  readonly usesStack?: boolean;
  /** Beyond those of every command. */
  readonly options?: readonly OptionRow[];
  /** Printed below the options. */
  readonly help?: string;
  /** The function takes the arguments, then the options, then its `CommandDeps`. Without it the row is a group. */
  readonly load?: () => Promise<(...values: never[]) => Promise<ExitCode>>;
  readonly commands?: readonly CommandRow[];
}

export interface ArgumentRow {
  /** `<required>`, `[optional]` or `[several...]`. */
  readonly name: string;
  readonly about: string;
  /** What it can be; shells complete it. */
  readonly values?: readonly string[];
}

export interface OptionRow {
  readonly flags: string;
  readonly about: string;
  /** What its value can be; shells complete it. Files and addresses are recognised by `<file>` and `<address>`. */
  readonly values?: readonly string[];
  readonly byDefault?: string;
  readonly repeatable?: boolean;
}

/** Options of every command. */
export interface GlobalOptions {
  readonly logLevel?: string;
  readonly json?: boolean;
}

/** Options of every command that works on a stack file. */
export interface StackOptions extends GlobalOptions {
  readonly file?: string;
  readonly var?: readonly string[];
  readonly varFile?: readonly string[];
  readonly lockTimeout?: string;
}

/** The options that say which stack, with which values, as they can be typed again. */
export function stackWords({ file, var: variables, varFile }: StackOptions): string[] {
  return [
    ...(file === undefined ? [] : ['--file', file]),
    ...several('--var-file', varFile),
    // Any value may be a secret.
    ...several(
      '--var',
      variables?.map((setting) => `${setting.split('=')[0]}=…`),
    ),
  ];
}

/** An option with each of its values. */
export function several(name: string, values: readonly string[] = []): string[] {
  return values.flatMap((value) => [name, value]);
}

/** What the process provides. Commands reach the terminal, the clock and the environment only through this. */
export interface CommandDeps {
  readonly terminal: Terminal;
  readonly level: LogLevel;
  /** Read by `views/view.ts` alone; commands hand their data to a view. */
  readonly json: boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The working directory. */
  readonly directory: string;
  /** What was typed, without values that may be secret. */
  readonly commandLine: string;
  readonly stdout: Output;
  readonly stderr: Output;
  /** Every secret that the command has read. What it writes anywhere contains none of them. */
  readonly secrets: KnownSecrets;
  /** Resolves at the first SIGINT or SIGTERM; the second one ends the process immediately. */
  stopRequested(): Promise<void>;
  /** Whether there is a terminal to ask on. */
  readonly canAsk: boolean;
  /** Asks on the terminal; undefined without one, and when the user gives no answer. */
  ask(question: string): Promise<string | undefined>;
}

/** Exit codes: 0 done, 1 failed, 2 changes present, 130 canceled. */
export type ExitCode = 0 | 1 | 2 | 130;

export const EXIT_CANCELED = 130;

/** Ends a command that has already printed its problems. */
export class AlreadyShown extends Error {
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode = 1) {
    super('the problems have been shown');
    this.exitCode = exitCode;
  }
}

/** `option` is what the user typed, for example `--listen`. */
export function badOption(option: string, detail: string, hint: string): ProxwrightError {
  return new ProxwrightError({ code: 'BAD_VALUE', where: { file: option }, detail, hint });
}
