import { describe, expect, it } from 'vitest';
import { loadStack, resolveStack } from '../../spec/index.ts';
import { assumedNeeds } from './assumed.ts';

const STACK = `version: 1
stack: lab
vms:
  web: { name: web, vmid: 401, node: pve1, power: stopped, disks: { scsi0: { storage: tank, size: 1GiB } } }
`;

function needsOf(text: string, nodes: readonly string[], lifecycle = true) {
  const { stack } = resolveStack(loadStack(text, 'stack.yaml'));
  if (!stack) throw new Error('the stack of this test is invalid');
  const observed = {
    nodes: new Map(nodes.map((node) => [node, { online: true }])),
    templates: new Map(),
    pciMappings: { ok: true, value: new Map() },
  } as const;
  const found = assumedNeeds({ stack, version: { version: '9.2' }, now: 0, observed, lifecycle });
  if (!found.ok) throw new Error(found.problems.map(({ detail }) => detail).join());
  return found;
}

function privilegesWith(nodes: readonly string[], lifecycle = true): string[] {
  return needsOf(STACK, nodes, lifecycle).needs.requirements.flatMap(({ privileges }) => privileges);
}

describe('the needs of a VM over its whole life', () => {
  it('include moves only if the cluster has another node', () => {
    expect(privilegesWith(['pve1', 'pve2'])).toContain('VM.Migrate');
    expect(privilegesWith(['pve1'])).not.toContain('VM.Migrate');
  });

  it('exceed those of the next plan, which moves nothing', () => {
    expect(privilegesWith(['pve1', 'pve2'], false)).not.toContain('VM.Migrate');
  });
});

describe('guesses about a template that cannot be read', () => {
  const clone = (fields: string) =>
    STACK.replace('disks: { scsi0: { storage: tank, size: 1GiB } }', `clone: { ${fields} }`);

  it('cover everything that the file leaves open, and name the fields that narrow them', () => {
    expect(needsOf(clone('template: debian'), ['pve1']).guesses).toEqual([
      'Template debian could not be read, so these privileges cover all VMs (set clone.template to an id to narrow this), storages (set clone.storage to narrow this), bridges. Grant read access to the template and ask again for a smaller set.',
    ]);
    expect(needsOf(clone('template: 9000, storage: tank'), ['pve1']).guesses).toEqual([
      'Template 9000 could not be read, so these privileges cover all bridges. Grant read access to the template and ask again for a smaller set.',
    ]);
  });

  it('are not made for VMs without a template', () => {
    expect(needsOf(STACK, ['pve1']).guesses).toEqual([]);
  });
});
