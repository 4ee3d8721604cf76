/** The stacks of these tests: five VMs cloned from one template, and what becomes of them later. */

const ROLLOUT = 'rollout: { readiness: parallel, limits: { vms: 10, clones_per_node: 3, clones_per_storage: 3 } }';

/** Four plain VMs and one whose guest is waited for. */
export const FIVE_VMS = `
version: 1
stack: lab
defaults:
  node: pve1
  clone: { template: ubuntu-24.04, mode: full }
  memory: 4GiB
  tags: [lab, web]
vms:
  web:
    count: 4
    name: web-\${number}
    vmids: 401-409
    cpu: { cores: 4 }
    disks: { scsi0: { size: 10GiB } }
    boot: [scsi0, net0]
  db:
    name: db
    vmids: 401-409
    guest: cloud-init
    cloud_init: { user: admin, password: { env: GUEST_PASSWORD } }
    nics: { net0: { bridge: vmbr0, ipv4: dhcp } }
    disks: { scsi1: { storage: local-lvm, size: 2GiB } }
${ROLLOUT}
`;

/** The same, changed in place: memory, a disk grows, a NIC gets a VLAN, tags. */
export const FIVE_VMS_CHANGED = FIVE_VMS.replace('memory: 4GiB', 'memory: 6GiB\n  restart: when_needed')
  .replace('size: 10GiB', 'size: 12GiB')
  .replace('tags: [lab, web]', 'tags: [web, prod, lab]')
  .replace('boot: [scsi0, net0]', 'boot: [scsi0, net0]\n    nics: { net0: { bridge: vmbr1, vlan: 20 } }');

/** For storms: cloned, cloned with a guest that is waited for, and made from nothing. */
export const MIXED = `
version: 1
stack: lab
defaults: { node: pve1, memory: 2GiB, restart: when_needed, tags: [lab] }
vms:
  web:
    count: 2
    name: web-\${number}
    vmids: 401-420
    clone: { template: ubuntu-24.04, mode: full }
    cpu: { cores: 4 }
    disks: { scsi0: { size: 10GiB } }
    boot: [scsi0, net0]
  db:
    name: db
    vmids: 401-420
    guest: cloud-init
    clone: { template: ubuntu-24.04, mode: linked }
    cloud_init: { password: { env: GUEST_PASSWORD } }
    disks: { scsi1: { storage: local-lvm, size: 2GiB } }
  empty:
    name: empty
    vmids: 401-420
    disks: { scsi0: { storage: nfs, size: 1GiB, format: qcow2 } }
    nics: { net0: { bridge: vmbr1, vlan: 30 } }
    scsi_controller: virtio-scsi-single
    boot: [net0]
    restart: never
rollout: { readiness: parallel, limits: { clones_per_node: 3, clones_per_storage: 3 }, timeouts: { ready: 3m, lock: 3m } }
`;

export const MIXED_CHANGED = MIXED.replace('memory: 2GiB', 'memory: 3GiB')
  .replace('tags: [lab]', 'tags: [prod, lab]')
  .replace('size: 10GiB', 'size: 12GiB')
  .replace('vlan: 30', 'vlan: 40');
