/** What the cluster says now, for the addresses we care about: plain data, the third input of a plan. */
import type { Address } from '../base/address.ts';
import type { HaResource } from '../pve/index.ts';
import type { PciHardware } from './pci-mapping/mapping.ts';
import type { ResolvedImage } from './stack.ts';
import type { VmObserved } from './vm/observed.ts';

/** Something we wanted to read: its value, or why we could not. */
export type Readable<Value> =
  | { readonly ok: true; readonly value: Value }
  /** The token may not read it: "not checked: needs X", never "fine". */
  | { readonly ok: false; readonly needs: string };

/**
 * How old an answer may be, in milliseconds, where several resources are planned by one process. The server judges every
 * change again, and it lists guests with a delay of some seconds itself.
 */
export const MAX_AGE_MS = { guests: 2_000, places: 10_000, templates: 5_000, grants: 30_000 } as const;

export interface Observed {
  readonly version: { readonly version: string; readonly release: string };
  readonly nodes: ReadonlyMap<string, { readonly online: boolean }>;
  /** Guests the token may see, by id. */
  readonly guests: ReadonlyMap<number, GuestRow>;
  /** VMs of the state, by address. */
  readonly vms: ReadonlyMap<Address, ObservedVm>;
  /** Templates by the name or id a stack uses; several where a name stands on several nodes. */
  readonly templates: ReadonlyMap<string, readonly TemplateCandidate[]>;
  readonly storages: ReadonlyMap<string, Readable<readonly StorageRow[]>>;
  readonly bridges: ReadonlyMap<string, Readable<ReadonlySet<string>>>;
  /** Places that are to hold images of the stack. */
  readonly images: readonly ImageSite[];
  readonly pciMappings: Readable<ReadonlyMap<string, readonly string[]>>;
  /** Resources of the HA manager by VM id; read only where the stack mentions `ha`. */
  readonly ha?: Readable<ReadonlyMap<number, HaResource>>;
  /** What it takes to make mappings; read only where the stack names a device that has none. */
  readonly pciMaking?: PciMaking;
  /** Guests that could be VMs of ours which the state does not know, by id: read, because a VM to be made wants their name or id. */
  readonly claimants: ReadonlyMap<number, VmObserved>;
  /** Fixed ids of VMs that are not made yet, and whether somebody — visible or not — has them. */
  readonly takenIds: ReadonlySet<number>;
  /** VMs outside the state and their addresses; read only where a plan gives a VM an address, and by the doctor. */
  readonly neighbours?: Neighbours;
}

/** An image, and a storage of a node that is to hold it. */
export interface ImageSite {
  readonly image: ResolvedImage;
  /** Of a shared storage the node that does the work. */
  readonly node: string;
  /** Undefined where the node has no such storage, or none that the token may see. */
  readonly row: StorageRow | undefined;
  /** Whether the node's storages could be read at all. */
  readonly isRead: boolean;
  readonly isShared: boolean;
  /** The file, as far as it is there. */
  readonly found: Readable<{ readonly sizeBytes: number | undefined; readonly ctime: number | undefined } | undefined>;
}

export interface PciMaking {
  /** Privileges on /mapping/pci and all below it. */
  readonly privileges: ReadonlySet<string>;
  /** By node. */
  readonly devices: ReadonlyMap<string, Readable<readonly PciHardware[]>>;
}

export interface GuestRow {
  readonly vmid: number;
  readonly node: string;
  readonly name: string | undefined;
  readonly template: boolean;
  readonly type: string;
  /** As the list of guests has it, which lags by some seconds. */
  readonly running?: boolean;
}

export type ObservedVm =
  | { readonly kind: 'present'; readonly vm: VmObserved }
  /** No such VM any more. */
  | { readonly kind: 'gone' }
  /** The id is in use, but we may not look. */
  | { readonly kind: 'hidden'; readonly needs: string };

export interface TemplateCandidate {
  readonly vmid: number;
  readonly node: string;
  readonly name: string | undefined;
  readonly isTemplate: boolean;
  readonly vm: Readable<VmObserved>;
  /** It is made by the plan itself, as a template of the stack. */
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
  readonly source: 'configuration' | 'agent';
  readonly network: Network;
}

/** What a NIC is attached to; undefined where that is not known. */
export interface Network {
  readonly bridge: string | undefined;
  /** 0 for untagged. */
  readonly vlan: number | undefined;
}
