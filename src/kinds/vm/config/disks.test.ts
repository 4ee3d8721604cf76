import { describe, expect, it } from 'vitest';
import type { DesiredCdrom, DesiredDisk } from './desired.ts';
import {
  diskPartText,
  diskProblem,
  drivesOf,
  findCloudInitDrive,
  formatOfVolume,
  isCdromPartSatisfied,
  isCdromSatisfied,
  isDiskPartSatisfied,
  isDiskSatisfied,
  isDriveKey,
  isFixedDrive,
  mergedCdrom,
  mergedDisk,
  movesOnlyOffline,
  parseDrive,
  shrinkProblem,
  storageOf,
  volumesOf,
} from './disks.ts';

const GIB = 1024 ** 3;
const MIB = 1024 ** 2;
const DISK = 'tank:vm-101-disk-0,size=32G';
const FILE = 'local:101/vm-101-disk-0.qcow2,size=32G';
const ISO = 'local:iso/a.iso,media=cdrom,size=374M';
const CLOUD_INIT = 'tank:vm-101-cloudinit,media=cdrom,size=4M';

const disk = (more: Partial<DesiredDisk> = {}): DesiredDisk => ({
  kind: 'disk',
  set: {},
  sizeBytes: undefined,
  storage: undefined,
  format: undefined,
  create: undefined,
  ...more,
});
const cdrom = (more: Partial<DesiredCdrom> = {}): DesiredCdrom => ({
  kind: 'cdrom',
  set: {},
  file: 'local:iso/b.iso',
  ...more,
});

describe('a key', () => {
  it.each(['ide0', 'sata5', 'scsi30', 'virtio15', 'efidisk0', 'tpmstate0'])('%s is a drive', (key) => {
    expect(isDriveKey(key)).toBe(true);
  });

  it.each(['scsihw', 'scsi', 'xscsi0', 'scsi0x', 'unused0', 'net0', 'ide'])('%s is none', (key) => {
    expect(isDriveKey(key)).toBe(false);
  });

  it('is fixed for EFI variables and TPM state only', () => {
    expect(['efidisk0', 'tpmstate0', 'scsi0', 'ide2'].filter(isFixedDrive)).toEqual(['efidisk0', 'tpmstate0']);
  });
});

describe('a drive', () => {
  it.each([
    ['scsi0', DISK, 'disk', 32 * GIB, 'tank', undefined],
    ['scsi0', FILE, 'disk', 32 * GIB, 'local', 'qcow2'],
    ['scsi0', 'local:101/vm-101-disk-0.raw', 'disk', undefined, 'local', 'raw'],
    ['scsi0', 'local:101/vm-101-disk-0.vmdk', 'disk', undefined, 'local', 'vmdk'],
    ['scsi0', 'tank:vm-101-raw.disk', 'disk', undefined, 'tank', undefined],
    ['scsi1', '/dev/disk/by-id/x', 'disk', undefined, undefined, undefined],
    ['ide2', ISO, 'cdrom', 374 * MIB, 'local', undefined],
    ['ide2', 'none,media=cdrom', 'cdrom', undefined, undefined, undefined],
    ['ide2', 'none', 'cdrom', undefined, undefined, undefined],
    ['ide2', 'cdrom', 'cdrom', undefined, undefined, undefined],
    ['ide2', CLOUD_INIT, 'cloud-init', 4 * MIB, 'tank', undefined],
  ] as const)('%s of %s is a %s of %s bytes on %s, as %s', (key, text, kind, sizeBytes, storage, format) => {
    const drive = parseDrive(key, text);
    expect(drive).toMatchObject({ key, kind });
    expect([drive.sizeBytes, storageOf(drive), formatOfVolume(drive)]).toEqual([sizeBytes, storage, format]);
  });

  it('is found among the other keys, the one of cloud-init by its volume', () => {
    const values = new Map([
      ['memory', '2048'],
      ['scsihw', 'virtio-scsi-pci'],
      ['scsi0', DISK],
      ['sata3', CLOUD_INIT],
    ]);
    expect(drivesOf(values).map(({ key }) => key)).toEqual(['scsi0', 'sata3']);
    expect(findCloudInitDrive(values)?.key).toBe('sata3');
    values.delete('sata3');
    expect(findCloudInitDrive(values)).toBeUndefined();
  });

  it('moves only while the VM is off if it holds TPM state or cloud-init data', () => {
    const drives = [
      parseDrive('tpmstate0', DISK),
      parseDrive('ide2', CLOUD_INIT),
      parseDrive('scsi0', DISK),
      parseDrive('efidisk0', DISK),
    ];
    expect(drives.map(movesOnlyOffline)).toEqual([true, true, false, false]);
  });
});

