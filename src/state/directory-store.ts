/**
 * A store in a local directory: one file per document, 0600, written atomically and flushed to disk before a call
 * returns. Below the front ends, only this folder uses `node:fs`.
 */
import { readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { invariant } from '../base/errors.ts';
import { DirectoryLock, isLockFile } from './directory-lock.ts';
import {
  codeOf,
  guarded,
  makeDirectory,
  makeFile,
  PRIVATE_DIRECTORY,
  syncDirectory,
  TEMPORARY,
  temporaryIn,
  unusable,
  withFile,
} from './local-files.ts';
import type { LockHolder, LockOwner, StateStore, StoreLock } from './store.ts';

export class DirectoryStore implements StateStore {
  readonly directory: string;
  readonly #lock: DirectoryLock;

  constructor(directory: string) {
    this.directory = directory;
    this.#lock = new DirectoryLock(directory);
  }

  async read(name: string): Promise<string | undefined> {
    try {
      return await readFile(this.#path(name), 'utf8');
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw unusable(this.#path(name), error);
    }
  }

  async sizeOf(name: string): Promise<number | undefined> {
    try {
      return (await stat(this.#path(name))).size;
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw unusable(this.#path(name), error);
    }
  }

  async write(name: string, text: string): Promise<void> {
    const path = this.#path(name);
    const temporary = temporaryIn(this.directory);
    await guarded(path, async () => {
      await makeDirectory(path);
      await makeFile(temporary, text);
      await rename(temporary, path);
      await syncDirectory(join(path, '..'));
    });
  }

  async append(name: string, line: string): Promise<void> {
    invariant(!line.includes('\n'), 'A log line must not contain a line break.');
    const path = this.#path(name);
    await guarded(path, async () => {
      await makeDirectory(path);
      await withFile(path, 'a', async (file) => {
        await file.appendFile(`${line}\n`);
        await file.datasync();
      });
    });
  }

  async remove(name: string): Promise<void> {
    await guarded(this.#path(name), () => rm(this.#path(name), { force: true }));
  }

  placeOf(name: string): string {
    return this.#path(name);
  }

  async list(prefix = ''): Promise<string[]> {
    const entries = await readdir(this.directory, { recursive: true, withFileTypes: true }).catch((error: unknown) => {
      if (codeOf(error) === 'ENOENT') return [];
      throw unusable(this.directory, error);
    });
    return entries
      .filter((entry) => entry.isFile() && !isLockFile(entry.name) && !entry.name.startsWith(TEMPORARY))
      .map((entry) => relative(this.directory, join(entry.parentPath, entry.name)).split(sep).join('/'))
      .filter((name) => name.startsWith(prefix))
      .sort();
  }

  /** The mode of the directory if other users may read or change it: `0755`. Windows has no such modes. */
  async openMode(): Promise<string | undefined> {
    const { mode } = await stat(this.directory).catch(() => ({ mode: PRIVATE_DIRECTORY }));
    if (process.platform === 'win32' || (mode & 0o077) === 0) return undefined;
    return `0${(mode & 0o777).toString(8)}`;
  }

  lock(owner: LockOwner): Promise<StoreLock> {
    return this.#lock.take(owner);
  }

  holder(): Promise<LockHolder | undefined> {
    return this.#lock.holder();
  }

  unlock({ evenOf }: { readonly evenOf?: LockOwner | undefined } = {}): Promise<LockOwner | undefined> {
    return this.#lock.unlock(evenOf);
  }

  #path(name: string): string {
    invariant(
      /^[A-Za-z0-9][A-Za-z0-9._-]*(\/[A-Za-z0-9][A-Za-z0-9._-]*)*$/.test(name),
      `"${name}" cannot be the name of a document.`,
    );
    return join(this.directory, name);
  }
}
