import { describe, expect, it } from 'vitest';
import type { DesiredEntry, DesiredField, DesiredKey } from '../config/desired.ts';
import { actualOf, isDevice, isFieldSatisfied, isSatisfied, mergedText, unsatisfied } from './merge.ts';

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
    expect(mergedText('net1', property({ firewall: '0' }, 'virtio'), undefined)).toBe('virtio,firewall=0');
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
    const text = mergedText('smbios1', property({ product: 'cnVuYw==' }), 'uuid=1-2');
    expect(text).toBe('base64=1,product=cnVuYw==,uuid=1-2');
  });

  it('spells freeze-fs in the way that Proxmox VE 8 and 9 both accept', () => {
    expect(mergedText('agent', property({ enabled: '1', 'freeze-fs': '0' }), undefined)).toBe(
      '1,freeze-fs-on-backup=0',
    );
  });

  it('drops the address width together with the IOMMU, and only for the machine', () => {
    const actual = 'q35,aw-bits=48,viommu=intel';
    expect(mergedText('machine', property({ viommu: undefined }), actual)).toBe('q35');
    expect(mergedText('machine', property({ type: 'q35' }), actual)).toBe(actual);
    expect(mergedText('net0', property({ tag: '5' }), 'virtio=BC:24:11:00:00:01,aw-bits=48')).toContain('aw-bits=48');
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

const ISO = 'local:iso/a.iso,media=cdrom,size=374M';
const CLOUD_INIT = 'tank:vm-101-cloudinit,media=cdrom';
const iso = (more: Partial<DesiredKey & { kind: 'cdrom' }> = {}) =>
  ({ kind: 'cdrom', set: {}, file: 'local:iso/a.iso', ...more }) as const;
const cloudInit = { kind: 'cloud-init-drive', storage: 'tank' } as const;
const notes = (text: string | undefined, line?: string): DesiredKey & { kind: 'notes' } => ({
  kind: 'notes',
  text,
  line,
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
    ['description', lineOf(' lineage=a-1'), `${LINE} lineage=a-1`, true],
    ['description', lineOf(' lineage=a-1'), `${LINE} lineage=a-2`, false],
    ['description', lineOf(''), undefined, false],
    ['description', notes('Ours.'), 'Ours.', true],
    ['description', notes('Ours.'), 'Theirs.', false],
    ['description', notes('Ours.'), undefined, false],
    ['description', notes(undefined), LINE, false],
    ['description', notes(undefined), undefined, true],
    ['ide2', iso(), ISO, true],
    ['ide2', iso({ file: 'none' }), ISO, false],
    ['ide2', iso(), undefined, false],
    ['ide2', cloudInit, CLOUD_INIT, true],
    ['ide2', cloudInit, ISO, false],
    ['ide2', cloudInit, undefined, false],
    ['scsi0', disk(), undefined, false],
    ['tags', { kind: 'absent' }, 'a', false],
    ['net0', { kind: 'absent' }, undefined, true],
    ['net0', { kind: 'absent' }, '', false],
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

describe('one field of a desired value', () => {
  const field = (parts: readonly string[], words: DesiredField['words'] = 'raw'): DesiredField => ({
    path: 'x',
    value: null,
    words,
    parts,
  });
  const NIC = 'virtio=BC:24:11:00:00:01,bridge=vmbr0,tag=20';
  const nic = property({ bridge: 'vmbr1', tag: '20' });
  const ssd = disk({ set: { ssd: '1', discard: 'on' } });
  const both = notes('Ours.', LINE);
  it.each([
    ['net0', nic, ['tag'], NIC, true],
    ['net0', nic, ['bridge'], NIC, false],
    ['net0', nic, ['tag', 'bridge'], NIC, false],
    ['net0', nic, [], NIC, false],
    ['net0', property({ firewall: '0' }), ['firewall'], undefined, false],
    ['memory', property({ current: '512' }), ['current'], undefined, true],
    ['memory', property({ current: '1024' }), ['current'], undefined, false],
    ['scsi0', ssd, ['ssd'], 'tank:vm-101-disk-0,ssd=1', true],
    ['scsi0', ssd, ['ssd', 'discard'], 'tank:vm-101-disk-0,ssd=1', false],
    ['scsi0', ssd, ['ssd'], undefined, false],
    ['ide2', iso(), ['file'], ISO, true],
    ['ide2', iso({ set: { serial: 'x' } }), ['file'], ISO, true],
    ['ide2', iso({ set: { serial: 'x' } }), ['file', 'serial'], ISO, false],
    ['ide2', iso(), ['file'], undefined, false],
    ['ide2', cloudInit, ['storage'], CLOUD_INIT, true],
    ['ide2', cloudInit, ['storage'], ISO, false],
  ] satisfies [string, DesiredKey, string[], string | undefined, boolean][])(
    '%s %o, its %o, of %s is fulfilled: %s',
    (key, desired, parts, actual, is) => {
      const entry: DesiredEntry = { key, desired, fields: [] };
      expect(isFieldSatisfied(entry, field(parts), actual)).toBe(is);
    },
  );

  it.each([
    ['notes', `Ours.`, true],
    ['notes', LINE, false],
    ['raw', LINE, true],
    ['raw', 'Ours.', false],
  ] as const)('of the notes, as %s, is fulfilled by %s: %s', (words, actual, is) => {
    const entry: DesiredEntry = { key: 'description', desired: both, fields: [] };
    expect(isFieldSatisfied(entry, field(['x'], words), actual)).toBe(is);
  });
});

describe('what a desired value is compared with', () => {
  const values = new Map([
    ['ide2', ISO],
    ['sata3', CLOUD_INIT],
    ['tags', 'a'],
  ]);

  it('is its own key, and for a cloud-init drive the slot that has one', () => {
    expect(actualOf({ key: 'ide2', desired: iso() }, values)).toBe(ISO);
    expect(actualOf({ key: 'ide2', desired: cloudInit }, values)).toBe(CLOUD_INIT);
    expect(actualOf({ key: 'ide2', desired: cloudInit }, new Map([['ide2', ISO]]))).toBe(ISO);
  });

  it('leaves those that are not satisfied', () => {
    const desired = [
      { key: 'ide2', desired: cloudInit },
      { key: 'tags', desired: { kind: 'value', text: 'b' } as const },
    ];
    expect(unsatisfied(desired, values)).toEqual([desired[1]]);
  });

  it('is a device if Proxmox plugs it', () => {
    expect(['net0', 'scsi0', 'tags', 'no-such-key'].map(isDevice)).toEqual([true, true, false, false]);
  });
});

describe('the text to write for a key as a whole', () => {
  it('is removed, replaced, or completed', () => {
    expect(mergedText('tags', { kind: 'absent' }, 'a')).toBeUndefined();
    expect(mergedText('tags', { kind: 'value', text: 'b' }, 'a')).toBe('b');
    expect(mergedText('ide2', cloudInit, CLOUD_INIT)).toBe(CLOUD_INIT);
    expect(mergedText('description', notes(undefined, LINE), undefined)).toBe(LINE);
    expect(mergedText('description', notes(undefined), undefined)).toBe('');
  });

  it('spells freeze-fs in the older way wherever it is', () => {
    expect(mergedText('agent', property({ 'freeze-fs': '0' }), undefined)).toMatch(/(^|,)freeze-fs-on-backup=0/);
  });
});
