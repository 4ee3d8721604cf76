/**
 * All property formats of a guest's configuration; config-keys.ts says which key has which. Mirrors qemu-server,
 * src/PVE/QemuServer.pm and src/PVE/QemuServer/{Agent,CPUConfig,Drive,Machine,Memory,MetaInfo,Network,PCI,RNG,USB,Virtiofs}.pm;
 * startup: pve-common.
 */
import { defineFormat, type SubKey } from './property-string.ts';

const off: SubKey = { type: 'boolean', default: '0' };
const on: SubKey = { type: 'boolean', default: '1' };
const text: SubKey = { type: 'string' };
const hexId: SubKey = { type: 'string', caseFold: true };

// Drives: everything that is backed by a volume.

const IMAGE_FORMATS = ['raw', 'qcow', 'qed', 'qcow2', 'vmdk', 'cloop'];

const VOLUME = {
  file: { type: 'string', required: true },
  format: { type: 'string', enum: IMAGE_FORMATS },
  'import-from': { type: 'string' },
  size: { type: 'disk-size' },
} satisfies Record<string, SubKey>;

const BYTES_AND_OPERATIONS = Object.fromEntries(
  ['', '_rd', '_wr'].flatMap((direction): [string, SubKey][] => [
    [`bps${direction}`, { type: 'integer' }],
    [`mbps${direction}`, { type: 'number' }],
    [`mbps${direction}_max`, { type: 'number' }],
    [`bps${direction}_max_length`, { type: 'integer' }],
    [`iops${direction}`, { type: 'integer' }],
    [`iops${direction}_max`, { type: 'integer' }],
    [`iops${direction}_max_length`, { type: 'integer' }],
  ]),
);

const DRIVE: Readonly<Record<string, SubKey>> = {
  ...VOLUME,
  ...BYTES_AND_OPERATIONS,
  aio: { type: 'string', enum: ['native', 'threads', 'io_uring'] },
  backup: on,
  // No default: without it the behaviour depends on the storage.
  cache: { type: 'string', enum: ['none', 'writethrough', 'writeback', 'unsafe', 'directsync'] },
  detect_zeroes: on,
  discard: { type: 'string', enum: ['ignore', 'on'], default: 'ignore' },
  media: { type: 'string', enum: ['cdrom', 'disk'], default: 'disk' },
  replicate: on,
  rerror: { type: 'string', enum: ['ignore', 'report', 'stop'] },
  serial: { type: 'string' },
  shared: off,
  snapshot: off,
  werror: { type: 'string', enum: ['enospc', 'ignore', 'report', 'stop'] },
};

const VOLUME_ALIASES = { volume: 'file' };
const DRIVE_EXTRA = {
  defaultKey: 'file',
  aliases: {
    ...VOLUME_ALIASES,
    bps_rd_length: 'bps_rd_max_length',
    bps_wr_length: 'bps_wr_max_length',
    iops_rd_length: 'iops_rd_max_length',
    iops_wr_length: 'iops_wr_max_length',
  },
};
const VOLUME_EXTRA = { defaultKey: 'file', aliases: VOLUME_ALIASES };

const WORLDWIDE_NAME: SubKey = { type: 'string', caseFold: true };

export const IDE_FORMAT = defineFormat(
  'ide',
  { ...DRIVE, model: { type: 'string' }, ssd: off, wwn: WORLDWIDE_NAME },
  DRIVE_EXTRA,
);

export const SATA_FORMAT = defineFormat('sata', { ...DRIVE, ssd: off, wwn: WORLDWIDE_NAME }, DRIVE_EXTRA);

export const SCSI_FORMAT = defineFormat(
  'scsi',
  {
    ...DRIVE,
    iothread: off,
    product: { type: 'string' },
    queues: { type: 'integer' },
    ro: off,
    scsiblock: off,
    ssd: off,
    vendor: { type: 'string' },
    wwn: WORLDWIDE_NAME,
  },
  DRIVE_EXTRA,
);

export const VIRTIO_FORMAT = defineFormat('virtio', { ...DRIVE, iothread: off, ro: off }, DRIVE_EXTRA);

export const EFIDISK_FORMAT = defineFormat(
  'efidisk',
  {
    ...VOLUME,
    efitype: { type: 'string', enum: ['2m', '4m'], default: '2m' },
    'ms-cert': { type: 'string', enum: ['2011', '2023', '2023w', '2023k'], default: '2011' },
    'pre-enrolled-keys': off,
  },
  VOLUME_EXTRA,
);

