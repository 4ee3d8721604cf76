/** A disk that fills up: from some write on nothing fits, and half of the line that was being written is on disk. */
import { ProxwrightError } from '../../../../src/base/errors.ts';
import type { StateStore } from '../../../../src/state/store.ts';

export class FullDisk {
  /** The write at which it is full, counted from 1; undefined for a disk with room. */
  fullAt: number | undefined;
  /** How many writes were tried. */
  writes = 0;
  /** How many of them did not fit. */
  refused = 0;
  /** Only what fills up at one time is torn: later there is not even room for a part. */
  #isTorn = false;

  free(): void {
    this.fullAt = undefined;
    this.#isTorn = false;
  }

  guarded(store: StateStore): StateStore {
    return {
      read: (name) => store.read(name),
      list: (prefix) => store.list(prefix),
      placeOf: (name) => store.placeOf(name),
      remove: (name) => store.remove(name),
      lock: (owner) => store.lock(owner),
      holder: () => store.holder(),
      unlock: (options) => store.unlock(options),
      outbox: store.outbox,
      write: async (name, text) => {
        if (!this.#isRoom()) throw noSpace(name);
        await store.write(name, text);
      },
      append: async (name, line) => {
        if (this.#isRoom()) return store.append(name, line);
        if (!this.#isTorn) {
          this.#isTorn = true;
          await store.write(name, `${(await store.read(name)) ?? ''}${line.slice(0, line.length / 2)}`);
        }
        throw noSpace(name);
      },
    };
  }

  #isRoom(): boolean {
    this.writes++;
    const isRoom = this.fullAt === undefined || this.writes < this.fullAt;
    if (!isRoom) this.refused++;
    return isRoom;
  }
}

/** As the store in a directory says it. */
function noSpace(name: string): ProxwrightError {
  return new ProxwrightError({
    code: 'STATE_UNWRITABLE',
    where: { file: name },
    detail: 'The operating system says: "ENOSPC: no space left on device, write".',
  });
}
