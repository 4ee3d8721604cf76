/** A store in memory, for tests: it survives a dead run, because the test keeps the object. */
import { assertMayUnlock, lockedBy } from './lock-refusal.ts';
import type { LockHolder, LockOwner, StateStore, StoreLock } from './store.ts';

export class MemoryStore implements StateStore {
  readonly #documents = new Map<string, string>();
  #holder: LockHolder | undefined;

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

  placeOf(name: string): string {
    return name;
  }

  async list(prefix = ''): Promise<string[]> {
    return [...this.#documents.keys()].filter((name) => name.startsWith(prefix)).sort();
  }

  async lock(owner: LockOwner): Promise<StoreLock> {
    const before = this.#holder;
    if (before?.life === 'alive') throw lockedBy(before, 'memory');
    this.#holder = { owner, life: 'alive' };
    return {
      owner,
      takenOverFrom: before?.owner,
      assertHeld: () => {},
      release: async () => {
        if (this.#holder?.owner === owner) this.#holder = undefined;
      },
    };
  }

  async holder(): Promise<LockHolder | undefined> {
    return this.#holder;
  }

  async unlock({ evenOf }: { readonly evenOf?: LockOwner | undefined } = {}): Promise<LockOwner | undefined> {
    const holder = this.#holder;
    if (holder) assertMayUnlock(holder, evenOf, 'memory');
    this.#holder = undefined;
    return holder?.owner;
  }

  /** Simulates a dead process: its lock remains, and the next `lock` takes it over. */
  abandonLock(): LockOwner | undefined {
    const held = this.#holder?.life === 'alive' ? this.#holder.owner : undefined;
    if (held) this.#holder = { owner: held, life: 'dead' };
    return held;
  }
}
