/**
 * The output contract that programs may rely on. Names and shapes are stable within a version; every key is present, and
 * unknown values are null. A renamed output keeps its old name for one version, with a warning when it is read.
 */
import { z } from 'zod';
import type { MachineStatus } from '../../kinds/shown.ts';

export const CONTRACT_VERSION = 1;

export interface VmOutput {
  readonly vmid: number | null;
  readonly node: string;
  /** Failure domain of the node. */
  readonly zone: string | null;
  readonly role: string | null;
  readonly status: MachineStatus;
  /** By NIC slot. */
  readonly macs: Readonly<Record<string, string | null>>;
  /** By NIC slot: the preferred address. */
  readonly addresses: Readonly<Record<string, string | null>>;
}

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

/** The outputs for one kind of consumer, including old names as long as they exist. */
export const CONTRACTS: Readonly<Record<string, readonly OutputName[]>> = {
  talos: [
    'contract_version',
    'talos_control_plane_endpoints',
    'talos_cluster_endpoint',
    'talos_node_ips',
    'talos_node_roles',
    'talos_vm_ids',
    'control_plane_ips',
    'worker_ips',
    'vm_ids',
  ],
};

const ip = () => z.union([z.ipv4(), z.ipv6()]).nullable();
const vmid = () => z.int().min(100).max(999_999_999).nullable();
const byName = <Value extends z.ZodType>(value: Value) => z.record(z.string(), value);
const old = (name: OutputName) => ({ deprecated: true, description: `Old name. Read ${DEPRECATED_OUTPUTS[name]}.` });

const vmOutput = z.looseObject({
  vmid: vmid().describe('Id in Proxmox; null until the VM exists.'),
  node: z.string().describe('Node that the VM is on, or will be on.'),
  zone: z.string().nullable().describe('Failure domain of the node; null if the stack file names none.'),
  role: z.string().nullable().describe('Role from the stack file.'),
  status: z
    .enum(['creating', 'incomplete', 'complete', 'absent'])
    .describe('Progress of the VM; absent: not created yet.'),
  macs: byName(z.string().nullable()).describe('MAC addresses by NIC.'),
  addresses: byName(ip()).describe('Preferred network address by NIC.'),
});

/** A version may gain keys, so readers must accept unknown ones. */
export const outputValuesSchema = z
  .looseObject({
    contract_version: z
      .literal(CONTRACT_VERSION)
      .describe('Increases when a name is removed or a shape changes, not when one is added.'),
    vms: byName(vmOutput).describe('All VMs of the stack, by name.'),
    talos_control_plane_endpoints: z
      .array(ip())
      .describe('Addresses of the Talos control planes, in the order of the stack file.'),
    talos_cluster_endpoint: z
      .url()
      .nullable()
      .describe('URL of the Kubernetes API: the virtual address, or the first control plane.'),
    talos_node_ips: byName(ip()).describe('Addresses of the Talos VMs, by name.'),
    talos_node_roles: byName(z.string().nullable()).describe('Roles of the Talos VMs, by name.'),
    talos_vm_ids: byName(vmid()).describe('Ids of the Talos VMs, by name.'),
    control_plane_ips: z.array(ip()).meta(old('control_plane_ips')),
    worker_ips: z.array(ip()).meta(old('worker_ips')),
    vm_ids: byName(vmid()).meta(old('vm_ids')),
  })
  .meta({
    title: `Outputs of a Proxwright stack, contract version ${CONTRACT_VERSION}`,
    description: 'Every key is present; unknown values are null.',
  }) satisfies z.ZodType<OutputValues>;

/** For editors, and for programs that validate what they read. */
export function contractJsonSchema(): string {
  return `${JSON.stringify(z.toJSONSchema(outputValuesSchema), undefined, 2)}\n`;
}
