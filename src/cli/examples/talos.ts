/** Talos: control planes with fixed addresses behind one virtual address, and workers. */
import { exampleHead } from './head.ts';

export const TALOS = `${exampleHead('talos', 'Talos Linux: three control planes and two workers.')}
variables:                                      # --var workers=5, --var-file FILE, or PROXWRIGHT_VAR_workers
  workers: { type: integer, min: 0, max: 20, default: 2, description: Number of workers. }

defaults:                                       # merged into every VM, key by key
  node: pve1
  guest: talos                                  # ready when its API answers; no agent, no SSH
  # ready: { tcp: [] }                          # on the simulator, whose guests nobody reaches over the network
  clone: { template: talos-v1.12.4-base, mode: full }
  cpu: { cores: 4 }
  disks: { scsi0: { size: 40GiB } }             # the template's disk, grown

vms:
  control:
    count: 3
    name: \${stack}-control-\${number}
    vmids: 421-423                              # the nth VM takes the nth id
    role: control-plane
    memory: 8GiB
    tags: [talos, control-plane]
    nics: { net0: { bridge: vmbr0, ipv4: { addresses: 10.10.0.21-10.10.0.23/24, gateway: 10.10.0.1 } } }
  worker:
    count: \${var.workers}
    name: \${stack}-worker-\${number}
    vmids: 431-450
    role: worker
    memory: 16GiB
    tags: [talos, worker]
    nics: { net0: { bridge: vmbr0, ipv4: { addresses: 10.10.0.31-10.10.0.50/24, gateway: 10.10.0.1 } } }

rollout: { readiness: parallel }

outputs:                                        # proxwright output --contract talos
  talos: { vip: 10.10.0.20 }                    # the address of the Kubernetes API
`;
