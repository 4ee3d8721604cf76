import { describe, expect, it } from 'vitest';
import { type CtyValue, UNKNOWN } from '../../../cty/value.ts';
import { sameMeaning } from './same.ts';

describe('another spelling', () => {
  it.each<[string, CtyValue, CtyValue]>([
    ['memory', '8GiB', '8192MiB'],
    ['balloon', 'none', '0B'],
    ['disks.scsi0.size', '1024MiB', '1GiB'],
    ['vga.memory', '32MiB', '32M'],
    ['startup.up', '60s', '1m'],
    ['ready.settle', '60s', '1m'],
    ['nics.net0.mac', 'bc:24:11:00:00:01', 'BC:24:11:00:00:01'],
    ['nics.net0.ipv6.address', 'FD00::1/64', 'fd00::1/64'],
    ['description', 'Notes.', 'Notes.\n'],
    ['tags', ['a', 'b'], ['b', 'a']],
    ['cpu.flags', ['+aes', '-pcid'], ['-pcid', '+aes']],
    ['hotplug', ['disk', 'network'], ['network', 'disk']],
    ['machine', 'q35', 'pc-q35-9.0'],
    ['extra', { reboot: 'true' }, { reboot: '1' }],
    ['clone.template', '9000', '09000'],
  ])('of %s: %j and %j', (path, desired, present) => {
    expect(sameMeaning(path, desired, present)).toBe(true);
  });

  it.each<[string, CtyValue, CtyValue]>([
    ['memory', '8GiB', '9GiB'],
    ['memory', '8GiB', null],
    ['memory', UNKNOWN, '8GiB'],
    ['memory', 'x', 'y'],
    ['balloon', 'none', '1GiB'],
    ['disks.scsi0.size', '1GiB', '2GiB'],
    ['disks.scsi0.size', '2GiB', '1GiB'],
    ['disks.scsi0.storage', 'a', 'b'],
    ['disks.scsi0.import_from', 'a:b', 'a:c'],
    ['disks.scsi0.discard', true, false],
    ['disks.ide2.iso', 'none', 'local:iso/a.iso'],
    ['efi.type', '2m', '4m'],
    ['efi.secure_boot', false, true],
    ['cloud_init.storage', 'a', 'b'],
    ['cloud_init.dns.servers', ['1.1.1.1', '2.2.2.2'], ['2.2.2.2', '1.1.1.1']],
    ['machine', 'pc-q35-9.0', 'q35'],
    ['boot', ['scsi0', 'net0'], ['net0', 'scsi0']],
    ['nics.net0.vlan', 0, 5],
    ['nics.net0.ipv4.address', 'dhcp', '10.0.0.5/24'],
    ['extra', { reboot: 'true' }, { reboot: '0' }],
    ['extra', { reboot: '1' }, { reboot: '1', freeze: '1' }],
    ['role', 'a', 'A'],
    ['no_field', 'a', 'b'],
    ['nics.wlan0.ipv4.gateway', '10.0.0.1', '10.0.0.2'],
  ])('is not another value of %s: %j and %j', (path, desired, present) => {
    expect(sameMeaning(path, desired, present)).toBe(false);
  });
});
