import { describe, expect, it } from 'vitest';
import type { DesiredKey } from '../desired.ts';
import { isSatisfied, mergedText } from './merge.ts';

const property = (set: Record<string, string | undefined>, base?: string): DesiredKey & { kind: 'property' } => ({
  kind: 'property',
  set,
  ...(base !== undefined && { base }),
});
const disk = (more: Partial<DesiredKey & { kind: 'disk' }> = {}) => ({
  kind: 'disk' as const,
  set: {},
  sizeBytes: undefined,
  storage: undefined,
  format: undefined,
  create: undefined,
  ...more,
});

describe('the text to write', () => {
  it('keeps the MAC address and unmanaged sub-keys of a NIC', () => {
    const actual = 'virtio=BC:24:11:00:00:01,bridge=vmbr0,firewall=0,host-tunnel=1,x-new=7';
    expect(mergedText('net0', property({ bridge: 'vmbr1', tag: '20' }, 'virtio'), actual)).toBe(
      'virtio=BC:24:11:00:00:01,bridge=vmbr1,firewall=0,host-tunnel=1,tag=20,x-new=7',
    );
    expect(mergedText('net0', property({ model: 'e1000', tag: undefined }), `${actual},tag=5`)).toBe(
      'e1000=BC:24:11:00:00:01,bridge=vmbr0,firewall=0,host-tunnel=1,x-new=7',
    );
  });

  it('starts a new NIC from virtio and leaves its MAC address to Proxmox', () => {
    expect(mergedText('net1', property({ bridge: 'vmbr0' }, 'virtio'), undefined)).toBe('virtio,bridge=vmbr0');
  });

  it('keeps the spelling of what already means the same', () => {
    expect(mergedText('net0', property({ macaddr: 'bc:24:11:00:00:01' }), 'virtio=BC:24:11:00:00:01')).toBe(
      'virtio=BC:24:11:00:00:01',
    );
  });

  it('resends the volume of a disk with all its options and never its size', () => {
    const actual = 'tank:vm-101-disk-0,discard=on,iothread=1,size=32G';
    expect(mergedText('scsi0', disk({ set: { ssd: '1', discard: 'ignore' }, sizeBytes: 2 ** 40 }), actual)).toBe(
      'tank:vm-101-disk-0,discard=ignore,iothread=1,ssd=1',
    );
  });

  it('creates what is missing: a disk, an import, a CD drive, a cloud-init drive', () => {
    const asked = disk({ set: { ssd: '1' }, create: 'tank:32', sizeBytes: 32 * 2 ** 30 });
    expect(mergedText('scsi1', asked, undefined)).toBe('tank:32,ssd=1');
    const imported = disk({ create: 'tank:0,import-from=local:import/noble.qcow2,format=qcow2' });
    expect(mergedText('scsi1', imported, undefined)).toBe('tank:0,format=qcow2,import-from=local:import/noble.qcow2');
    const iso = { kind: 'cdrom', set: {}, file: 'local:iso/a.iso' } as const;
    expect(mergedText('ide2', iso, undefined)).toBe('local:iso/a.iso,media=cdrom');
    expect(mergedText('ide2', { ...iso, file: 'none' }, 'local:iso/a.iso,media=cdrom,size=374M')).toBe(
      'none,media=cdrom',
    );
    expect(mergedText('ide2', { kind: 'cloud-init-drive', storage: 'tank' }, undefined)).toBe('tank:cloudinit');
  });

  it('is undefined for a disk that the file does not say how to create', () => {
    expect(mergedText('scsi1', disk({ sizeBytes: 2 ** 30 }), undefined)).toBeUndefined();
  });

  it('never replaces a disk by a CD drive or the other way round', () => {
    const iso = { kind: 'cdrom', set: {}, file: 'local:iso/a.iso' } as const;
    expect(mergedText('scsi0', iso, 'tank:vm-101-disk-0,size=1G')).toBe('tank:vm-101-disk-0,size=1G');
    expect(mergedText('ide2', disk({ create: 'tank:1' }), 'none,media=cdrom')).toBe('none,media=cdrom');
  });

  it('keeps the identity of the VM when the rest of smbios1 is given', () => {
    const text = mergedText('smbios1', { kind: 'value', text: 'product=cnVuYw==,base64=1' }, 'uuid=1-2');
    expect(text).toBe('base64=1,product=cnVuYw==,uuid=1-2');
  });

  it('spells freeze-fs in the way that Proxmox VE 8 and 9 both accept', () => {
    expect(mergedText('agent', property({ enabled: '1', 'freeze-fs': '0' }), undefined)).toBe(
      '1,freeze-fs-on-backup=0',
    );
  });

  it('puts the ownership line below notes it does not manage, in place of an older one', () => {
    const old = 'Notes of the template.\n\nproxwright: stack=a address=vm.b vmid=100 uuid=1-2';
    const line = 'proxwright: stack=k address=vm.web vmid=101 uuid=3-4';
    const merged = mergedText('description', { kind: 'notes', text: undefined, line }, old);
    expect(merged).toBe(`Notes of the template.\n\n${line}`);
    expect(mergedText('description', { kind: 'notes', text: undefined, line: undefined }, old)).toBe(
      'Notes of the template.',
    );
  });
});

const LINE = 'proxwright: stack=k address=vm.web vmid=101 uuid=3-4';
const lineOf = (lineage: string): DesiredKey => ({ kind: 'notes', text: undefined, line: `${LINE}${lineage}` });

describe('a desired value', () => {
  it.each([
    ['memory', property({ current: '8192' }), 'current=8192', true],
    ['memory', property({ current: '512' }), undefined, true],
    ['memory', property({ current: '8192' }), '2048', false],
    ['agent', property({ enabled: '0' }), undefined, true],
    ['net0', property({}, 'virtio'), undefined, false],
    ['net0', property({ firewall: '0' }), 'virtio=BC:24:11:00:00:01', true],
    ['machine', property({ type: 'q35' }), 'pc-q35-10.0+pve1,viommu=intel', true],
    ['machine', property({ type: 'q35' }), 'pc-i440fx-10.0', false],
    ['onboot', { kind: 'value', text: '0' }, undefined, true],
    ['tags', { kind: 'value', text: 'Web;a' }, 'a;web', true],
    ['tags', { kind: 'absent' }, ' ', true],
    ['scsi1', { kind: 'absent' }, 'tank:vm-101-disk-1,size=1G', false],
    ['boot', { kind: 'value', text: 'order=scsi0;net0' }, 'order=net0;scsi0', false],
    ['description', lineOf(' lineage=a-1'), LINE, true],
    ['description', lineOf(''), `${LINE} lineage=a-1`, true],
    ['description', lineOf(' lineage=a-1'), `${LINE} lineage=a-2`, false],
  ] satisfies [string, DesiredKey, string | undefined, boolean][])(
    '%s %o of %s is fulfilled: %s',
    (key, desired, actual, is) => {
      expect(isSatisfied(key, desired, actual)).toBe(is);
    },
  );

  it.each([
    [{ sizeBytes: 32 * 2 ** 30 }, true],
    [{ sizeBytes: 33 * 2 ** 30 }, false],
    [{ storage: 'tank' }, false],
    [{ format: 'qcow2' }, true],
    [{ format: 'raw' }, false],
    [{ set: { ssd: '0' } }, true],
    [{ set: { ssd: '1' } }, false],
  ])('for a disk with %o is fulfilled by 32 GiB of qcow2 on local: %s', (more, is) => {
    expect(isSatisfied('scsi0', disk(more), 'local:101/vm-101-disk-0.qcow2,size=32G')).toBe(is);
  });
});
