import { expect, it } from 'vitest';
import { leavesOf } from './shared-values.ts';
import { terraformText } from './terraform-text.ts';

it('a linked clone is written without its template, which would replace the VM that is imported', () => {
  const fields = { name: 'web', memory: '2GiB', clone: { template: 'ubuntu-24.04', mode: 'linked' } };
  const vm = {
    vmid: 101,
    name: 'web',
    node: 'pve1',
    leaves: leavesOf(fields),
    inherited: new Set<string>(),
    leftOut: [],
  };
  expect(terraformText([vm])).toContain('"2GiB"');
  expect(terraformText([vm])).not.toContain('clone');
});

it('is written as terraform fmt does, with short blocks on one line', () => {
  const fields = {
    name: 'web',
    memory: '2GiB',
    startup: { order: 1, up: '30s' },
    disks: { scsi0: { size: '8GiB', storage: 'tank' } },
    on_boot: true,
  };
  const vm = {
    vmid: 101,
    name: 'web',
    node: 'pve1',
    leaves: leavesOf(fields),
    inherited: new Set<string>(),
    leftOut: [],
  };
  expect(terraformText([vm])).toContain(`  name    = "web"
  vmid    = 101
  node    = "pve1"
  memory  = "2GiB"
  startup = { order = 1, up = "30s" }
  disks = {
    scsi0 = { size = "8GiB", storage = "tank" }
  }
  on_boot = true
}
`);
});
