/**
 * The lock of a local store: a file that appears complete or not at all, and that names the process which holds it.
 * Besides the process id it has the boot, the PID namespace and the start of the process, which make the id
 * unambiguous. A lock whose process is certainly gone is taken over; if that is uncertain, it counts as held.
 *
 * Taking over replaces a file that others may be replacing too. So the taker first creates a permit, whose name is
 * derived from the content of the lock that it replaces: only one process can create it. If that one dies as well, its
 * permit is taken over in the same way, so leftovers of a dead process never have to be removed by hand.
 */
import { createHash } from 'node:crypto';
import { link, readdir, readFile, rename, rm, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { parseJson } from '../base/text/safe-text.ts';
import { codeOf, guarded, makeDirectory, makeFile, syncDirectory, temporaryIn, unusable } from './local-files.ts';
import { assertMayUnlock, INTERRUPTED_OWNER, lockedBy, UNREADABLE_OWNER } from './lock-refusal.ts';
import { factsOf, lifeOf, processSchema } from './process-life.ts';
import type { LockHolder, LockOwner, StoreLock } from './store.ts';

const LOCK = 'lock';
/** Also the name of the permit of version 0.1.0, which had one for all locks. */
const PERMIT = 'lock.takeover';

/** Whether a file of the directory belongs to the lock. */
export function isLockFile(name: string): boolean {
  return name === LOCK || name === PERMIT || name.startsWith(`${PERMIT}-`);
}

const lockSchema = z.object({
  runId: z.string(),
  who: z.string(),
  host: z.string(),
  pid: z.number(),
  since: z.string(),
  command: z.string(),
  /** Absent in locks of version 0.1.0, and empty on systems without /proc. */
  process: processSchema.optional(),
});

/** A lock or a permit, as it is on disk. */
interface LockText {
  /** Equal only for the same lock: the content names the run, and inode and time identify an empty file. */
  readonly key: string;
  readonly holder: LockHolder;
}

export class DirectoryLock {
  readonly #directory: string;
  readonly #path: string;

  constructor(directory: string) {
    this.#directory = directory;
    this.#path = join(directory, LOCK);
  }

  async take(owner: LockOwner): Promise<StoreLock> {
    await guarded(this.#path, () => makeDirectory(this.#path));
    const text = `${JSON.stringify({ ...owner, process: await factsOf(owner.pid) }, undefined, 2)}\n`;
    if (await this.#create(this.#path, text)) return this.#held(owner, undefined);
    const { dead, last } = await this.#chain();
    // It was released between the two looks.
    if (!dead) return this.take(owner);
    if (last.holder.life !== 'dead') throw lockedBy(last.holder, this.#path);
    return this.#takeOver(owner, text, dead, last);
  }

  /** A process that is about to replace a lock also holds it. */
  async holder(): Promise<LockHolder | undefined> {
    const { dead, last } = await this.#chain();
    return last.holder.life === 'dead' ? dead?.holder : last.holder;
  }

  async unlock(evenOf: LockOwner | undefined): Promise<LockOwner | undefined> {
    const holder = await this.holder();
    if (!holder) return undefined;
    assertMayUnlock(holder, evenOf, this.#path);
    await this.#removePermits();
    await guarded(this.#path, () => rm(this.#path, { force: true }));
    return holder.owner;
  }

  /** `last` may replace the lock: its owner, or the last of those that began to take it over. */
  async #chain(): Promise<{ readonly dead: LockText | undefined; readonly last: LockText }> {
    const lock = await this.#read(this.#path);
    const old = await this.#read(join(this.#directory, PERMIT));
    if (old && old.holder.life !== 'dead') return { dead: lock, last: old };
    if (!lock) return { dead: undefined, last: NOBODY };
    let last = lock;
    for (;;) {
      const next = await this.#read(this.#permitFor(last));
      if (!next) return { dead: lock, last };
      last = next;
    }
  }

  async #takeOver(owner: LockOwner, text: string, dead: LockText, last: LockText): Promise<StoreLock> {
    const permit = this.#permitFor(last);
    if (!(await this.#create(permit, text)))
      throw lockedBy((await this.#read(permit))?.holder ?? last.holder, this.#path);
    const now = await this.#read(this.#path);
    if (now?.key !== dead.key) {
      // Another run took it over since this one read it, and may have ended.
      await rm(permit, { force: true });
      if (now) throw lockedBy(now.holder, this.#path);
      return this.take(owner);
    }
    await guarded(this.#path, async () => {
      const temporary = temporaryIn(this.#directory);
      await makeFile(temporary, text);
      await rename(temporary, this.#path);
      await syncDirectory(this.#directory);
    });
    await this.#removePermits();
    return this.#held(owner, dead.holder.owner);
  }

  /** Only for the holder of the lock: a reader that misses the permit finds another lock as well. */
  async #removePermits(): Promise<void> {
    const names = await readdir(this.#directory).catch(() => []);
    for (const name of names) {
      if (isLockFile(name) && name !== LOCK) await rm(join(this.#directory, name), { force: true });
    }
  }

  #permitFor({ key }: LockText): string {
    return join(this.#directory, `${PERMIT}-${key}`);
  }

  /** False if the file exists. A link appears with its whole content; without links, the content is read back. */
  async #create(path: string, text: string): Promise<boolean> {
    const temporary = temporaryIn(this.#directory);
    try {
      await makeFile(temporary, text);
      await link(temporary, path);
      return true;
    } catch (error) {
      if (codeOf(error) === 'EEXIST') return false;
      if (!NO_LINKS.has(codeOf(error) ?? '')) throw unusable(path, error);
      return await this.#createInPlace(path, text);
    } finally {
      await rm(temporary, { force: true });
    }
  }

  async #createInPlace(path: string, text: string): Promise<boolean> {
    try {
      await makeFile(path, text);
      return (await readFile(path, 'utf8').catch(() => '')) === text;
    } catch (error) {
      if (codeOf(error) === 'EEXIST') return false;
      throw unusable(path, error);
    }
  }

  #held(owner: LockOwner, takenOverFrom: LockOwner | undefined): StoreLock {
    return {
      owner,
      takenOverFrom,
      assertHeld: () => {},
      release: async () => {
        const now = await this.#read(this.#path);
        if (now?.holder.owner.runId === owner.runId) await unlink(this.#path).catch(() => {});
      },
    };
  }

  /** Undefined without a file. A file that cannot be read has an unknown owner, but still counts. */
  async #read(path: string): Promise<LockText | undefined> {
    let text: string;
    let trace: string;
    try {
      const { ino, mtimeMs } = await stat(path);
      trace = `${ino}/${mtimeMs}`;
      text = await readFile(path, 'utf8');
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined;
      return { key: digest(path), holder: { owner: UNREADABLE_OWNER, life: 'unknown' } };
    }
    // Its process died, or the power failed, before it wrote its name: it never held the lock.
    if (/^[\s\0]*$/.test(text)) return { key: digest(trace), holder: { owner: INTERRUPTED_OWNER, life: 'dead' } };
    const parsed = lockSchema.safeParse(parseJson(text));
    if (!parsed.success) return { key: digest(text), holder: { owner: UNREADABLE_OWNER, life: 'unknown' } };
    const { process: recorded, ...owner } = parsed.data;
    return { key: digest(text), holder: { owner, ...(await lifeOf(owner, recorded)) } };
  }
}

const NOBODY: LockText = { key: '', holder: { owner: UNREADABLE_OWNER, life: 'dead' } };

/** The errors of file systems without hard links. */
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EINVAL']);

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