describe('the volumes that are destroyed', () => {
  const values = new Map([
    ['memory', '2048'],
    ['scsi0', DISK],
    ['scsi1', '/dev/disk/by-id/x'],
    ['ide0', ISO],
    ['ide2', CLOUD_INIT],
    ['sata0', 'none,media=cdrom'],
    ['unused3', 'tank:vm-101-disk-9,x=1'],
    ['xunused1', 'tank:vm-101-disk-8'],
    ['unused3x', 'tank:vm-101-disk-7'],
    ['unused12', 'local:101/vm-101-disk-6.raw'],
  ]);

  it('with the VM are those of its drives and the unused ones, and no ISO', () => {
    expect(volumesOf(values)).toEqual([
      { slot: 'scsi0', volume: 'tank:vm-101-disk-0', sizeBytes: 32 * GIB },
      { slot: 'ide2', volume: 'tank:vm-101-cloudinit', sizeBytes: 4 * MIB },
      { slot: 'unused3', volume: 'tank:vm-101-disk-9', sizeBytes: undefined },
      { slot: 'unused12', volume: 'local:101/vm-101-disk-6.raw', sizeBytes: undefined },
    ]);
  });

  it('with some drives are only theirs', () => {
    expect(volumesOf(values, new Set(['ide2', 'ide0']))).toEqual([
      { slot: 'ide2', volume: 'tank:vm-101-cloudinit', sizeBytes: 4 * MIB },
    ]);
    expect(volumesOf(values, new Set())).toEqual([]);
  });
});

describe('the text to write for a disk', () => {
  it('creates it with its options, or not at all if the file does not say how', () => {
    expect(mergedDisk('scsi1', disk({ create: 'tank:8', set: { ssd: '1' } }), undefined)).toBe('tank:8,ssd=1');
    expect(mergedDisk('scsi1', disk(), undefined)).toBeUndefined();
  });

  it('leaves drives alone whose kind differs, and those that cannot be changed', () => {
    const desired = disk({ set: { ssd: '1' }, create: 'tank:8' });
    expect(mergedDisk('ide2', desired, ISO)).toBe(ISO);
    expect(mergedDisk('ide2', desired, CLOUD_INIT)).toBe(CLOUD_INIT);
    const efi = 'tank:vm-101-disk-3,efitype=4m,size=4M';
    expect(mergedDisk('efidisk0', disk({ set: { efitype: '2m' } }), efi)).toBe(efi);
    expect(mergedDisk('scsi0', desired, DISK)).toBe('tank:vm-101-disk-0,ssd=1');
  });
});

describe('the text to write for a CD drive', () => {
  it('creates one in an empty slot, and changes the medium of an existing one, without its size', () => {
    expect(mergedCdrom('ide2', cdrom(), undefined)).toBe('local:iso/b.iso,media=cdrom');
    expect(mergedCdrom('ide2', cdrom(), `${ISO},serial=abc`)).toBe('local:iso/b.iso,media=cdrom,serial=abc');
  });

  it('never replaces a disk or the cloud-init drive, except the latter by custom cloud-init files', () => {
    expect(mergedCdrom('ide2', cdrom(), DISK)).toBe(DISK);
    expect(mergedCdrom('ide2', cdrom({ seed: true }), DISK)).toBe(DISK);
    expect(mergedCdrom('ide2', cdrom(), CLOUD_INIT)).toBe(CLOUD_INIT);
    expect(mergedCdrom('ide2', cdrom({ seed: true }), CLOUD_INIT)).toBe('local:iso/b.iso,media=cdrom');
  });
});

