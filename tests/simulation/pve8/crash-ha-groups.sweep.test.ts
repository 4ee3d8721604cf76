/** Runs that keep, change and remove HA groups are killed everywhere; the next run leaves the same groups and no other. */
import { expect, it } from 'vitest';
import { settled } from '../engine/support/five-nodes.ts';
import { grownStacks, killedWhileApplied, killedWhileDestroyed } from '../engine/support/ha-sweep.ts';
import type { Scene } from '../engine/support/scene.ts';
import { groupsIn } from './support/ha-groups.ts';

const { before, after } = grownStacks('{ spread: false }');

const begin = () => settled(before, (world) => ({ ...world, version: '8.4' }));
const restrictions = ({ world }: Scene) => groupsIn(world);

it('corrects a group that follows VMs and nodes of the file in the next apply after a kill at any point', async () => {
  const from = await begin();
  const failures = await killedWhileApplied(after, { name: 'HA groups that follow the file', from, restrictions });
  expect(failures.slice(0, 20)).toEqual([]);
});

it('leaves no group of a destroyed stack after a kill at any point', async () => {
  const from = await begin();
  const name = 'HA groups of a stack that is destroyed';
  const failures = await killedWhileDestroyed(before, { name, from, restrictions });
  expect(failures.slice(0, 20)).toEqual([]);
});