export const TPMSTATE_FORMAT = defineFormat(
  'tpmstate',
  {
    ...VOLUME,
    format: { type: 'string', enum: ['raw', 'qcow2', 'vmdk'] },
    version: { type: 'string', enum: ['v1.2', 'v2.0'], default: 'v1.2' },
  },
  VOLUME_EXTRA,
);

export const UNUSED_FORMAT = defineFormat('unused', { file: VOLUME.file }, VOLUME_EXTRA);

// Other devices.

export const HOSTPCI_FORMAT = defineFormat(
  'hostpci',
  {
    // Ordered: the first device becomes function 0 in the guest.
    host: { type: 'list', caseFold: true, ordered: true },
    mapping: { type: 'string' },
    'device-id': hexId,
    driver: { type: 'string', enum: ['vfio', 'keep'], default: 'vfio' },
    'legacy-igd': off,
    mdev: { type: 'string' },
    pcie: off,
    rombar: { type: 'boolean', default: '1' },
    romfile: { type: 'string' },
    'sub-device-id': hexId,
    'sub-vendor-id': hexId,
    'vendor-id': hexId,
    'x-vga': off,
  },
  { defaultKey: 'host' },
);

export const USB_FORMAT = defineFormat(
  'usb',
  { host: { type: 'string', caseFold: true }, mapping: { type: 'string' }, usb3: off },
  { defaultKey: 'host' },
);

/** Graphics cards. */
export const VGA_TYPES = [
  'cirrus',
  'qxl',
  'qxl2',
  'qxl3',
  'qxl4',
  'none',
  'serial0',
  'serial1',
  'serial2',
  'serial3',
  'std',
  'virtio',
  'virtio-gl',
  'vmware',
] as const;

export const VGA_FORMAT = defineFormat(
  'vga',
  {
    type: {
      type: 'string',
      enum: VGA_TYPES,
      default: 'std',
    },
    clipboard: { type: 'string', enum: ['vnc'] },
    memory: { type: 'integer' },
  },
  { defaultKey: 'type' },
);

export const RNG_FORMAT = defineFormat(
  'rng',
  {
    source: { type: 'string', required: true, enum: ['/dev/urandom', '/dev/random', '/dev/hwrng'] },
    max_bytes: { type: 'integer', default: '1024' },
    period: { type: 'integer', default: '1000' },
  },
  { defaultKey: 'source' },
);

export const WATCHDOG_FORMAT = defineFormat(
  'watchdog',
  {
    model: { type: 'string', enum: ['i6300esb', 'ib700'], default: 'i6300esb' },
    action: { type: 'string', enum: ['reset', 'shutdown', 'poweroff', 'pause', 'debug', 'none'] },
  },
  { defaultKey: 'model' },
);

export const AUDIO_FORMAT = defineFormat('audio', {
  device: { type: 'string', required: true, enum: ['ich9-intel-hda', 'intel-hda', 'AC97'] },
  driver: { type: 'string', enum: ['spice', 'none'], default: 'spice' },
});

export const VIRTIOFS_FORMAT = defineFormat(
  'virtiofs',
  {
    dirid: { type: 'string', required: true },
    cache: { type: 'string', enum: ['auto', 'always', 'metadata', 'never'], default: 'auto' },
    'direct-io': off,
    'expose-acl': off,
    'expose-xattr': off,
  },
  { defaultKey: 'dirid' },
);

export const IVSHMEM_FORMAT = defineFormat('ivshmem', {
  size: { type: 'integer', required: true },
  name: { type: 'string' },
});

export const SPICE_ENHANCEMENTS_FORMAT = defineFormat('spice_enhancements', {
  foldersharing: off,
  videostreaming: { type: 'string', enum: ['off', 'all', 'filter'], default: 'off' },
});

// Network cards and their addresses.

export const NIC_MODELS = [
  'e1000',
  'e1000-82540em',
  'e1000-82544gc',
  'e1000-82545em',
  'e1000e',
  'i82551',
  'i82557b',
  'i82559er',
  'ne2k_isa',
  'ne2k_pci',
  'pcnet',
  'rtl8139',
  'virtio',
  'vmxnet3',
] as const;

