/** The configuration of the suite for Terraform: two small VMs on the target, in JSON syntax because it is put together. */
import { ADDRESS } from '../../../tools/provider/platforms.ts';
import type { Target } from '../engine/target.ts';

const GIB = 1024 ** 3;
const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGFjY2VwdGFuY2VhY2NlcHRhbmNlYWNjZXB0YW5jZTEy acceptance';

/** What changes in the course of the suite. */
export interface VmOptions {
  readonly memory: string;
  readonly tags: readonly string[];
  /** Over the size of the template's disk. */
  readonly moreGib: number;
}

export const LABELS = ['first', 'second'] as const;

/** Addresses come from a documentation network, so no packet can reach a real machine. */
export function configuration(name: string, target: Target, options: VmOptions, withoutClone = false): string {
  const vms = LABELS.map((label, index) => [label, vm(name, target, options, index, withoutClone)]);
  return JSON.stringify({
    terraform: { required_providers: { proxwright: { source: ADDRESS } } },
    provider: { proxwright: {} },
    resource: { proxwright_vm: Object.fromEntries(vms) },
  });
}

function vm(name: string, target: Target, options: VmOptions, index: number, withoutClone: boolean) {
  const { ids, disk, cloudInitStorage, fields, storage, mode } = target;
  const clone = { template: String(target.template), mode, ...(storage !== undefined && { storage }) };
  return {
    name: `${name}-${index + 1}`,
    node: target.node,
    vmid: ids.first + index,
    power: target.power,
    stop_on_destroy: true,
    ...(!withoutClone && { clone }),
    cpu: { cores: 1 },
    memory: options.memory,
    disks: { [disk.slot]: { size: `${disk.sizeBytes / GIB + options.moreGib}GiB` } },
    nics: { net0: { bridge: target.bridge, ipv4: { address: `192.0.2.${11 + index}/24`, gateway: '192.0.2.1' } } },
    cloud_init: {
      user: 'acceptance',
      ssh_keys: [KEY],
      dns: { servers: ['192.0.2.53'], domain: 'acceptance.example' },
      ...(cloudInitStorage !== undefined && { storage: cloudInitStorage }),
    },
    tags: options.tags,
    description: `Made by the acceptance suite (${name}); it may be removed.`,
    ...fields,
  };
}
