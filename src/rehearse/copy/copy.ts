/**
 * A copy of the live cluster for the simulator, as a world file: everything that was read, unchanged. Assumptions, each
 * of them stated, fill the gaps. It contains neither the token nor any password: Proxmox shows none.
 */
import { compareReleases } from '../../base/values/release.ts';
import type { Observed } from '../../kinds/observed.ts';
import type { ResolvedStack } from '../../kinds/stack.ts';
import { drivesOf, parseDrive } from '../../kinds/vm/config/disks.ts';
import { propertyOf } from '../../kinds/vm/config/parts.ts';
import type { VmObserved } from '../../kinds/vm/observed.ts';
import type { ResolvedVm } from '../../kinds/vm/stack.ts';
import type { ClusterResource } from '../../pve/index.ts';
import type { WorldFile } from '../../simulator/index.ts';
import { isDriveKey } from '../../simulator/vm/config/config-keys.ts';
import { knownReleases, NEWEST_RELEASE, shippedQemu, versionNamed } from '../../simulator/world/releases.ts';
import { ANSWERING_GUEST, clonesOf, type GuestFile, type GuestTimes, guestFor, SILENT_GUEST } from './guests.ts';
import { type ClusterFacts, readVms } from './read-cluster.ts';
import { copiedRights } from './rights.ts';
import { downloadsOf, haOf, mappingsOf, poolsOf } from './sections.ts';
import { copiedStorages, isSimulated } from './storages.ts';

export interface ClusterCopy {
  readonly world: WorldFile;
  /** In sentences. */
  readonly assumptions: readonly string[];
}

/** How fast the copy is. */
export interface CopySpeeds {
  /** Bytes a second, by storage. */
  readonly copy: (storage: string) => number;
  /** By the name that the stack gives a template or, for VMs without one, by address. */
  readonly guest: (source: string) => GuestTimes;
}

export interface CopyInput {
  readonly facts: ClusterFacts;
  readonly observed: Observed;
  readonly stack: ResolvedStack;
  readonly speeds: CopySpeeds;
}

type VmFile = NonNullable<WorldFile['vms']>[string];
type NodeFile = WorldFile['nodes'][string];

export function copyCluster(input: CopyInput): ClusterCopy {
  const { facts, observed, speeds } = input;
  const assumptions = [...facts.unread];
  const read = readVms(observed);
  const guests = guestsOf(input, read);
  const entryNode = entryNodeOf(facts, observed);
  const hidden = [...observed.takenIds].filter((vmid) => !observed.guests.has(vmid));
  const {
    storages,
    filesystems,
    assumptions: ofStorages,
  } = copiedStorages({
    facts,
    entryNode,
    copySpeed: speeds.copy,
    guestOn: (volid) => guests.onVolume.get(volid),
    referenced: referencedStorages(read),
  });
  assumptions.push(...ofStorages);
  const vnets = new Set<string>();
  const nodes: Record<string, NodeFile> = {};
  for (const [name, row] of observed.nodes) {
    nodes[name] = nodeFile(input, name, filesystems.get(name) ?? {}, vnets);
    if (row.online && row.memory === undefined)
      assumptions.push(`The memory of ${name} is not visible to the token: 32 GiB are assumed.`);
  }
  if (vnets.size > 0) assumptions.push(`VNets behave like bridges: ${[...vnets].join(', ')}.`);
  assumptions.push('A DHCP server answers on every bridge, in every VLAN.');
  const vms: Record<string, VmFile> = {};
  const containers: NonNullable<WorldFile['containers']> = {};
  for (const row of facts.resources) {
    if (row.vmid === undefined || row.node === undefined || !(row.node in nodes)) continue;
    if (row.type === 'lxc') {
      containers[row.vmid] = {
        node: row.node,
        ...(row.name !== undefined && { name: row.name }),
        running: row.status === 'running',
        ...(row.maxmem && { memory: row.maxmem }),
        ...(row.maxcpu && { cores: Math.max(1, Math.round(row.maxcpu)) }),
      };
    } else {
      vms[row.vmid] = vmFile(row, read.get(row.vmid), storages, assumptions);
    }
  }
  for (const [vmid, vm] of read) vms[vmid] ??= vmFile(undefined, vm, storages, assumptions);
  for (const vmid of hidden) vms[vmid] = { node: entryNode, config: { name: `unseen-${vmid}` } };
  const downloads = downloadsOf(facts, input.stack, assumptions);
  const locked = [...observed.locks.values()];
  for (const { vmid, lock } of locked)
    assumptions.push(`VM ${vmid} stays locked (${lock}): when its lock ends is unknown.`);
  const { users, roles, acl } = copiedRights({
    principal: facts.principal,
    permissions: facts.permissions,
    hiddenIds: hidden,
    vnets,
  });
  return {
    world: {
      version: versionOf(facts, read, assumptions),
      ...clusterName(facts),
      entry_node: entryNode,
      datacenter: datacenterOf(facts),
      nodes,
      storages,
      guests: guests.profiles,
      vms,
      containers,
      tasks: [...facts.nodes.values()].flatMap(({ tasks }) => tasks),
      ha: haOf(facts, vms),
      users,
      roles,
      acl,
      pools: poolsOf(facts, observed),
      mappings: mappingsOf(facts),
      downloads,
    },
    assumptions,
  };
}

