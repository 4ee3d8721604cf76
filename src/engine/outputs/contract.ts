/**
 * The output contract: what programs may rely on. Names and shapes are stable within a version; a key is never missing, and
 * what is not known yet is null. A renamed output keeps its old name for one version and warns when it is read.
 */
import type { VmState } from '../../state/stack-state.ts';

export const CONTRACT_VERSION = 1;

export interface VmOutput {
  readonly vmid: number | null;
  readonly node: string;
  readonly role: string | null;
  readonly status: VmStatus;
  /** By NIC slot. */
  readonly macs: Readonly<Record<string, string | null>>;
  /** By NIC slot: the address to talk to. */
  readonly addresses: Readonly<Record<string, string | null>>;
}

/** How far the VM has come; `absent` was not made yet. */
export type VmStatus = VmState['phase'] | 'absent';

type ByName<Value> = Readonly<Record<string, Value>>;

export interface OutputValues {
  readonly contract_version: typeof CONTRACT_VERSION;
  readonly vms: ByName<VmOutput>;
  /** In the order of the file. */
  readonly talos_control_plane_endpoints: readonly (string | null)[];
  readonly talos_cluster_endpoint: string | null;
  readonly talos_node_ips: ByName<string | null>;
  readonly talos_node_roles: ByName<string | null>;
  readonly talos_vm_ids: ByName<number | null>;
  /** Deprecated. */
  readonly control_plane_ips: readonly (string | null)[];
  /** Deprecated. */
  readonly worker_ips: readonly (string | null)[];
  /** Deprecated. */
  readonly vm_ids: ByName<number | null>;
}

export type OutputName = keyof OutputValues;

/** Old name → what to read instead. */
export const DEPRECATED_OUTPUTS: Readonly<Partial<Record<OutputName, string>>> = {
  control_plane_ips: 'talos_control_plane_endpoints',
  worker_ips: 'vms, whose entries have role and addresses',
  vm_ids: 'vms, whose entries have vmid',
};
