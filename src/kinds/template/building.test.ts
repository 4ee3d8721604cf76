import { describe, expect, it } from 'vitest';
import { vmFieldsSchema } from '../vm/fields/index.ts';
import { finalFields, guestOf } from './building.ts';

const fieldsOf = (more: object) => vmFieldsSchema.parse({ name: 'base', node: 'pve1', ...more });
const final = (more: object, base: Record<string, string> = {}) =>
  finalFields(fieldsOf(more), new Map(Object.entries(base)));

const DISK = { storage: 'tank', size: '8GiB' };
const ISO = { iso: 'local:iso/talos.iso' };

describe('what is left of a template’s fields once it has installed itself', () => {
  it('is everything if there was no medium', () => {
    const fields = fieldsOf({ disks: { scsi0: DISK }, boot: ['scsi0', 'net0'] });
    expect(finalFields(fields, new Map())).toEqual(fields);
  });

  it('has no ISO, and no boot device that uses it', () => {
    const left = final({ disks: { scsi0: DISK, ide2: ISO }, boot: ['ide2', 'scsi0', 'net0'] });
    expect(left.disks?.ide2).toEqual({ remove: true });
    expect(left.disks?.scsi0).toMatchObject({ storage: 'tank' });
    expect(left.boot).toEqual(['scsi0', 'net0']);
  });

  it('boots from its first disk if it booted from the medium alone, or no boot order is set', () => {
    expect(final({ disks: { scsi0: DISK, ide2: ISO }, boot: ['ide2'] }).boot).toEqual(['scsi0']);
    expect(final({ disks: { scsi0: DISK, ide2: ISO } }).boot).toEqual(['scsi0']);
  });

  it('keeps an empty drive', () => {
    expect(final({ disks: { scsi0: DISK, ide3: { iso: false } } }).disks?.ide3).toEqual({ iso: false });
  });

  it('has neither the custom cloud-init files nor their drive', () => {
    const cloud_init = { storage: 'local', user_data: { text: 'told' } };
    const left = final({ disks: { scsi0: DISK, ide2: ISO }, cloud_init });
    expect(left.cloud_init).toBeUndefined();
    expect(left.disks).toMatchObject({ ide2: { remove: true }, ide0: { remove: true } });
    const named = final({ disks: { scsi0: DISK }, cloud_init: { ...cloud_init, slot: 'sata1' } });
    expect(named.disks).toMatchObject({ sata1: { remove: true } });
  });

  it('finds the drive in whichever slot it has', () => {
    const base = { sata3: 'local:iso/proxwright-base-0123.iso,media=cdrom' };
    const left = final({ disks: { scsi0: DISK }, cloud_init: { storage: 'local', user_data: { text: 'told' } } }, base);
    expect(left.disks).toMatchObject({ sata3: { remove: true } });
  });

  it('keeps Proxmox’s own drive, which is created again for each clone', () => {
    expect(final({ disks: { scsi0: DISK, ide2: ISO }, cloud_init: { storage: 'tank' } }).cloud_init).toEqual({
      storage: 'tank',
    });
  });
});

describe('what the clones of a template expect', () => {
  it('follows the file, and is empty if the file says nothing', () => {
    expect(guestOf(fieldsOf({ guest: 'talos' }))).toEqual({ guest: 'talos' });
    expect(guestOf(fieldsOf({ guest: 'cloud-init', agent: { enabled: false } }))).toEqual({
      guest: 'cloud-init',
      agent: false,
    });
  });
});
