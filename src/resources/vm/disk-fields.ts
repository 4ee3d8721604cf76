/** Disks and CD drives of a VM, by slot. */
import { z } from 'zod';
import { byteSize, field, volumeName, word } from '../field.ts';

const SLOT = /^(ide[0-3]|sata[0-5]|scsi([0-9]|[12][0-9]|30)|virtio([0-9]|1[0-5]))$/;

const positive = z.number().positive();

const limits = z
  .strictObject({
    read_mbps: field(positive.optional(), { description: 'Read limit in MB/s.', pve: 'drive.mbps_rd', effect: 'live' }),
    write_mbps: field(positive.optional(), {
      description: 'Write limit in MB/s.',
      pve: 'drive.mbps_wr',
      effect: 'live',
    }),
    read_iops: field(positive.int().optional(), {
      description: 'Read operations per second.',
      pve: 'drive.iops_rd',
      effect: 'live',
    }),
    write_iops: field(positive.int().optional(), {
      description: 'Write operations per second.',
      pve: 'drive.iops_wr',
      effect: 'live',
    }),
  })
  .describe('Limits of the throughput.');

export const diskFieldsSchema = z.strictObject({
  size: field(byteSize().optional(), {
    description: 'Size; an inherited disk is grown to it, never shrunk.',
    pve: 'drive.size',
    effect: 'live',
    examples: ['100GiB'],
  }),
  storage: field(word().optional(), {
    description: 'Storage of a new disk.',
    pve: 'drive.file',
    effect: 'creation',
  }),
  format: field(z.enum(['raw', 'qcow2', 'vmdk']).optional(), {
    description: 'Image format of a new disk on file storage.',
    pve: 'drive.format',
    effect: 'creation',
  }),
  import_from: field(volumeName().optional(), {
    description: 'Volume a new disk is made from: an import file or the disk of another VM.',
    pve: 'drive.import-from',
    effect: 'creation',
    examples: ['local:import/noble.qcow2'],
  }),
  iso: field(z.union([volumeName(), z.literal(false)]).optional(), {
    description: 'Makes the slot a CD drive with this ISO; false leaves the drive empty.',
    pve: 'drive.file',
    effect: 'live',
  }),
  cache: field(z.enum(['none', 'writethrough', 'writeback', 'unsafe', 'directsync']).optional(), {
    description: 'Host cache mode.',
    pve: 'drive.cache',
    effect: 'restart',
  }),
  aio: field(z.enum(['native', 'threads', 'io_uring']).optional(), {
    description: 'Asynchronous I/O mode.',
    pve: 'drive.aio',
    effect: 'restart',
  }),
  discard: field(z.boolean().optional(), {
    description: 'Pass the guest’s trim to the storage.',
    pve: 'drive.discard',
    effect: 'restart',
  }),
  ssd: field(z.boolean().optional(), {
    description: 'Present the disk as an SSD.',
    pve: 'drive.ssd',
    effect: 'restart',
  }),
  io_thread: field(z.boolean().optional(), {
    description: 'Own thread for the disk.',
    pve: 'drive.iothread',
    effect: 'restart',
  }),
  read_only: field(z.boolean().optional(), { description: 'No writing.', pve: 'drive.ro', effect: 'restart' }),
  backup: field(z.boolean().optional(), {
    description: 'Part of backups.',
    pve: 'drive.backup',
    effect: 'live',
    serverDefault: 'true',
  }),
  replicate: field(z.boolean().optional(), {
    description: 'Part of replication.',
    pve: 'drive.replicate',
    effect: 'live',
    serverDefault: 'true',
  }),
  serial: field(
    z
      .string()
      .regex(/^[A-Za-z0-9_.-]{1,20}$/)
      .optional(),
    { description: 'Serial number the guest sees.', pve: 'drive.serial', effect: 'live' },
  ),
  limits: limits.optional(),
  remove: field(z.literal(true).optional(), {
    description: 'Take the disk away and destroy its volume.',
    effect: 'hotplug-disk',
  }),
});

export const diskSlots = z
  .record(z.string().regex(SLOT, 'a disk slot is ide0–3, sata0–5, scsi0–30 or virtio0–15'), diskFieldsSchema)
  .describe('Disks and CD drives, by slot.');

export type DiskFields = z.output<typeof diskFieldsSchema>;
