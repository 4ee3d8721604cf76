import { describe, expect, it } from 'vitest';
import { effectOf } from './effects.ts';

const NET = 'virtio=BC:24:11:00:00:01,bridge=vmbr0';
const CLOUD_INIT = 'tank:vm-101-cloudinit,media=cdrom';
const EFI = 'tank:vm-101-disk-3,efitype=4m,size=4M';
const DISK = 'tank:vm-101-disk-0,size=32G';

/** A running VM with the default hotplug features, unless given otherwise. */
function effect(
  key: string,
  before: string | undefined,
  after: string | undefined,
  config: Record<string, string> = {},
) {
  const current = new Map(Object.entries({ ostype: 'l26', boot: 'order=scsi0', ...config }));
  if (before !== undefined) current.set(key, before);
  return effectOf({ key, before, after, running: true, current }).effect;
}

describe('a change of a running VM', () => {
  it.each([
    ['name', 'a', 'b', {}, 'live'],
    ['description', undefined, 'x', {}, 'live'],
    ['tags', 'a', undefined, {}, 'live'],
    ['ipconfig0', 'ip=dhcp', 'ip=10.0.0.2/24', {}, 'live'],
    ['cipassword', '**', 'x', {}, 'live'],
    ['cpuunits', '100', '200', {}, 'live'],
    ['cores', '2', '4', {}, 'restart'],
    ['cpu', 'host', 'kvm64', {}, 'restart'],
    ['memory', '2048', '4096', {}, 'restart'],
    ['memory', '2048', '4096', { hotplug: 'memory,disk' }, 'live'],
    ['vcpus', '1', '2', {}, 'restart'],
    ['vcpus', '1', '2', { hotplug: 'cpu' }, 'live'],
    ['balloon', '512', '1024', {}, 'live'],
    ['balloon', '0', '1024', {}, 'restart'],
    ['balloon', '512', '0', {}, 'restart'],
    ['agent', '1', '1,fstrim_cloned_disks=1', {}, 'live'],
    ['agent', '1', '1,type=isa', {}, 'restart'],
    ['agent', undefined, '1', {}, 'restart'],
    ['hotplug', 'disk', 'disk,network', {}, 'live'],
    ['hotplug', 'disk', 'disk,cpu', {}, 'restart'],
    ['hotplug', 'disk,memory', 'disk', {}, 'restart'],
    ['tablet', '1', '0', {}, 'live'],
    ['tablet', '1', '0', { hotplug: 'disk' }, 'restart'],
    ...['l26', 'win8', 'win10', 'win11'].map((ostype) => ['usb0', undefined, 'spice', { ostype }, 'live'] as const),
    ['usb0', undefined, 'spice', {}, 'live'],
    ['usb0', undefined, 'spice', { ostype: 'other' }, 'restart'],
    ['boot', 'order=scsi0', 'order=net0', {}, 'restart'],
    ['hostpci0', undefined, 'mapping=gpu', {}, 'restart'],
    ['net0', NET, `${NET},tag=20`, {}, 'live'],
    ['net0', NET, `${NET},tag=20`, { hotplug: '0' }, 'live'],
    ['net0', NET, `${NET},mtu=1400`, {}, 'live'],
    ['net0', NET, `${NET},mtu=1400`, { hotplug: 'disk' }, 'restart'],
    ['net1', undefined, 'virtio,bridge=vmbr0', { hotplug: 'disk' }, 'restart'],
    ['net0', NET, undefined, {}, 'live'],
    ['scsi1', undefined, 'tank:32', {}, 'live'],
    ['scsi1', undefined, 'tank:32', { hotplug: 'network' }, 'restart'],
    ['sata1', undefined, 'tank:32', {}, 'restart'],
    ['ide2', undefined, 'tank:cloudinit', {}, 'restart'],
    ['efidisk0', undefined, 'tank:1', {}, 'restart'],
    ['scsi0', DISK, `${DISK},backup=0`, {}, 'live'],
    ['scsi0', DISK, `${DISK},mbps_rd=10`, {}, 'live'],
    ['scsi0', DISK, `${DISK},ssd=1`, {}, 'restart'],
    ['ide2', 'none,media=cdrom', 'local:iso/a.iso,media=cdrom', {}, 'live'],
    ['scsi1', DISK, undefined, {}, 'live'],
    ['scsi0', DISK, undefined, {}, 'impossible'],
    ['scsi0', DISK, undefined, { hotplug: 'network' }, 'restart'],
    ['scsi1', DISK, undefined, { protection: '1' }, 'impossible'],
    ['scsi0', DISK, 'other:vm-101-disk-0', {}, 'impossible'],
    ['scsi0', DISK, 'tank:vm-101-disk-0,size=16G', {}, 'impossible'],
    ['scsi0', DISK, 'none,media=cdrom', {}, 'impossible'],
    ['tpmstate0', 'tank:vm-101-disk-4,version=v2.0', 'tank:vm-101-disk-4,version=v1.2', {}, 'impossible'],
    ['efidisk0', 'tank:vm-101-disk-3,efitype=4m', 'tank:vm-101-disk-3,efitype=2m', {}, 'impossible'],
    ['agent', '0', '1', {}, 'restart'],
    ['agent', '0', '0,fstrim_cloned_disks=1', {}, 'restart'],
    ['agent', 'enabled=0', 'enabled=0,type=isa', {}, 'live'],
    ['agent', '1', 'enabled=0,type=isa', {}, 'restart'],
    ['net0', 'virtio=BC:24:11:00:00:01', 'virtio=BC:24:11:00:00:01,tag=5', { hotplug: 'disk' }, 'restart'],
    ['net0', NET, 'virtio=BC:24:11:00:00:01', { hotplug: 'disk' }, 'restart'],
    ['net0', 'virtio=BC:24:11:00:00:01', NET, { hotplug: 'disk' }, 'restart'],
    ['hookscript', undefined, 'local:snippets/a.pl', {}, 'live'],
    ['shares', '1000', '2000', {}, 'live'],
    ['migrate_speed', '0', '10', {}, 'live'],
    ['migrate_downtime', '0.1', '1', {}, 'live'],
    ['vmstatestorage', undefined, 'tank', {}, 'live'],
    ['cicustom', undefined, 'user=local:snippets/a.yaml', {}, 'live'],
    ['no-such-key', '1', '2', {}, 'restart'],
    ['xshares', '1', '2', {}, 'restart'],
    ['sharesx', '1', '2', {}, 'restart'],
    ['scsi0', DISK, `${DISK},product=x`, {}, 'restart'],
    ['scsi0', DISK, `${DISK},vendor=x`, {}, 'restart'],
    ['scsi0', DISK, `${DISK},queues=2`, {}, 'restart'],
    ['scsi0', DISK, undefined, { boot: 'c', bootdisk: 'scsi0' }, 'impossible'],
    ['scsi1', DISK, undefined, { boot: 'c', bootdisk: 'scsi0' }, 'live'],
    ['ide2', CLOUD_INIT, 'local:iso/a.iso,media=cdrom', {}, 'impossible'],
    ['scsi0', DISK, 'tank:vm-101-disk-0,size=32G', {}, 'live'],
    ['scsi0', DISK, 'tank:vm-101-disk-0', {}, 'live'],
    ['scsi0', DISK, `${DISK},x-new=1`, {}, 'live'],
    ['net0', NET, `${NET},x-new=1`, { hotplug: 'disk' }, 'live'],
    ['efidisk0', EFI, `${EFI},x-new=1`, {}, 'restart'],
    ['efidisk0', EFI, 'tank:vm-101-disk-3,efitype=2m,size=4M,x-new=1', {}, 'impossible'],
    ['agent', undefined, '0,type=isa', {}, 'restart'],
    ['agent', '0,type=isa', undefined, {}, 'restart'],
    ['ide2', CLOUD_INIT, DISK, {}, 'impossible'],
    ['ide2', 'local:iso/a.iso,media=cdrom', 'local:iso/a.iso,media=cdrom,ssd=1', {}, 'live'],
    ['scsi1', DISK, undefined, { boot: '' }, 'live'],
    ['ide2', 'none,media=cdrom', 'local:iso/b.iso,media=cdrom,size=1G', {}, 'live'],
  ] as const)('of %s from %s to %s with %o is %s', (key, before, after, config, expected) => {
    expect(effect(key, before, after, config)).toBe(expected);
  });

  it('takes effect immediately if the VM is stopped, unless it is impossible', () => {
    const change = { key: 'cores', before: '1', after: '2', running: false, current: new Map<string, string>() };
    expect(effectOf(change)).toEqual({ effect: 'live' });
    const shrink = { ...change, key: 'scsi0', before: DISK, after: 'tank:vm-101-disk-0,size=1G' };
    expect(effectOf(shrink)).toMatchObject({ effect: 'impossible', reason: 'scsi0 cannot shrink.' });
  });
});