export const NET_FORMAT = defineFormat(
  'net',
  {
    model: { type: 'string', required: true, enum: NIC_MODELS },
    macaddr: { type: 'string', caseFold: true },
    bridge: { type: 'string' },
    firewall: { type: 'boolean', default: '0' },
    // No default: without it, whether tunnels are offloaded depends on the machine version.
    'host-tunnel': { type: 'boolean' },
    link_down: { type: 'boolean', default: '0' },
    mtu: { type: 'integer' },
    queues: { type: 'integer' },
    rate: { type: 'number' },
    tag: { type: 'integer' },
    trunks: { type: 'list' },
  },
  { defaultKey: 'model', pair: { names: NIC_MODELS, nameKey: 'model', valueKey: 'macaddr' } },
);

/** Without the schema's default `dhcp`: the server does not apply it once the other address family is set. */
export const IPCONFIG_FORMAT = defineFormat('ipconfig', {
  ip: { type: 'string', caseFold: true },
  gw: { type: 'string' },
  ip6: { type: 'string', caseFold: true },
  gw6: { type: 'string', caseFold: true },
});

// The guest as a whole: processor, memory, firmware, boot, agent.

export const AGENT_FORMAT = defineFormat(
  'agent',
  {
    enabled: { type: 'boolean', required: true, default: '0' },
    'freeze-fs': on,
    fstrim_cloned_disks: off,
    type: { type: 'string', enum: ['virtio', 'isa'], default: 'virtio' },
  },
  { defaultKey: 'enabled', aliases: { 'freeze-fs-on-backup': 'freeze-fs', 'guest-fsfreeze': 'freeze-fs' } },
);

export const CPU_FORMAT = defineFormat(
  'cpu',
  {
    cputype: { type: 'string', default: 'kvm64' },
    flags: { type: 'list' },
    'guest-phys-bits': { type: 'integer' },
    hidden: off,
    'hv-vendor-id': text,
    level: { type: 'integer' },
    'phys-bits': text,
    // Used in custom models only, but part of the grammar.
    'reported-model': text,
  },
  { defaultKey: 'cputype' },
);

export const MEMORY_FORMAT = defineFormat(
  'memory',
  { current: { type: 'integer', required: true, default: '512' } },
  { defaultKey: 'current' },
);

export const NUMA_FORMAT = defineFormat('numa', {
  cpus: { type: 'list', required: true },
  hostnodes: { type: 'list' },
  memory: { type: 'number' },
  policy: { type: 'string', enum: ['preferred', 'bind', 'interleave'] },
});

export const BOOT_FORMAT = defineFormat(
  'boot',
  { legacy: text, order: { type: 'list', ordered: true } },
  { defaultKey: 'legacy' },
);

export const MACHINE_FORMAT = defineFormat(
  'machine',
  {
    type: text,
    'aw-bits': { type: 'number' },
    'enable-s3': { type: 'boolean' },
    'enable-s4': { type: 'boolean' },
    viommu: { type: 'string', enum: ['intel', 'virtio'] },
  },
  { defaultKey: 'type' },
);

export const SMBIOS1_FORMAT = defineFormat('smbios1', {
  base64: off,
  family: text,
  manufacturer: text,
  product: text,
  serial: text,
  sku: text,
  uuid: { type: 'string', caseFold: true },
  version: text,
});

/** The server has a separate parser for this one; the grammar is the same, with `order` as its default key. */
export const STARTUP_FORMAT = defineFormat(
  'startup',
  { order: { type: 'integer' }, up: { type: 'integer' }, down: { type: 'integer' } },
  { defaultKey: 'order' },
);

export const CICUSTOM_FORMAT = defineFormat('cicustom', { meta: text, network: text, user: text, vendor: text });

export const AMD_SEV_FORMAT = defineFormat(
  'amd-sev',
  {
    type: { type: 'string', required: true, enum: ['std', 'es', 'snp'] },
    'allow-smt': on,
    'kernel-hashes': off,
    'no-debug': off,
    'no-key-sharing': off,
  },
  { defaultKey: 'type' },
);

export const INTEL_TDX_FORMAT = defineFormat(
  'intel-tdx',
  {
    type: { type: 'string', required: true, enum: ['tdx'] },
    attestation: { type: 'boolean', required: true, default: '1' },
    'vsock-cid': { type: 'integer', default: '2' },
    'vsock-port': { type: 'integer', default: '4050' },
  },
  { defaultKey: 'type' },
);

export const META_FORMAT = defineFormat('meta', { 'creation-qemu': text, ctime: { type: 'integer' } });
