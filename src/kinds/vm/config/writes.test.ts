import { describe, expect, it } from 'vitest';
import { Secret } from '../../../base/secret.ts';
import { type VmFieldsInput, vmFieldsSchema } from '../fields/index.ts';
import type { VmObserved } from '../observed.ts';
import { observedVm } from '../testing/server.ts';
import { type DesiredContext, desiredConfig } from './desired-config.ts';
import { configureWrites, creationValues, resizesAfterMaking, resizesNeeded } from './writes.ts';

const VALUES = new Map([
  ['boot', 'order=scsi0;net0'],
  ['name', 'web'],
  ['net0', 'virtio=BC:24:11:00:00:01,bridge=vmbr0'],
  ['scsi0', 'tank:vm-101-disk-0,size=32G'],
  ['scsi1', 'tank:vm-101-disk-1,size=8G'],
]);

function desiredOf(fields: Partial<VmFieldsInput>, context: DesiredContext = {}) {
  return desiredConfig(vmFieldsSchema.parse({ name: 'web', node: 'pve1', ...fields }), context).values();
}

function writes(fields: Partial<VmFieldsInput>, more: Partial<VmObserved> = {}, values = VALUES) {
  return configureWrites(desiredOf(fields), observedVm(values, more));
}

describe('the configuration writes', () => {
  it('are none if nothing differs', () => {
    expect(writes({ disks: { scsi0: { size: '32GiB' } }, boot: ['scsi0', 'net0'] })).toEqual([]);
  });

  it('are one for everything that changed, built from the actual texts', () => {
    expect(
      writes({ memory: '8GiB', nics: { net0: { vlan: 20 } }, disks: { scsi0: { size: '100GiB', ssd: true } } }),
    ).toEqual([
      {
        set: {
          memory: '8192',
          scsi0: 'tank:vm-101-disk-0,ssd=1',
          net0: 'virtio=BC:24:11:00:00:01,bridge=vmbr0,tag=20',
        },
        delete: [],
        destroysVolumes: false,
        touchesDrives: true,
      },
    ]);
  });

  it('leave growing to a resize', () => {
    const fields = { disks: { scsi0: { size: '100GiB' } } };
    expect(writes(fields)).toEqual([]);
    expect(resizesNeeded(desiredOf(fields), observedVm(VALUES))).toEqual([{ disk: 'scsi0', sizeBytes: 100 * 2 ** 30 }]);
  });

  it('destroy the volume of a removed disk and shorten a boot order that names a removed device', () => {
    expect(writes({ disks: { scsi1: { remove: true } }, nics: { net0: { remove: true } } })).toEqual([
      { set: { boot: 'order=scsi0' }, delete: ['scsi1', 'net0'], destroysVolumes: true, touchesDrives: true },
    ]);
    expect(writes({ nics: { net0: { remove: true } } })[0]).toMatchObject({
      destroysVolumes: false,
      touchesDrives: false,
    });
  });

  it('leave the boot order to the file if it sets one', () => {
    const fields = { boot: ['scsi1', 'scsi0'], nics: { net0: { remove: true as const } } };
    expect(writes(fields)[0]?.set).toEqual({ boot: 'order=scsi1;scsi0' });
  });

  it('never send a CD drive and the boot order together, because Proxmox appends the drive to the order', () => {
    const fields = { disks: { ide2: { iso: 'local:iso/a.iso' } }, boot: ['ide2', 'scsi0'] };
    expect(writes(fields).map(({ set }) => set)).toEqual([
      { ide2: 'local:iso/a.iso,media=cdrom' },
      { boot: 'order=ide2;scsi0' },
    ]);
    const kept = { ...fields, boot: ['scsi0', 'net0'] };
    expect(writes(kept).map(({ set }) => set)).toEqual([
      { ide2: 'local:iso/a.iso,media=cdrom' },
      { boot: 'order=scsi0;net0' },
    ]);
  });

  it('switch protection off before disks are removed', () => {
    const values = new Map([...VALUES, ['protection', '1']]);
    const fields = { protection: false, disks: { scsi1: { remove: true as const } } };
    const sent = writes(fields, {}, values);
    expect(sent.map(({ set, delete: deletes }) => [set, deletes])).toEqual([
      [{ protection: '0' }, []],
      [{}, ['scsi1']],
    ]);
  });

  it('start from what is pending, not from what is in effect', () => {
    const pending = new Map([['scsi0', 'tank:vm-101-disk-0,cache=none,size=32G']]);
    expect(writes({ disks: { scsi0: { ssd: true } } }, { running: true, pending })[0]?.set).toEqual({
      scsi0: 'tank:vm-101-disk-0,cache=none,ssd=1',
    });
  });

  it('correct a pending disk whose size is stale, so that a restart does not restore the old size', () => {
    const values = new Map([...VALUES, ['scsi0', 'tank:vm-101-disk-0,size=40G']]);
    const pending = new Map([['scsi0', 'tank:vm-101-disk-0,size=32G,ssd=1']]);
    const fields = { disks: { scsi0: { size: '40GiB', ssd: true } } };
    expect(writes(fields, { running: true, pending }, values)[0]?.set).toEqual({ scsi0: 'tank:vm-101-disk-0,ssd=1' });
    expect(resizesNeeded(desiredOf(fields), observedVm(values, { running: true, pending }))).toEqual([]);
  });

  it('list the new disks that must grow once they exist', () => {
    const made = { storage: 'tank', import_from: 'local:import/a.qcow2', size: '20GiB' };
    const disks = { scsi2: made, sata0: made, scsi3: { storage: 'tank', size: '1GiB' }, scsi0: { size: '99GiB' } };
    const grown = (running: boolean) =>
      resizesAfterMaking(desiredOf({ disks }), observedVm(VALUES, { running })).map(({ disk }) => disk);
    expect(grown(false)).toEqual(['scsi2', 'sata0']);
    expect(grown(true)).toEqual(['scsi2']);
  });

  it('send a secret only when asked to, or when there is none', () => {
    const value = new Secret('x');
    const context = { secrets: new Map([['cloud_init.password', { value, digest: 'd' }]]) };
    const fields = { cloud_init: { password: { env: 'P' } } };
    const set = observedVm(new Map([...VALUES, ['cipassword', '**********']]));
    expect(configureWrites(desiredOf(fields, context), set)).toEqual([]);
    expect(configureWrites(desiredOf(fields, context), set, new Set(['cipassword']))[0]?.set).toEqual({
      cipassword: value,
    });
    expect(configureWrites(desiredOf(fields, context), observedVm(VALUES))[0]?.set).toEqual({ cipassword: value });
  });

  it('unset keys that the file empties', () => {
    const values = new Map([...VALUES, ['tags', 'a;b'], ['nameserver', '9.9.9.9']]);
    expect(writes({ tags: [], cloud_init: { dns: { servers: [] } } }, {}, values)[0]?.delete).toEqual([
      'tags',
      'nameserver',
    ]);
  });
});

describe('a new VM that is not a clone', () => {
  it('gets its whole configuration in one request', () => {
    const fields: Partial<VmFieldsInput> = {
      memory: '2GiB',
      disks: { scsi0: { storage: 'tank', import_from: 'local:import/a.qcow2', size: '20GiB' }, ide2: { iso: false } },
      nics: { net0: { bridge: 'vmbr0', remove: undefined } },
      efi: { storage: 'tank' },
      tpm: { storage: 'tank', version: 'v1.2' },
      cloud_init: { storage: 'tank', dns: { servers: ['9.9.9.9', '1.1.1.1'] } },
      boot: ['scsi0'],
    };
    expect(creationValues(desiredOf(fields))).toEqual({
      name: 'web',
      memory: '2048',
      boot: 'order=scsi0',
      nameserver: '9.9.9.9 1.1.1.1',
      scsi0: 'tank:0,import-from=local:import/a.qcow2',
      ide2: 'none,media=cdrom',
      net0: 'virtio,bridge=vmbr0',
      efidisk0: 'tank:1,efitype=4m,pre-enrolled-keys=0',
      tpmstate0: 'tank:1,version=v1.2',
      ide0: 'tank:cloudinit',
    });
  });
});
