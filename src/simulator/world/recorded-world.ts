/**
 * The world the recordings start from: one node under software emulation, directory storage, three templates. Values are
 * those of the recorded answers; tokens have fixed secrets so that the recordings can be replayed.
 */
import type { WorldFile } from './world-file.ts';

const GIB = 1024 ** 3;
/** Everything on the root file system that is not one of the volumes below. */
const FOREIGN_BYTES = 36_600_000_000;
const TOTAL_BYTES = 270_553_174_016;
const RESERVED_BYTES = TOTAL_BYTES - 39_460_282_368 - 69_484_011_520;

const virtioDevice = (slot: number, classId: string, device: string, name: string) => ({
  id: `0000:00:0${slot}.0`,
  class: classId,
  vendor: '0x1af4',
  device,
  vendor_name: 'Red Hat, Inc.',
  device_name: name,
  subsystem_vendor: '0x1af4',
  subsystem_device: device,
  iommu_group: -1,
});

export const RECORDED_WORLD: WorldFile = {
  version: { version: '9.2.11', release: '9.2', repoid: '14a22df35955d97d', qemu: '10.0.13', qemu_patched: false },
  nodes: {
    pve1: {
      address: '10.99.0.1',
      cpus: 2,
      memory: 25_276_518_400,
      kvm: false,
      traffic_shaping: false,
      uptime: 3726,
      bridges: {
        vmbr0: {
          physical: false,
          cidr: '10.99.0.1/24',
          dhcp: { first: '10.99.0.100', last: '10.99.0.200', prefix: 24 },
        },
        vmbr1: { physical: false },
      },
      filesystems: {
        root: { total: TOTAL_BYTES, foreign: FOREIGN_BYTES, reserved: RESERVED_BYTES },
        tiny: { total: 67_108_864 },
      },
      pci: [
        virtioDevice(1, '0xffff00', '0x1045', 'Virtio 1.0 balloon'),
        virtioDevice(2, '0x018000', '0x1042', 'Virtio 1.0 block device'),
        virtioDevice(3, '0x020000', '0x1041', 'Virtio 1.0 network device'),
        virtioDevice(4, '0xffff00', '0x1053', 'Virtio 1.0 socket'),
        virtioDevice(5, '0xffff00', '0x1044', 'Virtio 1.0 RNG'),
      ],
      ssl_fingerprint:
        'BB:B0:DC:B4:BD:DC:8D:D5:E2:72:13:72:CE:24:1D:94:97:43:C8:47:F6:89:CF:85:6B:83:1D:DE:E1:CA:46:B4',
    },
  },
  storages: {
    local: {
      path: '/var/lib/vz',
      content: ['images', 'rootdir', 'vztmpl', 'backup', 'iso', 'snippets', 'import'],
      volumes: [
        { name: '100/vm-100-disk-0.raw', size: GIB, used: 4096, ctime: 1_794_768_815 },
        { name: '9000/base-9000-disk-0.qcow2', size: GIB, used: 524_558_336, ctime: 1_794_768_912 },
        { name: '9000/vm-9000-cloudinit.qcow2', size: '4M', used: 266_240, ctime: 1_794_768_904 },
        { name: '9001/base-9001-disk-0.raw', size: GIB, used: 524_292_096, ctime: 1_794_768_912 },
        {
          name: '9100/base-9100-disk-0.qcow2',
          size: 2_621_440_000,
          used: 904_994_816,
          ctime: 1_794_770_194,
          guest: 'debian-agent',
        },
        { name: '9100/vm-9100-cloudinit.qcow2', size: '4M', used: 266_240, ctime: 1_794_770_192 },
        { name: 'import/cloud.qcow2', size: 196_616, virtual_size: '64M', data: 0, ctime: 1_794_769_593 },
        {
          name: 'import/debian-agent.qcow2',
          size: 904_921_088,
          virtual_size: 2_621_440_000,
          ctime: 1_794_770_160,
          guest: 'debian-agent',
        },
        { name: 'iso/blob.iso', size: 3_000_000, ctime: 1_794_769_591 },
      ],
    },
    local2: { path: '/srv/local2', content: ['images', 'iso', 'snippets'] },
    tiny: { path: '/srv/tiny', content: ['images'], filesystem: 'tiny' },
    isoonly: { path: '/srv/isoonly', content: ['iso', 'vztmpl'] },
  },
  vms: {
    100: {
      config: {
        bios: 'seabios',
        boot: 'order=scsi0;net0',
        cores: 1,
        kvm: 0,
        memory: '256',
        meta: 'creation-qemu=10.0.13,ctime=1794768815',
        name: 'web-1',
        net0: 'virtio=BC:24:11:86:CC:56,bridge=vmbr0',
        onboot: 0,
        ostype: 'l26',
        protection: 0,
        scsi0: 'local:100/vm-100-disk-0.raw,size=1G',
        scsihw: 'virtio-scsi-single',
        smbios1: 'uuid=2de0c4a7-7886-477f-ad9d-160d2c142ebd',
        template: 0,
        vmgenid: '60bdcd00-1150-4902-9bfa-c23be3f530a0',
      },
    },
    9000: {
      config: {
        agent: '1',
        boot: 'order=scsi0',
        ciuser: 'ubuntu',
        cores: 1,
        ide2: 'local:9000/vm-9000-cloudinit.qcow2,media=cdrom',
        kvm: 0,
        memory: '128',
        meta: 'creation-qemu=10.0.13,ctime=1794768904',
        name: 'tpl-qcow2',
        net0: 'virtio=BC:24:11:C8:39:3F,bridge=vmbr0',
        ostype: 'l26',
        scsi0: 'local:9000/base-9000-disk-0.qcow2,size=1G',
        scsihw: 'virtio-scsi-single',
        serial0: 'socket',
        smbios1: 'uuid=702932e6-3e3d-472f-88b9-032598c2afb1',
        template: 1,
        vga: 'serial0',
        vmgenid: '0d1a777c-df46-4224-bfee-1581914f5f5f',
      },
    },
    9001: {
      config: {
        boot: 'order=scsi0',
        cores: 1,
        kvm: 0,
        memory: '128',
        meta: 'creation-qemu=10.0.13,ctime=1794768905',
        name: 'tpl-raw',
        net0: 'virtio=BC:24:11:60:AC:17,bridge=vmbr0',
        ostype: 'l26',
        scsi0: 'local:9001/base-9001-disk-0.raw,size=1G',
        scsihw: 'virtio-scsi-single',
        smbios1: 'uuid=2f1ae185-f860-43c9-9240-b22fd2e7a3bf',
        template: 1,
        vmgenid: '64915999-ab18-4ad8-9c03-84047695e546',
      },
    },
    9100: {
      config: {
        agent: '1',
        boot: 'order=scsi0',
        citype: 'nocloud',
        cores: 1,
        cpu: 'qemu64',
        ide2: 'local:9100/vm-9100-cloudinit.qcow2,media=cdrom',
        kvm: 0,
        memory: '512',
        meta: 'creation-qemu=10.0.13,ctime=1794770192',
        name: 'debian-agent-tpl',
        net0: 'virtio=BC:24:11:E5:78:B5,bridge=vmbr0',
        ostype: 'l26',
        scsi0: 'local:9100/base-9100-disk-0.qcow2,size=2500M',
        scsihw: 'virtio-scsi-single',
        serial0: 'socket',
        smbios1: 'uuid=a2124fe8-3114-4788-a690-92e13596ca3b',
        template: 1,
        vga: 'serial0',
        vmgenid: 'f4e4aed2-2b3e-4f37-802b-effb88414fc2',
      },
    },
  },
  users: {
    'root@pam': {
      password: 'test1234',
      tokens: { test: { secret: '00000000-0000-4000-8000-000000000001', privsep: false } },
    },
    'terraform@pve': { tokens: { t1: { secret: '00000000-0000-4000-8000-000000000002' } } },
    'vmadmin@pve': { tokens: { t2: { secret: '00000000-0000-4000-8000-000000000003', privsep: false } } },
  },
  acl: [{ path: '/', role: 'PVEAdmin', user: 'vmadmin@pve' }],
};