function entryNodeOf({ status, nodes }: ClusterFacts, observed: Observed): string {
  const local = status.find(({ type, local: isLocal }) => type === 'node' && isLocal)?.name;
  return local ?? [...nodes.keys()][0] ?? [...observed.nodes.keys()][0] ?? 'pve';
}

function clusterName({ status }: ClusterFacts): { cluster?: string } {
  const name = status.find(({ type }) => type === 'cluster')?.name;
  return name === undefined ? {} : { cluster: name };
}

function versionOf(
  { version }: ClusterFacts,
  vms: ReadonlyMap<number, VmObserved>,
  assumptions: string[],
): NonNullable<WorldFile['version']> {
  const number = version.version.replace(/[^\d.].*$/, '');
  const repoid = typeof version.repoid === 'string' ? { repoid: version.repoid } : {};
  if (versionNamed(number)) return { version: number, ...repoid, qemu: qemuOf(number, vms) };
  const nearest = version.major === 8 ? '8.4' : NEWEST_RELEASE;
  assumptions.push(
    `Proxmox VE ${version.version} behaves like ${nearest}; simulated are ${knownReleases().join(', ')}.`,
  );
  return { version: nearest, qemu: qemuOf(nearest, vms) };
}

/**
 * Proxmox notes in every VM under which QEMU it was created; the nodes have at least that. Servers are also updated
 * between releases, so the version that a release came with is only the least.
 */
function qemuOf(release: string, vms: ReadonlyMap<number, VmObserved>): string {
  const named = [...vms.values()].map(({ current }) => propertyOf('meta', current.get('meta')).get('creation-qemu'));
  const versions = [shippedQemu(release), ...named].flatMap((each) => each?.match(/^\d+(\.\d+)+$/)?.[0] ?? []);
  return versions.toSorted(compareReleases).at(-1) ?? '';
}

/** Only options that affect ids: others change nothing here. */
function datacenterOf({ options }: ClusterFacts): Record<string, string> {
  const next = options['next-id'];
  if (typeof next === 'string') return { 'next-id': next };
  if (typeof next !== 'object' || next === null) return {};
  return {
    'next-id': Object.entries(next)
      .map(([key, value]) => `${key}=${value}`)
      .join(','),
  };
}

const MOST_NETWORKS = 128;

