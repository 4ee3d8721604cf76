import { describe, expect, it } from 'vitest';
import { type TemplateGuest, templateFaults } from './health.ts';

const DISK = ['scsi0', 'tank:base-9000-disk-0,size=20G'] as const;
const DRIVE = ['ide2', 'tank:vm-9000-cloudinit,media=cdrom'] as const;
const AGENT = ['agent', '1'] as const;

const fieldsOf = (values: readonly (readonly [string, string])[], guest: TemplateGuest = { guest: 'plain' }) =>
  templateFaults(new Map(values), guest).map(({ field }) => field);

describe('a template', () => {
  it('with a disk is healthy, with or without a boot order', () => {
    expect(fieldsOf([DISK])).toEqual([]);
    expect(fieldsOf([DISK, ['boot', 'order=scsi0;net0']])).toEqual([]);
    // The older format leaves the choice to Proxmox.
    expect(fieldsOf([DISK, ['boot', 'cdn']])).toEqual([]);
  });

  it('without a disk is not healthy', () => {
    expect(fieldsOf([])).toEqual(['disks']);
    expect(fieldsOf([DRIVE])).toEqual(['disks']);
    expect(fieldsOf([['efidisk0', 'tank:vm-9000-disk-1,size=1M']])).toEqual(['disks']);
  });

  it('must boot from a disk first', () => {
    expect(fieldsOf([DISK, ['boot', 'order=net0;scsi0']])).toEqual(['boot']);
    expect(fieldsOf([DISK, ['boot', 'order=scsi1']])).toEqual(['boot']);
    expect(fieldsOf([DISK, ['ide3', 'none,media=cdrom'], ['boot', 'order=ide3;scsi0']])).toEqual(['boot']);
  });

  it('must not keep a medium; an empty drive is allowed', () => {
    expect(fieldsOf([DISK, ['ide3', 'local:iso/talos.iso,media=cdrom']])).toEqual(['disks.ide3']);
    expect(fieldsOf([DISK, ['ide3', 'none,media=cdrom']])).toEqual([]);
    expect(fieldsOf([DISK, DRIVE])).toEqual([]);
  });
});

describe('a template whose guest uses cloud-init', () => {
  const CLOUD: TemplateGuest = { guest: 'cloud-init' };

  it('needs a cloud-init drive, and must say whether it has an agent', () => {
    expect(fieldsOf([DISK], CLOUD)).toEqual(['cloud_init', 'agent']);
    expect(fieldsOf([DISK, DRIVE, AGENT], CLOUD)).toEqual([]);
    expect(fieldsOf([DISK, DRIVE, ['agent', 'enabled=1,fstrim_cloned_disks=1']], CLOUD)).toEqual([]);
  });

  it('may switch the agent off, although Proxmox stores nothing for its default', () => {
    expect(fieldsOf([DISK, DRIVE], { ...CLOUD, agent: false })).toEqual([]);
    expect(fieldsOf([DISK, DRIVE], CLOUD)).toEqual(['agent']);
  });

  it.each(['talos', 'plain'] as const)('needs neither if its guest is %s', (guest) => {
    expect(fieldsOf([DISK], { guest })).toEqual([]);
  });
});
