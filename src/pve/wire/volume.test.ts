import { describe, expect, it } from 'vitest';
import { isCloudInitVolume, parseVolume, printVolume, storageOfVolume } from './volume.ts';

describe('parseVolume', () => {
  it.each([
    ['local:100/vm-100-disk-0.qcow2', { kind: 'image', layout: 'directory', vmid: 100, name: 'vm-100-disk-0.qcow2' }],
    [
      'local:9000/base-9000-disk-0.qcow2/301/vm-301-disk-0.qcow2',
      {
        kind: 'image',
        layout: 'directory',
        vmid: 301,
        name: 'vm-301-disk-0.qcow2',
        base: { vmid: 9000, name: 'base-9000-disk-0.qcow2' },
      },
    ],
    ['fast-lvm:vm-100-disk-0', { kind: 'image', layout: 'block', vmid: 100, name: 'vm-100-disk-0' }],
    [
      'rbd:base-100-disk-0/vm-101-disk-0',
      {
        kind: 'image',
        layout: 'block',
        vmid: 101,
        name: 'vm-101-disk-0',
        base: { vmid: 100, name: 'base-100-disk-0' },
      },
    ],
    ['local:iso/a.iso', { kind: 'file', content: 'iso', name: 'a.iso' }],
    ['local:import/cloud.qcow2', { kind: 'file', content: 'import', name: 'cloud.qcow2' }],
    ['local:import/a.ova/disk.vmdk', { kind: 'file', content: 'import', name: 'a.ova/disk.vmdk' }],
    ['local:vztmpl/debian.tar.zst', { kind: 'file', content: 'vztmpl', name: 'debian.tar.zst' }],
    ['local:snippets/user.yaml', { kind: 'file', content: 'snippets', name: 'user.yaml' }],
    ['local:32', { kind: 'new', storage: 'local', sizeGiB: 32 }],
    ['local:0.5', { kind: 'new', storage: 'local', sizeGiB: 0.5 }],
    ['8', { kind: 'new', storage: undefined, sizeGiB: 8 }],
    ['local:cloudinit', { kind: 'new-cloudinit', storage: 'local' }],
    ['none', { kind: 'none' }],
    ['cdrom', { kind: 'cdrom' }],
    ['/dev/sdb', { kind: 'path', path: '/dev/sdb' }],
    ['san:0.0.1.scsi-36001', { kind: 'other', storage: 'san', name: '0.0.1.scsi-36001' }],
  ])('reads %s and prints it unchanged', (text, expected) => {
    const volume = parseVolume(text);
    expect(volume).toMatchObject(expected);
    expect(volume && printVolume(volume)).toBe(text);
  });

  it.each(['', 'nothing', ':32', 'local:', 'x:1', '1bad:32'])('rejects %j', (text) => {
    expect(parseVolume(text)).toBeUndefined();
  });
});

it('recognises cloud-init drives, requested or existing, on any storage', () => {
  const isCloudInit = (text: string) => {
    const volume = parseVolume(text);
    return volume !== undefined && isCloudInitVolume(volume);
  };
  expect(['local:cloudinit', 'local:1/vm-1-cloudinit.qcow2', 'lvm:vm-100-cloudinit'].map(isCloudInit)).toEqual([
    true,
    true,
    true,
  ]);
  expect(['local:iso/cloudinit', 'lvm:vm-100-disk-0', 'none'].map(isCloudInit)).toEqual([false, false, false]);
});

it('knows the storage of everything that has one', () => {
  const storage = (text: string) => {
    const volume = parseVolume(text);
    return volume && storageOfVolume(volume);
  };
  expect(['local:8', 'rbd:vm-100-disk-0', 'none', '/dev/sdb'].map(storage)).toEqual([
    'local',
    'rbd',
    undefined,
    undefined,
  ]);
});
