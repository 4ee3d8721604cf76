/** One Ubuntu server: the smallest useful stack. */
import type { Example } from './example.ts';
import { exampleHead } from './head.ts';

const STACK = `${exampleHead('ubuntu', 'One Ubuntu server, cloned from a cloud-init template.')}
vms:
  web:
    name: web
    node: pve1
    guest: cloud-init                           # ready when the guest agent answers and an address is known
    clone: { template: ubuntu-24.04 }           # a template you have, by name or id
    # vmid: 400                                 # the next free id unless you say one
    cpu: { cores: 2 }
    memory: 4GiB
    disks: { scsi0: { size: 20GiB } }           # the template's disk, grown; everything else stays as it is
    nics: { net0: { bridge: vmbr0, ipv4: dhcp } }
    cloud_init: { user: ubuntu }                # and ssh_keys: [ssh-ed25519 AAAA… you@example.org]
    tags: [web]
    # restart: when_needed                      # whether a change that needs a restart may restart it
`;

export const UBUNTU: Example = { files: { 'stack.yaml': STACK }, world: 'default' };
