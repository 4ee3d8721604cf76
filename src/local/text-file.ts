/** Reads text files for the front doors. */
import { readFile } from 'node:fs/promises';
import { ProxwrightError } from '../base/errors.ts';
import type { Hint } from '../base/hint.ts';

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

/** `purpose` completes "cannot be read as …": `a world`. `shown` is the name in messages. */
export async function readTextFile(path: string, purpose: string, hint?: Hint | string, shown = path): Promise<string> {
  try {
    return await readFile(path, 'utf8');
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
