/**
 * The output contract: what programs may rely on. Names and shapes are stable within a version; a key is never missing, and
 * what is not known yet is null. A renamed output keeps its old name for one version and warns when it is read.
 */
import { z } from 'zod';
import type { VmRecord } from '../../kinds/vm/record.ts';

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
export type VmStatus = VmRecord['phase'] | 'absent';

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

/** The part of the outputs that one kind of consumer reads; old names stay in it as long as they exist. */
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
  vmid: vmid().describe('Id in Proxmox; null while the VM does not exist.'),
  node: z.string().describe('Node that it is on, or will be.'),
  role: z.string().nullable().describe('As the stack file says.'),
  status: z
    .enum(['creating', 'incomplete', 'complete', 'absent'])
    .describe('How far it has come; absent: not made yet.'),
  macs: byName(z.string().nullable()).describe('MAC addresses by card.'),
  addresses: byName(ip()).describe('By card, the network address to talk to.'),
});

/** Keys may come within a version, so a reader must not mind more of them. */
export const outputValuesSchema = z
  .looseObject({
    contract_version: z
      .literal(CONTRACT_VERSION)
      .describe('Grows when a name goes or a shape changes, not when one is added.'),
    vms: byName(vmOutput).describe('All VMs of the stack, by name.'),
    talos_control_plane_endpoints: z
      .array(ip())
      .describe('Addresses of the Talos control planes, in the order of the stack file.'),
    talos_cluster_endpoint: z
      .url()
      .nullable()
      .describe('URL of the Kubernetes API: the virtual address, or the first.'),
    talos_node_ips: byName(ip()).describe('Addresses of the Talos VMs, by name.'),
    talos_node_roles: byName(z.string().nullable()).describe('Roles of the Talos VMs, by name.'),
    talos_vm_ids: byName(vmid()).describe('Ids of the Talos VMs, by name.'),
    control_plane_ips: z.array(ip()).meta(old('control_plane_ips')),
    worker_ips: z.array(ip()).meta(old('worker_ips')),
    vm_ids: byName(vmid()).meta(old('vm_ids')),
  })
  .meta({
    title: `Outputs of a Proxwright stack, contract version ${CONTRACT_VERSION}`,
    description: 'A key is never missing; what is not known yet is null.',
  }) satisfies z.ZodType<OutputValues>;

/** For editors and for programs that want to check what they read. */
export function contractJsonSchema(): string {
  return `${JSON.stringify(z.toJSONSchema(outputValuesSchema), undefined, 2)}\n`;
}
