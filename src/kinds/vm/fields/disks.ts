/** Disks and CD drives of a VM, by slot. */
import { z } from 'zod';
import { byteSize, type DriveBus, field, volumeName, word } from '../../fields/field.ts';
import { hotplugDisk } from './effects.ts';

const SLOT = /^(ide[0-3]|sata[0-5]|scsi([0-9]|[12][0-9]|30)|virtio([0-9]|1[0-5]))$/;

const positive = z.number().positive();

const QUEUED: readonly DriveBus[] = ['scsi', 'virtio'];

const limits = z
  .strictObject({
    read_mbps: field(positive.optional(), {
      description: 'Read limit in MB/s.',
      wire: ['drive', 'mbps_rd'],
      effect: 'live',
      on: 'disk',
    }),
    write_mbps: field(positive.optional(), {
      description: 'Write limit in MB/s.',
      wire: ['drive', 'mbps_wr'],
      effect: 'live',
      on: 'disk',
    }),
    read_iops: field(positive.int().optional(), {
      description: 'Read operations per second.',
      wire: ['drive', 'iops_rd'],
      effect: 'live',
      on: 'disk',
    }),
    write_iops: field(positive.int().optional(), {
      description: 'Write operations per second.',
      wire: ['drive', 'iops_wr'],
      effect: 'live',
      on: 'disk',
    }),
  })
  .describe('Throughput limits.');

export const diskFieldsSchema = z.strictObject({
  size: field(byteSize().optional(), {
    description: 'Size. A disk from the template grows to it; disks never shrink.',
    wire: ['drive', 'size'],
    words: 'disk-size',
    effect: 'live',
    on: 'disk',
    examples: ['100GiB'],
  }),
  storage: field(word().optional(), {
    description: 'Storage of the disk. Another storage moves the disk.',
    wire: ['drive', 'file'],
    words: 'storage',
    effect: 'live',
    on: 'disk',
  }),
  format: field(z.enum(['raw', 'qcow2', 'vmdk']).optional(), {
    description: 'Image format of the disk on file storage. Another format converts the disk.',
    wire: ['drive', 'format'],
    words: 'image-format',
    effect: 'live',
    on: 'disk',
  }),
  import_from: field(volumeName().optional(), {
    description: 'Volume to copy into a new disk: an import file or the disk of another VM.',
    wire: ['drive', 'import-from'],
    words: 'import-source',
    effect: 'creation',
    on: 'disk',
    examples: ['local:import/noble.qcow2'],
  }),
  iso: field(z.union([volumeName(), z.literal(false)]).optional(), {
    description: 'Makes the slot a CD drive with this ISO; false leaves the drive empty.',
    wire: ['drive', 'file'],
    words: 'medium',
    effect: 'live',
    on: 'cdrom',
  }),
  cache: field(z.enum(['none', 'writethrough', 'writeback', 'unsafe', 'directsync']).optional(), {
    description: 'Host cache mode.',
    wire: ['drive', 'cache'],
    effect: 'restart',
  }),
  aio: field(z.enum(['native', 'threads', 'io_uring']).optional(), {
    description: 'Asynchronous I/O mode.',
    wire: ['drive', 'aio'],
    effect: 'restart',
  }),
  discard: field(z.boolean().optional(), {
    description: 'Pass the guest’s trim to the storage.',
    wire: ['drive', 'discard'],
    words: 'discard',
    effect: 'restart',
    serverDefault: 'false',
    on: 'disk',
  }),
  detect_zeroes: field(z.boolean().optional(), {
    description: 'Write blocks of zeroes as holes. QEMU uses a changed value from the next start.',
    wire: ['drive', 'detect_zeroes'],
    effect: 'live',
    on: 'disk',
    serverDefault: 'true',
  }),
  ssd: field(z.boolean().optional(), {
    description: 'Present the disk as an SSD.',
    wire: ['drive', 'ssd'],
    effect: 'restart',
    serverDefault: 'false',
    on: 'disk',
    buses: ['ide', 'sata', 'scsi'],
  }),
  io_thread: field(z.boolean().optional(), {
    description: 'Run the disk’s I/O in a thread of its own.',
    wire: ['drive', 'iothread'],
    effect: 'restart',
    serverDefault: 'false',
    on: 'disk',
    buses: QUEUED,
  }),
  read_only: field(z.boolean().optional(), {
    description: 'Attach the disk read-only.',
    wire: ['drive', 'ro'],
    effect: 'restart',
    serverDefault: 'false',
    on: 'disk',
    buses: QUEUED,
  }),
  backup: field(z.boolean().optional(), {
    description: 'Include the disk in backups.',
    wire: ['drive', 'backup'],
    effect: 'live',
    serverDefault: 'true',
  }),
  replicate: field(z.boolean().optional(), {
    description: 'Include the disk in replication.',
    wire: ['drive', 'replicate'],
    effect: 'live',
    on: 'disk',
    serverDefault: 'true',
  }),
  serial: field(
    z
      .string()
      .regex(/^[A-Za-z0-9_.-]{1,20}$/)
      .optional(),
    { description: 'Serial number the guest sees.', wire: ['drive', 'serial'], effect: 'live' },
  ),
  limits: limits.optional(),
  keep: field(z.boolean().optional(), {
    description:
      'Keep the volume: it survives a replacement of the VM, and nothing destroys it unless you name the VM with `--destroy-data`.',
    effect: 'none',
    on: 'disk',
  }),
  remove: field(z.literal(true).optional(), {
    description: 'Remove the disk and destroy its volume.',
    wire: ['drive'],
    words: 'removal',
    effect: hotplugDisk,
  }),
});

export const diskSlots = z
  .record(z.string().regex(SLOT, 'a disk slot is ide0–3, sata0–5, scsi0–30 or virtio0–15'), diskFieldsSchema)
  .describe('Disks and CD drives, by slot.');

export type DiskFields = z.output<typeof diskFieldsSchema>;
