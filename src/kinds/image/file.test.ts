import { describe, expect, it } from 'vitest';
import { acceptableName, compressionOf, imageVolid, isAcceptableName, isUnpackedByServer } from './file.ts';
import { type FileRecord, fileKey, isSameFile } from './record.ts';

describe('a name', () => {
  it.each([
    ['import', 'noble.qcow2', true],
    ['import', 'noble.raw', true],
    ['import', 'noble.vmdk', true],
    ['import', 'noble.ova', true],
    ['import', 'noble.img', false],
    ['import', 'noble.QCOW2', false],
    ['import', 'noble.qcow2.xz', false],
    ['import', 'no ble.qcow2', false],
    ['iso', 'talos.iso', true],
    ['iso', 'talos.ISO', true],
    ['iso', 'talos.img', true],
    ['iso', 'talos.iso.gz', false],
    ['iso', `${'a'.repeat(252)}.iso`, false],
  ] as const)('of %s content: %s is accepted: %s', (content, file, isAccepted) => {
    expect(isAcceptableName(content, file)).toBe(isAccepted);
  });

  it.each([
    ['import', 'noble-server-cloudimg-amd64.img', 'noble-server-cloudimg-amd64.qcow2'],
    ['import', 'debian-13-genericcloud-amd64.qcow2', 'debian-13-genericcloud-amd64.qcow2'],
    ['import', 'nocloud-amd64.raw.xz', 'nocloud-amd64.raw'],
    ['import', 'OPNsense-25.7-nano-amd64.img.bz2', 'OPNsense-25.7-nano-amd64.qcow2'],
    ['import', 'images/disk (1).QCOW2', 'disk__1_.qcow2'],
    ['import', 'image.tar', undefined],
    ['import', 'download', undefined],
    ['iso', 'metal-amd64.iso', 'metal-amd64.iso'],
    ['iso', 'memtest.img.gz', 'memtest.img'],
    ['iso', 'noble.qcow2', undefined],
  ] as const)('of %s content for %s should be %s', (content, file, suggestion) => {
    expect(acceptableName(content, file)).toBe(suggestion);
  });

  it('with its storage is a volume id, and with its node a key', () => {
    expect(imageVolid('local', 'import', 'a.raw')).toBe('local:import/a.raw');
    expect(fileKey('pve1', 'local:import/a.raw')).toBe('pve1/local:import/a.raw');
  });
});

describe('a compression', () => {
  it.each([
    ['https://example/a.raw.xz', 'xz'],
    ['https://example/a.raw.zst?token=1', 'zst'],
    ['a.IMG.GZ', 'gz'],
    ['a.iso.lzo', 'lzo'],
    ['a.qcow2', undefined],
    ['gz', undefined],
  ] as const)('of %s is %s', (name, compression) => expect(compressionOf(name)).toBe(compression));

  it('is unpacked by Proxmox only for CD images, and never for xz', () => {
    expect(isUnpackedByServer('iso', 'gz')).toBe(true);
    expect(isUnpackedByServer('iso', 'zst')).toBe(true);
    expect(isUnpackedByServer('iso', 'xz')).toBe(false);
    expect(isUnpackedByServer('import', 'gz')).toBe(false);
  });
});

describe('a recorded file', () => {
  const recorded: FileRecord = { address: 'image.a', node: 'pve1', volid: 'local:iso/a.iso', sizeBytes: 5, ctime: 100 };

  it.each([
    [{ size: 5, ctime: 100 }, true],
    [{ size: 6, ctime: 100 }, false],
    [{ size: 5, ctime: 101 }, false],
    [{ size: 5 }, true],
    [{}, false],
  ])('is the same as one listed as %j: %s', (listed, isSame) => expect(isSameFile(recorded, listed)).toBe(isSame));

  it('that never became complete matches no listed file', () => {
    expect(isSameFile({ ...recorded, incomplete: true }, { size: 5, ctime: 100 })).toBe(false);
  });
});
