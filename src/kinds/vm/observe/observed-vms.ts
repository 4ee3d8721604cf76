/** What is observed for VMs: the VMs themselves, and everything in the cluster that they refer to or may collide with. */
import type { Address } from '../../../base/address.ts';
import type { HaResource, NodeStatus, VmEntry } from '../../../pve/index.ts';
import type { Readable } from '../../cluster.ts';
import { fingerprint } from '../../fingerprint.ts';
import type { HeldLock } from '../lock.ts';
import type { VmObserved } from '../observed.ts';
import type { VmSnapshots } from '../snapshot/snapshots.ts';

export interface VmsObserved {
  /** VMs of the state, by address. */
  readonly vms: ReadonlyMap<Address, ObservedVm>;
  readonly bridges: ReadonlyMap<string, Readable<ReadonlySet<string>>>;
  /** What ties a running VM to its node, in the server's words; read only for VMs that may move and have a VNC clipboard. */
  readonly localResources?: ReadonlyMap<number, readonly string[]>;
  /** Snapshots of VMs; read only for commands about them, and where a plan of the VM depends on them. */
  readonly snapshots?: ReadonlyMap<Address, Readable<VmSnapshots>>;
  /** Resources of the HA manager by VM id; read only where the stack mentions `ha`. */
  readonly ha?: Readable<ReadonlyMap<number, HaResource>>;
  /** Directory mappings; read only where a VM shares a directory. */
  readonly directories?: DirectoryMappings;
  /** Guests that may be lost VMs of this stack, by id: each has the name or id of a VM that the plan creates. */
  readonly claimants: ReadonlyMap<number, VmObserved>;
  /** Locked VMs among those read for this stack, by id. */
  readonly locks: ReadonlyMap<number, HeldLock>;
  /** IDs that machines to be made would get, and that a guest, visible or not, has. */
  readonly takenIds: ReadonlySet<number>;
  /** Pools that machines to be made name, and whether they exist. */
  readonly pools?: ReadonlyMap<string, Readable<boolean>>;
  /** CPU models that a VM can have; read only where the plan gives a VM one. */
  readonly cpuModels?: CpuModels;
  /** The lowest free ID; read only where a machine may have any, and the plan chooses. */
  readonly nextId?: number;
  /** VMs outside the state and their addresses; read only where a plan gives a VM an address, and by the doctor. */
  readonly neighbours?: Neighbours;
}

export const NO_VMS: VmsObserved = {
  vms: new Map(),
  bridges: new Map(),
  claimants: new Map(),
  locks: new Map(),
  takenIds: new Set(),
};

export interface CpuModels {
  readonly names: ReadonlySet<string>;
  /** Whether models of this cluster, `custom-…`, would be among the names. */
  readonly customs: { readonly ok: true } | { readonly ok: false; readonly needs: string };
}

/** What the cluster says about one name: the entry of each node that has the directory, or undefined if there is no such mapping. */
export type DirectoryNodes = ReadonlyMap<string, string> | undefined;

export interface DirectoryMappings {
  /** Mappings that the token sees. */
  readonly names: readonly string[];
  /** By the names that VMs use. */
  readonly used: ReadonlyMap<string, Readable<DirectoryNodes>>;
}

export type ObservedVm =
  | { readonly kind: 'present'; readonly vm: VmObserved }
  /** It no longer exists. */
  | { readonly kind: 'gone' }
  /** The token may not read it. */
  | { readonly kind: 'hidden'; readonly needs: string };

/** VMs that are not in the state, and the addresses they have. */
export interface Neighbours {
  /** Those that were read, by ID. Templates are not read. */
  readonly vms: ReadonlyMap<number, VmObserved>;
  /** By address, in its shortest spelling. */
  readonly holders: ReadonlyMap<string, readonly AddressHolder[]>;
  /** Read, but neither the configuration nor an agent says which addresses they have. */
  readonly silent: readonly NeighbourName[];
  readonly unread: readonly UnreadNeighbour[];
  /** Whether the token sees all guests of the cluster. */
  readonly isComplete: boolean;
}

export interface NeighbourName {
  readonly vmid: number;
  readonly name: string | undefined;
  readonly node: string;
}

export interface UnreadNeighbour extends NeighbourName {
  /** Completes "VM 105 on pve1 …". */
  readonly why: string;
}

export interface AddressHolder extends NeighbourName {
  /** `notes`: the ownership line names what is in custom cloud-init files. */
  readonly source: 'configuration' | 'notes' | 'agent';
  readonly network: Network;
}

/** What a NIC is attached to; undefined where that is not known. */
export interface Network {
  readonly bridge: string | undefined;
  /** 0 for untagged. */
  readonly vlan: number | undefined;
}

/** What the doctor's checks of VMs look at. */
export interface VmsExamined {
  /** Nodes of the stack that exist and are online. */
  readonly nodes: ReadonlyMap<string, ObservedNode>;
  /** Volumes of templates by `node/storage/vmid`. */
  readonly volumes: ReadonlyMap<string, Readable<ReadonlySet<string>>>;
}

export interface ObservedNode {
  readonly status: Readable<NodeStatus>;
  /** Only those that the token may see. */
  readonly vms: readonly VmEntry[];
}

export const NO_VMS_EXAMINED: VmsExamined = { nodes: new Map(), volumes: new Map() };

/** Of the VMs of the state, by address. */
export function fingerprintsOfVms({ vms }: Pick<VmsObserved, 'vms'>): Record<string, string> {
  return Object.fromEntries([...vms].map(([address, vm]) => [address, vmFingerprint(vm)]));
}

/** A VM's identity and configuration; its digest covers current, pending and snapshots alike. */
function vmFingerprint(observed: ObservedVm | undefined): string {
  if (observed?.kind !== 'present') return observed?.kind ?? 'absent';
  const { vmid, uuid, digest, node } = observed.vm;
  return fingerprint({ vmid, uuid, digest, node });
}
