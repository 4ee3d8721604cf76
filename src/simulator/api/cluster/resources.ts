/**
 * GET /cluster/resources: the overview of everything, which lags behind (see `statistics.ts`). `ResourceView` builds
 * the entries, which the lists of nodes and pools share.
 */
import type { Call, CallTo, Routes } from '../../core/call.ts';
import type { Runtime } from '../../core/runtime.ts';
import { type KnownStatistics, knownStatistics, type Statistics } from '../../core/statistics.ts';
import { isOnNode } from '../../storage/volumes.ts';
import { isServerSince } from '../../world/releases.ts';
import type { SimNode, Storage, Vm, World } from '../../world/world.ts';

export const resourcesRoutes: Routes = { 'GET /cluster/resources': listResources };

function listResources(call: CallTo<'GET /cluster/resources'>): ResourceEntry[] {
  const type = call.params.type;
  const wants = (kind: string) => type === undefined || type === kind;
  const view = new ResourceView(call.runtime);
  const pools = type === undefined ? poolEntries(call) : new Map<string, ResourceEntry>();
  return [
    ...(wants('vm') ? [...vmEntries(call, view, pools), ...containerEntries(call)] : []),
    ...pools.values(),
    ...(wants('node') ? nodeEntries(call, view) : []),
    ...(wants('storage') ? storageEntries(call, view) : []),
    // Rule [recorded ha-and-mappings-empty]: the zone of local bridges is a `network`, which no filter matches.
    ...(type === undefined || type === 'sdn' ? networkEntries(call, type) : []),
  ];
}

function poolEntries(call: Call): Map<string, ResourceEntry> {
  const entries = new Map<string, ResourceEntry>();
  for (const pool of call.runtime.world.pools.keys()) {
    if (call.may(`/pool/${pool}`, ['Pool.Audit'])) entries.set(pool, { id: `/pool/${pool}`, pool, type: 'pool' });
  }
  return entries;
}

function vmEntries(call: Call, view: ResourceView, pools: Map<string, ResourceEntry>): ResourceEntry[] {
  const { world } = call.runtime;
  const poolOf = new Map([...world.pools.values()].flatMap((pool) => [...pool.vms].map((vmid) => [vmid, pool.poolid])));
  const entries: ResourceEntry[] = [];
  for (const vm of world.vms.values()) {
    const poolid = poolOf.get(vm.vmid);
    const pool = poolid === undefined ? undefined : pools.get(poolid);
    const isVisible = call.may(`/vms/${vm.vmid}`, ['VM.Audit']);
    if (!pool && !isVisible) continue;
    const entry = view.vm(vm);
    // Rule [source PM API2/Cluster.pm resources]: a pool sums up its running members, visible or not.
    if (pool && Number(entry.uptime ?? 0) > 0) addToPool(pool, entry);
    if (!isVisible) continue;
    // Rule [recorded resources-new-vm]: `lock` and `tags` are live.
    for (const key of ['lock', 'tags']) {
      const value = vm.config.current.get(key);
      if (value !== undefined) entry[key] = value;
    }
    const state = hastate(world, vm.vmid);
    if (state !== undefined) entry.hastate = state;
    if (poolid !== undefined && call.may(`/pool/${poolid}`, ['Pool.Audit'])) entry.pool = poolid;
    entries.push(entry);
  }
  return entries;
}

/** Rule [source PM API2/Cluster.pm resources]: containers are listed with the VMs, as `lxc`. */
function containerEntries(call: Call): ResourceEntry[] {
  return [...call.runtime.world.containers.values()]
    .filter(({ vmid }) => call.may(`/vms/${vmid}`, ['VM.Audit']))
    .map(({ vmid, node, name, running, memoryBytes, cores }) => ({
      id: `lxc/${vmid}`,
      vmid,
      node,
      type: 'lxc',
      name,
      status: running ? 'running' : 'stopped',
      template: 0,
      maxmem: memoryBytes,
      maxcpu: cores,
    }));
}

/** Rule [source PM API2/Cluster.pm resources]: the manager's state, else the requested one. */
function hastate(world: World, vmid: number): string | null | undefined {
  const options = world.ha.resources.get(`vm:${vmid}`);
  const service = world.ha.services.get(`vm:${vmid}`);
  return service?.state ?? (options && (options.get('state') ?? null));
}

