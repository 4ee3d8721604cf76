/** Runs that keep, change and remove HA rules are killed everywhere; the next run leaves the same rules and no other. */
import { expect, it } from 'vitest';
import { settled } from './support/five-nodes.ts';
import { grownStacks, killedWhileApplied, killedWhileDestroyed } from './support/ha-sweep.ts';
import type { Scene } from './support/scene.ts';

const { before, after } = grownStacks('{ max_per_node: 1 }');

const restrictions = ({ world: { ha } }: Scene) =>
  [...ha.rules.values()].map(({ id, resources }) => `${id}: ${[...resources].sort().join(' ')}`).sort();

it('a kill while rules follow a group that grows leaves no rule that the next apply does not put right', async () => {
  const from = await settled(before);
  const failures = await killedWhileApplied(after, { name: 'HA rules of a group that grows', from, restrictions });
  expect(failures.slice(0, 20)).toEqual([]);
});

it('a kill while a stack with rules is destroyed leaves no rule behind', async () => {
  const from = await settled(before);
  const name = 'HA rules of a stack that is destroyed';
  const failures = await killedWhileDestroyed(before, { name, from, restrictions });
  expect(failures.slice(0, 20)).toEqual([]);
});
