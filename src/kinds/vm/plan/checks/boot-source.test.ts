import { describe, expect, it } from 'vitest';
import { loadStack, resolveStack } from '../../../../spec/index.ts';
import { nothingToBootFrom } from './boot-source.ts';

function problemOf(lines: string): string | undefined {
  const text = `version: 1\nstack: lab\nvms:\n  web: { name: web, node: pve1, ${lines} }\n`;
  const { stack, diagnostics } = resolveStack(loadStack(text, 'stack.yaml'));
  const [vm] = stack?.vms ?? [];
  if (!vm) throw new Error(JSON.stringify(diagnostics));
  const problem = nothingToBootFrom(vm);
  return problem && `${problem.where?.line}:${problem.where?.column} ${problem.detail}`;
}

describe('a VM that the plan creates', () => {
  it('is refused, with its line, if it would start with empty disks', () => {
    expect(problemOf('disks: { scsi0: { storage: tank, size: 1GiB } }')).toMatch(
      /^4:3 This VM would be created empty and started with nothing to boot from/,
    );
    expect(problemOf('memory: 1GiB')).toBeDefined();
  });

  it.each([
    'disks: { ide0: { iso: "local:iso/a.iso" } }',
    'disks: { scsi0: { storage: tank, import_from: "local:import/a.qcow2" } }',
    'boot: [net0], nics: { net0: { bridge: vmbr0 } }',
    'clone: { template: base }',
    'power: stopped',
  ])('boots with %s', (lines) => {
    expect(problemOf(lines)).toBeUndefined();
  });
});
