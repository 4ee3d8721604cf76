/** What a stack file becomes: every value is concrete, and nothing is known about the cluster yet. */

import type { Address } from '../base/address.ts';
import type { Where } from '../base/diagnostics.ts';
import type { ImageFields } from './image/fields.ts';
import type { VmFields } from './vm/fields/index.ts';
import type { UpdateFields } from './vm/fields/lifecycle/update.ts';
import type { PlacementRules } from './vm/placement/ledger.ts';

export interface ResolvedStack {
  readonly name: string;
  readonly connection: ConnectionSpec;
  /** Where the state is kept; without it, the environment decides. */
  readonly state?: StateSpec | undefined;
  readonly images: readonly ResolvedImage[];
  /** One for each node that has its own. */
  readonly templates: readonly ResolvedTemplate[];
  /** In the order of the file, groups expanded. */
  readonly vms: readonly ResolvedVm[];
  /** Failure domains. A node in none of them counts as its own domain. */
  readonly zones?: readonly Zone[];
  readonly rollout: Rollout;
  readonly outputs: OutputsSpec;
}

export interface Zone {
  readonly name: string;
  readonly nodes: readonly { readonly node: string; readonly at: Where }[];
}

/** The nodes that the plan chooses among, and how. */
export interface VmPlacement {
  readonly nodes: 'all' | readonly string[];
  readonly rules: PlacementRules;
  /** No HA rules are kept for it. */
  readonly haRules?: false;
}

/** Where to find a secret; never the secret itself. */
export type SecretReference =
  | { readonly env: string }
  | { readonly file: string }
  | { readonly command: readonly string[] };

/** Absent values come from the environment. */
export interface ConnectionSpec {
  readonly endpoint?: string | undefined;
  readonly fingerprint?: string | undefined;
  /** Path of a PEM file. */
  readonly ca?: string | undefined;
  readonly token?: SecretReference | undefined;
}

/** The store of the state: at most one is named; without one, the environment decides. */
export interface StateSpec {
  /** How many runs `runs` lists. */
  readonly keep_runs?: number | undefined;
  readonly local?: true | undefined;
  readonly postgres?: PostgresSpec | undefined;
  readonly s3?: S3Spec | undefined;
  readonly http?: HttpSpec | undefined;
}

export interface PostgresSpec {
  /** `postgres://user@host:port/database`, without a password. */
  readonly address: string;
  readonly password?: SecretReference | undefined;
  readonly schema?: string | undefined;
  /** Path of a PEM file. */
  readonly ca?: string | undefined;
}

export interface S3Spec {
  readonly bucket: string;
  readonly prefix?: string | undefined;
  readonly region?: string | undefined;
  readonly endpoint?: string | undefined;
  readonly profile?: string | undefined;
  readonly ca?: string | undefined;
}

export interface HttpSpec {
  readonly address: string;
  readonly update_method?: string | undefined;
  readonly lock_address?: string | undefined;
  readonly lock_method?: string | undefined;
  readonly unlock_address?: string | undefined;
  readonly unlock_method?: string | undefined;
  readonly username?: string | undefined;
  readonly password?: SecretReference | undefined;
  readonly ca?: string | undefined;
}

/** Of static addresses of one network. */
export interface AddressRange {
  readonly first: string;
  readonly last: string;
  /** Of the prefix. */
  readonly length: number;
}

export interface ResolvedVm {
  readonly address: Address;
  readonly group: string;
  /** Place in its group, from 1. */
  readonly number: number;
  /** Until the plan has chosen it, `node` reads `NODE_NOT_CHOSEN`. */
  readonly fields: VmFields;
  /** Set if the file leaves the node to the plan. */
  readonly placement?: VmPlacement;
  /** Paths of fields whose value a sensitive variable decides: it is neither shown nor recorded. */
  readonly sensitive?: readonly string[];
  /** IDs it may have if `fields.vmid` is not set, shared by its group: member n prefers the nth. */
  readonly vmids?: readonly number[];
  /** Field path (`nics.net0.ipv4.address`) → the addresses of its group: member n has the nth, unless the state gives it another. */
  readonly addressRanges?: Readonly<Record<string, readonly AddressRange[]>>;
  /** Those of its addresses that differ from the ones of its number. */
  readonly given?: Readonly<Record<string, string>>;
  /** VMs that must be ready first. */
  readonly after: readonly Address[];
  /** Addresses it had before a rename. */
  readonly formerly: readonly Address[];
  /** Field path (`nics.net0.vlan`; '' for the group) → where its value was written. */
  readonly positions: Readonly<Record<string, Where>>;
}

