import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { stackOutputs } from './outputs.ts';
import { ansibleInventory, dnsmasqReservations, iscReservations, outputFiles } from './render.ts';
import { address, known, STACK, STATE, stackOf, stateOf, vm } from './testing/lab.ts';

/** Not every machine has it. */
const READER = 'ansible-inventory';

const OUTPUTS = stackOutputs(STACK, STATE);

describe('an Ansible inventory', () => {
  it('lists every VM with its variables and groups', () => {
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

  it('has group names that Ansible accepts', () => {
    const stack = stackOf([vm('all', 1, { role: '3-tier' })]);
    const text = ansibleInventory(stackOutputs(stack, stateOf({})));
    expect(text).toContain('group_all:');
    expect(text).toContain('group_3_tier:');
  });

  it('has no group with the name of a host', () => {
    const stack = stackOf([vm('web', 1, { name: 'web', role: 'lab' })]);
    const text = ansibleInventory(stackOutputs(stack, stateOf({})));
    expect(text).toContain('    group_web:\n      hosts:\n        web: {}\n');
  });

  it('sets the user, and contains no secret', () => {
    const cloud_init = { user: 'ops', password: { env: 'WEB_PASSWORD' } };
    const stack = stackOf([vm('web', 1, { guest: 'cloud-init', cloud_init, ...address('10.0.20.31') })]);
    const text = ansibleInventory(stackOutputs(stack, stateOf({ 'vm.web[1]': known(131) })));
    expect(text).toContain('ansible_user: ops\n');
    expect(text).not.toMatch(/password/i);
  });

  it.skipIf(spawnSync(READER, ['--version']).error)('is read by Ansible without warnings', () => {
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

/**
 * One VM that exists, one that does not and has a MAC address in the stack, one about which nothing is known, one with
 * two cards.
 */
const WITH_CARDS = stackOutputs(
  stackOf([
    vm('control', 1, { ...address('10.0.20.11') }),
    vm('worker', 1, { nics: { net0: { mac: 'bc:24:11:aa:00:01', ipv4: { address: '10.0.20.21/24' } } } }),
    vm('worker', 2, { nics: { net0: { bridge: 'vmbr0' } } }),
    vm('worker', 3, {}),
  ]),
  stateOf({
    // A lease that it got before its reservation.
    'vm.control[1]': known(101, { addresses: { net0: ['10.0.20.199'] } }),
    'vm.worker[3]': known(113, {
      macs: { net0: 'BC:24:11:00:00:13', net1: 'BC:24:11:00:00:14' },
      addresses: { net0: ['fd00::13'] },
    }),
  }),
);

describe('DHCP reservations', () => {
  it('for dnsmasq contain the MAC address, the static or known address, and the name', () => {
    expect(dnsmasqReservations(WITH_CARDS)).toMatchInlineSnapshot(`
      "dhcp-host=bc:24:11:00:00:01,10.0.20.11,lab-control-1
      dhcp-host=bc:24:11:aa:00:01,10.0.20.21,lab-worker-1
      # lab-worker-2: the MAC address of net0 is unknown until the VM exists, unless the stack sets it (nics.net0.mac).
      dhcp-host=bc:24:11:00:00:13,[fd00::13],lab-worker-3
      dhcp-host=bc:24:11:00:00:14,lab-worker-3-net1
      "
    `);
  });

  it('for the ISC DHCP server', () => {
    expect(iscReservations(WITH_CARDS)).toMatchInlineSnapshot(`
      "host lab-control-1 { hardware ethernet bc:24:11:00:00:01; fixed-address 10.0.20.11; }
      host lab-worker-1 { hardware ethernet bc:24:11:aa:00:01; fixed-address 10.0.20.21; }
      # lab-worker-2: the MAC address of net0 is unknown until the VM exists, unless the stack sets it (nics.net0.mac).
      host lab-worker-3 { hardware ethernet bc:24:11:00:00:13; fixed-address6 fd00::13; }
      host lab-worker-3-net1 { hardware ethernet bc:24:11:00:00:14; }
      "
    `);
  });
});

describe('the output files', () => {
  it('contain all outputs, and two files for each VM with an id', () => {
    const files = outputFiles(OUTPUTS);
    expect(files.map(({ name }) => name)).toEqual([
      ...['outputs.json', 'outputs.env', 'inventory.yaml', 'dnsmasq.conf', 'talos.sh'],
      ...[101, 102, 111, 112].flatMap((id) => [`vm_${id}_ip.txt`, `vm_${id}_summary.txt`]),
    ]);
    expect(files.filter(({ isScript }) => isScript).map(({ name }) => name)).toEqual(['talos.sh']);
    const textOf = (name: string) => files.find((file) => file.name === name)?.text;
    expect(textOf('vm_111_ip.txt')).toBe('192.168.7.7\n');
    expect(textOf('vm_112_ip.txt')).toBe('');
    expect(textOf('vm_111_summary.txt')).toMatchInlineSnapshot(`
      "name: lab-worker-1
      id: 111
      node: pve1
      role: worker
      status: complete
      address: 192.168.7.7
      net2: 192.168.7.7 (BC:24:11:00:01:01)
      net10: 10.9.0.7 (BC:24:11:00:01:02)
      "
    `);
    expect(textOf('vm_112_summary.txt')).toMatchInlineSnapshot(`
      "name: lab-worker-2
      id: 112
      node: pve1
      role: worker
      status: incomplete
      address: unknown
      net0: unknown (BC:24:11:00:00:12)
      "
    `);
  });

  it('include no script without Talos VMs', () => {
    const outputs = stackOutputs(stackOf([vm('web', 1, { guest: 'plain', role: 'control-plane' })]), stateOf({}));
    expect(outputFiles(outputs).map(({ name }) => name)).not.toContain('talos.sh');
  });
});
