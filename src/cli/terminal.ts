/**
 * Where a command writes: results to standard output, messages to standard error. Messages are coloured on a terminal,
 * plain elsewhere, and one JSON object per line with `--json`. No known secret and no control character leaves here,
 * wherever the text comes from.
 */
import { styleText } from 'node:util';
import type { Clock } from '../base/clock.ts';
import { type Diagnostic, diagnosticIn } from '../base/diagnostics.ts';
import { ProxwrightError } from '../base/errors.ts';
import { type Command, type HintLanguage, OWN_LANGUAGE } from '../base/hint.ts';
import { isLogLevel, LOG_LEVELS, type Logger, type LogLevel } from '../base/log.ts';
import type { KnownSecrets } from '../base/secret.ts';
import { safeJson, visibleText } from '../base/text/safe-text.ts';
import { coloured, type Output } from './views/text/paint.ts';

export type { Output };

/** `success` reports a completed command, at the level of `info`. */
export type MessageLevel = LogLevel | 'success';

export interface Terminal extends Logger {
  /** A line of the result. */
  result(line: string): void;
  /** A result for programs: one line of JSON, or several with an indent. */
  data(value: unknown, indent?: number): void;
  success(message: string): void;
  diagnostic(diagnostic: Diagnostic): void;
  /** How commands are written, so that they work for this stack as they are printed. */
  readonly language: HintLanguage;
}

export interface TerminalOptions {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly clock: Clock;
  /** Removed from everything that is written; grows while the command reads more of them. */
  readonly secrets: KnownSecrets;
  readonly level?: LogLevel;
  readonly json?: boolean;
  readonly language?: HintLanguage;
}

const LABELS = {
  error: { text: 'ERROR', colour: 'red' },
  warn: { text: 'WARNING', colour: 'yellow' },
  info: { text: 'INFO', colour: 'cyan' },
  success: { text: 'SUCCESS', colour: 'green' },
  debug: { text: 'DEBUG', colour: 'gray' },
} as const;

const LABEL_WIDTH = 7;

export function createTerminal(options: TerminalOptions): Terminal {
  const { stdout, stderr, clock, secrets, level: threshold = 'info', json = false, language = OWN_LANGUAGE } = options;
  const limit = LOG_LEVELS.indexOf(threshold);
  const isColoured = stderr.isTTY === true && stderr.hasColors?.() !== false;
  const paint = (colour: 'red' | 'yellow' | 'cyan' | 'green' | 'gray', text: string) =>
    // The stream was checked above.
    isColoured ? styleText(colour, text, { validateStream: false }) : text;
  const clean = (text: string) => visibleText(secrets.redact(text));
  const printObject = (object: Readonly<Record<string, unknown>>) => {
    const time = new Date(clock.now()).toISOString();
    stderr.write(`${safeJson({ time, ...secrets.redactIn(object) })}\n`);
  };
  const print = (level: MessageLevel, message: string, fields?: Readonly<Record<string, unknown>>) => {
    if (LOG_LEVELS.indexOf(level === 'success' ? 'info' : level) > limit) return;
    if (json) return printObject({ level, message, ...(fields && { fields }) });
    const { text, colour } = LABELS[level];
    const details = Object.entries(fields ?? {}).map(([name, value]) => ` ${name}=${String(value)}`);
    // A second line begins below the first, not below the label.
    const lines = clean(`${message}${details.join('')}`).replaceAll('\n', `\n${' '.repeat(LABEL_WIDTH + 1)}`);
    stderr.write(`${paint(colour, text.padEnd(LABEL_WIDTH))} ${lines}\n`);
  };
  return {
    language,
    log: print,
    success: (message) => print('success', message),
    result: (line) => {
      stdout.write(`${coloured(clean(line))}\n`);
    },
    data: (value, indent) => {
      stdout.write(`${safeJson(secrets.redactIn(value), indent)}\n`);
    },
    diagnostic: (diagnostic) => {
      if (json) return printObject({ level: diagnostic.severity === 'error' ? 'error' : 'warn', diagnostic });
      const [head = '', ...rest] = clean(diagnosticIn(language, diagnostic)).split('\n');
      const colour = diagnostic.severity === 'error' ? 'red' : 'yellow';
      stderr.write(`${[paint(colour, head), ...rest].join('\n')}\n`);
    },
  };
}

/** A command in a message, as it can be typed for the stack of this command line. */
export function toType({ language }: Pick<Terminal, 'language'>, name: Command['command'], ...args: string[]): string {
  return language.command({ command: name, args });
}

/** The level from the option, or else from the environment. */
export function chooseLogLevel(
  option: string | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): LogLevel {
  const [source, text] =
    option === undefined ? ['PROXMOX_LOG_LEVEL', environment.PROXMOX_LOG_LEVEL] : ['--log-level', option];
  if (text === undefined || text === '') return 'info';
  const level = text.toLowerCase();
  if (isLogLevel(level)) return level;
  throw new ProxwrightError({
    code: 'BAD_VALUE',
    where: { file: source },
    detail: `"${text}" is not a log level.`,
    hint: `Choose one of ${LOG_LEVELS.join(', ')}.`,
  });
}
