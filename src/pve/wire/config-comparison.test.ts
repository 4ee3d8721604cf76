import { describe, expect, it } from 'vitest';
import { compareConfigValue } from './config-comparison.ts';
import type { ConfigScalar } from './config-keys.ts';
import { CONFIG_KEYS } from './config-keys.ts';

const MAC = 'BC:24:11:00:02:31';
const UUID = '702932e6-3e3d-472f-88b9-032598c2afb1';

type Case = [title: string, key: string, desired: ConfigScalar, actual: ConfigScalar];

describe('compareConfigValue finds no difference in', () => {
  it.each<Case>([
    ['memory as number and as text', 'memory', 2048, '2048'],
    ['memory with its sub-key', 'memory', '2048', 'current=2048'],
    ['memory at its default', 'memory', 512, undefined],
    ['a switch at its default', 'onboot', false, undefined],
    ['a switch on by default', 'acpi', undefined, 1],
    ['a number with zeros', 'cpulimit', 1.5, '1.50'],
    ['a plain text at its default', 'scsihw', 'lsi', undefined],
    ['an emptied boot order', 'boot', '', ' '],
    ['a boot order that the server chose', 'boot', undefined, 'order=scsi0'],
    ['a MAC address that was left to the server', 'net0', 'virtio,bridge=vmbr0', `virtio=${MAC},bridge=vmbr0`],
    ['a MAC address in other case', 'net0', `virtio=${MAC.toLowerCase()}`, `virtio=${MAC}`],
    ['a firewall switched off explicitly', 'net0', 'virtio', `virtio=${MAC},firewall=0`],
    ['a new volume that was allocated', 'scsi0', 'local:32,ssd=1', 'local:100/vm-100-disk-0.raw,size=32G,ssd=1'],
    ['a volume larger than asked', 'scsi0', 'lvm:1', 'lvm:vm-100-disk-0,size=1028M'],
    ['a linked volume', 'scsi0', 'local:1', 'local:9000/base-9000-disk-0.qcow2/301/vm-301-disk-0.qcow2,size=1G'],
    ['an imported volume', 'scsi0', 'local:0,import-from=local:import/c.qcow2', 'local:1/vm-1-disk-0.raw,size=3G'],
    ['a format that counts only at creation', 'scsi0', 'local:1,format=raw', 'local:1/vm-1-disk-0.raw,size=1G'],
    ['a size stated in other units', 'scsi0', 'local:0,size=1024M', 'local:100/vm-100-disk-0.raw,size=1G'],
    ['a cloud-init drive', 'ide2', 'local:cloudinit', 'local:232/vm-232-cloudinit.qcow2,media=cdrom,size=4M'],
    ['an empty CD drive', 'ide2', 'none', 'none,media=cdrom'],
    ['an ISO image with its size', 'ide2', 'local:iso/a.iso,media=cdrom', 'local:iso/a.iso,media=cdrom,size=2930K'],
    ['EFI variables', 'efidisk0', 'local:1,efitype=4m', 'local:1/vm-1-disk-0.raw,efitype=4m,ms-cert=2023k,size=528K'],
    ['TPM state', 'tpmstate0', 'local:1,version=v2.0', 'local:1/vm-1-disk-0.raw,size=4M,version=v2.0'],
    ['tags in other order and case', 'tags', 'Web,prod', 'prod;web'],
    ['no tags', 'tags', undefined, ' '],
    ['a description with a line feed at its end', 'description', 'text\n', 'text'],
    ['a description with the line end of another system', 'description', 'text\u0085', 'text'],
    ['a value with a blank at its end', 'ciuser', 'bob ', 'bob'],
    ['SSH keys encoded differently', 'sshkeys', "ssh-rsa%20A%20o'neil%0A", 'ssh-rsa%20A%20o%27neil'],
    ['name servers separated by more blanks', 'nameserver', '1.1.1.1 8.8.8.8', ' 1.1.1.1  8.8.8.8'],
    ['a number that the server limited', 'cpuunits', 20000, 10000],
    ['processors in other order', 'affinity', '0,5,8-11', '8-11,0,5'],
    ['the agent in short and long', 'agent', 'enabled=1', '1'],
    ['hotplug by its short name', 'hotplug', '1', 'usb,disk,network'],
    ['a display at its default', 'vga', undefined, 'type=std'],
    ['the processor at its default', 'cpu', 'kvm64', undefined],
    ['a machine version that was pinned', 'machine', 'q35', 'pc-q35-10.0+pve1'],
    ['the older machine, pinned', 'machine', 'pc', 'pc-i440fx-10.0+pve1'],
    ['an option of a machine that was pinned', 'machine', 'viommu=virtio', 'pc-i440fx-10.0+pve1,viommu=virtio'],
    ['a generated UUID', 'smbios1', 'serial=abc', `serial=abc,uuid=${UUID}`],
    ['a generated generation id', 'vmgenid', '1', UUID],
    ['a generation id in other case', 'vmgenid', UUID.toUpperCase(), UUID],
    ['a password, which cannot be read', 'cipassword', 'secret', '**********'],
    ['keys that only the server writes', 'meta', undefined, 'creation-qemu=10.0.13,ctime=1'],
    ['a lock', 'lock', undefined, 'clone'],
    ['unused volumes', 'unused0', undefined, 'local:1/vm-1-disk-1.raw'],
    ['start-up order in short', 'startup', 'order=3', '3'],
    ['removed quotes', 'ciuser', '"admin"', 'admin'],
    ['a switch in words', 'onboot', 'yes', '1'],
    ['a switch in words that is off by default', 'onboot', 'Off', undefined],
    ['a machine of another architecture, pinned', 'machine', 'virt', 'virt-10.0+pve1'],
    ['the older machine under its old name, pinned', 'machine', 'pc', 'pc-1.0'],
    ['no machine, pinned with an option', 'machine', 'viommu=intel', 'pc-10.0,viommu=intel'],
    ['a switch of a device in words', 'net0', 'virtio,firewall=on', `virtio=${MAC},firewall=1`],
    ['a number of a device with zeros', 'net0', 'virtio,rate=1.50', `virtio=${MAC},rate=1.5`],
    ['a list of a device in other order, with blanks', 'net0', 'virtio,trunks=10;2', `virtio=${MAC},trunks=2; 10;;2`],
    ['hotplug in other order', 'hotplug', 'disk,network', 'network disk'],
    ['an empty description', 'description', undefined, ' '],
    ['the CD drive of the host', 'ide2', 'cdrom', 'cdrom,media=cdrom'],
    ['a volume of the size stated', 'scsi0', 'local:1/vm-1-disk-0.raw,size=1G', 'local:1/vm-1-disk-0.raw,size=1024M'],
    ['a processor limit at the largest number', 'cpuunits', 10_000, '10000'],
    ['unknown keys with the same text', 'future', 1, '1'],
  ])('%s', (_, key, desired, actual) => {
    expect(compareConfigValue(key, desired, actual)).toBe('equal');
  });

  it('a default and its absence, for every key that has one', () => {
    for (const key of CONFIG_KEYS.filter((each) => each.default !== undefined)) {
      expect(compareConfigValue(key.name, key.default, undefined)).toBe('equal');
      expect(compareConfigValue(key.name, undefined, key.default)).toBe('equal');
    }
  });
});

