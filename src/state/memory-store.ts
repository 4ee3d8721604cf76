/** A store in memory, for tests: it survives the death of a run, because the test keeps the object. */
import { lockedBy } from './lock-refusal.ts';
import type { LockOwner, StateStore, StoreLock } from './store.ts';

export class MemoryStore implements StateStore {
  readonly #documents = new Map<string, string>();
  #owner: LockOwner | undefined;

  async read(name: string): Promise<string | undefined> {
    return this.#documents.get(name);
  }

  async write(name: string, text: string): Promise<void> {
    this.#documents.set(name, text);
  }

  async append(name: string, line: string): Promise<void> {
    this.#documents.set(name, `${this.#documents.get(name) ?? ''}${line}\n`);
  }

  async remove(name: string): Promise<void> {
    this.#documents.delete(name);
  }

  async list(prefix = ''): Promise<string[]> {
    return [...this.#documents.keys()].filter((name) => name.startsWith(prefix)).sort();
  }

  async lock(owner: LockOwner): Promise<StoreLock> {
    if (this.#owner) throw lockedBy(this.#owner, 'memory');
    return this.#take(owner, undefined);
  }

  /** The process died: its lock is still there, but nobody holds it. The next `lock` takes it over. */
  abandonLock(): LockOwner | undefined {
    const owner = this.#owner;
    this.#owner = undefined;
    return owner;
  }

  #take(owner: LockOwner, takenOverFrom: LockOwner | undefined): StoreLock {
    this.#owner = owner;
    return {
      owner,
      takenOverFrom,
      release: async () => {
        if (this.#owner === owner) this.#owner = undefined;
      },
    };
  }
}
