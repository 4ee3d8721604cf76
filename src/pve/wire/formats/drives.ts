/** Formats of everything that stands on a volume. Mirrors qemu-server, src/PVE/QemuServer/Drive.pm. */
import { defineFormat, type SubKey } from '../property-string.ts';

const IMAGE_FORMATS = ['raw', 'qcow', 'qed', 'qcow2', 'vmdk', 'cloop'];

const off: SubKey = { type: 'boolean', default: '0' };
const on: SubKey = { type: 'boolean', default: '1' };

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
  // No default: what the server does without it depends on the storage.
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
