/**
 * The provider's own process as the host sees it: one line on standard output and nothing else, text on standard error, an
 * end that leaves nothing behind.
 */
import { writeSync } from 'node:fs';

const STDOUT = 1;
const STDERR = 2;

/** From now on standard output is out of reach: a stray line on it would be taken for the handshake. */
export function guardStdout(): void {
  Object.defineProperty(process, 'stdout', { configurable: true, get: () => process.stderr });
}

/** The one line that belongs on standard output. */
export function announce(line: string): void {
  writeAll(STDOUT, line);
}

/** Written before it returns, because what follows may be the end. A host that no longer listens is no reason to fail. */
export function writeStderr(text: string): void {
  try {
    writeAll(STDERR, text);
  } catch {
    // Nobody is left who could be told.
  }
}

export interface EndHooks {
  /** Always runs, however the process ends short of a kill. */
  readonly cleanUp: () => void;
}

/**
 * Ctrl-C reaches the whole process group; the host then asks us to stop, in words. Dying of the signal would lose what is
 * under way.
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
      // The pipe is full and set not to wait: its reader is slow, not gone.
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error;
    }
  }
}
