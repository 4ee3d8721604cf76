/** VMs in a stack: what the file says about them. */
import type { Address } from '../../base/address.ts';
import type { Where } from '../../base/diagnostics.ts';
import type { VmFields } from './fields/index.ts';
import type { PlacementRules } from './placement/ledger.ts';

export interface VmsInStack {
  /** In the order of the file, groups expanded. */
  readonly vms: readonly ResolvedVm[];
  /** Failure domains. A node in none of them counts as its own domain. */
  readonly zones?: readonly Zone[];
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

/** A VM without positions in a file: for rules and comparisons of an observed VM. */
export function bareVm(address: Address, fields: VmFields): ResolvedVm {
  return { address, group: 'vm', number: 1, fields, after: [], formerly: [], positions: {} };
}