describe('a desired disk', () => {
  it.each([
    ['size', { sizeBytes: 32 * GIB }, true],
    ['size', { sizeBytes: 32 * GIB + 1 }, false],
    ['size', {}, true],
    ['storage', { storage: 'local' }, true],
    ['storage', { storage: 'tank' }, false],
    ['storage', {}, true],
    ['format', { format: 'qcow2' }, true],
    ['format', { format: 'raw' }, false],
    ['format', {}, true],
    ['ssd', { set: { ssd: '1' } }, false],
    ['ssd', { set: { ssd: '0' } }, true],
  ] as const)('is compared by %s: %o is satisfied by 32 GiB of qcow2 on local: %s', (part, more, is) => {
    expect(isDiskPartSatisfied('scsi0', disk(more), part, FILE)).toBe(is);
    expect(isDiskSatisfied(disk(more), parseDrive('scsi0', FILE))).toBe(is);
  });

  it('is satisfied whatever its volume was copied from', () => {
    expect(isDiskPartSatisfied('scsi0', disk(), 'import-from', FILE)).toBe(true);
  });

  it('has any format on a storage that does not show it', () => {
    expect(isDiskPartSatisfied('scsi0', disk({ format: 'raw' }), 'format', DISK)).toBe(true);
  });

  it('is not satisfied by a volume without a size, nor by a CD drive', () => {
    expect(isDiskPartSatisfied('scsi0', disk({ sizeBytes: 1 }), 'size', 'tank:vm-101-disk-0')).toBe(false);
    expect(isDiskPartSatisfied('ide2', disk(), 'size', ISO)).toBe(false);
    expect(isDiskSatisfied(disk(), parseDrive('ide2', ISO))).toBe(false);
    expect(isDiskSatisfied(disk(), parseDrive('ide2', CLOUD_INIT))).toBe(false);
  });
});

describe('a desired CD drive', () => {
  it('is compared by its medium and its options', () => {
    const same = cdrom({ file: 'local:iso/a.iso' });
    expect(isCdromSatisfied(same, parseDrive('ide2', ISO))).toBe(true);
    expect(isCdromSatisfied(cdrom(), parseDrive('ide2', ISO))).toBe(false);
    expect(isCdromSatisfied({ ...same, set: { serial: 'x' } }, parseDrive('ide2', ISO))).toBe(false);
    expect(isCdromSatisfied({ ...same, file: 'tank:vm-101-disk-0' }, parseDrive('ide2', DISK))).toBe(false);
    expect(isCdromPartSatisfied('ide2', same, 'file', ISO)).toBe(true);
    expect(isCdromPartSatisfied('ide2', cdrom(), 'file', ISO)).toBe(false);
    expect(isCdromPartSatisfied('ide2', cdrom({ set: { serial: 'x' } }), 'serial', ISO)).toBe(false);
    expect(isCdromPartSatisfied('ide2', cdrom({ set: { serial: 'x' } }), 'serial', `${ISO},serial=x`)).toBe(true);
    expect(isCdromPartSatisfied('ide2', { ...same, file: 'tank:vm-101-disk-0' }, 'file', DISK)).toBe(false);
  });
});

describe('the value of a field of a drive', () => {
  it('is read from the volume or the options', () => {
    const text = `${FILE},ssd=1`;
    const parts = ['storage', 'format', 'size', 'ssd', 'discard'];
    expect(parts.map((part) => diskPartText('scsi0', part, text))).toEqual(['local', 'qcow2', '32G', '1', undefined]);
    expect(diskPartText('scsi0', 'storage', '/dev/sdb')).toBeUndefined();
  });
});

