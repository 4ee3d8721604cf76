import { describe, expect, it } from 'vitest';
import type { Storage, Vm, Volume, World } from '../../src/simulator/world/world.ts';
import { loadScenario } from './replay/load.ts';
import { substituteWorld } from './substitute-world.ts';
import { substitutionFor } from './substitution.ts';

const DISK = '9000/base-9000-disk-0.qcow2';

describe('a substituted world', () => {
  const world = substituteWorld(smallWorld(), substitutionFor(loadScenario('clone-linked')));

  it('has its VMs under other ids, with other names, storages and sizes in their configuration', () => {
    expect([...world.vms.keys()]).toEqual([14000]);
    expect(world.vms.get(14000)).toMatchObject({
      vmid: 14000,
      config: {
        current: new Map([
          ['name', 'uqm-rdpx2'],
          ['scsi0', 'depot:14000/base-14000-disk-0.qcow2,size=3G'],
          ['memory', '128'],
        ]),
      },
    });
  });

  it('has its storages under other names and paths, with the volumes of those VMs', () => {
    expect([...world.storages.keys()]).toEqual(['depot']);
    expect(world.storages.get('depot')).toMatchObject({ id: 'depot', path: '/mnt/depot' });
    const volumes = [...(world.storages.get('depot')?.volumes.get('pve1') ?? [])];
    expect(volumes).toEqual([
      [
        '14000/base-14000-disk-0.qcow2',
        expect.objectContaining({
          storage: 'depot',
          name: '14000/base-14000-disk-0.qcow2',
          vmid: 14000,
          sizeBytes: 3 * 2 ** 30,
        }),
      ],
    ]);
  });
});

/** Only what the substitution looks at; the rest of a world passes through it unseen. */
function smallWorld(): World {
  const volume: Partial<Volume> = { storage: 'local', name: DISK, vmid: 9000, sizeBytes: 2 ** 30 };
  const storage: Partial<Storage> = {
    id: 'local',
    path: '/var/lib/vz',
    volumes: new Map([['pve1', new Map([[DISK, volume as Volume]])]]),
  };
  const config: Partial<Vm['config']> = {
    current: new Map([
      ['name', 'tpl-qcow2'],
      ['scsi0', `local:${DISK},size=1G`],
      ['memory', '128'],
    ]),
    pending: new Map(),
    snapshots: new Map(),
  };
  const vm: Partial<Vm> = { vmid: 9000, config: config as Vm['config'] };
  const world: Partial<World> = {
    vms: new Map([[9000, vm as Vm]]),
    storages: new Map([['local', storage as Storage]]),
  };
  return world as World;
}