export interface ResolvedImage {
  readonly name: string;
  /** `image.NAME`; on local storage each node has one, and the engine adds the node: `image.NAME["node"]`. */
  readonly address: Address;
  readonly fields: ImageFields;
  /** Name in the storage, with an extension that Proxmox accepts. */
  readonly file: string;
  /** Nodes that the file names, and those whose templates and VMs use it; none while only empty groups do. */
  readonly nodes: readonly string[];
  /** VMs that use it and whose node the plan chooses: their nodes are added then. */
  readonly chosenFor?: readonly Address[];
  readonly positions: Readonly<Record<string, Where>>;
}

/** A VM that is created, installs itself if it comes from an ISO, and is then converted. */
export interface ResolvedTemplate {
  readonly name: string;
  /** Its fields; `name` is the template's, and it is never left running. */
  readonly vm: ResolvedVm;
  /** Name or ID of the VM to copy. */
  readonly from?: string | number;
  /** Boots its ISO and must power itself off within this time. */
  readonly install?: { readonly timeoutMs: number };
  /** Other inputs, given from outside the file. They are part of the recipe and of nothing else. */
  readonly madeFrom?: Readonly<Record<string, string>>;
}

export interface Rollout {
  readonly staggerMs: number;
  readonly readiness: 'sequential' | 'parallel';
  readonly onFailure: 'continue' | 'stop';
  /** For groups that set none. */
  readonly update: UpdateFields;
  /** For each disk that moves to another storage or format. */
  readonly diskMoveBytesPerSecond?: number;
  readonly retry: { readonly attempts?: number; readonly firstMs: number; readonly maxMs: number };
  readonly limits: {
    readonly vms: number;
    readonly clonesPerNode: number;
    readonly clonesPerStorage: number;
    readonly destroys: number;
    readonly requests: number;
    readonly agentCalls: number;
    readonly groupSize: number;
  };
  readonly timeouts: {
    readonly cloneMs: number;
    readonly diskMoveMs: number;
    readonly startMs: number;
    readonly readyMs: number;
    readonly shutdownMs: number;
    readonly lockMs: number;
    /** Until an image is in its storage. */
    readonly imageMs: number;
    /** For a server that does not answer. */
    readonly unreachableMs: number;
  };
}

export interface OutputsSpec {
  readonly talos?: { readonly vip?: string | undefined } | undefined;
  /** Directory for output files. */
  readonly files?: string | undefined;
}

/** Everything in a stack that is created as a VM: its templates, then its VMs. */
export function machinesOf({ templates, vms }: Pick<ResolvedStack, 'templates' | 'vms'>): readonly ResolvedVm[] {
  return [...templates.map(({ vm }) => vm), ...vms];
}

/** A resource with the lines on which its fields were written, by path. */
export interface Positioned {
  readonly address: Address;
  readonly positions: Readonly<Record<string, Where>>;
}

/** Where a field of a resource was written, or else its nearest parent. */
export function positionOf({ address, positions }: Positioned, path: string): Where {
  const parts = path.split('.');
  for (let length = parts.length; length > 0; length--) {
    const found = positions[parts.slice(0, length).join('.')];
    if (found) return { ...found, address };
  }
  return { ...positions[''], address };
}

/** The same, with the field itself. */
export function whereOf(resource: Positioned, path = ''): Where {
  return { ...positionOf(resource, path), ...(path !== '' && { field: path }) };
}

/** A VM without positions in a file: for rules and comparisons of an observed VM. */
export function bareVm(address: Address, fields: VmFields): ResolvedVm {
  return { address, group: 'vm', number: 1, fields, after: [], formerly: [], positions: {} };
}

/**
 * The order in which Proxwright waits for VMs to become ready: that of the file, except that a VM follows the VMs named in its `after`: it cannot start before they are ready, and
 * waiting for it first would never end.
 */
export function waitOrder(
  vms: readonly { readonly address: Address; readonly after: readonly Address[] }[],
): Address[] {
  const byAddress = new Map(vms.map((vm) => [vm.address, vm]));
  const order = new Set<Address>();
  const underWay = new Set<Address>();
  const visit = (address: Address) => {
    const vm = byAddress.get(address);
    if (!vm || order.has(address) || underWay.has(address)) return;
    underWay.add(address);
    vm.after.forEach(visit);
    order.add(address);
  };
  for (const { address } of vms) visit(address);
  return [...order];
}