function addToPool(pool: ResourceEntry, vm: ResourceEntry): void {
  const number = (entry: ResourceEntry, key: string) => Number(entry[key] ?? 0);
  const cpus = number(pool, 'maxcpu') + number(vm, 'maxcpu');
  pool.uptime = Math.max(number(pool, 'uptime'), number(vm, 'uptime'));
  pool.mem = number(pool, 'mem') + number(vm, 'mem');
  pool.maxmem = number(pool, 'maxmem') + number(vm, 'maxmem');
  pool.cpu = (number(pool, 'cpu') * number(pool, 'maxcpu') + number(vm, 'cpu') * number(vm, 'maxcpu')) / cpus;
  pool.maxcpu = cpus;
}

function nodeEntries(call: Call, view: ResourceView): ResourceEntry[] {
  return [...call.runtime.world.nodes.values()].map((node) => ({
    ...view.node(node, call.may(`/nodes/${node.name}`, ['Sys.Audit'])),
    'cgroup-mode': 2,
    // Rule [observed 9.2.11]: from the first round of the HA manager on.
    ...(call.runtime.world.ha.manager?.isActive ? { hastate: 'online' } : {}),
  }));
}

function storageEntries(call: Call, view: ResourceView): ResourceEntry[] {
  const { storages, nodes } = call.runtime.world;
  return [...storages.values()]
    .filter((storage) => call.may(`/storage/${storage.id}`, ['Datastore.Audit']))
    .flatMap((storage) =>
      [...nodes.keys()]
        .filter((node) => !storage.disabled && isOnNode(storage, node))
        .map((node) => view.storage(storage, node)),
    );
}

/** Rule [source PM API2/Cluster.pm resources of 8.4.1]: before 9.1 it is an `sdn`, and there is a filter for these. */
function networkEntries(call: Call, type: string | undefined): ResourceEntry[] {
  if (!call.may('/sdn/zones/localnetwork', ['SDN.Audit'])) return [];
  if (!isServerSince(call.runtime.world, '9.1')) {
    return [...call.runtime.world.nodes.keys()].map((node) => ({
      id: `sdn/${node}/localnetwork`,
      sdn: 'localnetwork',
      node,
      type: 'sdn',
      status: 'ok',
    }));
  }
  if (type !== undefined) return [];
  return [...call.runtime.world.nodes.keys()].map((node) => ({
    id: `network/${node}/zone/localnetwork`,
    node,
    status: 'ok',
    network: 'localnetwork',
    'network-type': 'zone',
    type: 'network',
  }));
}

export type ResourceEntry = Record<string, unknown>;

/** The statistics of all nodes as one worker knows them, read at most once per node and request. */
export class ResourceView {
  readonly #runtime: Runtime;
  readonly #byNode = new Map<string, KnownStatistics>();

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /** Rule [recorded resources-new-vm]: a VM no broadcast has mentioned is `unknown` and has no name. */
  vm(vm: Vm): ResourceEntry {
    const id = `qemu/${vm.vmid}`;
    return { id, vmid: vm.vmid, node: vm.node, type: 'qemu', status: 'unknown', ...this.#statistics(vm.node, id) };
  }

  storage(storage: Storage, node: string): ResourceEntry {
    const id = `storage/${node}/${storage.id}`;
    const known = this.#statistics(node, id);
    return {
      id,
      storage: storage.id,
      node,
      type: 'storage',
      plugintype: storage.type,
      status: known ? 'available' : 'unknown',
      shared: storage.shared ? 1 : 0,
      content: [...storage.content].join(','),
      ...known,
    };
  }

  /** Rule [recorded perm-token-sees-nothing]: without Sys.Audit only the bare node. */
  node(node: SimNode, withStatistics: boolean): ResourceEntry {
    const id = `node/${node.name}`;
    const known = this.#statistics(node.name, id);
    const status = node.online ? (known ? 'online' : 'unknown') : 'offline';
    return { id, node: node.name, type: 'node', status, level: '', ...(withStatistics ? known : {}) };
  }

  #statistics(node: string, id: string): Statistics | undefined {
    const known = this.#byNode.get(node) ?? knownStatistics(this.#runtime, node);
    this.#byNode.set(node, known);
    return known.get(id);
  }
}