describe('compareConfigValue notices', () => {
  it.each<Case>([
    ['other memory', 'memory', 1024, '2048'],
    ['a switch', 'onboot', true, undefined],
    ['a balloon switched off', 'balloon', 0, undefined],
    ['another order of boot', 'boot', 'order=net0;scsi0', 'order=scsi0;net0'],
    ['another MAC address', 'net0', `virtio=${MAC}`, 'virtio=BC:24:11:00:00:00'],
    ['another bridge', 'net0', 'virtio,bridge=vmbr1', `virtio=${MAC},bridge=vmbr0`],
    ['a missing network card', 'net0', 'virtio', undefined],
    ['a network card too many', 'net1', undefined, 'virtio'],
    ['a volume too small', 'scsi0', 'local:32', 'local:100/vm-100-disk-0.raw,size=31G'],
    ['another storage', 'scsi0', 'fast:32', 'local:100/vm-100-disk-0.raw,size=32G'],
    ['another option of a drive', 'scsi0', 'local:32,ssd=1', 'local:100/vm-100-disk-0.raw,size=32G'],
    ['another ISO image', 'ide2', 'local:iso/b.iso,media=cdrom', 'local:iso/a.iso,media=cdrom'],
    ['a disk where a cloud-init drive should be', 'ide2', 'local:cloudinit', 'local:100/vm-100-disk-0.raw,size=1G'],
    ['an ejected medium', 'ide2', 'local:iso/b.iso,media=cdrom', 'none,media=cdrom'],
    ['another TPM version', 'tpmstate0', 'local:1,version=v2.0', 'local:1/vm-1-disk-0.raw,size=4M'],
    ['a tag', 'tags', 'a;b', 'a'],
    ['a key', 'sshkeys', 'ssh-rsa%20A', undefined],
    ['name servers separated by commas, which a guest cannot use', 'nameserver', '1.1.1.1 8.8.8.8', '1.1.1.1,8.8.8.8'],
    ['the order of name servers', 'nameserver', '1.1.1.1 8.8.8.8', '8.8.8.8 1.1.1.1'],
    ['a watchdog at its defaults, if there is none', 'watchdog', 'i6300esb', undefined],
    ['hotplug switched off', 'hotplug', '0', undefined],
    ['another machine family', 'machine', 'q35', 'pc-i440fx-10.0+pve1'],
    ['another machine version', 'machine', 'pc-q35-9.0', 'pc-q35-10.0'],
    ['a UUID of our choice', 'smbios1', 'uuid=11111111-2222-4333-8444-555555555555', `uuid=${UUID}`],
    ['a generation id switched off', 'vmgenid', '0', UUID],
    ['an address', 'ipconfig0', 'ip=10.0.0.1/24', 'ip=dhcp'],
    ['the agent', 'agent', '1', undefined],
    ['a word that is no switch', 'onboot', 'maybe', '1'],
    ['a generation id that was not generated', 'vmgenid', '1', undefined],
    ['an invalid generation id', 'vmgenid', '1', `x${UUID}`],
    ['a generation id with trailing text', 'vmgenid', '1', `${UUID}0`],
    ['another machine family of that beginning', 'machine', 'pc', 'pc-q35-10.0'],
    ['a machine that only ends like it', 'machine', 'q35', 'x-pc-q35-10.0'],
    ['an older machine that only ends like it', 'machine', 'pc', 'xpc-i440fx-10.0'],
    ['a machine of another architecture', 'machine', 'virt', 'pc-q35-10.0'],
    ['a machine that only ends like that architecture', 'machine', 'virt', 'xvirt-10.0'],
    ['a machine without a version', 'machine', 'virt', 'virt-x'],
    ['hotplug switched on', 'hotplug', '0', 'disk'],
    ['a quote in front only', 'ciuser', '"admin', 'admin'],
    ['a quote behind only', 'ciuser', 'admin"', 'admin'],
    ['a number beyond what the server keeps', 'cpuunits', 20_000, '9999'],
    ['a drive of ours that cannot be read', 'scsi0', 'local:1,ssd=1,ssd=0', 'local:1/vm-1-disk-0.raw,size=1G'],
    [
      'a cloud-init drive where a disk should be',
      'ide2',
      'local:1',
      'local:2/vm-2-cloudinit.qcow2,media=cdrom,size=4M',
    ],
    ['a volume smaller than stated', 'scsi0', 'local:1/vm-1-disk-0.raw,size=2G', 'local:1/vm-1-disk-0.raw,size=1G'],
    ['a medium where a disk should be', 'scsi0', 'local:1', 'local:iso/a.iso,media=cdrom'],
    ['a disk where a medium should be', 'ide2', 'none', 'local:1/vm-1-disk-0.raw,size=1G'],
    ['another list of a device', 'net0', 'virtio,trunks=1;2', `virtio=${MAC},trunks=12`],
    ['unknown keys with other text', 'future', 1, '2'],
    ['an unknown key that is gone', 'future', 1, undefined],
    ['a value that cannot be read', 'net0', 'virtio', 'virtio,virtio'],
    ['a drive that cannot be read', 'scsi0', 'local:1', 'junk'],
  ])('%s', (_, key, desired, actual) => {
    expect(compareConfigValue(key, desired, actual)).toBe('different');
  });
});
