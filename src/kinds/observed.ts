/** What the cluster reports about the resources of a stack: plain data, the third input of a plan. */
import type { Address } from '../base/address.ts';
import { hasCode } from '../base/errors.ts';
import type { HaResource, HaRule, Permissions } from '../pve/index.ts';
import type { PciHardware } from './pci-mapping/mapping.ts';
import type { ResolvedImage } from './stack.ts';
import type { HeldLock } from './vm/lock.ts';
import type { VmObserved } from './vm/observed.ts';
import type { VmSnapshots } from './vm/snapshot/snapshots.ts';

/** A value, or the privileges that the token lacks to read it. */
export type Readable<Value> =
  | { readonly ok: true; readonly value: Value }
  /** Reported as not checked, never taken for correct. */
  | { readonly ok: false; readonly needs: string };

/** A missing privilege becomes the result; every other error is thrown. */
export async function readIfAllowed<Value>(read: () => Promise<Value>, needs: string): Promise<Readable<Value>> {
  try {
    return { ok: true, value: await read() };
  } catch (error) {
    if (hasCode(error, 'PRIVILEGE_MISSING')) return { ok: false, needs };
    throw error;
  }
}

/**
 * How old an answer may be, in milliseconds, if one process plans several resources. The server checks every change
 * again, and its own list of guests lags by some seconds.
 */
export const MAX_AGE_MS = { guests: 2_000, places: 10_000, templates: 5_000, grants: 30_000 } as const;

export interface Observed {
  readonly version: { readonly version: string; readonly release: string };
  readonly nodes: ReadonlyMap<string, NodeRow>;
  /** Guests the token may see, by id. */
  readonly guests: ReadonlyMap<number, GuestRow>;
  /** VMs of the state, by address. */
  readonly vms: ReadonlyMap<Address, ObservedVm>;
  /** Templates by the name or id that the stack uses; several if several nodes have one with that name. */
  readonly templates: ReadonlyMap<string, readonly TemplateCandidate[]>;
  readonly storages: ReadonlyMap<string, Readable<readonly StorageRow[]>>;
  readonly bridges: ReadonlyMap<string, Readable<ReadonlySet<string>>>;
  /** Every place that has to hold an image of the stack. */
  readonly images: readonly ImageSite[];
  readonly pciMappings: Readable<ReadonlyMap<string, readonly string[]>>;
  /** Those of them whose devices move with a running VM; read only where VMs are to be moved. */
  readonly livePciMappings?: ReadonlySet<string>;
  /** What ties a running VM to its node, in the server's words; read only for VMs that may move and have a VNC clipboard. */
  readonly localResources?: ReadonlyMap<number, readonly string[]>;
  /** Snapshots of VMs; read only for commands about them, and where a plan of the VM depends on them. */
  readonly snapshots?: ReadonlyMap<Address, Readable<VmSnapshots>>;
  /** Resources of the HA manager by VM id; read only where the stack mentions `ha`. */
  readonly ha?: Readable<ReadonlyMap<number, HaResource>>;
  /** All HA rules of the cluster; read only where the stack or its state mentions `ha`, and from Proxmox VE 9 on. */
  readonly haRules?: Readable<readonly HaRule[]>;
  /** Directory mappings; read only where a VM shares a directory. */
  readonly directories?: DirectoryMappings;
  /** What is needed to create mappings; read only if the stack names a device without one. */
  readonly pciMaking?: PciMaking;
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
  /**
   * What the token may do, on the top paths and on those with their own entries; read only if something depends on it.
   */
  readonly permissions?: Permissions;
}

export interface CpuModels {
  readonly names: ReadonlySet<string>;
  /** Whether models of this cluster, `custom-…`, would be among the names. */
  readonly customs: { readonly ok: true } | { readonly ok: false; readonly needs: string };
}

/** An image, and a storage of a node that has to hold it. */
export interface ImageSite {
  readonly image: ResolvedImage;
  /** For shared storage, the node that transfers the file. */
  readonly node: string;
  /** Undefined if the node has no such storage, or none that the token may see. */
  readonly row: StorageRow | undefined;
  /** Whether the node's storages could be read at all. */
  readonly isRead: boolean;
  readonly isShared: boolean;
  /** The file in the storage; its value is undefined if there is none. */
  readonly file: Readable<{ readonly sizeBytes: number | undefined; readonly ctime: number | undefined } | undefined>;
}

/** What the cluster says about one name: the entry of each node that has the directory, or undefined if there is no such mapping. */
export type DirectoryNodes = ReadonlyMap<string, string> | undefined;

export interface DirectoryMappings {
  /** Mappings that the token sees. */
  readonly names: readonly string[];
  /** By the names that VMs use. */
  readonly used: ReadonlyMap<string, Readable<DirectoryNodes>>;
}

export interface PciMaking {
  /** Privileges on /mapping/pci and all below it. */
  readonly privileges: ReadonlySet<string>;
  /** By node. */
  readonly devices: ReadonlyMap<string, Readable<readonly PciHardware[]>>;
}

/** Figures only where the token may see them: Sys.Audit on the node. */
export interface NodeRow {
  readonly online: boolean;
  readonly cores?: number;
  readonly memory?: { readonly totalBytes: number; readonly usedBytes: number };
  /** In maintenance: the HA manager places no new guests here. */
  readonly inMaintenance?: true;
}

export interface GuestRow {
  readonly vmid: number;
  readonly node: string;
  readonly name: string | undefined;
  readonly template: boolean;
  readonly type: string;
  /** As the list of guests has it, which lags by some seconds. */
  readonly running?: boolean;
  /** As configured. */
  readonly memoryBytes?: number;
  readonly cores?: number;
  /** Only where the token may see it. */
  readonly pool?: string;
}

export type ObservedVm =
  | { readonly kind: 'present'; readonly vm: VmObserved }
  /** It no longer exists. */
  | { readonly kind: 'gone' }
  /** The token may not read it. */
  | { readonly kind: 'hidden'; readonly needs: string };

export interface TemplateCandidate {
  readonly vmid: number;
  readonly node: string;
  readonly name: string | undefined;
  readonly isTemplate: boolean;
  readonly vm: Readable<VmObserved>;
  /** Set for a template of the stack, which the plan itself may build. */
  readonly address?: Address;
}

export interface StorageRow {
  readonly storage: string;
  readonly type: string;
  readonly content: ReadonlySet<string>;
  readonly active: boolean;
  readonly enabled: boolean;
  readonly shared: boolean;
  readonly availableBytes: number | undefined;
  readonly formats: readonly string[] | undefined;
}

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

/** The key under which a reference is kept: IDs and names do not collide. */
export function templateKey(reference: string | number): string {
  return typeof reference === 'number' || /^\d+$/.test(reference) ? `#${reference}` : reference;
}
