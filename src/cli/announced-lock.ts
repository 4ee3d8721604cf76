/** A store that says so when it takes over the lock of a run that no longer lives. */
import type { Logger } from '../base/log.ts';
import type { StateStore } from '../state/store.ts';

export function announceTakeover(store: StateStore, log: Logger): StateStore {
  return {
    read: (name) => store.read(name),
    write: (name, text) => store.write(name, text),
    append: (name, line) => store.append(name, line),
    remove: (name) => store.remove(name),
    list: (prefix) => store.list(prefix),
    placeOf: (name) => store.placeOf(name),
    holder: () => store.holder(),
    unlock: (options) => store.unlock(options),
    lock: async (owner) => {
      const lock = await store.lock(owner);
      const dead = lock.takenOverFrom;
      if (dead) {
        const whose = `"${dead.command}" of ${dead.who} since ${dead.since} (process ${dead.pid})`;
        log.log('warn', `Took over the lock of ${whose}, which no longer runs.`);
      }
      return lock;
    },
  };
}
