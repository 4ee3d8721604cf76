/** Templates decide which of five nodes can take a VM: a copy on the node, disks on shared storage, or built there by the stack. */
import { describe, expect, it } from 'vitest';
import { WELL_KNOWN_DOWNLOADS, WELL_KNOWN_URLS } from '../../../src/simulator/world/well-known-downloads.ts';
import { fiveNodes } from './support/five-nodes.ts';
import { failuresOf } from './support/invariants.ts';
import { type RunEnd, Scene } from './support/scene.ts';

const stack = (clone: string, { nodes = 'all', count = 5, templates = '' } = {}) => `
version: 1
stack: lab
${templates}
vms:
  web:
    count: ${count}
    name: web-\${number}
    vmids: 501-509
    nodes: ${nodes}
    clone: ${clone}
    power: stopped
    guest: plain
`;

const IMAGES = `images:
  debian: { url: "${WELL_KNOWN_URLS.debian12}", content: import, storage: nfs }`;

const scene = () => new Scene({ world: fiveNodes((world) => ({ ...world, downloads: WELL_KNOWN_DOWNLOADS })) });

const nodesOf = ({ world }: Scene) =>
  [...world.vms.values()]
    .filter(({ vmid }) => vmid > 500 && vmid < 510)
    .map(({ node }) => node)
    .sort();

const stepsOf = (end: RunEnd) => (end.kind === 'ended' ? end.plan.steps.map(({ id }) => id) : failuresOf(end));

async function applied(text: string): Promise<Scene> {
  const made = scene();
  expect(failuresOf(await made.apply(text))).toEqual([]);
  expect(stepsOf(await made.plan(text))).toEqual([]);
  return made;
}

describe('the nodes of VMs that are cloned', () => {
  it('are those that have a copy of the template on their own storage', async () => {
    const made = await applied(stack('{ template: ubuntu-24.04 }', { count: 4 }));
    expect(nodesOf(made)).toEqual(['pve1', 'pve1', 'pve2', 'pve2']);
  });

  it('are refused with the reason for each node where none has it', async () => {
    const end = await scene().apply(stack('{ template: ubuntu-24.04 }', { nodes: '[pve3, pve4]', count: 1 }));
    const said = failuresOf(end).join('\n');
    expect(said).toContain('No node can take vm.web');
    expect(said).toMatch(/pve3: .*ubuntu-24\.04.*pve4: .*ubuntu-24\.04/s);
  });

  it('are all nodes where the disks of the template are on shared storage', async () => {
    const templates = `${IMAGES}
templates:
  base: { node: pve1, vmid: 9100, guest: plain, disks: { scsi0: { image: debian, storage: nfs, size: 4GiB, format: qcow2 } } }`;
    const made = await applied(stack('{ template: base, storage: nfs }', { templates }));
    expect(nodesOf(made)).toEqual(['pve1', 'pve2', 'pve3', 'pve4', 'pve5']);
  });

  it('are those on which the stack builds the template, in the same apply', async () => {
    const templates = `${IMAGES}
templates:
  base: { nodes: [pve3, pve4], vmids: 9100-9109, guest: plain, disks: { scsi0: { image: debian, storage: local-lvm, size: 4GiB } } }`;
    const made = await applied(stack('{ template: base }', { templates, count: 4 }));
    expect(nodesOf(made)).toEqual(['pve3', 'pve3', 'pve4', 'pve4']);
  });
});
