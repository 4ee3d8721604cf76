/**
 * A store in a local directory: one file per document, 0600, written atomically and flushed to disk before a call returns.
 * No other file below the front doors uses `node:fs`.
 */
import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, readFile, rename, rm, unlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join, relative, sep } from 'node:path';
import { z } from 'zod';
import { invariant, ProxwrightError } from '../base/errors.ts';
import { assertMayUnlock, lockedBy, UNREADABLE_OWNER } from './lock-refusal.ts';
import type { LockHolder, LockOwner, StateStore, StoreLock } from './store.ts';

const LOCK_FILE = 'lock';
const TEMPORARY = '.tmp-';
const PRIVATE = 0o600;
const PRIVATE_DIRECTORY = 0o700;

const ownerSchema = z.object({
  runId: z.string(),
  who: z.string(),
  host: z.string(),
  pid: z.number(),
  since: z.string(),
  command: z.string(),
});

export class DirectoryStore implements StateStore {
  readonly directory: string;
  readonly #host: string;

  constructor(directory: string) {
    this.directory = directory;
    this.#host = hostname();
  }

  async read(name: string): Promise<string | undefined> {
    try {
      return await readFile(this.#path(name), 'utf8');
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw unusable(this.#path(name), error);
    }
  }

  async write(name: string, text: string): Promise<void> {
    const path = this.#path(name);
    const temporary = join(this.directory, `${TEMPORARY}${randomBytes(8).toString('hex')}`);
    await this.#guard(path, async () => {
      await makeDirectory(path);
      await makeFile(temporary, text);
      await rename(temporary, path);
      await syncDirectory(join(path, '..'));
    });
  }