describe('an impossible change', () => {
  const reason = (key: string, before: string, after: string | undefined, more: Record<string, string> = {}) => {
    const current = new Map(Object.entries({ ostype: 'l26', boot: 'order=scsi0', [key]: before, ...more }));
    const effect = effectOf({ key, before, after, running: true, current });
    return effect.effect === 'impossible' ? effect.reason : effect.effect;
  };

  it('says why', () => {
    expect(reason('scsi1', DISK, undefined, { protection: '1' })).toBe('Protection is on, so scsi1 cannot be removed.');
    expect(reason('scsi0', DISK, undefined)).toBe(
      'scsi0 is a disk the running VM boots from and cannot be unplugged; stop the VM first.',
    );
    expect(reason('scsi0', DISK, 'none,media=cdrom')).toBe(
      'scsi0 cannot change between disk, CD drive and cloud-init drive.',
    );
    expect(reason('ide2', 'none,media=cdrom', CLOUD_INIT)).toBe(
      'ide2 cannot change between disk, CD drive and cloud-init drive.',
    );
    expect(reason('ide2', CLOUD_INIT, DISK)).toBe('ide2 cannot change between disk, CD drive and cloud-init drive.');
    expect(reason('scsi0', DISK, 'other:vm-101-disk-0')).toBe('The volume of scsi0 would be replaced by another one.');
    const tpm = 'tank:vm-101-disk-4';
    expect(reason('tpmstate0', `${tpm},version=v2.0`, `${tpm},version=v1.2`)).toBe(
      'tpmstate0 cannot be changed after it has been created.',
    );
    expect(reason('ide2', CLOUD_INIT, 'local:iso/a.iso,media=cdrom')).toMatch(
      /^ide2 holds Proxmox's cloud-init drive, .* Stop the VM first\.$/,
    );
  });

  it('becomes possible if the same change switches protection off, or if the VM is stopped', () => {
    const change = { key: 'scsi1', before: DISK, after: undefined, running: true };
    const current = new Map([['protection', '1']]);
    expect(effectOf({ ...change, current, unprotects: true }).effect).not.toBe('impossible');
    expect(effectOf({ ...change, current, unprotects: false }).effect).toBe('impossible');
    const medium = { key: 'ide2', before: CLOUD_INIT, after: 'local:iso/a.iso,media=cdrom', current: new Map() };
    expect(effectOf({ ...medium, running: false })).toEqual({ effect: 'live' });
  });
});
