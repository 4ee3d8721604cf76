/** Runs that keep, change and remove HA rules are killed everywhere; the next run leaves the same rules and no other. */
import { expect, it } from 'vitest';
import { crashEverywhere } from './support/crash-everywhere.ts';
import { settled } from './support/five-nodes.ts';
import { failuresOf } from './support/invariants.ts';
import type { Scene } from './support/scene.ts';

const vms = (count: number, nodes: string) => `
version: 1
stack: lab
vms:
  control:
    count: ${count}
    name: control-\${number}
    vmids: 501-509
    nodes: ${nodes}
    placement: { max_per_node: 1 }
    power: stopped
    guest: plain
    ha: { state: stopped }
    nics: { net0: { bridge: vmbr0 } }
`;
const TWO = vms(2, '[pve1, pve2, pve3]');
const THREE = vms(3, '[pve2, pve1, pve3, pve4]');

const rulesIn = ({ world: { ha } }: Scene) =>
  [...ha.rules.values()].map(({ id, resources }) => `${id}: ${[...resources].sort().join(' ')}`).sort();
const picture = (scene: Scene) => [...rulesIn(scene), ...[...scene.world.ha.resources.keys()].sort()];

it('a kill while rules follow a group that grows leaves no rule that the next apply does not put right', async () => {
  const failures = await crashEverywhere({
    name: 'HA rules of a group that grows',
    from: await settled(TWO),
    run: (scene) => scene.apply(THREE),
    complaints: async (scene) => {
      const again = await scene.apply(THREE);
      const third = await scene.plan(THREE);
      const steps = third.kind === 'ended' ? third.plan.steps.map(({ id }) => `still planned: ${id}`) : [third.kind];
      return [...failuresOf(again), ...steps];
    },
    picture,
    stride: 7,
    tasks: ['qmcreate'],
  });
  expect(failures.slice(0, 20)).toEqual([]);
});

it('a kill while a stack with rules is destroyed leaves no rule behind', async () => {
  const failures = await crashEverywhere({
    name: 'HA rules of a stack that is destroyed',
    from: await settled(TWO),
    run: (scene) => scene.destroy(TWO),
    complaints: async (scene) => {
      const again = await scene.destroy(TWO);
      return [...failuresOf(again), ...rulesIn(scene).map((rule) => `left behind: ${rule}`)];
    },
    picture,
    stride: 5,
    tasks: ['qmdestroy'],
  });
  expect(failures.slice(0, 20)).toEqual([]);
});
