/** A Talos template that installs itself from an ISO, told how by a machine configuration on a NoCloud volume. */
import type { Example } from './example.ts';
import { exampleHead } from './head.ts';

const STACK = `${exampleHead('talos-iso', 'A Talos template that installs itself from its ISO, and workers cloned from it.', 'bare')}
variables:                                      # --var worker_count=3, --var-file FILE, or PROXWRIGHT_VAR_worker_count
  worker_count: { type: integer, min: 0, max: 50, default: 1, description: Number of workers. }
  ready_ports: { type: list, of: integer, default: [50000], description: "Ports to check; [] on the simulator." }

images:                                         # from factory.talos.dev: platform nocloud, no extensions
  talos-iso:
    url: https://factory.talos.dev/image/376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba/v1.12.4/nocloud-amd64.iso
    file: talos-v1.12.4-nocloud-amd64.iso
    content: iso
    storage: local

# The template installs itself with the machine configuration in worker.yaml. It is secret, so do not commit it. Use the
# one of your cluster, or generate it with kexec turned off, because Proxmox does not notice a reboot by kexec:
#   talosctl gen secrets --output-file secrets.yaml
#   talosctl gen config lab https://10.0.20.10:6443 --with-secrets secrets.yaml --output-types worker --output worker.yaml
#     --install-disk /dev/sda --config-patch '{"machine": {"sysctls": {"kernel.kexec_load_disabled": "1"}}}'
templates:                                      # built once, with this name and ID, then cloned
  talos-v1.12.4-base:
    vmid: 9000
    node: vmhost
    guest: talos
    os_type: l26
    machine: q35
    cpu: { cores: 2, type: x86-64-v2-AES }      # Talos needs at least this type
    memory: 4GiB
    scsi_controller: virtio-scsi-single
    disks:
      scsi0: { storage: tank, size: 20GiB, discard: true, io_thread: true }
      ide2: { image: talos-iso }                # removed from the finished template
    nics: { net0: { model: virtio, bridge: vmbr0 } }
    boot: [scsi0, ide2]                         # the empty disk first: it boots once it is installed
    cloud_init:                                 # a NoCloud volume; removed together with the ISO
      storage: local                            # a storage for ISO images
      slot: ide0
      user_data: { file: ./worker.yaml }
    extra: { reboot: 0 }                        # Talos reboots when it is installed; this makes it power off instead
    install: { timeout: 30m }                   # it must power off within this time

vms:
  worker:
    count: \${var.worker_count}
    name: \${stack}-worker-\${number}
    vmids: 111-160                              # the nth VM takes the nth ID
    node: vmhost
    guest: talos                                # ready when its API answers; no agent, no SSH
    ready: { tcp: "\${var.ready_ports}" }
    clone: { template: talos-v1.12.4-base, mode: full, storage: tank }
    role: worker
    cpu: { cores: 4 }
    memory: 16GiB
    disks: { scsi0: { size: 100GiB } }          # grow the template's disk
    nics: { net0: { ipv4: { addresses: 10.0.20.151-10.0.20.200/24, gateway: 10.0.20.1 } } }
    cloud_init: { storage: tank }               # Proxmox's own drive, from which Talos reads its address
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