function nodeFile(
  { facts, observed }: CopyInput,
  name: string,
  filesystems: NonNullable<NodeFile['filesystems']>,
  vnets: Set<string>,
): NodeFile {
  const row = observed.nodes.get(name);
  const known = facts.nodes.get(name);
  const address = facts.status.find((each) => each.type === 'node' && each.name === name)?.ip;
  const bridges: NonNullable<NodeFile['bridges']> = {};
  const reservations = reservedAddresses(observed, name);
  const ahead = [...facts.nodes].filter(([other]) => other < name);
  const before = ahead.reduce((sum, [, other]) => sum + other.bridges.length, 0);
  const network = (index: number) => `10.${255 - ((before + index) % MOST_NETWORKS)}`;
  for (const [index, bridge] of (known?.bridges ?? []).entries()) {
    if (bridge.type !== 'bridge' && bridge.type !== 'OVSBridge') vnets.add(bridge.iface);
    bridges[bridge.iface] = {
      ...(bridge.cidr !== undefined && { cidr: bridge.cidr }),
      vlan_aware: bridge.bridge_vlan_aware ?? false,
      active: bridge.active ?? true,
      // Separate networks, so that no address of a real machine is assigned and no two guests get the same one. They are
      // large: the rehearsal assumes that the real server has an address for every VM.
      dhcp: {
        first: `${network(index)}.0.10`,
        last: `${network(index)}.255.250`,
        prefix: 16,
        any_vlan: true,
        reservations: reservations.get(bridge.iface) ?? {},
      },
    };
  }
  return {
    ...(address !== undefined && { address }),
    online: row?.online ?? false,
    ...(row?.cores && { cpus: row.cores }),
    ...(row?.memory && { memory: row.memory.totalBytes, memory_used: row.memory.usedBytes }),
    bridges,
    filesystems,
    pci: (known?.pci ?? []).map((device) => ({
      id: device.id,
      class: device.class,
      vendor: device.vendor,
      device: device.device,
      ...(device.vendor_name !== undefined && { vendor_name: device.vendor_name }),
      ...(device.device_name !== undefined && { device_name: device.device_name }),
      ...(device.subsystem_vendor !== undefined && { subsystem_vendor: device.subsystem_vendor }),
      ...(device.subsystem_device !== undefined && { subsystem_device: device.subsystem_device }),
      ...(device.iommugroup !== undefined && { iommu_group: device.iommugroup }),
    })),
  };
}

/** Addresses that agents reported: the copy gives the same card the same address. By bridge, then MAC. */
function reservedAddresses({ neighbours }: Observed, node: string): Map<string, Record<string, string>> {
  const reserved = new Map<string, Record<string, string>>();
  const reserve = (vm: VmObserved, slot: string, address: string) => {
    const nic = propertyOf(slot, vm.current.get(slot));
    const bridge = nic.get('bridge');
    const mac = nic.get('macaddr');
    if (bridge === undefined || mac === undefined || address.includes(':')) return;
    reserved.set(bridge, { ...reserved.get(bridge), [mac.toLowerCase()]: address });
  };
  for (const [address, holders] of neighbours?.holders ?? []) {
    for (const { vmid, source, network } of holders) {
      const vm = neighbours?.vms.get(vmid);
      if (source !== 'agent' || vm?.node !== node) continue;
      const slots = [...vm.current.keys()].filter((key) => /^net\d+$/.test(key));
      const slot = slots.find((each) => propertyOf(each, vm.current.get(each)).get('bridge') === network.bridge);
      if (slot !== undefined) reserve(vm, slot, address);
    }
  }
  return reserved;
}

