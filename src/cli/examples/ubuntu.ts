/** One Ubuntu server: the smallest useful stack. */
import type { Example } from './example.ts';
import { exampleHead } from './head.ts';

const STACK = `${exampleHead('ubuntu', 'One Ubuntu server, cloned from a cloud-init template.')}
vms:
  web:
    name: web
    node: pve1
    guest: cloud-init                           # ready when the guest agent answers and an address is known
    clone: { template: ubuntu-24.04 }           # an existing template, by name or ID
    # vmid: 400                                 # by default the next free ID
    cpu: { cores: 2 }
    memory: 4GiB
    disks: { scsi0: { size: 20GiB } }           # grow the template's disk; everything else stays as it is
    nics: { net0: { bridge: vmbr0, ipv4: dhcp } }
    cloud_init: { user: ubuntu }                # and ssh_keys: [ssh-ed25519 AAAA… you@example.org]
    tags: [web]
    # restart: when_needed                      # allow restarts for changes that need one
`;

export const UBUNTU: Example = { files: { 'stack.yaml': STACK }, world: 'default' };
