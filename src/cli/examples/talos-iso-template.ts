/** A Talos template that installs itself from an ISO, told how by a machine configuration on a NoCloud volume. */
import type { Example } from './example.ts';
import { exampleHead } from './head.ts';

const STACK = `${exampleHead('talos-iso', 'A Talos template that installs itself from its ISO, and workers cloned from it.', 'bare')}
variables:                                      # --var worker_count=3, --var-file FILE, or PROXWRIGHT_VAR_worker_count
  worker_count: { type: integer, min: 0, max: 50, default: 1, description: Number of workers. }
  ready_ports: { type: list, of: integer, default: [50000], description: "What must answer; [] on the simulator." }

images:                                         # from factory.talos.dev: platform nocloud, no extensions
  talos-iso:
    url: https://factory.talos.dev/image/376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba/v1.12.4/nocloud-amd64.iso
    file: talos-v1.12.4-nocloud-amd64.iso
    content: iso
    storage: local

# The template installs itself by the machine configuration in worker.yaml. That is a secret, so it is in no repository;
# take the one of your cluster, or make it, with kexec switched off, without which the reboot below is none:
#   talosctl gen secrets --output-file secrets.yaml
#   talosctl gen config lab https://10.0.20.10:6443 --with-secrets secrets.yaml --output-types worker --output worker.yaml
#     --install-disk /dev/sda --config-patch '{"machine": {"sysctls": {"kernel.kexec_load_disabled": "1"}}}'
templates:                                      # built once, under this name and id, then cloned
  talos-v1.12.4-base:
    vmid: 9000
    node: vmhost
    guest: talos
    os_type: l26
    machine: q35
    cpu: { cores: 2, type: x86-64-v2-AES }      # Talos wants at least this type
    memory: 4GiB
    scsi_controller: virtio-scsi-single
    disks:
      scsi0: { storage: tank, size: 20GiB, discard: true, io_thread: true }
      ide2: { image: talos-iso }                # gone when the template is finished
    nics: { net0: { model: virtio, bridge: vmbr0 } }
    boot: [scsi0, ide2]                         # the empty disk first: what is installed there boots next time
    cloud_init:                                 # a NoCloud volume; it goes with the ISO
      storage: local                            # one that takes ISO images
      slot: ide0
      user_data: { file: ./worker.yaml }
    extra: { reboot: 0 }                        # Talos reboots when it is installed; this makes it switch off instead
    install: { timeout: 30m }                   # by then it must have switched itself off

vms:
  worker:
    count: \${var.worker_count}
    name: \${stack}-worker-\${number}
    vmids: 111-160                              # the nth VM takes the nth id
    node: vmhost
    guest: talos                                # ready when its API answers; no agent, no SSH
    ready: { tcp: "\${var.ready_ports}" }
    clone: { template: talos-v1.12.4-base, mode: full, storage: tank }
    role: worker
    cpu: { cores: 4 }
    memory: 16GiB
    disks: { scsi0: { size: 100GiB } }          # the template's disk, grown
    nics: { net0: { ipv4: { addresses: 10.0.20.151-10.0.20.200/24, gateway: 10.0.20.1 } } }
    cloud_init: { storage: tank }               # Proxmox's own drive: Talos reads its address from there
    extra: { reboot: 1 }                        # the clones may reboot
    tags: [talos, worker]

rollout: { readiness: parallel }

outputs:                                        # proxwright output --contract talos
  talos: { vip: 10.0.20.10 }                    # the address of the cluster that the workers join
`;

export const TALOS_ISO_TEMPLATE: Example = {
  files: { 'stack.yaml': STACK },
  world: 'bare',
  secrets: ['secrets.yaml', 'worker.yaml'],
};
