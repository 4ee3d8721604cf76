/** Files of a local store: private, complete or absent, and on disk before a call returns. */
import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ProxwrightError } from '../base/errors.ts';

/** Names of files that are being written; a store does not list them. */
export const TEMPORARY = '.tmp-';
const PRIVATE = 0o600;
export const PRIVATE_DIRECTORY = 0o700;

export function temporaryIn(directory: string): string {
  return join(directory, `${TEMPORARY}${randomBytes(8).toString('hex')}`);
}

/** Creates the directory of the file. */
export async function makeDirectory(path: string): Promise<void> {
  await mkdir(join(path, '..'), { recursive: true, mode: PRIVATE_DIRECTORY });
}

export async function withFile(path: string, flags: string, work: (file: FileHandle) => Promise<void>): Promise<void> {
  const file = await open(path, flags, PRIVATE);
  try {
    await work(file);
  } finally {
    await file.close();
  }
}

/** Creates a file with this text, or none: a partial file would fill the disk further, or be an unreadable lock. */
export async function makeFile(path: string, text: string): Promise<void> {
  await withFile(path, 'wx', async (file) => {
    try {
      await file.writeFile(text);
      await file.sync();
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    }
  });
}

/** A rename survives a power failure only once the directory is on disk. Windows refuses to flush a directory; NTFS logs its entries. */
export async function syncDirectory(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const directory = await open(path, constants.O_RDONLY);
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}

export async function guarded<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof ProxwrightError ? error : unusable(path, error);
  }
}

export function unusable(path: string, cause: unknown): ProxwrightError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new ProxwrightError({
    code: 'STATE_UNWRITABLE',
    where: { file: path },
    detail: `The operating system says: "${reason}".`,
    hint: 'Check that the directory exists, belongs to you and has free space.',
    cause,
  });
}
