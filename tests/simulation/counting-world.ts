/** A world that counts how often its VMs, tasks and volumes are looked at: cost without a clock. */
import type { Volume, World } from '../../src/simulator/world/world.ts';

export class Visits {
  vms = 0;
  tasks = 0;
  volumes = 0;

  get total(): number {
    return this.vms + this.tasks + this.volumes;
  }
}

/** The same world on maps that count. Only what reads a map is counted, because only that can become a full scan. */
export function countingWorld(world: World, visits: Visits): World {
  const vms = new CountingMap(world.vms, () => visits.vms++);
  const tasks = new CountingMap(world.tasks, () => visits.tasks++);
  const storages = new Map(
    [...world.storages].map(([id, storage]) => {
      const volumes = new Map<string, Map<string, Volume>>();
      for (const [node, ofNode] of storage.volumes) volumes.set(node, new CountingMap(ofNode, () => visits.volumes++));
      return [id, { ...storage, volumes }];
    }),
  );
  return { ...world, vms, tasks, storages };
}

class CountingMap<K, V> extends Map<K, V> {
  readonly #visit: () => void;

  constructor(source: ReadonlyMap<K, V>, visit: () => void) {
    super();
    this.#visit = visit;
    for (const [key, value] of source) this.set(key, value);
  }

  override get(key: K): V | undefined {
    this.#visit();
    return super.get(key);
  }

  override has(key: K): boolean {
    this.#visit();
    return super.has(key);
  }

  override forEach(use: (value: V, key: K, map: Map<K, V>) => void): void {
    for (const [key, value] of this.entries()) use(value, key, this);
  }

  override *entries(): MapIterator<[K, V]> {
    for (const entry of super.entries()) {
      this.#visit();
      yield entry;
    }
  }

  override *keys(): MapIterator<K> {
    for (const [key] of this.entries()) yield key;
  }

  override *values(): MapIterator<V> {
    for (const [, value] of this.entries()) yield value;
  }

  override [Symbol.iterator](): MapIterator<[K, V]> {
    return this.entries();
  }
}
