/**
 * Reads what a copy of the live cluster needs beyond the reads of a plan. Only GETs: a handful for the cluster and for
 * each node; VMs were read for the plan. What the token may not read becomes an assumption.
 */
import { isFamily, ProxwrightError } from '../../base/errors.ts';
import type { Observed } from '../../kinds/observed.ts';
import { machinesOf, type ResolvedStack } from '../../kinds/stack.ts';
import { drivesOf, storageOf } from '../../kinds/vm/config/disks.ts';
import type { VmObserved } from '../../kinds/vm/observed.ts';
import type {
  ClusterResource,
  ClusterStatusEntry,
  DeviceMapping,
  HaResource,
  HaRule,
  NodeInterface,
  NodeStorageEntry,
  PciDevice,
  Permissions,
  Pve,
  PveVersion,
  StorageDefinition,
  TaskEntry,
  VolumeEntry,
} from '../../pve/index.ts';

export interface NodeFacts {
  readonly storages: readonly NodeStorageEntry[];
  readonly bridges: readonly NodeInterface[];
  readonly pci: readonly PciDevice[];
  /** UPIDs of running tasks. */
  readonly tasks: readonly string[];
  /** Ended tasks that the token can see. */
  readonly history: readonly TaskEntry[];
}

export interface ClusterFacts {
  readonly principal: string;
  readonly version: PveVersion & { readonly repoid?: unknown };
  readonly resources: readonly ClusterResource[];
  readonly status: readonly ClusterStatusEntry[];
  readonly options: Readonly<Record<string, unknown>>;
  readonly permissions: Permissions;
  readonly storages: readonly StorageDefinition[];
  readonly mappings: Readonly<Record<'pci' | 'usb' | 'dir', readonly DeviceMapping[]>>;
  readonly ha: { readonly resources: readonly HaResource[]; readonly rules: readonly HaRule[] };
  readonly nodes: ReadonlyMap<string, NodeFacts>;
  /** Volumes by `node/storage`, of storages that the stack uses. */
  readonly volumes: ReadonlyMap<string, readonly VolumeEntry[]>;
  /** Files that images are downloaded from, by URL, with their length where the node could tell. */
  readonly downloads: ReadonlyMap<string, number | undefined>;
  /** What could not be read, in sentences. */
  readonly unread: readonly string[];
}

/** As many as a busy node has in a day or two. */
const MOST_TASKS = 500;

export interface ReadInput {
  readonly pve: Pve;
  readonly stack: ResolvedStack;
  readonly observed: Observed;
  readonly signal?: AbortSignal | undefined;
}

export async function readCluster({ pve, stack, observed, signal }: ReadInput): Promise<ClusterFacts> {
  const unread: string[] = [];
  /** A refusal is an assumption; a server that does not answer ends the rehearsal. */
  const attempt = async <T>(what: string, read: () => Promise<T>, otherwise: T): Promise<T> => {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof ProxwrightError) || isFamily(error, 'connect') || isFamily(error, 'canceled')) throw error;
      unread.push(`${what} could not be read (${error.code}).`);
      return otherwise;
    }
  };
  const call = { signal };
  const version = await pve.authenticate(call);
  const resources = await pve.cluster.resources({}, call);
  const [status, options, permissions, storages, pci, usb, dir, ha, rules] = await Promise.all([
    attempt('The status of the cluster', () => pve.cluster.status(call), []),
    attempt<ClusterFacts['options']>('The options of the datacenter', () => pve.cluster.options(call), {}),
    pve.access.permissions({}, call),
    attempt('The definitions of storages', () => pve.storage.list(call), []),
    attempt('PCI mappings', () => pve.cluster.mapping.pci({}, call), []),
    attempt('USB mappings', () => pve.cluster.mapping.usb({}, call), []),
    version.major >= 9 ? attempt('Directory mappings', () => pve.cluster.mapping.dir({}, call), []) : [],
    attempt('HA resources', () => pve.cluster.ha.listAll(call), []),
    version.major >= 9 ? attempt('HA rules', () => pve.cluster.haRules.list(call), []) : [],
  ]);
  const usesPci = stack.vms.some(({ fields }) => Object.keys(fields.pci ?? {}).length > 0);
  const locked = new Set(resources.flatMap(({ lock, node }) => (lock !== undefined && node ? [node] : [])));
  const used = new Set(machinesOf(stack).flatMap(({ fields }) => fields.node ?? []));
  const names = [...observed.nodes].flatMap(([name, { online }]) => (online ? [name] : []));
  const nodes = await Promise.all(
    names.map(async (name): Promise<[string, NodeFacts]> => {
      const node = pve.node(name);
      const [ofStorages, bridges, devices, tasks] = await Promise.all([
        attempt(`The storages of ${name}`, () => node.storages.list({ format: true }, call), []),
        attempt(`The bridges of ${name}`, () => node.network({ type: 'any_bridge' }, call), []),
        usesPci ? attempt(`The devices of ${name}`, () => node.pciDevices({}, call), []) : [],
        locked.has(name) || used.has(name)
          ? attempt(`The tasks of ${name}`, () => node.tasks.list({ source: 'all', limit: MOST_TASKS }, call), [])
          : [],
      ]);
      const isRunning = ({ endtime }: TaskEntry) => endtime === undefined;
      return [
        name,
        {
          storages: ofStorages,
          bridges,
          pci: devices,
          // If nothing is locked, a task of another client does not affect a rehearsal.
          tasks: locked.has(name) ? tasks.filter(isRunning).map(({ upid }) => upid) : [],
          history: tasks.filter((task) => !isRunning(task)),
        },
      ];
    }),
  );
  const byNode = new Map(nodes);
  const places = placesOf(stack, observed, byNode);
  const volumes = await Promise.all(
    places.map(async ({ node, storage }): Promise<[string, VolumeEntry[]]> => {
      const list = () => pve.node(node).storage(storage).content.list({}, call);
      return [`${node}/${storage}`, await attempt(`The volumes of ${storage} on ${node}`, list, [])];
    }),
  );
  return {
    principal: pve.principal,
    version,
    resources,
    status,
    options,
    permissions,
    storages,
    mappings: { pci, usb, dir },
    ha: { resources: ha, rules },
    nodes: byNode,
    volumes: new Map(volumes),
    downloads: await readDownloads(pve, observed, call),
    unread,
  };
}

