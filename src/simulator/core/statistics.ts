/**
 * The statistics every node broadcasts about once in 10 s, the only source of names, states and sizes in
 * /cluster/resources. There is no timer: each request first lets the board catch up with the clock. `observeStatistics`
 * therefore belongs in front of every request.
 */
import type { Instant } from '../../base/clock.ts';
import { type Random, randomInteger } from '../../base/random.ts';
import { type StorageSpace, storageSpace } from '../storage/space.ts';
import { cpuCount, usedBytes, vmStatus } from '../vm/power/status.ts';
import type { SimNode, Vm, World } from '../world/world.ts';
import type { Runtime } from './runtime.ts';

export type Statistics = Readonly<Record<string, string | number>>;

/** By `qemu/100`, `node/pve1`, `storage/pve1/local`. */
export interface KnownStatistics {
  get(id: string): Statistics | undefined;
}

/**
 * One broadcast. It is cheap to take, because most of them are never read: for a VM it only keeps the inputs, and
 * computes the figures for the first reader.
 */
class Snapshot implements KnownStatistics {
  readonly entries: Map<string, () => Statistics>;

  constructor(entries: Map<string, () => Statistics>) {
    this.entries = entries;
  }

  get(id: string): Statistics | undefined {
    return this.entries.get(id)?.();
  }
}

/** Rule [recorded resources-new-vm]: a change shows 8 to 11 s later. */
const BROADCAST_MS = 10_000;
/** Rule [recorded resources-new-vm]: pveproxy workers keep what they have read for up to 2 s. */
const CACHE_MS = { min: 600, max: 2_000 };
/**
 * Rule [recorded resources-new-vm]: each worker caches for itself, so a client that polls fast sees new, old, new. Here one
 * of the first reads of a round meets a worker that still has the old data; never the first two, which is what the
 * real server showed to a slow client.
 */
const STALE_READ = { earliest: 3, latest: 6, withinMs: 1_500 };
/** Rule [assumed]: the cluster file system forgets statistics that were not renewed for 5 minutes; a reused id shows the old VM's. */
const RETENTION_MS = 300_000;

class NodeBoard {
  readonly #phaseMs: number;
  readonly #random: Random;
  #round: number | undefined;
  #latest = new Snapshot(new Map());
  #previous: Snapshot = this.#latest;
  #visibleAt: Instant = 0;
  #reads = 0;
  #staleRead = 0;
  readonly #lastSeen = new Map<string, Instant>();

  constructor(random: Random) {
    this.#random = random;
    this.#phaseMs = randomInteger(random, 0, BROADCAST_MS - 1);
  }

