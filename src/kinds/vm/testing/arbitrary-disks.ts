/** Random disk slots: inherited disks grown and re-optioned, some removed, new ones, CD drives. */
import fc from 'fast-check';
import { printByteSize } from '../../../base/units.ts';
import { type Drive, drivesOf } from '../disks.ts';
import type { VmFieldsInput } from '../fields/index.ts';
import type { Surroundings } from './surroundings.ts';

type DiskInput = NonNullable<VmFieldsInput['disks']>[string];

const GIB = 1024 ** 3;
const NEW_SLOTS = ['scsi5', 'scsi7', 'virtio3', 'sata1', 'ide3'];

export function diskSlots(surroundings: Surroundings): fc.Arbitrary<Record<string, DiskInput>> {
  const { values } = surroundings;
  const inherited = drivesOf(values).filter(({ key }) => /^(ide|sata|scsi|virtio)/.test(key));
  const model: Record<string, fc.Arbitrary<DiskInput>> = {};
  for (const drive of inherited) {
    if (drive.kind === 'disk') model[drive.key] = inheritedDisk(drive);
    if (drive.kind === 'cdrom')
      model[drive.key] = fc.oneof(cdDrive(surroundings), fc.constant({ remove: true as const }));
  }
  for (const slot of NEW_SLOTS) if (!values.has(slot)) model[slot] = newDrive(slot, surroundings);
  return fc.record(model, { requiredKeys: [] }) as fc.Arbitrary<Record<string, DiskInput>>; // left out, never undefined
}

function inheritedDisk(drive: Drive): fc.Arbitrary<DiskInput> {
  const sizeBytes = drive.sizeBytes ?? GIB;
  const grown = fc.constantFrom(0, 1, 7).map((more) => printByteSize(sizeBytes + more * GIB));
  const changed = fc
    .tuple(fc.option(grown, { nil: undefined }), options(drive.key))
    .map(([size, others]): DiskInput => ({ ...others, ...(size !== undefined && { size }) }));
  return fc.oneof({ weight: 5, arbitrary: changed }, { weight: 1, arbitrary: fc.constant({ remove: true as const }) });
}

function newDrive(slot: string, surroundings: Surroundings): fc.Arbitrary<DiskInput> {
  const { storages, imports } = surroundings;
  const place = fc
    .constantFrom(...storages)
    .chain(({ id, formats }) =>
      formats.length > 1
        ? fc.option(fc.constantFrom(...formats), { nil: undefined }).map((format) => ({ id, format }))
        : fc.constant({ id, format: undefined }),
    );
  const source =
    imports.length === 0 ? fc.constant(undefined) : fc.option(fc.constantFrom(...imports), { nil: undefined });
  const size = fc.constantFrom('1GiB', '2560MiB', '32GiB');
  const disk = fc.tuple(place, source, size, fc.boolean(), options(slot)).map(
    ([{ id, format }, from, bytes, sized, others]): DiskInput => ({
      ...others,
      storage: id,
      ...(format !== undefined && { format }),
      ...(from !== undefined && { import_from: from }),
      // An imported disk is as large as its source; it can only grow.
      ...((from === undefined || sized) && { size: from === undefined ? bytes : '32GiB' }),
    }),
  );
  const canBeCd = !slot.startsWith('virtio');
  return canBeCd ? fc.oneof({ weight: 3, arbitrary: disk }, { weight: 1, arbitrary: cdDrive(surroundings) }) : disk;
}

function cdDrive({ isos }: Surroundings): fc.Arbitrary<DiskInput> {
  return fc.constantFrom<string | false>(false, ...isos).map((iso) => ({ iso }));
}

/** What the bus knows: IDE has no threads, virtio no SSD flag. */
function options(slot: string): fc.Arbitrary<DiskInput> {
  const flag = fc.boolean();
  const onQueues = /^(scsi|virtio)/.test(slot);
  return fc.record(
    {
      cache: fc.constantFrom('none' as const, 'writeback' as const),
      aio: fc.constantFrom('native' as const, 'threads' as const, 'io_uring' as const),
      discard: flag,
      detect_zeroes: flag,
      ...(!slot.startsWith('virtio') && { ssd: flag }),
      ...(onQueues && { io_thread: flag, read_only: flag }),
      backup: flag,
      replicate: flag,
      serial: fc.constantFrom('SN-1', 'disk_2.x'),
      limits: fc.record(
        {
          read_mbps: fc.constantFrom(100, 0.5),
          write_mbps: fc.constantFrom(50, 12.25),
          read_iops: fc.integer({ min: 1, max: 5000 }),
          write_iops: fc.integer({ min: 1, max: 5000 }),
        },
        { requiredKeys: [] },
      ),
    },
    { requiredKeys: [] },
  ) as fc.Arbitrary<DiskInput>; // left out, never undefined
}
