/** Many Ubuntu VMs, their creations apart in time, awaited one after the other. */
import type { Example } from './example.ts';
import { exampleHead } from './head.ts';

const STACK = `${exampleHead('ubuntu-staggered', 'One to fifty Ubuntu VMs: a pause between creations, waited for one after the other.')}
variables:                                      # --var vm_count=5, --var-file FILE, or PROXWRIGHT_VAR_vm_count
  vm_count: { type: integer, min: 1, max: 50, default: 2, description: Number of VMs. }
  deployment_delay: { type: duration, default: 30s, max: 1h, description: Time between two creations. }
  vm_name_prefix: { type: string, default: ubuntu, pattern: "^[a-z0-9][a-z0-9-]{0,58}$" }
  vm_configs: { type: map, of: vm, default: {}, description: "Settings of individual VMs, by VM name." }

vms:
  ubuntu:
    count: \${var.vm_count}
    name: \${var.vm_name_prefix}-\${number}
    node: pve1
    guest: cloud-init
    clone: { template: ubuntu-24.04, mode: full, storage: nfs, format: qcow2 }
    cpu: { cores: 4, sockets: 2 }
    memory: 32GiB
    bios: ovmf                                  # UEFI …
    efi: { storage: nfs, secure_boot: true }    # … with secure boot
    agent: { enabled: true }
    disks: { scsi0: { size: 128GiB } }          # grow the template's disk
    nics: { net0: { bridge: vmbr0, ipv4: dhcp } }
    boot: [scsi0]
    cloud_init: { user: ubuntu }                # and ssh_keys: [ssh-ed25519 AAAA… you@example.org]
    ready: { pings: 3, settle: 30s }            # three answers of the agent, still ready 30 s later
    overrides: \${var.vm_configs}

rollout:
  stagger: \${var.deployment_delay}
  readiness: sequential                         # wait for VM 2 when VM 1 is ready; creations continue
  timeouts: { ready: 30m }

outputs: { files: ./out }                       # vm_<id>_ip.txt and vm_<id>_summary.txt for each VM, and more
`;

const VARIABLES = `# proxwright apply --var-file variables.yaml
vm_count: 2                                     # 1 to 50
deployment_delay: 30s                           # between two creations
vm_name_prefix: ubuntu
vm_configs:                                     # by VM name; what you leave out is the same for all
  ubuntu-1: { memory: 16GiB, disks: { scsi0: { size: 256GiB } } }
  ubuntu-2: { cpu: { cores: 2 }, memory: 8GiB }
`;

export const UBUNTU_STAGGERED: Example = {
  files: { 'stack.yaml': STACK, 'variables.yaml': VARIABLES },
  world: 'default',
};
