/** Disks and CD drives of a VM, by slot. */
import { z } from 'zod';
import { block, byteSize, type DriveBus, duration, field, volumeName, whole, word } from '../../fields/field.ts';
import { hotplugDisk } from './effects.ts';

const SLOT = /^(ide[0-3]|sata[0-5]|scsi([0-9]|[12][0-9]|30)|virtio([0-9]|1[0-5]))$/;

const QUEUED: readonly DriveBus[] = ['scsi', 'virtio'];

const positive = z.number().positive();
const wholeSeconds = duration().pipe(z.number().positive().multipleOf(1000, 'Proxmox accepts whole seconds here'));

/** Text by which a SCSI disk identifies itself. */
function inquiryText(most: number) {
  return z
    .string()
    .max(most)
    .regex(/^[A-Za-z0-9_-]+$/, 'it has letters, digits, _ and -')
    .optional();
}

type Direction = '' | '_rd' | '_wr';

/** What Proxmox does not allow together with a limit: limits of the other kind, each with its burst. */
function rivals(unit: 'mbps' | 'iops', direction: Direction): string[] {
  const others: readonly Direction[] = direction === '' ? ['_rd', '_wr'] : [''];
  const lengths = unit === 'mbps' ? 'bps' : 'iops';
  return others.flatMap((other) => [`${unit}${other}`, `${unit}${other}_max`, `${lengths}${other}_max_length`]);
}

function throughput(description: string, direction: Direction) {
  return field(positive.optional(), {
    description,
    wire: ['drive', `mbps${direction}`],
    excludes: rivals('mbps', direction),
    effect: 'live',
    on: 'disk',
  });
}

function operations(description: string, direction: Direction) {
  return field(positive.int().optional(), {
    description,
    wire: ['drive', `iops${direction}`],
    excludes: rivals('iops', direction),
    effect: 'live',
    on: 'disk',
  });
}

function burst(description: string, part: string) {
  const schema = part.startsWith('iops') ? positive.int() : positive;
  return field(schema.optional(), { description, wire: ['drive', part], effect: 'live', on: 'disk' });
}

function burstLength(part: string) {
  return field(wholeSeconds.optional(), {
    description: 'How long such a burst may last.',
    wire: ['drive', part],
    words: 'seconds',
    effect: 'live',
    on: 'disk',
  });
}

const limits = block(() => ({
  mbps: throughput('Limit of reads and writes together, in MB/s.', ''),
  mbps_burst: burst('MB/s that a burst of reads and writes may reach.', 'mbps_max'),
  mbps_burst_length: burstLength('bps_max_length'),
  read_mbps: throughput('Read limit in MB/s.', '_rd'),
  read_mbps_burst: burst('MB/s that a burst of reads may reach.', 'mbps_rd_max'),
  read_mbps_burst_length: burstLength('bps_rd_max_length'),
  write_mbps: throughput('Write limit in MB/s.', '_wr'),
  write_mbps_burst: burst('MB/s that a burst of writes may reach.', 'mbps_wr_max'),
  write_mbps_burst_length: burstLength('bps_wr_max_length'),
  iops: operations('Operations per second, reads and writes together.', ''),
  iops_burst: burst('Operations per second that a burst of reads and writes may reach.', 'iops_max'),
  iops_burst_length: burstLength('iops_max_length'),
  read_iops: operations('Read operations per second.', '_rd'),
  read_iops_burst: burst('Operations per second that a burst of reads may reach.', 'iops_rd_max'),
  read_iops_burst_length: burstLength('iops_rd_max_length'),
  write_iops: operations('Write operations per second.', '_wr'),
  write_iops_burst: burst('Operations per second that a burst of writes may reach.', 'iops_wr_max'),
  write_iops_burst_length: burstLength('iops_wr_max_length'),
})).describe('Throughput limits, with the bursts that they allow.');

export const diskFieldsSchema = block(() => ({
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
    description: 'Run the disk’s I/O in its own thread.',
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
    {
      description: 'Serial number that the guest sees. QEMU uses a changed value from the next start.',
      wire: ['drive', 'serial'],
      effect: 'live',
    },
  ),
  wwn: field(
    z
      .string()
      .regex(/^0x[0-9a-fA-F]{16}$/, 'a world wide name is 0x and 16 hexadecimal digits')
      .optional(),
    {
      description: 'World wide name that the guest sees. QEMU uses a changed value from the next start.',
      wire: ['drive', 'wwn'],
      effect: 'live',
      on: 'disk',
      buses: ['ide', 'sata', 'scsi'],
    },
  ),
  vendor: field(inquiryText(8), {
    description: 'Vendor that the guest sees, up to 8 characters.',
    wire: ['drive', 'vendor'],
    effect: 'restart',
    on: 'disk',
    buses: ['scsi'],
    since: '8.2',
  }),
  product: field(inquiryText(16), {
    description: 'Product that the guest sees, up to 16 characters.',
    wire: ['drive', 'product'],
    effect: 'restart',
    on: 'disk',
    buses: ['scsi'],
    since: '8.2',
  }),
  queues: field(whole(2).optional(), {
    description: 'Queues of the disk, with the controller virtio-scsi-single.',
    wire: ['drive', 'queues'],
    effect: 'restart',
    on: 'disk',
    buses: ['scsi'],
  }),
  read_error: field(z.enum(['ignore', 'report', 'stop']).optional(), {
    description:
      'What happens after a failed read: ignore it, report it to the guest, or pause the VM. QEMU uses a changed value from the next start.',
    wire: ['drive', 'rerror'],
    effect: 'live',
    on: 'disk',
  }),
  write_error: field(z.enum(['enospc', 'ignore', 'report', 'stop']).optional(), {
    description:
      'What happens after a failed write; enospc pauses the VM if the storage is full and otherwise reports the error to the guest. QEMU uses a changed value from the next start.',
    wire: ['drive', 'werror'],
    effect: 'live',
    on: 'disk',
  }),
  shared: field(z.boolean().optional(), {
    description: 'The volume is on every node although its storage is local, so a migration does not copy it.',
    wire: ['drive', 'shared'],
    effect: 'live',
    on: 'disk',
    serverDefault: 'false',
  }),
  snapshot: field(z.boolean().optional(), {
    description:
      'Discard what the guest wrote when the VM stops. This is not a snapshot of the VM. QEMU uses a changed value from the next start.',
    wire: ['drive', 'snapshot'],
    effect: 'live',
    on: 'disk',
    serverDefault: 'false',
  }),
  limits: limits.optional(),
  keep: field(z.boolean().optional(), {
    description:
      'Keep the volume: it survives when a stack replaces the VM, and nothing destroys it unless you name the VM with `--destroy-data`. Terraform refuses to destroy or replace the VM while this is set.',
    effect: 'none',
    on: 'disk',
  }),
  remove: field(z.literal(true).optional(), {
    description: 'Remove the disk and destroy its volume.',
    wire: ['drive'],
    words: 'removal',
    effect: hotplugDisk,
  }),
}));

export const diskSlots = z
  .record(z.string().regex(SLOT, 'a disk slot is ide0–3, sata0–5, scsi0–30 or virtio0–15'), diskFieldsSchema)
  .describe('Disks and CD drives, by slot.');

export type DiskFields = z.output<typeof diskFieldsSchema>;
