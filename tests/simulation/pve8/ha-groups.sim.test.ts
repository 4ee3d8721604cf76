/** Proxmox VE 8 has HA groups where 9 has rules: `ha` with `nodes` keeps one in step, and an upgrade turns it into a rule. */
import { describe, expect, it } from 'vitest';
import { haRuleKind } from '../../../src/kinds/ha-rule/kind.ts';
import { fiveNodes } from '../engine/support/five-nodes.ts';
import { haStack } from '../engine/support/ha-sweep.ts';
import { failuresOf } from '../engine/support/invariants.ts';
import { type RunEnd, Scene } from '../engine/support/scene.ts';
import { groupsIn, upgrade } from './support/ha-groups.ts';

const scene = () => new Scene({ world: fiveNodes((world) => ({ ...world, version: '8.4' })) });
const placement = '{ spread: false }';
const TWO = haStack({ count: 2, nodes: '[pve2, pve1]', placement });

async function applied(text = TWO, before: (made: Scene) => void = () => {}): Promise<Scene> {
  const made = scene();
  before(made);
  expect(failuresOf(await made.apply(text))).toEqual([]);
  return made;
}

const stepsOf = (end: RunEnd) => (end.kind === 'ended' ? end.plan.steps.map(({ id }) => id) : [end.kind]);
const warningsOf = (end: RunEnd) => (end.kind === 'ended' ? end.plan.warnings.map(({ detail }) => detail) : [end.kind]);
const groupWrites = (of: Scene) => of.writes().filter((line) => line.includes('/cluster/ha/groups'));

describe('HA groups on 8', () => {
  it('are kept for the nodes of a group of VMs, and the second plan is empty', async () => {
    const made = await applied();
    expect(groupsIn(made.world)).toEqual(['control-nodes on pve1,pve2 restricted: vm:501 vm:502']);
    const again = await made.apply(TWO);
    expect(stepsOf(again)).toEqual([]);
  });

  it('follow the file when VMs are added, nodes change, and VMs leave', async () => {
    const made = await applied();
    const [name] = made.world.ha.groups.keys();
    const three = haStack({ count: 3, nodes: '[pve1, pve2]', placement });
    expect(failuresOf(await made.apply(three))).toEqual([]);
    expect(groupsIn(made.world)).toEqual(['control-nodes on pve1,pve2 restricted: vm:501 vm:502 vm:503']);
    expect([...made.world.ha.groups.keys()]).toEqual([name]);
    const wider = haStack({ count: 3, nodes: '[pve1, pve2, pve3]', placement });
    expect(failuresOf(await made.apply(wider))).toEqual([]);
    expect(groupsIn(made.world)).toEqual(['control-nodes on pve1,pve2,pve3 restricted: vm:501 vm:502 vm:503']);
    expect(stepsOf(await made.apply(wider))).toEqual([]);
    expect(failuresOf(await made.destroy(wider))).toEqual([]);
    expect(groupsIn(made.world)).toEqual([]);
  });

  it('are kept whatever the order in which the server lists their members', async () => {
    const made = await applied();
    const { ha } = made.world;
    const reversed = [...ha.resources].reverse();
    ha.resources.clear();
    for (const [sid, options] of reversed) ha.resources.set(sid, options);
    const wider = haStack({ count: 2, nodes: '[pve1, pve2, pve3]', placement });
    expect(failuresOf(await made.apply(wider))).toEqual([]);
    expect(groupsIn(made.world)).toEqual(['control-nodes on pve1,pve2,pve3 restricted: vm:501 vm:502']);
    expect(stepsOf(await made.plan(wider))).toEqual([]);
  });

  it('are restored after another client changed them', async () => {
    const made = await applied();
    for (const options of made.world.ha.groups.values()) options.set('nodes', 'pve5');
    made.world.ha.resources.get('vm:502')?.delete('group');
    const plan = await made.plan(TWO);
    const [step] = plan.kind === 'ended' ? plan.plan.steps : [];
    expect(step && haRuleKind.words.describeStep?.(step, {} as never)).toEqual(
      expect.arrayContaining(['restore the HA group']),
    );
    expect(failuresOf(await made.apply(TWO))).toEqual([]);
    expect(groupsIn(made.world)).toEqual(['control-nodes on pve1,pve2 restricted: vm:501 vm:502']);
  });

  it('stay as they are if others made them; a VM in one of them is refused before anything is written', async () => {
    const made = await applied(TWO, ({ world }) => world.ha.groups.set('theirs', new Map([['nodes', 'pve5']])));
    expect(groupsIn(made.world)).toContain('theirs on pve5: ');
    expect(groupWrites(made).filter((line) => line.includes('theirs'))).toEqual([]);
    made.world.ha.resources.get('vm:502')?.set('group', 'theirs');
    made.requests.length = 0;
    const end = await made.apply(TWO);
    expect(failuresOf(end).join('\n')).toMatch(
      /vm:502 is in the HA group "theirs" already, and Proxmox allows one for each VM/,
    );
    expect(made.writes()).toEqual([]);
  });

  it('are left to you if the file names them', async () => {
    const named = TWO.replace('ha: { state: stopped }', 'ha: { state: stopped, group: mine }');
    const made = await applied(named, ({ world }) => world.ha.groups.set('mine', new Map([['nodes', 'pve1,pve2']])));
    expect(groupsIn(made.world)).toEqual(['mine on pve1,pve2: vm:501 vm:502']);
  });

  it('cannot keep VMs apart, which the plan says', async () => {
    const apart = haStack({ count: 2, nodes: 'all', placement: '{ max_per_node: 1 }' });
    const made = scene();
    const end = await made.apply(apart);
    expect(warningsOf(end)).toEqual([
      expect.stringMatching(
        /^Proxmox VE 8\.4\S* has HA groups and no rules, .*vm\.control\[1\], vm\.control\[2\] on the same node\.$/,
      ),
    ]);
    expect(groupsIn(made.world)).toEqual([]);
  });

  it('become rules when the cluster is upgraded; the next apply takes them over under the name of a rule', async () => {
    const made = await applied();
    const later = new Scene(upgrade(await made.snapshot(), '9.0'));
    const end = await later.apply(TWO);
    expect(failuresOf(end)).toEqual([]);
    const rules = [...later.world.ha.rules.values()];
    expect(
      rules.map(({ id, type, resources }) => [id.replace(/-[0-9a-f]{6}$/, ''), type, [...resources].sort()]),
    ).toEqual([['proxwright-lab-control-nodes', 'node-affinity', ['vm:501', 'vm:502']]]);
    expect(stepsOf(await later.apply(TWO))).toEqual([]);
  });
});
