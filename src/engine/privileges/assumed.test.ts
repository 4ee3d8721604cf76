import { describe, expect, it } from 'vitest';
import { loadStack, resolveStack } from '../../spec/index.ts';
import { assumedNeeds } from './assumed.ts';

const STACK = `version: 1
stack: lab
vms:
  web: { name: web, vmid: 401, node: pve1, power: stopped, disks: { scsi0: { storage: tank, size: 1GiB } } }
`;

function privilegesWith(nodes: readonly string[], lifecycle = true): string[] {
  const { stack } = resolveStack(loadStack(STACK, 'stack.yaml'));
  if (!stack) throw new Error('the stack is well');
  const observed = {
    nodes: new Map(nodes.map((node) => [node, { online: true }])),
    templates: new Map(),
    pciMappings: { ok: true, value: new Map() },
  } as const;
  const found = assumedNeeds({ stack, version: { version: '9.2' }, now: 0, observed, lifecycle });
  if (!found.ok) throw new Error(found.problems.map(({ detail }) => detail).join());
  return found.needs.requirements.flatMap(({ privileges }) => privileges);
}

describe('the whole life of a VM', () => {
  it('holds moves only where there is another node', () => {
    expect(privilegesWith(['pve1', 'pve2'])).toContain('VM.Migrate');
    expect(privilegesWith(['pve1'])).not.toContain('VM.Migrate');
  });

  it('is more than the next plan, which moves nothing', () => {
    expect(privilegesWith(['pve1', 'pve2'], false)).not.toContain('VM.Migrate');
  });
});
