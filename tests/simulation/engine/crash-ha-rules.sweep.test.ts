/** Runs that keep, change and remove HA rules are killed everywhere; the next run leaves the same rules and no other. */
import { expect, it } from 'vitest';
import { settled } from './support/five-nodes.ts';
import { grownStacks, killedWhileApplied, killedWhileDestroyed } from './support/ha-sweep.ts';
import type { Scene } from './support/scene.ts';

const { before, after } = grownStacks('{ max_per_node: 1 }');

const restrictions = ({ world: { ha } }: Scene) =>
  [...ha.rules.values()].map(({ id, resources }) => `${id}: ${[...resources].sort().join(' ')}`).sort();

it('corrects the rules of a growing group in the next apply after a kill at any point', async () => {
  const from = await settled(before);
  const failures = await killedWhileApplied(after, { name: 'HA rules of a group that grows', from, restrictions });
  expect(failures.slice(0, 20)).toEqual([]);
});

it('leaves no rule of a destroyed stack after a kill at any point', async () => {
  const from = await settled(before);
  const name = 'HA rules of a stack that is destroyed';
  const failures = await killedWhileDestroyed(before, { name, from, restrictions });
  expect(failures.slice(0, 20)).toEqual([]);
});
