/** What a kind shows of its resources beside a plan: in the outputs of a stack, and as evidence that they match the file. */
import type { Address } from '../base/address.ts';
import type { AddressRecord } from './recorded.ts';

/** `absent`: not created yet. */
export type MachineStatus = AddressRecord['phase'] | 'absent';

export interface NicView {
  readonly slot: string;
  readonly mac: string | null;
  readonly ip: string | null;
  /** Static address from the stack, also before the VM exists. */
  readonly expected: string | null;
}

export interface MachineView {
  readonly address: Address;
  readonly name: string;
  readonly group: string;
  readonly role: string | null;
  readonly isTalos: boolean;
  /** User that cloud-init creates, if the stack sets one. */
  readonly user: string | null;
  readonly vmid: number | null;
  readonly node: string;
  /** Failure domain of the node, where the stack names one. */
  readonly zone: string | null;
  readonly status: MachineStatus;
  readonly nics: readonly NicView[];
  /** Address of the managed NIC. */
  readonly ip: string | null;
}

/** `wanted` and `found` are the names that the evidence format has for desired (or recorded) and observed values. */
export interface Evidence {
  readonly uuid: { readonly wanted: string | null; readonly found: string | null };
  readonly fields: readonly {
    /** Field of the file: `nics.net0.vlan`. */
    readonly path: string;
    /** Proxmox's key. */
    readonly key: string;
    /** Both in the syntax of the file; secrets as masks. */
    readonly wanted: unknown;
    readonly found: unknown;
    readonly equal: boolean;
    /** The value is set and takes effect after a restart. */
    readonly restartPending?: true;
  }[];
}
