/** The documented cluster with room for every estate of these tests, and with what passes a card, a stick or a folder on. */
import { buildWorld, type World } from '../../../src/simulator/index.ts';
import { DEFAULT_WORLD } from '../../../src/simulator/world/default-world.ts';

export function peerWorld({ now }: { readonly now: number }): World {
  const { nodes, storages = {} } = DEFAULT_WORLD;
  const roomy = Object.fromEntries(Object.entries(nodes).map(([name, node]) => [name, { ...node, memory: '4T' }]));
  const fast = { ...storages, 'local-lvm': { ...storages['local-lvm'], bandwidth: '1T' } };
  const mappings = {
    ...DEFAULT_WORLD.mappings,
    usb: { stick: { map: ['node=pve1,id=0951:1666,path=1-1'] } },
    dir: { share: { map: ['node=pve1,path=/srv'] } },
  };
  return buildWorld({ ...DEFAULT_WORLD, nodes: roomy, storages: fast, mappings }, { now, file: 'peers' });
}
