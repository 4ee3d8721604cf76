/**
 * The provider's own process as the host sees it: one line on standard output and nothing else, text on standard error,
 * an end that leaves no files, and a crash that the user sees.
 */
import { writeSync } from 'node:fs';
import type { KnownSecrets } from '../../base/secret.ts';
import { visibleText } from '../../base/text/safe-text.ts';

const STDOUT = 1;
const STDERR = 2;

/** Sends standard output to standard error from now on: the host would take a stray line for the handshake. */
export function guardStdout(): void {
  Object.defineProperty(process, 'stdout', { configurable: true, get: () => process.stderr });
}

/** The one line that belongs on standard output. */
export function announce(line: string): void {
  writeAll(STDOUT, line);
}

/** Writes before it returns, because the process may end next. A host that no longer reads is not an error. */
export function writeStderr(text: string): void {
  try {
    writeAll(STDERR, text);
  } catch {
    // No reader is left.
  }
}

export interface EndHooks {
  /** Runs however the process ends, except when it is killed. */
  readonly cleanUp: () => void;
}

/**
 * Ctrl-C reaches the whole process group, and then the host asks every provider to stop. Dying of the signal would lose the
 * work in progress.
 */
export function installSignalHandlers({ cleanUp }: EndHooks): void {
  process.on('exit', cleanUp);
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => process.exit(128 + 15));
  process.on('SIGHUP', () => process.exit(128 + 1));
}

function writeAll(descriptor: number, text: string): void {
  let rest = Buffer.from(text);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(descriptor, rest));
    } catch (error) {
      // The pipe is full and does not block: its reader is slow, not gone.
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error;
    }
  }
}

export interface CrashOptions {
  /** Writes before it returns. */
  readonly write: (text: string) => void;
  readonly secrets: KnownSecrets;
}

/** From a dead plugin, the host shows the user only what begins with `panic:`. */
export function installCrashHandlers(options: CrashOptions): void {
  const crash = (thrown: unknown) => {
    options.write(panicText(thrown, options.secrets));
    process.exit(2);
  };
  process.on('uncaughtException', crash);
  process.on('unhandledRejection', crash);
}

export function panicText(thrown: unknown, secrets: KnownSecrets): string {
  const stack = thrown instanceof Error ? (thrown.stack ?? String(thrown)) : `Error: ${String(thrown)}`;
  const [first = '', ...rest] = stack.split('\n');
  const lines = [
    `panic: ${first}`,
    '',
    'This is a defect of terraform-provider-proxwright. Please report it with the lines below.',
    `node ${process.version} on ${process.platform} ${process.arch}`,
    '',
    ...rest,
    '',
  ];
  return visibleText(secrets.redact(lines.join('\n')));
}
