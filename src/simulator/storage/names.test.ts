import { describe, expect, it } from 'vitest';
import { refusalOf } from '../testing/access.ts';
import { storageRuntime } from '../testing/storage.ts';
import { parseVolumeName, splitVolid, storageConfig, storageFormats, volumePath } from './volumes.ts';

const { world } = storageRuntime();
const parse = (storage: string, name: string) => parseVolumeName(storageConfig(world, storage), name);
const path = (storage: string, name: string) => volumePath(storageConfig(world, storage), name);

describe('volume ids', () => {
  it('are a storage id, a colon and a name', () => {
    expect(splitVolid('local:100/vm-100-disk-0.raw')).toEqual({ storage: 'local', name: '100/vm-100-disk-0.raw' });
    expect(refusalOf(() => splitVolid('local'))).toBe("500 unable to parse volume ID 'local'");
    expect(refusalOf(() => splitVolid('x:1'))).toBe("500 unable to parse volume ID 'x:1'");
  });
});

describe('volume names', () => {
  it('of a directory contain owner, format and base', () => {
    expect(parse('local', '9000/base-9000-disk-0.qcow2/301/vm-301-disk-0.qcow2')).toEqual({
      content: 'images',
      format: 'qcow2',
      vmid: 301,
      isBase: false,
      base: { name: 'base-9000-disk-0.qcow2', vmid: 9000 },
      file: 'vm-301-disk-0.qcow2',
    });
    expect(parse('local', '410/bad.raw')).toMatchObject({ content: 'images', vmid: 410, format: 'raw' });
    expect(parse('local', 'iso/a.ISO')).toMatchObject({ content: 'iso', format: 'raw', vmid: undefined });
    expect(parse('local', 'import/a.qcow2')).toMatchObject({ content: 'import', format: 'qcow2' });
    expect(parse('local', 'import/a.ova/disk 1.vmdk')).toMatchObject({ content: 'import', format: 'ova+vmdk' });
  });

  it.each([
    ['local', '1G', "unable to parse directory volume name '1G'"],
    ['local', 'vm-213-disk-9.raw', "unable to parse directory volume name 'vm-213-disk-9.raw'"],
    ['local', '100/x.txt', "unable to parse volume filename 'x.txt'"],
    ['local', '100/snap-a-vm-100-disk-0.qcow2', "'snap-a-vm-100-disk-0.qcow2' is a snapshot filename, not a volume!"],
    ['thin', '1G', "unable to parse lvm volume name '1G'"],
    ['thin', '100/vm-100-disk-0', "lvm name '100/vm-100-disk-0' contains illegal characters"],
    ['thick', 'base-100-disk-0', "unable to parse lvm volume name 'base-100-disk-0'"],
    ['tank', 'disk', "unable to parse zfs volume name 'disk'"],
    ['ceph', 'disk', "unable to parse rbd volume name 'disk'"],
  ])('on %s refuse %s with the message of the plugin', (storage, name, text) => {
    expect(refusalOf(() => parse(storage, name))).toBe(`500 ${text}`);
  });

  it('of pools contain the base of a clone, those of thin LVM do not', () => {
    const base = { name: 'base-9000-disk-0', vmid: 9000 };
    expect(parse('tank', 'base-9000-disk-0/vm-1-disk-0')).toMatchObject({ base, vmid: 1, isBase: false });
    expect(parse('ceph', 'base-9000-disk-0/base-1-disk-0')).toMatchObject({ base, vmid: 1, isBase: true });
    expect(parse('thin', 'base-9000-disk-0')).toMatchObject({ base: undefined, isBase: true, format: 'raw' });
  });
});

describe('paths', () => {
  it.each([
    ['local', '9000/base-9000-disk-0.qcow2/301/vm-301-disk-0.qcow2', '/var/lib/vz/images/301/vm-301-disk-0.qcow2'],
    ['local', 'iso/blob.iso', '/var/lib/vz/template/iso/blob.iso'],
    ['share', '100/vm-100-disk-0.raw', '/mnt/pve/share/images/100/vm-100-disk-0.raw'],
    ['thin', 'vm-100-disk-0', '/dev/pve/vm-100-disk-0'],
    ['tank', 'base-9-disk-0/vm-100-disk-0', '/dev/zvol/tank/vm-100-disk-0'],
    [
      'ceph',
      'vm-100-disk-0',
      'rbd:vms/vm-100-disk-0:conf=/etc/pve/ceph.conf:id=admin:keyring=/etc/pve/priv/ceph/ceph.keyring',
    ],
  ])('on %s of %s', (storage, name, expected) => {
    expect(path(storage, name)).toBe(expected);
  });
});

describe('formats', () => {
  it('depend on the kind of storage', () => {
    const formats = (id: string) => storageFormats(storageConfig(world, id));
    expect(formats('local')).toEqual({ supported: ['qcow2', 'raw', 'subvol', 'vmdk'], default: 'raw' });
    expect(formats('share').supported).toEqual(['qcow2', 'raw', 'vmdk']);
    expect(formats('thick')).toEqual({ supported: ['raw'], default: 'raw' });
  });
});
