/** A drain of a node, online, through HA and with restarts, is killed everywhere; the next drain completes it. */
import { expect, it } from 'vitest';
import type { RelocateOptions } from '../../../src/kinds/kind.ts';
import { crashEverywhere } from './support/crash-everywhere.ts';
import { placesOf, settled, TWO_NODES } from './support/five-nodes.ts';
import { complaintsAfter, failuresOf } from './support/invariants.ts';
import type { Scene } from './support/scene.ts';

const DRAIN: RelocateOptions = { relocation: { kind: 'drain', node: 'pve1' }, allowRestart: true };

/** One VM has a device of its node, and cannot move while it runs. */
const STACK = TWO_NODES.replace(
  '  edge:',
  '  gpu: { name: gpu, vmid: 451, node: pve1, machine: q35, clone: { template: ubuntu-24.04 }, pci: { hostpci0: { mapping: card } } }\n  edge:',
);
const OURS = [401, 402, 404, 421, 431, 441, 451];

/** Where a VM ends may depend on when the successor looked; that it left, and runs, may not. */
const picture = (scene: Scene) => placesOf(scene, OURS).map((place) => place.replace(/ pve[2-5]/, ' elsewhere'));

it('completes a drain in the next one after a kill at any point, and no VM moves twice or stays down', async () => {
  const from = await settled(STACK, (world) => {
    const { pve1 } = world.nodes as Record<'pve1', (typeof world.nodes)[string]>;
    const nodes = Object.fromEntries(
      Object.entries(world.nodes).map(([name, each]) => [name, { ...each, pci: pve1.pci ?? [] }]),
    );
    const device = (node: string) => `id=10de:2204,iommugroup=14,node=${node},path=0000:01:00.0,subsystem-id=1458:403b`;
    return { ...world, nodes, mappings: { pci: { card: { map: Object.keys(nodes).map(device) } } } };
  });
  const failures = await crashEverywhere({
    name: 'drain',
    from,
    run: (scene) => scene.relocate(STACK, DRAIN),
    complaints: async (scene, before) => {
      const next = failuresOf(await scene.relocate(STACK, DRAIN)).map((each) => `next drain: ${each}`);
      await scene.clock.advance(120_000);
      return [...next, ...(await complaintsAfter(scene, STACK, before))];
    },
    picture,
    stride: 9,
    tasks: ['qmigrate'],
  });
  expect(failures.slice(0, 20)).toEqual([]);
});
