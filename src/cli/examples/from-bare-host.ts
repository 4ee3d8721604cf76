/** A host with nothing on it: image, template and VMs in one apply. */
import type { Example } from './example.ts';
import { exampleHead } from './head.ts';

const STACK = `${exampleHead('from-bare-host', 'From a bare host to running VMs in one apply: image, template, clones.', 'bare')}
images:                                         # Proxmox downloads it to a storage, unless it is there already
  noble:
    url: https://cloud-images.ubuntu.com/noble/current/noble-server-cloudimg-amd64.img
    file: noble-server-cloudimg-amd64.qcow2     # Ubuntu names it .img, but it is qcow2, and Proxmox goes by the name
    content: import
    storage: local
    # sha256: …                                 # from SHA256SUMS, for an image with a dated URL

templates:                                      # built once, with this name and ID, then cloned
  ubuntu-24.04:
    vmid: 9000
    node: vmhost
    guest: cloud-init
    os_type: l26
    cpu: { cores: 2, type: x86-64-v2-AES }
    memory: 2GiB
    scsi_controller: virtio-scsi-single
    disks: { scsi0: { image: noble, storage: tank, size: 10GiB, discard: true, io_thread: true } }
    nics: { net0: { model: virtio, bridge: vmbr0 } }
    cloud_init: { storage: tank }               # a drive for clones without custom user-data
    agent: { enabled: true }                    # the device; user-data.yaml below installs the agent
    serial: { serial0: socket }                 # cloud images write their boot messages there
    boot: [scsi0]

vms:
  web:
    count: 2
    name: web-\${number}
    vmids: 101-109                              # the nth VM takes the nth ID
    node: vmhost
    guest: cloud-init                           # ready when the guest agent answers and an address is known
    clone: { template: ubuntu-24.04, mode: linked }
    cpu: { cores: 2 }
    memory: 4GiB
    disks: { scsi0: { size: 20GiB } }           # grow the template's disk
    nics: { net0: { ipv4: { addresses: 10.0.20.11-10.0.20.19/24, gateway: 10.0.20.1 } } }
    cloud_init:                                 # on its own ISO image, which replaces Proxmox's cloud-init drive
      storage: local                            # a storage for ISO images
      user: ubuntu
      # ssh_keys: [ssh-ed25519 AAAA… you@example.org]
      dns: { servers: [10.0.20.1] }
      user_data: { file: ./user-data.yaml }
    tags: [web]

rollout: { readiness: parallel }
`;

const USER_DATA = `#cloud-config
# Stock cloud images have no guest agent; without one, Proxwright cannot tell when a VM is up, or its address.
packages: [qemu-guest-agent]
runcmd:
  - [systemctl, start, qemu-guest-agent]
`;

export const FROM_BARE_HOST: Example = { files: { 'stack.yaml': STACK, 'user-data.yaml': USER_DATA }, world: 'bare' };
