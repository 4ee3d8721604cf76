/** An apply that shuts a VM down to move it to another node is killed everywhere. */
import { expect, it } from 'vitest';
import { crashEverywhere } from './support/crash-everywhere.ts';
import { settled } from './support/five-nodes.ts';
import { complaintsAfter } from './support/invariants.ts';

const stack = (node: string) => `version: 1
stack: lab
vms:
  web:
    name: web
    vmid: 420
    node: ${node}
    restart: when_needed
    vga: { type: std, clipboard: vnc }
    clone: { template: ubuntu-24.04, storage: local-lvm }
`;

it('moves the VM and has it running after a kill at any point, and the next run finishes it', async () => {
  const after = stack('pve2');
  const failures = await crashEverywhere({
    name: 'node change',
    from: await settled(stack('pve1')),
    run: (each) => each.apply(after),
    complaints: async (each, before) => {
      const complaints = await complaintsAfter(each, after, before);
      const vm = each.world.vms.get(420);
      return [...complaints, ...(vm?.node === 'pve2' && vm.process ? [] : ['it is not running on pve2'])];
    },
    tasks: ['qmigrate', 'qmshutdown', 'qmstart'],
  });
  expect(failures.slice(0, 20)).toEqual([]);
});
