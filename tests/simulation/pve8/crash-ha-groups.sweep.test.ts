/** Runs that keep, change and remove HA groups are killed everywhere; the next run leaves the same groups and no other. */
import { expect, it } from 'vitest';
import { crashEverywhere } from '../engine/support/crash-everywhere.ts';
import { settled } from '../engine/support/five-nodes.ts';
import { failuresOf } from '../engine/support/invariants.ts';
import type { Scene } from '../engine/support/scene.ts';
import { groupsIn, HA_GROUP_STACK } from './support/ha-groups.ts';

const TWO = HA_GROUP_STACK({ count: 2, nodes: '[pve1, pve2, pve3]' });
const THREE = HA_GROUP_STACK({ count: 3, nodes: '[pve2, pve1, pve3, pve4]' });

const from = () => settled(TWO, (world) => ({ ...world, version: '8.4' }));
const picture = ({ world }: Scene) => [...groupsIn(world), ...[...world.ha.resources.keys()].sort()];

it('a kill while a group follows VMs and nodes of the file leaves nothing that the next apply does not put right', async () => {
  const failures = await crashEverywhere({
    name: 'HA groups that follow the file',
    from: await from(),
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

it('a kill while a stack with groups is destroyed leaves no group behind', async () => {
  const failures = await crashEverywhere({
    name: 'HA groups of a stack that is destroyed',
    from: await from(),
    run: (scene) => scene.destroy(TWO),
    complaints: async (scene) => {
      const again = await scene.destroy(TWO);
      return [...failuresOf(again), ...groupsIn(scene.world).map((group) => `left behind: ${group}`)];
    },
    picture,
    stride: 5,
    tasks: ['qmdestroy'],
  });
  expect(failures.slice(0, 20)).toEqual([]);
});
