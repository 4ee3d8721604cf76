/** The most memory and storage that a rehearsal takes, by node: sampled whenever the world may have changed. */

import { memoryBytes } from '../simulator/guests/launch.ts';
import { storageSpace } from '../simulator/storage/space.ts';
import type { World } from '../simulator/world/world.ts';

export interface NodePeak {
  readonly node: string;
  /** As the node reports it now, plus what started VMs are configured with. */
  readonly memory: Peak;
  readonly storages: readonly StoragePeak[];
}

export interface StoragePeak extends Peak {
  readonly storage: string;
  /** Each node that has it reports the same. */
  readonly shared: boolean;
}

export interface Peak {
  readonly beforeBytes: number;
  readonly peakBytes: number;
  readonly totalBytes: number;
}

export class Peaks {
  readonly #before = new Map<string, number>();
  readonly #peaks = new Map<string, number>();
  readonly #memoryOf = memoryReader();

  observe(world: World): void {
    for (const [key, bytes] of usage(world, this.#memoryOf)) {
      if (!this.#before.has(key)) this.#before.set(key, bytes);
      this.#peaks.set(key, Math.max(bytes, this.#peaks.get(key) ?? 0));
    }
  }

  /** `usedBytes`: what a node reports as used now. */
  of(world: World, usedBytes: (node: string) => number | undefined): NodePeak[] {
    const value = (map: ReadonlyMap<string, number>, key: string) => map.get(key) ?? 0;
    return [...world.nodes.values()].map((node) => {
      const key = `${node.name} memory`;
      const before = usedBytes(node.name) ?? value(this.#before, key);
      const growth = value(this.#peaks, key) - value(this.#before, key);
      const storages = [...world.storages.values()].flatMap((storage) => {
        const place = `${node.name} ${storage.id}`;
        const space = storageSpace(world, storage, node.name);
        if (!space || !this.#peaks.has(place)) return [];
        const [beforeBytes, peakBytes] = [value(this.#before, place), value(this.#peaks, place)];
        return [{ storage: storage.id, shared: storage.shared, beforeBytes, peakBytes, totalBytes: space.totalBytes }];
      });
      return {
        node: node.name,
        memory: { beforeBytes: before, peakBytes: before + growth, totalBytes: node.memoryBytes },
        storages,
      };
    });
  }
}

/** In one pass over the VMs: a rehearsal of 300 looks at them tens of thousands of times. */
function* usage(world: World, memoryOf: (config: Config) => number): Generator<[string, number]> {
  const memory = new Map<string, number>();
  for (const { node, process, config } of world.vms.values()) {
    if (process) memory.set(node, (memory.get(node) ?? 0) + memoryOf(config.current));
  }
  for (const node of world.nodes.values()) {
    yield [`${node.name} memory`, memory.get(node.name) ?? 0];
    for (const storage of world.storages.values()) {
      const space = storageSpace(world, storage, node.name);
      if (space) yield [`${node.name} ${storage.id}`, space.usedBytes];
    }
  }
}

type Config = Parameters<typeof memoryBytes>[0];

/** Parsed once for each value of the key, which many VMs share. */
function memoryReader(): (config: Config) => number {
  const known = new Map<string | undefined, number>();
  return (config) => {
    const text = config.get('memory');
    const bytes = known.get(text) ?? memoryBytes(config);
    known.set(text, bytes);
    return bytes;
  };
}