describe('a change of a drive', () => {
  it('of an empty slot needs to know how to fill it', () => {
    expect(diskProblem('scsi1', disk(), 'ssd', undefined)).toBe(
      'The VM has no scsi1, and a new one needs a storage and a size or import_from.',
    );
    expect(diskProblem('scsi1', disk({ create: 'tank:8' }), 'ssd', undefined)).toBeUndefined();
    expect(diskProblem('ide2', cdrom(), 'file', undefined)).toBeUndefined();
  });

  it.each([
    [disk(), ISO, 'ide2 is a CD drive and cannot become a disk; use another slot, or remove it first.'],
    [
      disk(),
      CLOUD_INIT,
      'ide2 is the cloud-init drive and cannot become a disk; use another slot, or remove it first.',
    ],
    [cdrom(), DISK, 'ide2 is a disk and cannot become a CD drive; use another slot, or remove it first.'],
    [cdrom(), CLOUD_INIT, expect.stringContaining('ide2 is the cloud-init drive and cannot become a CD drive;')],
    [cdrom({ seed: true }), CLOUD_INIT, undefined],
    [cdrom({ seed: true }), DISK, expect.stringContaining('cannot become a CD drive')],
    [cdrom(), ISO, undefined],
  ])('to %o of %s: %s', (desired, actual, problem) => {
    expect(diskProblem('ide2', desired, 'file', actual)).toEqual(problem);
  });

  it('of storage or format is a move, unless no storage holds the volume', () => {
    expect(diskProblem('scsi0', disk({ storage: 'tank' }), 'storage', FILE)).toBeUndefined();
    expect(diskProblem('scsi0', disk({ format: 'raw' }), 'format', FILE)).toBeUndefined();
    expect(diskProblem('scsi1', disk({ storage: 'tank' }), 'storage', '/dev/sdb')).toBe(
      'scsi1 is /dev/sdb, which belongs to no storage, so Proxmox cannot move it.',
    );
  });

  it('of EFI variables is impossible, of other disks possible', () => {
    const efi = 'tank:vm-101-disk-3,efitype=4m,size=4M';
    expect(diskProblem('efidisk0', disk({ set: { efitype: '2m' } }), 'efitype', efi)).toBe(
      'efidisk0 cannot be changed after it has been created.',
    );
    expect(diskProblem('efidisk0', disk({ set: { efitype: '4m' } }), 'efitype', efi)).toBeUndefined();
    expect(diskProblem('scsi0', disk({ set: { ssd: '1' } }), 'ssd', DISK)).toBeUndefined();
  });

  it('to a larger size is impossible for a vmdk file, unless it is converted or moved first', () => {
    const vmdk = 'local:101/vm-101-disk-0.vmdk,size=1G';
    const grown = (more: object) => diskProblem('scsi0', disk({ sizeBytes: 2 * GIB, ...more }), 'size', vmdk);
    const problem = 'scsi0 is a vmdk file, which Proxmox cannot grow; format: qcow2 converts it first.';
    expect(grown({})).toBe(problem);
    expect(grown({ format: 'vmdk', storage: 'local' })).toBe(problem);
    expect(grown({ format: 'qcow2' })).toBeUndefined();
    expect(grown({ storage: 'tank' })).toBeUndefined();
    expect(grown({ sizeBytes: GIB })).toBeUndefined();
  });

  it('to a smaller size is refused, beyond the rounding of a storage', () => {
    expect(shrinkProblem('scsi0', 16 * GIB, DISK)).toBe('scsi0 already has 32GiB; disks can only grow.');
    expect(shrinkProblem('scsi0', 32 * GIB - 64 * MIB, DISK)).toBeUndefined();
    expect(shrinkProblem('scsi0', 32 * GIB - 64 * MIB - 1, DISK)).toContain('scsi0 already has');
    expect(shrinkProblem('scsi0', 64 * GIB, DISK)).toBeUndefined();
    expect(shrinkProblem('scsi0', 0, 'tank:vm-101-disk-0')).toBeUndefined();
    expect(shrinkProblem('scsi0', 0, undefined)).toBeUndefined();
  });
});
