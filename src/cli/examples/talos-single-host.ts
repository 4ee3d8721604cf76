/** Talos on one host: image, template, control plane, workers, and one worker for each GPU. */
import type { Example } from './example.ts';
import { exampleHead } from './head.ts';

const STACK = `${exampleHead('talos', 'Talos Linux on one host, from its image: a control plane, workers, and one worker for each GPU.', 'bare')}
variables:                                      # --var worker_count=3, --var-file FILE, or PROXWRIGHT_VAR_worker_count
  control_count: { type: integer, min: 1, max: 5, default: 1, description: "Control planes: 1, 3 or 5." }
  worker_count: { type: integer, min: 0, max: 50, default: 1, description: Number of workers. }
  worker_configs: { type: map, of: vm, default: {}, description: "Settings of individual workers, by VM name." }
  gpu_devices: { type: list, of: pci-address, default: [], description: One worker for each of these cards. }
  ready_ports: { type: list, of: integer, default: [50000], description: "Ports to check; [] on the simulator." }

images:                                         # from factory.talos.dev: platform nocloud, no extensions
  talos:
    url: https://factory.talos.dev/image/376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba/v1.12.4/nocloud-amd64.qcow2
    file: talos-v1.12.4-nocloud-amd64.qcow2
    content: import
    storage: local

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
    disks: { scsi0: { image: talos, storage: tank, size: 20GiB, discard: true, io_thread: true } }
    nics: { net0: { model: virtio, bridge: vmbr0 } }
    cloud_init: { storage: tank }               # Talos reads its address from this drive
    serial: { serial0: socket }
    boot: [scsi0]

defaults:                                       # merged into every VM, key by key
  node: vmhost
  guest: talos                                  # ready when its API answers; no agent, no SSH
  ready: { tcp: "\${var.ready_ports}" }
  clone: { template: talos-v1.12.4-base, mode: full, storage: tank }
  disks: { scsi0: { size: 100GiB } }            # grow the inherited disk; every other slot stays as it is

vms:
  control:
    count: \${var.control_count}
    name: \${stack}-control-\${number}
    vmids: 101-109                              # the nth VM takes the nth ID
    role: control-plane
    cpu: { cores: 4 }
    memory: 8GiB
    tags: [talos, control-plane]
    nics: { net0: { ipv4: { addresses: 10.0.20.11-10.0.20.19/24, gateway: 10.0.20.1 } } }
  worker:
    count: \${var.worker_count}
    name: \${stack}-worker-\${number}
    vmids: 111-160
    role: worker
    cpu: { cores: 4 }
    memory: 16GiB
    tags: [talos, worker]
    nics: { net0: { ipv4: { addresses: 10.0.20.151-10.0.20.200/24, gateway: 10.0.20.1 } } }
    overrides: \${var.worker_configs}
  gpu:
    each: \${var.gpu_devices}                    # identity is the element: vm.gpu["0000:01:00"]
    name: \${stack}-gpu-\${number}
    vmids: 201-209
    role: worker
    cpu: { cores: 8, type: host }
    memory: 32GiB
    tags: [talos, worker, gpu]
    pci: { hostpci0: { device: "\${each}", pcie: true } } # Proxwright finds or creates the mapping
    nics: { net0: { ipv4: { addresses: 10.0.20.201-10.0.20.209/24, gateway: 10.0.20.1 } } }

rollout: { readiness: parallel }

outputs:                                        # proxwright output --contract talos
  talos: { vip: 10.0.20.10 }                    # the address of the Kubernetes API
`;

const VARIABLES = `# proxwright apply --var-file variables.yaml
control_count: 1                                # 1, 3 or 5
worker_count: 1
gpu_devices: ["0000:01:00", "0000:41:00"]       # from lspci on the host; one worker for each
`;

export const TALOS_SINGLE_HOST: Example = {
  files: { 'stack.yaml': STACK, 'variables.yaml': VARIABLES },
  world: 'bare',
};
