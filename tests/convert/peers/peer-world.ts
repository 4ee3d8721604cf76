/** The documented cluster with room for every estate of these tests, and with mappings for a card, a USB device and a directory. */
import { buildWorld, type World, type WorldFile } from '../../../src/simulator/index.ts';
import { DEFAULT_WORLD } from '../../../src/simulator/world/default-world.ts';

/** Volumes that wait for a VM of an estate, by the name of the estate. */
export const WAITING: Readonly<Record<string, readonly string[]>> = { 'bpg-rest': ['vm-592-disk-7'] };

/** The cluster on which an estate of this name is made: one whose name ends in `-pve8` has Proxmox VE 8. */
export function peerWorld(estate: string): (options: { readonly now: number }) => World {
  return ({ now }) => buildWorld(peerWorldFile(estate), { now, file: 'peers' });
}

export function peerWorldFile(estate: string): WorldFile {
  const { nodes, storages = {} } = DEFAULT_WORLD;
  const roomy = Object.fromEntries(Object.entries(nodes).map(([name, node]) => [name, { ...node, memory: '4T' }]));
  const snippets = ['user.yaml', 'network.yaml', 'meta.yaml', 'vendor.yaml', 'hook.pl'].map((name) => ({
    name: `snippets/${name}`,
    node: 'pve1',
    size: '1K',
  }));
  const waiting = (WAITING[estate] ?? []).map((name) => ({ name, node: 'pve1', size: '1G' }));
  const fast = {
    ...storages,
    local: { ...storages.local, volumes: [...(storages.local?.volumes ?? []), ...snippets] },
    'local-lvm': {
      ...storages['local-lvm'],
      bandwidth: '1T',
      volumes: [...(storages['local-lvm']?.volumes ?? []), ...waiting],
    },
  };
  const mappings = {
    ...DEFAULT_WORLD.mappings,
    usb: { stick: { map: ['node=pve1,id=0951:1666,path=1-1'] } },
    dir: { share: { map: ['node=pve1,path=/srv'] } },
  };
  const packed = { size: '10M', format: 'raw', compression: 'gz', unpacked_size: '40M' } as const;
  const downloads = { ...DEFAULT_WORLD.downloads, 'https://images.example.org/small.img.gz': packed };
  const isOlder = estate.endsWith('-pve8');
  const groups = { 'fast-nodes': { nodes: 'pve1,pve2' } };
  const older: Partial<WorldFile> = isOlder ? { version: '8.4', ha: { groups } } : {};
  return { ...DEFAULT_WORLD, nodes: roomy, storages: fast, mappings, downloads, ...older };
}