  async append(name: string, line: string): Promise<void> {
    invariant(!line.includes('\n'), 'A log line must not contain a line break.');
    const path = this.#path(name);
    await this.#guard(path, async () => {
      await makeDirectory(path);
      await withFile(path, 'a', async (file) => {
        await file.appendFile(`${line}\n`);
        await file.datasync();
      });
    });
  }

  async remove(name: string): Promise<void> {
    await this.#guard(this.#path(name), () => rm(this.#path(name), { force: true }));
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
      .filter(
        (entry) =>
          entry.isFile() &&
          entry.name !== LOCK_FILE &&
          entry.name !== permitOf(LOCK_FILE) &&
          !entry.name.startsWith(TEMPORARY),
      )
      .map((entry) => relative(this.directory, join(entry.parentPath, entry.name)).split(sep).join('/'))
      .filter((name) => name.startsWith(prefix))
      .sort();
  }

  /** The lock is a file that only one process can create. A lock whose process is gone is taken over. */
  async lock(owner: LockOwner): Promise<StoreLock> {
    const path = join(this.directory, LOCK_FILE);
    await this.#guard(path, () => makeDirectory(path));
    if (await this.#tryCreateLock(path, owner)) return this.#held(path, owner, undefined);
    const holder = await this.#holderOf(path);
    if (holder?.life !== 'dead') throw lockedBy(holder?.owner ?? UNREADABLE_OWNER, path);
    return this.#takeOver(path, owner, holder.owner);
  }

  /** A process that is about to replace a lock also holds it. */
  async holder(): Promise<LockHolder | undefined> {
    const path = join(this.directory, LOCK_FILE);
    const [holder, successor] = await Promise.all([this.#holderOf(path), this.#holderOf(permitOf(path))]);
    return successor && successor.life !== 'dead' ? successor : (holder ?? successor);
  }

  async unlock({ evenOf }: { readonly evenOf?: LockOwner | undefined } = {}): Promise<LockOwner | undefined> {
    const path = join(this.directory, LOCK_FILE);
    const holder = await this.holder();
    if (!holder) return undefined;
    assertMayUnlock(holder, evenOf, path);
    for (const file of [permitOf(path), path]) await this.#guard(file, () => rm(file, { force: true }));
    return holder.owner;
  }

  async #holderOf(path: string): Promise<LockHolder | undefined> {
    const owner = await this.#readOwner(path);
    return owner && { owner, life: await this.#lifeOf(owner) };
  }

  /** Several runs may find the same lock stale; the one that creates the takeover file may replace it. */
  async #takeOver(path: string, owner: LockOwner, dead: LockOwner): Promise<StoreLock> {
    const permit = permitOf(path);
    if (!(await this.#tryCreateLock(permit, owner))) throw lockedBy((await this.#readOwner(permit)) ?? dead, path);
    try {
      const holder = await this.#readOwner(path);
      if (holder && holder.runId !== dead.runId) throw lockedBy(holder, path);
      await rm(path, { force: true });
      if (await this.#tryCreateLock(path, owner)) return this.#held(path, owner, dead);
      throw lockedBy((await this.#readOwner(path)) ?? dead, path);
    } finally {
      await rm(permit, { force: true });
    }
  }

  async #tryCreateLock(path: string, owner: LockOwner): Promise<boolean> {
    try {
      await makeFile(path, `${JSON.stringify(owner, undefined, 2)}\n`);
      return true;
    } catch (error) {
      if (codeOf(error) === 'EEXIST') return false;
      throw unusable(path, error);
    }
  }

  #held(path: string, owner: LockOwner, takenOverFrom: LockOwner | undefined): StoreLock {
    return {
      owner,
      takenOverFrom,
      release: async () => {
        const holder = await this.#readOwner(path);
        if (holder?.runId === owner.runId) await unlink(path).catch(() => {});
      },
    };
  }

  /** Undefined without a lock. A lock that cannot be read has an unknown owner, but still counts. */
  async #readOwner(path: string): Promise<LockOwner | undefined> {
    try {
      const text = await readFile(path, 'utf8');
      return ownerSchema.parse(JSON.parse(text));
    } catch (error) {
      return codeOf(error) === 'ENOENT' ? undefined : UNREADABLE_OWNER;
    }
  }

  /** Only processes of this host can be checked; a lock of another host always counts as held. */
  async #lifeOf(owner: LockOwner): Promise<LockHolder['life']> {
    if (owner.host !== this.#host) return 'unknown';
    try {
      process.kill(owner.pid, 0);
    } catch (error) {
      return codeOf(error) === 'ESRCH' ? 'dead' : 'alive';
    }
    // A zombie process is still listed, but it will never act again.
    const status = await readFile(`/proc/${owner.pid}/stat`, 'utf8').catch(() => '');
    return /\) Z /.test(status) ? 'dead' : 'alive';
  }

  #path(name: string): string {
    invariant(
      /^[A-Za-z0-9][A-Za-z0-9._-]*(\/[A-Za-z0-9][A-Za-z0-9._-]*)*$/.test(name),
      `"${name}" cannot be the name of a document.`,
    );
    return join(this.directory, name);
  }

  async #guard<T>(path: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw unusable(path, error);
    }
  }
}

/** The process that creates this file may replace a stale lock. */
const permitOf = (path: string) => `${path}.takeover`;

async function makeDirectory(path: string): Promise<void> {
  await mkdir(join(path, '..'), { recursive: true, mode: PRIVATE_DIRECTORY });
}

async function withFile(path: string, flags: string, work: (file: FileHandle) => Promise<void>): Promise<void> {
  const file = await open(path, flags, PRIVATE);
  try {
    await work(file);
  } finally {
    await file.close();
  }
}

/** Creates a file with this text, or none: a partial file would fill the disk further, or be an unreadable lock. */
async function makeFile(path: string, text: string): Promise<void> {
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

/** A rename survives a power failure only once the directory is on disk. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, constants.O_RDONLY);
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}

function unusable(path: string, cause: unknown): ProxwrightError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new ProxwrightError({
    code: 'STATE_UNWRITABLE',
    where: { file: path },
    detail: `The operating system says: "${reason}".`,
    hint: 'Check that the directory exists, belongs to you and has free space.',
    cause,
  });
}
