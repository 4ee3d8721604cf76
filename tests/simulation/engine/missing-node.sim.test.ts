/** A missing node is reported alone, without the problems that only follow from it. */
import { describe, expect, it } from 'vitest';
import { buildWorld } from '../../../src/simulator/index.ts';
import { LAB_WORLD } from './support/lab-world.ts';
import { type RunEnd, Scene } from './support/scene.ts';

const stack = (node: string, template = 'ubuntu-24.04') => `
version: 1
stack: lab
vms:
  web: { name: web, node: ${node}, clone: { template: ${template} } }
`;

/** The template of that name on pve1 alone; the laboratory has one on each node. */
function oneTemplate(): Scene {
  const { 9010: _second, ...vms } = LAB_WORLD.vms ?? {};
  return new Scene({ world: ({ now }) => buildWorld({ ...LAB_WORLD, vms }, { now, file: 'one template' }) });
}

const NOWHERE = 'node: There is no node "pve9"; the cluster has pve1, pve2.';

const told = (end: RunEnd) =>
  end.kind === 'refused' ? end.problems.map(({ where, detail }) => `${where?.field}: ${detail}`) : [end.kind];

describe('a VM on a node that is not there', () => {
  it('does not also report that its template is on another node', async () => {
    expect(told(await oneTemplate().plan(stack('pve9')))).toEqual([NOWHERE]);
  });

  it('does not also report that its template is on several other nodes', async () => {
    expect(told(await new Scene().plan(stack('pve9')))).toEqual([NOWHERE]);
  });

  it('also reports a template that does not exist, because that is another mistake', async () => {
    expect(told(await new Scene().plan(stack('pve9', 'ubuntu-25.04')))).toEqual([
      expect.stringContaining('clone.template: No visible VM is called "ubuntu-25.04"'),
      NOWHERE,
    ]);
  });
});

describe('a VM on a node that is there', () => {
  it('reports that its template is on another node', async () => {
    expect(told(await oneTemplate().plan(stack('pve2')))).toEqual([
      expect.stringContaining(
        'clone.template: Template "ubuntu-24.04" (9000) is on pve1, its disks are on local storage there',
      ),
    ]);
  });
});
