import { describe, expect, it } from 'vitest';
import {
  AGENT_FORMAT,
  EFIDISK_FORMAT,
  HOSTPCI_FORMAT,
  IPCONFIG_FORMAT,
  MEMORY_FORMAT,
  NET_FORMAT,
  SCSI_FORMAT,
  STARTUP_FORMAT,
  WATCHDOG_FORMAT,
} from './formats.ts';
import {
  equalProperty,
  type PropertyFormat,
  PropertyValue,
  parseProperty,
  printProperty,
  splitProperty,
} from './property-string.ts';
import { parsed } from './testing/arbitraries.ts';

const reprinted = (format: PropertyFormat, text: string) => printProperty(format, parsed(format, text));
const equal = (format: PropertyFormat, a: string, b: string) =>
  equalProperty(format, parsed(format, a), parsed(format, b));

describe('splitProperty', () => {
  it('leaves out blank parts and splits at the first equals sign', () => {
    expect(splitProperty('a,, ,b=c=d,=e,f=')).toEqual([
      { value: 'a' },
      { key: 'b', value: 'c=d' },
      { key: '', value: 'e' },
      { key: 'f', value: '' },
    ]);
  });
});

describe('parseProperty', () => {
  it('understands the three ways to name a network card', () => {
    const mac = 'BC:24:11:00:00:01';
    for (const text of [
      `virtio=${mac},bridge=vmbr0`,
      `model=virtio,macaddr=${mac},bridge=vmbr0`,
      `bridge=vmbr0,virtio,macaddr=${mac}`,
    ]) {
      expect(reprinted(NET_FORMAT, text)).toBe(`virtio=${mac},bridge=vmbr0`);
    }
  });

  it('finds the default key in any position', () => {
    expect(parsed(SCSI_FORMAT, 'ssd=1,local:8').get('file')).toBe('local:8');
  });

  it('resolves aliases', () => {
    expect(parsed(AGENT_FORMAT, '1,freeze-fs-on-backup=0').get('freeze-fs')).toBe('0');
    expect(parsed(SCSI_FORMAT, 'volume=local:8').get('file')).toBe('local:8');
  });

  it('keeps unknown sub-keys, and bare text if there is no default key', () => {
    expect(reprinted(NET_FORMAT, 'virtio,zeta=9,bridge=vmbr0,constructor=x')).toBe(
      'virtio,bridge=vmbr0,constructor=x,zeta=9',
    );
    expect(reprinted(IPCONFIG_FORMAT, 'what,ip=dhcp')).toBe('ip=dhcp,what');
  });

  it.each([
    ['a repeated sub-key', 'local:8,ssd=1,ssd=1', 'duplicate key in comma-separated list property: ssd'],
    ['two bare values', 'local:8,local:9', 'duplicate key in comma-separated list property: file'],
    [
      'an alias together with its proper name',
      'file=local:8,volume=local:9',
      'duplicate key in comma-separated list property: file',
    ],
    ['an empty value', 'local:8,ssd=', 'missing key in comma-separated list property'],
    ['an empty key', 'local:8,=1', 'missing key in comma-separated list property'],
  ])('rejects %s', (_, text, problem) => {
    expect(parseProperty(SCSI_FORMAT, text)).toEqual({ ok: false, problem });
  });

  it('rejects two models of network card', () => {
    expect(parseProperty(NET_FORMAT, 'virtio=BC:24:11:00:00:01,model=e1000').ok).toBe(false);
  });
});

describe('printProperty', () => {
  it.each([
    ['local:8,ssd=on,backup=yes', 'local:8,backup=1,ssd=1'],
    ['size=1024M,local:vm-1-disk-0', 'local:vm-1-disk-0,size=1G'],
    ['local:vm-1-disk-0,size=1.5G,iothread=1', 'local:vm-1-disk-0,iothread=1,size=1536M'],
    ['file=local:iso/a=b.iso,media=cdrom', 'file=local:iso/a=b.iso,media=cdrom'],
  ])('prints %s as the server would', (given, printed) => {
    expect(reprinted(SCSI_FORMAT, given)).toBe(printed);
  });

  it('prints an unknown model separately from the address, so that both can be read back', () => {
    expect(reprinted(NET_FORMAT, 'model=future,macaddr=BC:24:11:00:00:01')).toBe('future,macaddr=BC:24:11:00:00:01');
  });

  it('rejects values that the grammar cannot express', () => {
    for (const text of ['a,b', 'a\nb', '']) {
      expect(() => printProperty(SCSI_FORMAT, new PropertyValue([['serial', text]]))).toThrow('property string');
    }
  });
});

describe('equalProperty', () => {
  it.each([
    ['a default left out', SCSI_FORMAT, 'local:8,backup=1,discard=ignore,media=disk', 'local:8'],
    ['a MAC address in other case', NET_FORMAT, 'virtio=bc:24:11:aa:bb:cc', 'virtio=BC:24:11:AA:BB:CC'],
    ['trunks in other order', NET_FORMAT, 'virtio,trunks=10;20', 'virtio,trunks=20;10'],
    ['a bare default key', MEMORY_FORMAT, 'current=2048', '2048'],
    ['a bare order', STARTUP_FORMAT, 'order=3,up=10', 'up=10,3'],
    ['a rate with zeros', NET_FORMAT, 'virtio,rate=1.50', 'virtio,rate=1.5'],
    ['a PCI id in other case', HOSTPCI_FORMAT, '0000:0A:00', '0000:0a:00,rombar=1'],
    ['a size in another unit', EFIDISK_FORMAT, 'local:1,size=1024K', 'local:1,size=1M'],
  ])('ignores %s', (_, format, a, b) => {
    expect(equal(format, a, b)).toBe(true);
  });

  it.each([
    ['another bridge', NET_FORMAT, 'virtio,bridge=vmbr0', 'virtio,bridge=vmbr1'],
    ['PCI functions in other order', HOSTPCI_FORMAT, '0a:00.0;0a:00.1', '0a:00.1;0a:00.0'],
    ['an action of the watchdog', WATCHDOG_FORMAT, 'i6300esb', 'i6300esb,action=reset'],
    ['an unknown sub-key', NET_FORMAT, 'virtio', 'virtio,future=1'],
  ])('notices %s', (_, format, a, b) => {
    expect(equal(format, a, b)).toBe(false);
  });
});
