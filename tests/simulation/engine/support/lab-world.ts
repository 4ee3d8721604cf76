/**
 * The cluster of these tests: the documented one, and beside it VMs of other people. One of them has an id in the middle of
 * our range, one carries a copy of our ownership line, one runs. None of them may ever change.
 */
import type { Instant } from '../../../../src/base/clock.ts';
import { buildWorld, type World, type WorldFile } from '../../../../src/simulator/index.ts';
import { DEFAULT_WORLD } from '../../../../src/simulator/world/default-world.ts';

export const STRANGERS = [120, 150, 403] as const;

const stranger = (vmid: number, more: Record<string, string>, running = false) => ({
  node: 'pve1',
  running,
  config: {
    name: `others-${vmid}`,
    memory: '512',
    cores: 1,
    ostype: 'l26',
    net0: `virtio=BC:24:11:77:00:${String(vmid % 100).padStart(2, '0')},bridge=vmbr0`,
    scsi0: `local-lvm:vm-${vmid}-disk-0,size=1G`,
    smbios1: `uuid=77777777-0000-4000-8000-000000000${vmid}`,
    tags: 'others',
    ...more,
  },
});

const disk = (vmid: number) => ({ name: `vm-${vmid}-disk-0`, node: 'pve1', size: '1G', used: '100M', data: '100M' });

export const LAB_WORLD: WorldFile = {
  ...DEFAULT_WORLD,
  storages: {
    ...DEFAULT_WORLD.storages,
    'local-lvm': {
      ...DEFAULT_WORLD.storages?.['local-lvm'],
      volumes: [...(DEFAULT_WORLD.storages?.['local-lvm']?.volumes ?? []), ...STRANGERS.map(disk)],
    },
  },
  vms: {
    ...DEFAULT_WORLD.vms,
    120: stranger(120, {
      description:
        'A copy.\n\nproxwright: stack=lab address=vm.web[1] vmid=401 uuid=00000000-0000-4000-8000-000000000401',
    }),
    150: stranger(150, { protection: '1' }, true),
    403: stranger(403, {}),
  },
};

export function labWorld(options: { readonly now: Instant }): World {
  return buildWorld(LAB_WORLD, { now: options.now, file: 'lab' });
}

/** The same card in both nodes, and no mapping of anything. */
export function unmappedWorld({ now }: { readonly now: Instant }): World {
  const { pve1, pve2 } = LAB_WORLD.nodes as Record<string, WorldFile['nodes'][string]>;
  if (!pve1 || !pve2) throw new Error('the world has two nodes');
  const nodes = { pve1, pve2: { ...pve2, pci: pve1.pci ?? [] } };
  return buildWorld({ ...LAB_WORLD, nodes, mappings: {} }, { now, file: 'unmapped' });
}
