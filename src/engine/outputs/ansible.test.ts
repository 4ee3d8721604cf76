import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { stackOutputs } from './outputs.ts';
import { ansibleInventory } from './render.ts';
import { address, known, STACK, STATE, stackOf, stateOf, vm } from './testing/lab.ts';

/** Not everybody has it. */
const READER = 'ansible-inventory';

const OUTPUTS = stackOutputs(STACK, STATE);

describe('an Ansible inventory', () => {
  it('has every VM with what is known of it, and its groups', () => {
    expect(ansibleInventory(OUTPUTS)).toMatchInlineSnapshot(`
      "all:
        vars:
          proxwright_stack: lab
        hosts:
          lab-control-1:
            ansible_host: 10.0.20.11
            proxmox_vmid: 101
            proxmox_node: pve1
            proxwright_role: control-plane
            proxwright_status: complete
          lab-control-2:
            ansible_host: 10.0.20.12
            proxmox_vmid: 102
            proxmox_node: pve2
            proxwright_role: control-plane
            proxwright_status: complete
          lab-worker-1:
            ansible_host: 192.168.7.7
            proxmox_vmid: 111
            proxmox_node: pve1
            proxwright_role: worker
            proxwright_status: complete
          lab-worker-2:
            proxmox_vmid: 112
            proxmox_node: pve1
            proxwright_role: worker
            proxwright_status: incomplete
          lab-web-1:
            proxmox_vmid: null
            proxmox_node: pve1
            proxwright_role: null
            proxwright_status: absent
        children:
          control_plane:
            hosts:
              lab-control-1: {}
              lab-control-2: {}
          control:
            hosts:
              lab-control-1: {}
              lab-control-2: {}
          worker:
            hosts:
              lab-worker-1: {}
              lab-worker-2: {}
          web:
            hosts:
              lab-web-1: {}
      "
    `);
  });

  it('has groups that Ansible accepts', () => {
    const stack = stackOf([vm('all', 1, { role: '3-tier' })]);
    const text = ansibleInventory(stackOutputs(stack, stateOf({})));
    expect(text).toContain('group_all:');
    expect(text).toContain('group_3_tier:');
  });

  it('calls no group like a host', () => {
    const stack = stackOf([vm('web', 1, { name: 'web', role: 'lab' })]);
    const text = ansibleInventory(stackOutputs(stack, stateOf({})));
    expect(text).toContain('    group_web:\n      hosts:\n        web: {}\n');
  });

  it('says whom to log in as, and holds no secret', () => {
    const cloud_init = { user: 'ops', password: { env: 'WEB_PASSWORD' } };
    const stack = stackOf([vm('web', 1, { guest: 'cloud-init', cloud_init, ...address('10.0.20.31') })]);
    const text = ansibleInventory(stackOutputs(stack, stateOf({ 'vm.web[1]': known(131) })));
    expect(text).toContain('ansible_user: ops\n');
    expect(text).not.toMatch(/password/i);
  });

  it.skipIf(spawnSync(READER, ['--version']).error)('is read by Ansible without a complaint', () => {
    const folder = mkdtempSync(join(tmpdir(), 'proxwright-ansible-'));
    try {
      const file = join(folder, 'inventory.yaml');
      writeFileSync(file, ansibleInventory(OUTPUTS));
      const { stdout, stderr } = spawnSync(READER, ['-i', file, '--list'], { encoding: 'utf8' });
      expect(stderr).toBe('');
      const { _meta, control_plane } = JSON.parse(stdout);
      expect(control_plane.hosts).toEqual(['lab-control-1', 'lab-control-2']);
      expect(_meta.hostvars['lab-worker-1']).toMatchObject({ ansible_host: '192.168.7.7', proxmox_vmid: 111 });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
