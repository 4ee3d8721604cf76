/**
 * Kills runs that keep what restricts a group under HA in step with the file: rules on Proxmox VE 9, groups before. The group
 * grows and moves to other nodes, or the stack is destroyed.
 */
import { crashEverywhere } from './crash-everywhere.ts';
import { failuresOf } from './invariants.ts';
import type { Scene, Snapshot } from './scene.ts';

interface Shape {
  readonly count: number;
  readonly nodes: string;
  readonly placement: string;
}

/** A group of stopped VMs under HA. */
export const haStack = ({ count, nodes, placement }: Shape) => `
version: 1
stack: lab
vms:
  control:
    count: ${count}
    name: control-\${number}
    vmids: 501-509
    nodes: ${nodes}
    placement: ${placement}
    power: stopped
    guest: plain
    ha: { state: stopped }
    nics: { net0: { bridge: vmbr0 } }
`;

/** Two members, and three of them on other nodes. */
export const grownStacks = (placement: string) => ({
  before: haStack({ count: 2, nodes: '[pve1, pve2, pve3]', placement }),
  after: haStack({ count: 3, nodes: '[pve2, pve1, pve3, pve4]', placement }),
});

interface HaSweep {
  readonly name: string;
  readonly from: Snapshot;
  /** The rules or groups of the cluster, as text. */
  readonly restrictions: (scene: Scene) => string[];
}

const pictureWith = (restrictions: HaSweep['restrictions']) => (scene: Scene) => [
  ...restrictions(scene),
  ...[...scene.world.ha.resources.keys()].sort(),
];

export function killedWhileApplied(stack: string, { name, from, restrictions }: HaSweep): Promise<string[]> {
  return crashEverywhere({
    name,
    from,
    run: (scene) => scene.apply(stack),
    complaints: async (scene) => {
      const again = await scene.apply(stack);
      const third = await scene.plan(stack);
      const steps = third.kind === 'ended' ? third.plan.steps.map(({ id }) => `still planned: ${id}`) : [third.kind];
      return [...failuresOf(again), ...steps];
    },
    picture: pictureWith(restrictions),
    stride: 7,
    tasks: ['qmcreate'],
  });
}

export function killedWhileDestroyed(stack: string, { name, from, restrictions }: HaSweep): Promise<string[]> {
  return crashEverywhere({
    name,
    from,
    run: (scene) => scene.destroy(stack),
    complaints: async (scene) => {
      const again = await scene.destroy(stack);
      return [...failuresOf(again), ...restrictions(scene).map((each) => `left behind: ${each}`)];
    },
    picture: pictureWith(restrictions),
    stride: 5,
    tasks: ['qmdestroy'],
  });
}