/** Of an unread VM only the row of the list is known. */
function vmFile(
  row: ClusterResource | undefined,
  vm: VmObserved | undefined,
  storages: NonNullable<WorldFile['storages']>,
  assumptions: string[],
): VmFile {
  const node = vm?.node ?? row?.node;
  const running = vm && !vm.template && vm.running ? true : row?.status === 'running';
  const base = { ...(node !== undefined && { node }), running: running && !(vm?.template ?? row?.template) };
  if (!vm) {
    return {
      ...base,
      config: {
        // The list shows a VM without a name as "VM 101", which no configuration may hold.
        ...(row?.name !== undefined && row.name !== `VM ${row.vmid}` && { name: row.name }),
        ...(row?.maxmem && { memory: Math.round(row.maxmem / 1024 ** 2) }),
        ...(row?.maxcpu && { cores: row.maxcpu }),
        ...(row?.template && { template: 1 }),
        ...(row?.tags !== undefined && { tags: row.tags }),
        ...(row?.lock !== undefined && { lock: row.lock }),
      },
    };
  }
  const isKept = (key: string, text: string) => {
    if (!isDriveKey(key) && !/^unused\d+$/.test(key)) return true;
    const { file } = parseDrive(key, text);
    const [id = '', name] = file.split(/:(.*)/s);
    const type = storages[id]?.type ?? 'dir';
    if (name === undefined || file.startsWith('/') || isSimulated(id, type, name)) return true;
    assumptions.push(`VM ${vm.vmid} has no ${key} in the copy: the simulator does not know a volume like ${file}.`);
    return false;
  };
  const kept = (values: ReadonlyMap<string, string>) =>
    Object.fromEntries([...values].filter(([key, text]) => isKept(key, text)));
  return { ...base, config: kept(vm.current), pending: kept(vm.pending), delete: [...vm.pendingDeletes] };
}

function referencedStorages(vms: ReadonlyMap<number, VmObserved>): Map<string, string> {
  const found = new Map<string, string>();
  for (const { current } of vms.values()) {
    for (const { file } of drivesOf(current)) {
      const [id = '', name] = file.split(/:(.*)/s);
      if (name !== undefined && !file.startsWith('/')) found.set(id, name);
    }
  }
  return found;
}

interface CopiedGuests {
  readonly profiles: Readonly<Record<string, GuestFile>>;
  /** Names of profiles by volume id. */
  readonly onVolume: ReadonlyMap<string, string>;
}

/** The boot disk of each VM holds the guest that the stack expects. */
function guestsOf({ stack, observed, speeds }: CopyInput, read: ReadonlyMap<number, VmObserved>): CopiedGuests {
  const profiles: Record<string, GuestFile> = {};
  const onVolume = new Map<string, string>();
  const put = (vm: VmObserved, name: string, profile: GuestFile) => {
    profiles[name] = profile;
    for (const { file } of drivesOf(vm.current)) if (file.includes(':')) onVolume.set(file, name);
  };
  const reporting = new Set(
    [...(observed.neighbours?.holders.values() ?? [])]
      .flat()
      .flatMap(({ vmid, source }) => (source === 'agent' ? [vmid] : [])),
  );
  for (const vm of observed.neighbours?.vms.values() ?? []) {
    const answers = reporting.has(vm.vmid);
    put(vm, answers ? 'neighbour-answering' : 'neighbour-silent', answers ? ANSWERING_GUEST : SILENT_GUEST);
  }
  for (const [reference, candidates] of observed.templates) {
    for (const { vmid, name, vm } of candidates) {
      if (!vm.ok) continue;
      const clones = clonesOf(stack, [reference, name, vmid]);
      put(vm.value, `template-${vmid}`, guestFor(clones, speeds.guest(String(name ?? vmid))));
    }
  }
  for (const vm of stack.vms) {
    const found = observed.vms.get(vm.address);
    const known = found?.kind === 'present' ? read.get(found.vm.vmid) : undefined;
    if (known) put(known, `vm-${known.vmid}`, guestFor([vm], speeds.guest(sourceOf(vm))));
  }
  return { profiles, onVolume };
}

/** What a VM boots: its template, or itself. */
export function sourceOf({ fields, address }: ResolvedVm): string {
  return fields.clone ? String(fields.clone.template) : address;
}
