import { describe, expect, it } from 'vitest';
import { Secret } from '../../../base/secret.ts';
import type { DesiredField, DesiredKey } from '../config/desired.ts';
import { desiredValue, MASK, shownValue } from './shown.ts';

const LINE = 'proxwright: stack=k address=vm.web vmid=101 uuid=3-4';
const field = (more: Partial<DesiredField> = {}): DesiredField => ({
  path: 'x',
  value: 'new',
  words: 'raw',
  parts: [],
  ...more,
});
const shown = (key: string, desired: DesiredKey, one: Partial<DesiredField>, actual: string | undefined) =>
  shownValue({ key, desired, fields: [] }, field(one), actual);

const text: DesiredKey = { kind: 'value', text: 'x' };
const property: DesiredKey = { kind: 'property', set: {} };
const notes: DesiredKey = { kind: 'notes', text: undefined, line: undefined };
const cdrom: DesiredKey = { kind: 'cdrom', set: {}, file: 'none' };
const secret: DesiredKey = { kind: 'secret', value: new Secret('correct horse'), digest: 'd' };

describe('the actual value of a field', () => {
  it('is masked if it is secret or hidden, and null if it is not set', () => {
    expect(shown('cipassword', secret, { words: 'secret' }, '**')).toBe(MASK);
    expect(shown('cipassword', secret, { words: 'secret' }, undefined)).toBeNull();
    expect(shown('ciuser', text, { hidden: true }, 'root')).toBe(MASK);
    expect(shown('ciuser', text, { hidden: true }, undefined)).toBeNull();
    expect(shown('net0', property, { parts: ['tag'] }, undefined)).toBeNull();
  });

  it('is the text of the key, or the default of Proxmox', () => {
    expect(shown('ciuser', text, {}, 'root')).toBe('root');
    expect(shown('tablet', text, {}, undefined)).toBe(true);
    expect(shown('tablet', text, {}, ' ')).toBe(true);
    expect(shown('no-such-key', text, {}, undefined)).toBeNull();
  });

  it('is one sub-key: the first that is set, or the default of the first', () => {
    const nic = 'virtio=BC:24:11:00:00:01,tag=20';
    expect(shown('net0', property, { parts: ['tag'] }, nic)).toBe('20');
    expect(shown('net0', property, { parts: ['bridge', 'tag'] }, nic)).toBe('20');
    expect(shown('net0', property, { parts: ['macaddr', 'tag'] }, nic)).toBe('BC:24:11:00:00:01');
    expect(shown('cpu', property, { parts: ['cputype', 'flags'] }, undefined)).toBe('kvm64');
    expect(shown('net0', property, { parts: ['bridge'] }, nic)).toBeNull();
  });

  it('is the notes without the ownership line, or that line alone', () => {
    const both = `Ours.\n\n${LINE}`;
    expect(shown('description', notes, { words: 'notes' }, both)).toBe('Ours.');
    expect(shown('description', notes, {}, both)).toBe(LINE);
    expect(shown('description', notes, { words: 'notes' }, LINE)).toBeNull();
    expect(shown('description', notes, { words: 'notes' }, undefined)).toBeNull();
    expect(shown('description', notes, {}, undefined)).toBeNull();
  });

  it('is read from the drive', () => {
    const disk: DesiredKey = {
      kind: 'disk',
      set: {},
      sizeBytes: undefined,
      storage: undefined,
      format: undefined,
      create: undefined,
    };
    expect(shown('scsi0', disk, { parts: ['storage'] }, 'tank:vm-101-disk-0,size=1G')).toBe('tank');
    expect(shown('ide2', cdrom, { parts: ['file'] }, 'local:iso/a.iso,media=cdrom')).toBe('local:iso/a.iso');
    const cloudInit: DesiredKey = { kind: 'cloud-init-drive', storage: 'tank' };
    expect(shown('ide2', cloudInit, { parts: ['storage'] }, 'tank:vm-101-cloudinit,media=cdrom')).toBe('tank');
    expect(shown('ide2', cloudInit, { parts: ['storage'] }, undefined)).toBeNull();
  });
});

describe('the desired value of a field', () => {
  it('is masked if it is secret or hidden, and null for a removal', () => {
    expect(desiredValue(field())).toBe('new');
    expect(desiredValue(field({ words: 'secret' }))).toBe(MASK);
    expect(desiredValue(field({ hidden: true }))).toBe(MASK);
    expect(desiredValue(field({ words: 'removal' }))).toBeNull();
  });
});