  catchUp(now: Instant, take: () => Snapshot['entries']): void {
    const round = Math.floor((now - this.#phaseMs) / BROADCAST_MS);
    if (round === this.#round) return;
    const missed = this.#round === undefined ? Number.POSITIVE_INFINITY : round - this.#round;
    this.#round = round;
    const snapshot = new Snapshot(this.#withForgotten(take(), now));
    // After a long silence the round before the last one showed the same.
    this.#previous = missed > 1 ? snapshot : this.#latest;
    this.#latest = snapshot;
    this.#visibleAt = round * BROADCAST_MS + this.#phaseMs + randomInteger(this.#random, CACHE_MS.min, CACHE_MS.max);
    this.#reads = 0;
    this.#staleRead = randomInteger(this.#random, STALE_READ.earliest, STALE_READ.latest);
  }

  /** What the answering worker knows. */
  known(now: Instant): KnownStatistics {
    if (now < this.#visibleAt) return this.#previous;
    this.#reads++;
    const isStale = this.#reads === this.#staleRead && now < this.#visibleAt + STALE_READ.withinMs;
    return isStale ? this.#previous : this.#latest;
  }

  #withForgotten(current: Snapshot['entries'], now: Instant): Snapshot['entries'] {
    for (const key of current.keys()) this.#lastSeen.set(key, now);
    for (const [key, seenAt] of this.#lastSeen) {
      if (seenAt === now) continue;
      const old = this.#latest.entries.get(key);
      if (now - seenAt > RETENTION_MS || !old) this.#lastSeen.delete(key);
      else current.set(key, old);
    }
    return current;
  }
}

const boards = new WeakMap<World, Map<string, NodeBoard>>();

/** Lets every node broadcast if its time has come. Cheap when it has not. */
export function observeStatistics(runtime: Runtime): void {
  const now = runtime.clock.now();
  for (const node of runtime.world.nodes.values()) {
    if (node.online) boardOf(runtime, node.name).catchUp(now, () => takeStatistics(runtime, node));
  }
}

/** All statistics of one node as one pveproxy worker knows them; ask once per request. */
export function knownStatistics(runtime: Runtime, node: string): KnownStatistics {
  observeStatistics(runtime);
  return boardOf(runtime, node).known(runtime.clock.now());
}

function boardOf(runtime: Runtime, node: string): NodeBoard {
  const ofWorld = boards.get(runtime.world) ?? new Map<string, NodeBoard>();
  boards.set(runtime.world, ofWorld);
  const board = ofWorld.get(node) ?? new NodeBoard(runtime.random.fork(`statistics/${node}`));
  ofWorld.set(node, board);
  return board;
}

function takeStatistics(runtime: Runtime, node: SimNode): Snapshot['entries'] {
  const { world } = runtime;
  const now = runtime.clock.now();
  const ofNode = nodeStatistics(runtime, node);
  const entries: Snapshot['entries'] = new Map([[`node/${node.name}`, () => ofNode]]);
  for (const vm of world.vms.values()) {
    if (vm.node !== node.name) continue;
    const { config, process } = vm;
    entries.set(`qemu/${vm.vmid}`, () => vmStatistics(runtime, { ...vm, config, process }, now));
  }
  for (const storage of world.storages.values()) {
    const space = storageSpace(world, storage, node.name);
    if (space) {
      const figures = { maxdisk: space.totalBytes, disk: space.usedBytes };
      entries.set(`storage/${node.name}/${storage.id}`, () => figures);
    }
  }
  return entries;
}

/** What a broadcast at that moment says about a VM. */
export function vmStatistics(runtime: Runtime, vm: Vm, now: Instant = runtime.clock.now()): Statistics {
  const status = vmStatus(runtime, vm, now);
  return {
    name: String(status.name),
    status: String(status.status),
    template: status.template === 1 ? 1 : 0,
    uptime: Number(status.uptime),
    maxcpu: cpuCount(runtime, vm),
    cpu: Number(status.cpu),
    maxmem: Number(status.maxmem),
    mem: Number(status.mem),
    ...(status.memhost !== undefined && { memhost: Number(status.memhost) }),
    maxdisk: Number(status.maxdisk),
    disk: 0,
    netin: Number(status.netin),
    netout: Number(status.netout),
    diskread: 0,
    diskwrite: 0,
  };
}

export function nodeStatistics(runtime: Runtime, node: SimNode): Statistics {
  const root = rootSpace(runtime.world, node);
  return {
    uptime: Math.floor((runtime.clock.now() - node.bootedAt) / 1000),
    cpu: 0.02,
    mem: usedMemoryBytes(runtime, node),
    disk: root.usedBytes,
    maxcpu: node.cpus,
    maxmem: node.memoryBytes,
    maxdisk: root.totalBytes,
  };
}

/** What the host itself needs; running guests add what they use. */
export function usedMemoryBytes(runtime: Runtime, node: SimNode): number {
  let used = node.hostMemoryBytes;
  for (const vm of runtime.world.vms.values()) {
    if (vm.node === node.name) used += usedBytes(vm);
  }
  return Math.min(used, node.memoryBytes);
}

/** Rule [assumed]: the root file system is the one that holds the storage `local`, else the first storage of the node. */
export function rootSpace(world: World, node: SimNode): StorageSpace {
  const candidates = [world.storages.get('local'), ...world.storages.values()];
  for (const storage of candidates) {
    const space = storage && !storage.shared && storageSpace(world, storage, node.name);
    if (space) return space;
  }
  return { totalBytes: 0, usedBytes: 0, availableBytes: 0 };
}
