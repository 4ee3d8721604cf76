/** A cluster of five nodes with local and shared storage, and a stack whose VMs are on the first two of them. */
import type { Instant } from '../../../../src/base/clock.ts';
import { buildWorld, type World, type WorldFile } from '../../../../src/simulator/index.ts';
import { failuresOf } from './invariants.ts';
import { LAB_WORLD } from './lab-world.ts';
import { Scene, type Snapshot } from './scene.ts';

type Change = (world: WorldFile) => WorldFile;

export const fiveNodes =
  (change: Change = (world) => world) =>
  ({ now }: { readonly now: Instant }): World => {
    const { pve1, pve2 } = LAB_WORLD.nodes as Record<'pve1' | 'pve2', WorldFile['nodes'][string]>;
    const more = [3, 4, 5].map((number) => [`pve${number}`, { ...pve2, address: `127.0.0.${number}` }] as const);
    const world = { ...LAB_WORLD, nodes: { pve1, pve2, ...Object.fromEntries(more) } };
    return buildWorld(change(world), { now, file: 'five nodes' });
  };

/** On nodes: three web servers on local disks, a database on shared storage under HA, and a VM that is stopped. */
export const TWO_NODES = `
version: 1
stack: lab
vms:
  web:
    count: 3
    name: web-\${number}
    vmids: 401-409
    node: pve1
    memory: 2GiB
    clone: { template: ubuntu-24.04 }
  db:
    name: db
    vmid: 421
    node: pve1
    memory: 4GiB
    clone: { template: ubuntu-24.04, storage: nfs }
    ha: { state: started }
  spare: { name: spare, vmid: 431, node: pve1, clone: { template: ubuntu-24.04 }, power: stopped }
  edge: { name: edge, vmid: 441, node: pve2, clone: { template: ubuntu-24.04 } }
`;

/** The guests have booted by then, and the HA manager is at rest. */
const SETTLED_MS = 180_000;

export async function settled(text: string, change?: Change): Promise<Snapshot> {
  const scene = new Scene({ world: fiveNodes(change) });
  const failures = failuresOf(await scene.apply(text));
  if (failures.length > 0) throw new Error(failures.join('\n'));
  await scene.clock.advance(SETTLED_MS);
  return scene.snapshot();
}

/** `web-1 pve3`, by name. */
export function placesOf({ world }: Scene, vmids: readonly number[]): string[] {
  return vmids.map((vmid) => {
    const vm = world.vms.get(vmid);
    return `${vm?.config.current.get('name')} ${vm?.node}${vm?.process ? '' : ' stopped'}`;
  });
}
