/** The documented cluster with room for every estate of these tests, and with mappings for a card, a USB device and a directory. */
import { buildWorld, type World, type WorldFile } from '../../../src/simulator/index.ts';
import { DEFAULT_WORLD } from '../../../src/simulator/world/default-world.ts';

export function peerWorld({ now }: { readonly now: number }): World {
  return buildWorld(peerWorldFile(), { now, file: 'peers' });
}

export function peerWorldFile(): WorldFile {
  const { nodes, storages = {} } = DEFAULT_WORLD;
  const roomy = Object.fromEntries(Object.entries(nodes).map(([name, node]) => [name, { ...node, memory: '4T' }]));
  const snippets = ['user.yaml', 'network.yaml', 'meta.yaml', 'vendor.yaml', 'hook.pl'].map((name) => ({
    name: `snippets/${name}`,
    node: 'pve1',
    size: '1K',
  }));
  const fast = {
    ...storages,
    local: { ...storages.local, volumes: [...(storages.local?.volumes ?? []), ...snippets] },
    'local-lvm': { ...storages['local-lvm'], bandwidth: '1T' },
  };
  const mappings = {
    ...DEFAULT_WORLD.mappings,
    usb: { stick: { map: ['node=pve1,id=0951:1666,path=1-1'] } },
    dir: { share: { map: ['node=pve1,path=/srv'] } },
  };
  const packed = { size: '10M', format: 'raw', compression: 'gz', unpacked_size: '40M' } as const;
  const downloads = { ...DEFAULT_WORLD.downloads, 'https://images.example.org/small.img.gz': packed };
  return { ...DEFAULT_WORLD, nodes: roomy, storages: fast, mappings, downloads };
}
