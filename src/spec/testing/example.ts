/** A stack that uses most features: an image, a template, a control plane, workers by variable, and one VM per GPU. */
export const EXAMPLE = `# yaml-language-server: $schema=./stack.schema.json
version: 1
stack: k3s-dev
connection:
  endpoint: https://vmhost.lab:8006
  fingerprint: "${Array.from({ length: 32 }, () => '3A').join(':')}"
  token: { env: PROXMOX_VE_API_TOKEN }

variables:
  worker_count: { type: integer, min: 0, max: 50, default: 1, description: Number of workers. }
  gpu_devices:  { type: list, of: pci-address, default: [] }
  vm_configs:   { type: map, of: vm, default: {} }

images:
  talos: { url: "https://factory.talos.dev/nocloud-amd64.qcow2", file: talos-v1.12.4.qcow2, content: import, storage: local }

templates:
  talos-v1.12.4-base:
    vmid: 9000
    guest: talos
    machine: q35
    disks: { scsi0: { image: talos, storage: tank, size: 20GiB } }

defaults:
  node: vmhost
  clone: { template: talos-v1.12.4-base, mode: full, storage: tank }
  nics: { net0: { bridge: vmbr0, vlan: 20 } }

vms:
  control:
    count: 1
    name: \${stack}-control-\${number}
    vmids: 101-109
    role: control-plane
    cpu: { cores: 4 }
    memory: 8GiB
    disks: { scsi0: { size: 100GiB } }
    nics: { net0: { ipv4: { addresses: 10.0.20.11-10.0.20.19/24, gateway: 10.0.20.1 } } }
    boot: [scsi0, net0]
  worker:
    count: \${var.worker_count}
    name: \${stack}-worker-\${number}
    vmids: 111-160
    role: worker
    memory: 16GiB
    after: [control]
    overrides: \${var.vm_configs}
  gpu:
    each: \${var.gpu_devices}
    name: \${stack}-gpu-\${number}
    pci: { hostpci0: { device: "\${each}", pcie: true } }

rollout:
  stagger: 30s
  readiness: sequential
  on_failure: continue
  retry: { attempts: 5, first: 2s, max: 30s }
  limits: { vms: 10, clones_per_node: 2, clones_per_storage: 2, requests: 6, agent_calls: 2 }
  timeouts: { clone: 30m, start: 5m, ready: 30m, shutdown: 3m, lock: 5m }

outputs: { talos: { vip: 10.0.20.10 }, files: ./out }
`;
