import { describe, expect, it } from 'vitest';
import {
  arePartsSatisfied,
  defaultOfPart,
  isPartSatisfied,
  macsOf,
  mergedParts,
  printPropertyOf,
  propertyOf,
} from './parts.ts';

const merged = (key: string, set: Record<string, string | undefined>, actual?: string) =>
  printPropertyOf(key, mergedParts(key, set, propertyOf(key, actual)));

describe('the value of a property key', () => {
  it('is empty if its text is missing or cannot be parsed', () => {
    expect(propertyOf('net0', 'virtio=BC:24:11:00:00:01,tag=5').get('tag')).toBe('5');
    expect(propertyOf('net0', undefined).entries.size).toBe(0);
    expect(propertyOf('agent', '1,1,=').entries.size).toBe(0);
  });

  it('is refused for a key that is no property string', () => {
    expect(() => propertyOf('name', 'web')).toThrow('name is not a property string.');
  });
});

describe('the texts of the SMBIOS table', () => {
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const PLAIN = 'manufacturer=ACME,serial=A-1,uuid=1-2';
  const ENCODED = `base64=1,manufacturer=${base64('ACME')},serial=${base64('A-1')},uuid=1-2`;

  it('mean the same plain and in base64', () => {
    for (const text of [PLAIN, ENCODED]) {
      const value = propertyOf('smbios1', text);
      expect(value.get('manufacturer')).toBe(base64('ACME'));
      expect(value.get('serial')).toBe(base64('A-1'));
      expect(value.get('uuid')).toBe('1-2');
      expect(printPropertyOf('smbios1', value)).toBe(ENCODED);
    }
    expect(propertyOf('smbios1', `base64=0,${PLAIN}`).get('serial')).toBe(base64('A-1'));
  });

  it('are marked as base64 only if there are any', () => {
    expect(printPropertyOf('smbios1', propertyOf('smbios1', 'uuid=1-2'))).toBe('uuid=1-2');
    expect(printPropertyOf('smbios1', propertyOf('smbios1', 'base64=1,uuid=1-2'))).toBe('uuid=1-2');
    expect(merged('smbios1', { serial: base64('A-1') }, 'uuid=1-2')).toBe(`base64=1,serial=${base64('A-1')},uuid=1-2`);
    expect(merged('smbios1', { serial: undefined }, `base64=1,serial=${base64('A-1')},uuid=1-2`)).not.toContain(
      'serial',
    );
  });

  it('of other keys stay as they are', () => {
    expect(propertyOf('scsi0', 'tank:vm-101-disk-0,serial=A-1').get('serial')).toBe('A-1');
  });
});

describe('the MAC addresses of a VM', () => {
  it('are those of its NICs, by slot', () => {
    const values = new Map([
      ['name', 'web'],
      ['net0', 'virtio=BC:24:11:00:00:01,bridge=vmbr0'],
      ['net1', 'virtio,bridge=vmbr0'],
      ['net10', 'e1000=BC:24:11:00:00:02'],
      ['network0', 'virtio=BC:24:11:00:00:03'],
      ['xnet0', 'virtio=BC:24:11:00:00:04'],
      ['net0x', 'virtio=BC:24:11:00:00:05'],
    ]);
    expect(macsOf(values)).toEqual({ net0: 'BC:24:11:00:00:01', net10: 'BC:24:11:00:00:02' });
  });
});

describe('merged sub-keys', () => {
  it('replace, add and remove what is desired, and keep the rest', () => {
    expect(merged('net0', { tag: '20', firewall: undefined }, 'virtio=BC:24:11:00:00:01,firewall=1,mtu=1400')).toBe(
      'virtio=BC:24:11:00:00:01,mtu=1400,tag=20',
    );
  });

  it('keep the spelling of what means the same', () => {
    expect(merged('net0', { firewall: '0' }, 'virtio=BC:24:11:00:00:01')).toBe('virtio=BC:24:11:00:00:01');
  });

  it('include the model of a CPU and what the format requires, but only with something else', () => {
    expect(merged('cpu', { flags: '+aes' })).toBe('kvm64,flags=+aes');
    expect(merged('cpu', { flags: '+aes' }, 'host')).toBe('host,flags=+aes');
    expect(merged('cpu', {})).toBe('');
    expect(merged('cpu', { flags: undefined })).toBe('');
    expect(merged('memory', { current: '2048' })).toBe('2048');
    expect(merged('agent', { type: 'isa' })).toBe('0,type=isa');
    expect(merged('agent', { type: 'isa' }, '1')).toBe('1,type=isa');
    expect(merged('net0', { tag: '5' })).toBe('tag=5');
  });
});

describe('a sub-key', () => {
  it.each([
    ['net0', 'tag', '20', 'virtio=BC:24:11:00:00:01,tag=20', true],
    ['net0', 'tag', '20', 'virtio=BC:24:11:00:00:01', false],
    ['net0', 'tag', undefined, 'virtio=BC:24:11:00:00:01', true],
    ['net0', 'tag', undefined, 'virtio=BC:24:11:00:00:01,tag=20', false],
    ['net0', 'firewall', '0', 'virtio=BC:24:11:00:00:01', true],
    ['machine', 'type', 'q35', 'pc-q35-10.0+pve1', true],
    ['machine', 'type', 'q35', 'pc-i440fx-10.0', false],
    ['cpu', 'cputype', 'host', 'kvm64', false],
  ] as const)('%s.%s=%s is satisfied by %s: %s', (key, part, text, actual, is) => {
    expect(isPartSatisfied(key, part, text, propertyOf(key, actual))).toBe(is);
    expect(arePartsSatisfied(key, { [part]: text }, propertyOf(key, actual))).toBe(is);
  });

  it('has the default of the format, if there is one', () => {
    expect(defaultOfPart('cpu', 'cputype')).toBe('kvm64');
    expect(defaultOfPart('net0', 'bridge')).toBeUndefined();
    expect(defaultOfPart('net0', 'no-such-part')).toBeUndefined();
  });
});
