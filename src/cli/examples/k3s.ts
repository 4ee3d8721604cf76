/** K3s: one server, workers by variable. */
import { exampleHead } from './head.ts';

export const K3S = `${exampleHead('k3s', 'K3s: a server and as many agents as you like.')}
variables:                                      # --var agents=5, --var-file FILE, or PROXWRIGHT_VAR_agents
  agents: { type: integer, min: 0, max: 20, default: 2, description: Number of agents. }

defaults:                                       # merged into every VM, key by key
  node: pve1
  guest: cloud-init                             # ready when the guest agent answers and an address is known
  clone: { template: ubuntu-24.04, mode: full } # a template you have, by name or id
  nics: { net0: { bridge: vmbr0, ipv4: dhcp } }
  cloud_init: { user: ubuntu }                  # and ssh_keys: [ssh-ed25519 AAAA… you@example.org]

vms:
  server:
    name: \${stack}-server
    vmid: 410
    role: control-plane
    cpu: { cores: 4 }
    memory: 8GiB
    disks: { scsi0: { size: 40GiB } }           # the template's disk, grown
    tags: [k3s, server]
  agent:
    count: \${var.agents}
    name: \${stack}-agent-\${number}
    vmids: 411-430                              # the nth VM takes the nth id
    role: worker
    cpu: { cores: 2 }
    memory: 4GiB
    disks: { scsi0: { size: 40GiB } }
    tags: [k3s, agent]
    after: [server]                             # begun when the server is ready
    overrides: { 2: { memory: 8GiB } }          # one of them is larger

outputs: { files: ./out }                       # vm_<id>_ip.txt and vm_<id>_summary.txt
`;
