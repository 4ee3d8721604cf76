/** Rancher: three management VMs and two for applications, in a VLAN. The demo runs this very stack. */
import type { Example } from './example.ts';
import { exampleHead } from './head.ts';

const STACK = `${exampleHead('rancher', 'Rancher: three VMs for its management cluster, two for applications.')}
defaults:                                       # merged into every VM, key by key
  node: pve1
  guest: cloud-init                             # ready when the guest agent answers and an address is known
  clone: { template: ubuntu-24.04, mode: full } # an existing template, by name or ID
  cpu: { cores: 4 }
  memory: 8GiB
  disks: { scsi0: { size: 100GiB } }            # grow the template's disk; everything else stays as it is
  cloud_init:
    user: ubuntu
    dns: { servers: [10.20.0.1], domain: lab.example.org }
    # ssh_keys: [ssh-ed25519 AAAA… you@example.org]

vms:
  rancher-manager:
    count: 3
    name: rancher-manager-\${number}
    vmids: 401-403                              # the nth VM takes the nth ID
    role: manager
    tags: [rancher, manager]
    nics: { net0: { bridge: vmbr1, vlan: 20, ipv4: { addresses: 10.20.0.11-10.20.0.13/24, gateway: 10.20.0.1 } } }
  nprd-apps:
    count: 2
    name: nprd-apps-\${number}
    vmids: 404-405
    role: apps
    tags: [rancher, apps]
    nics: { net0: { bridge: vmbr1, vlan: 20, ipv4: { addresses: 10.20.0.21-10.20.0.22/24, gateway: 10.20.0.1 } } }

rollout:
  readiness: parallel                           # or sequential: one VM at a time
  limits: { clones_per_node: 1, clones_per_storage: 1 } # a single disk is fastest with one copy at a time
`;

export const RANCHER: Example = { files: { 'stack.yaml': STACK }, world: 'default' };
