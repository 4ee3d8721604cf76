/** The stack whose smallest role is put to the test: one VM that is cloned and one that is created, in two versions. */
import type { Target } from '../engine/target.ts';

const GIB = 1024 ** 3;
const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGFjY2VwdGFuY2VhY2NlcHRhbmNlYWNjZXB0YW5jZTEy acceptance';

/** As it is made, and with nearly everything changed that can be changed in place. */
export type Version = 'made' | 'changed';

export interface StackOptions {
  readonly name: string;
  readonly target: Target;
  /** Whether the clone is waited for by its agent. */
  readonly hasAgent: boolean;
  readonly pool: string | undefined;
  readonly version: Version;
}

/** Addresses come from a documentation network, so no packet can reach a real machine. */
export function stackText({ name, target, hasAgent, pool, version }: StackOptions): string {
  const isChanged = version === 'changed';
  const { ids, disk, cloudInitStorage, storage, node, bridge, fields } = target;
  const size = (moreGib: number) => `${disk.sizeBytes / GIB + moreGib + (isChanged ? 1 : 0)}GiB`;
  const common = {
    node,
    guest: 'plain',
    ...(pool !== undefined && { pool }),
    cpu: { cores: isChanged ? 2 : 1 },
    tags: isChanged ? ['acceptance', 'changed'] : ['acceptance'],
    description: `Made by the acceptance suite (${version}); it may be removed.`,
    ...fields,
  };
  const address = { address: `192.0.2.${isChanged ? 12 : 11}/24`, gateway: '192.0.2.1' };
  return JSON.stringify({
    version: 1,
    stack: name,
    vms: {
      cloned: {
        ...common,
        name: `${name}-cloned`,
        // A guest that really boots needs more than one that is only there.
        memory: `${(hasAgent ? 512 : 128) + (isChanged ? 64 : 0)}MiB`,
        vmid: ids.first,
        power: target.power,
        restart: 'when_needed',
        ...(hasAgent && { ready: { agent: true } }),
        clone: { template: target.template, mode: target.mode, ...(storage !== undefined && { storage }) },
        disks: { [disk.slot]: { size: size(1) } },
        nics: { net0: { bridge, ipv4: address, firewall: isChanged } },
        cloud_init: {
          user: isChanged ? 'changed' : 'acceptance',
          ssh_keys: [KEY],
          ...(cloudInitStorage !== undefined && { storage: cloudInitStorage }),
        },
      },
      // It has nothing to boot from: switched on, it costs a little memory and sends nothing.
      created: {
        ...common,
        name: `${name}-created`,
        memory: isChanged ? '96MiB' : '64MiB',
        vmid: ids.first + 1,
        power: isChanged ? 'running' : 'stopped',
        disks: { scsi0: { storage: storage ?? disk.storage, size: isChanged ? '2GiB' : '1GiB' } },
        nics: { net0: { bridge, firewall: isChanged } },
        vga: { type: isChanged ? 'std' : 'virtio' },
        boot: ['scsi0'],
      },
    },
  });
}