/** All VMs that were read: those of the stack, templates, and neighbours. */
export function readVms({ vms, templates, claimants, neighbours }: Observed): Map<number, VmObserved> {
  const own = [...vms.values()].flatMap((found) => (found.kind === 'present' ? [found.vm] : []));
  const sources = [...templates.values()].flat().flatMap(({ vm }) => (vm.ok ? [vm.value] : []));
  // The first two know best which of them run.
  const all = [...(neighbours?.vms.values() ?? []), ...claimants.values(), ...sources, ...own];
  return new Map(all.map((vm) => [vm.vmid, vm]));
}

interface Place {
  readonly node: string;
  readonly storage: string;
}

/** Storages with disks of the VMs that matter, and with files that new ones use. */
function placesOf(stack: ResolvedStack, observed: Observed, nodes: ClusterFacts['nodes']): Place[] {
  const named = new Map<string, Place>();
  const add = (node: string, storage: string | undefined) => {
    const row = nodes.get(node)?.storages.find((each) => each.storage === storage);
    if (!row?.active || storage === undefined) return;
    // A shared storage has the same volumes on every node.
    const key = row.shared ? storage : `${node}/${storage}`;
    if (!named.has(key)) named.set(key, { node, storage });
  };
  const sources = [...observed.templates.values()].flat().flatMap(({ vm }) => (vm.ok ? [vm.value] : []));
  const own = [...observed.vms.values()].flatMap((found) => (found.kind === 'present' ? [found.vm] : []));
  for (const { node, current } of [...sources, ...own]) {
    for (const drive of drivesOf(current)) add(node, storageOf(drive));
  }
  const machines = [...stack.vms, ...stack.templates.map(({ vm }) => vm)];
  for (const { fields } of machines) {
    const isos = Object.values(fields.disks ?? {}).map((disk) => ('iso' in disk ? disk.iso : undefined));
    for (const iso of isos) {
      if (typeof iso !== 'string') continue;
      for (const node of nodes.keys()) add(node, iso.split(':')[0]);
    }
  }
  for (const { node, image } of observed.images) add(node, image.fields.storage);
  return [...named.values()];
}

/** A node asks the web server; without the privilege for that the length is assumed. */
async function readDownloads(
  pve: Pve,
  { images }: Observed,
  call: { readonly signal: AbortSignal | undefined },
): Promise<Map<string, number | undefined>> {
  const missing = images.filter(({ file }) => file.ok && file.value === undefined);
  const urls = new Map(missing.flatMap(({ image, node }) => (image.fields.url ? [[image.fields.url, node]] : [])));
  const sizes = await Promise.all(
    [...urls].map(async ([url, node]): Promise<[string, number | undefined]> => {
      try {
        const { size } = await pve.node(node).queryUrlMetadata({ url }, call);
        return [url, size];
      } catch (error) {
        if (isFamily(error, 'canceled')) throw error;
        return [url, undefined];
      }
    }),
  );
  return new Map(sizes);
}
