/** Reads text files for the front ends. */
import { isUtf8 } from 'node:buffer';
import { constants, type Stats } from 'node:fs';
import { open } from 'node:fs/promises';
import { ProxwrightError } from '../base/errors.ts';
import type { Hint } from '../base/hint.ts';
import { printByteSize } from '../base/values/units.ts';

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'the file does not exist',
  EISDIR: 'it is a directory',
  EACCES: 'permission denied',
};

/** Completes "cannot be read: …". */
export function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return REASONS[code] ?? (error instanceof Error ? error.message : String(error));
}

/** Larger than any stack file, secret or certificate. */
const MAX_BYTES = 4 * 1024 ** 2;

export interface ReadingLimits {
  /** The largest file that is read. */
  readonly maxBytes?: number;
}

/** `purpose` completes "cannot be read as …": `a world`. `shown` is the name in messages. */
export async function readTextFile(
  path: string,
  purpose: string,
  hint?: Hint | string,
  shown = path,
  { maxBytes = MAX_BYTES }: ReadingLimits = {},
): Promise<string> {
  try {
    return await readBounded(path, maxBytes);
  } catch (error) {
    throw new ProxwrightError({
      code: 'UNREADABLE_FILE',
      where: { file: shown },
      detail: `"${shown}" cannot be read as ${purpose}: ${reasonOf(error)}.`,
      ...(hint !== undefined && { hint }),
      cause: error,
    });
  }
}

/** Opened by the caller, for example with `<(…)` in a shell, so something writes to them. */
const HANDED_OVER = /^\/(dev\/(stdin|fd\/\d+)|proc\/self\/fd\/\d+)$/;

async function readBounded(path: string, maxBytes: number): Promise<string> {
  const isHandedOver = HANDED_OVER.test(path);
  // Without O_NONBLOCK, opening a FIFO waits for a writer that may never come.
  const file = await open(path, constants.O_RDONLY | (isHandedOver ? 0 : constants.O_NONBLOCK));
  try {
    const stats = await file.stat();
    if (!stats.isFile() && !isHandedOver) throw new Error(`it is ${kindOf(stats)}, not a file`);
    const chunks: Uint8Array[] = [];
    let size = 0;
    // The size of some files, such as those below /proc, is known only after reading them.
    for (;;) {
      const { bytesRead, buffer } = await file.read(new Uint8Array(Math.min(64 * 1024, maxBytes + 1)));
      if (bytesRead === 0) return textOf(Buffer.concat(chunks));
      size += bytesRead;
      if (size > maxBytes) throw new Error(`it is larger than ${printByteSize(maxBytes)}, the limit for such a file`);
      chunks.push(buffer.subarray(0, bytesRead));
    }
  } finally {
    await file.close();
  }
}

/** Anything else would be read with other letters in it than its author wrote, and be written to the server like that. */
function textOf(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString('utf8');
  const isUtf16 = ['fffe', 'feff'].includes(bytes.subarray(0, 2).toString('hex'));
  if (isUtf16) throw new Error('it is in UTF-16; save it as UTF-8');
  const lines = bytes.toString('latin1').split('\n');
  const wrong = lines.findIndex((line) => !isUtf8(Buffer.from(line, 'latin1')));
  throw new Error(`line ${wrong + 1} is not text in UTF-8; save the file as UTF-8`);
}

function kindOf(stats: Stats): string {
  if (stats.isDirectory()) return 'a directory';
  if (stats.isFIFO()) return 'a FIFO';
  return stats.isSocket() ? 'a socket' : 'a device';
}
