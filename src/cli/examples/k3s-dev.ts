/** K3s: servers and workers, their numbers by variable. */
import type { Example } from './example.ts';
import { exampleHead } from './head.ts';

const STACK = `${exampleHead('k3s-dev', 'K3s for development: a server, and as many workers as you like.')}
variables:                                      # --var worker_count=5, --var-file FILE, or PROXWRIGHT_VAR_worker_count
  control_count: { type: integer, min: 1, max: 5, default: 1, description: "Number of servers: 1, 3 or 5." }
  worker_count: { type: integer, min: 0, max: 20, default: 1, description: Number of workers. }
  worker_configs: { type: map, of: vm, default: {}, description: "Settings of individual workers, by VM name." }

defaults:                                       # merged into every VM, key by key
  node: pve1
  guest: cloud-init                             # ready when the guest agent answers and an address is known
  clone: { template: ubuntu-24.04, mode: full } # an existing template, by name or ID
  cpu: { cores: 4 }
  memory: 8GiB
  disks: { scsi0: { size: 100GiB } }            # grow the template's disk; everything else stays as it is
  cloud_init: { user: ubuntu }                  # and ssh_keys: [ssh-ed25519 AAAA… you@example.org], for the K3s script

vms:
  control:
    count: \${var.control_count}
    name: \${stack}-control-\${number}
    vmids: 101-109                              # the nth VM takes the nth ID
    role: control-plane
    tags: [k3s, control-plane]
    nics: { net0: { bridge: vmbr0, ipv4: { addresses: 10.10.0.21-10.10.0.29/24, gateway: 10.10.0.1 } } }
  worker:
    count: \${var.worker_count}
    name: \${stack}-worker-\${number}
    vmids: 111-130
    role: worker
    tags: [k3s, worker]
    nics: { net0: { bridge: vmbr0, ipv4: { addresses: 10.10.0.30-10.10.0.49/24, gateway: 10.10.0.1 } } }
    after: [control]                            # start when the servers are ready
    overrides: \${var.worker_configs}

outputs: { files: ./out }                       # outputs.json, inventory.yaml, vm_<id>_ip.txt and more
`;

const VARIABLES = `# proxwright apply --var-file variables.yaml
control_count: 1
worker_count: 2
worker_configs:                                 # by VM name; what you leave out is the same for all
  k3s-dev-worker-2: { memory: 16GiB }
`;

export const K3S_DEV: Example = { files: { 'stack.yaml': STACK, 'variables.yaml': VARIABLES }, world: 'default' };
