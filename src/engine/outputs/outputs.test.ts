import { describe, expect, it } from 'vitest';
import { vmAddress } from '../../base/address.ts';
import { type VmFieldsInput, vmFieldsSchema } from '../../resources/vm/fields.ts';
import type { ResolvedStack, ResolvedVm } from '../../spec/types.ts';
import { emptyState, type StackState, type VmState } from '../../state/stack-state.ts';
import { ansibleInventory } from './ansible.ts';
import { outputFiles } from './files.ts';
import { readOutput, stackOutputs } from './outputs.ts';
import { outputsAsJson, outputsAsShell, outputsForPeople } from './render.ts';

function vm(group: string, number: number, fields: Partial<VmFieldsInput>): ResolvedVm {
  const name = `lab-${group}-${number}`;
  return {
    address: vmAddress(group, number),
    group,
    number,
    fields: vmFieldsSchema.parse({ name, node: 'pve1', guest: 'talos', ...fields }),
    after: [],
    formerly: [],
    positions: {},
  };
}

/** Only what outputs are made of; the rest of a stack has no part in them. */
function stackOf(vms: readonly ResolvedVm[], outputs: ResolvedStack['outputs'] = {}): ResolvedStack {
  return { name: 'lab', vms, outputs } as ResolvedStack;
}

const known = (vmid: number, more: Partial<VmState> = {}): VmState => ({
  vmid,
  uuid: 'u',
  node: 'pve1',
  name: 'n',
  phase: 'complete',
  lastApplied: {},
  secrets: {},
  macs: { net0: `BC:24:11:00:00:${String(vmid % 100).padStart(2, '0')}` },
  addresses: {},
  ...more,
});

const address = (ip: string) => ({ nics: { net0: { ipv4: { address: `${ip}/24` } } } });

/** Two control planes with static addresses, a worker on DHCP with two NICs, one that does not answer, one not made yet. */
const STACK = stackOf(
  [
    vm('control', 1, { role: 'control-plane', ...address('10.0.20.11') }),
    vm('control', 2, { role: 'control-plane', ...address('10.0.20.12') }),
    vm('worker', 1, { role: 'worker' }),
    vm('worker', 2, { role: 'worker' }),
    vm('web', 1, { guest: 'cloud-init', ...address('10.0.20.31') }),
  ],
  { talos: { vip: '10.0.20.10' } },
);

const STATE: StackState = {
  ...emptyState('lab'),
  vms: {
    'vm.control[1]': known(101, { addresses: { net0: ['10.0.20.11', 'fd00::11'] } }),
    'vm.control[2]': known(102, { node: 'pve2' }),
    'vm.worker[1]': known(111, {
      macs: { net10: 'BC:24:11:00:01:02', net2: 'BC:24:11:00:01:01' },
      addresses: { net10: ['10.9.0.7'], net2: ['192.168.7.7', '203.0.113.7'] },
    }),
    'vm.worker[2]': known(112, { phase: 'incomplete' }),
    'vm.gone[1]': known(199),
  },
};

const OUTPUTS = stackOutputs(STACK, STATE);

describe('the outputs of a stack', () => {
  it('keep the contract', () => {
    expect(outputsAsJson(OUTPUTS)).toMatchInlineSnapshot(`
      "{
        "contract_version": 1,
        "vms": {
          "lab-control-1": {
            "vmid": 101,
            "node": "pve1",
            "role": "control-plane",
            "status": "complete",
            "macs": {
              "net0": "BC:24:11:00:00:01"
            },
            "addresses": {
              "net0": "10.0.20.11"
            }
          },
          "lab-control-2": {
            "vmid": 102,
            "node": "pve2",
            "role": "control-plane",
            "status": "complete",
            "macs": {
              "net0": "BC:24:11:00:00:02"
            },
            "addresses": {
              "net0": "10.0.20.12"
            }
          },
          "lab-worker-1": {
            "vmid": 111,
            "node": "pve1",
            "role": "worker",
            "status": "complete",
            "macs": {
              "net2": "BC:24:11:00:01:01",
              "net10": "BC:24:11:00:01:02"
            },
            "addresses": {
              "net2": "192.168.7.7",
              "net10": "10.9.0.7"
            }
          },
          "lab-worker-2": {
            "vmid": 112,
            "node": "pve1",
            "role": "worker",
            "status": "incomplete",
            "macs": {
              "net0": "BC:24:11:00:00:12"
            },
            "addresses": {
              "net0": null
            }
          },
          "lab-web-1": {
            "vmid": null,
            "node": "pve1",
            "role": null,
            "status": "absent",
            "macs": {
              "net0": null
            },
            "addresses": {
              "net0": null
            }
          }
        },
        "talos_control_plane_endpoints": [
          "10.0.20.11",
          "10.0.20.12"
        ],
        "talos_cluster_endpoint": "https://10.0.20.10:6443",
        "talos_node_ips": {
          "lab-control-1": "10.0.20.11",
          "lab-control-2": "10.0.20.12",
          "lab-worker-1": "192.168.7.7",
          "lab-worker-2": null
        },
        "talos_node_roles": {
          "lab-control-1": "control-plane",
          "lab-control-2": "control-plane",
          "lab-worker-1": "worker",
          "lab-worker-2": "worker"
        },
        "talos_vm_ids": {
          "lab-control-1": 101,
          "lab-control-2": 102,
          "lab-worker-1": 111,
          "lab-worker-2": 112
        },
        "control_plane_ips": [
          "10.0.20.11",
          "10.0.20.12"
        ],
        "worker_ips": [
          "192.168.7.7",
          null
        ],
        "vm_ids": {
          "lab-control-1": 101,
          "lab-control-2": 102,
          "lab-worker-1": 111,
          "lab-worker-2": 112,
          "lab-web-1": null
        }
      }
      "
    `);
  });

  it('warn about everything that is null', () => {
    expect(
      OUTPUTS.warnings.map(({ severity, code, where, detail }) => [severity, code, where?.address, detail]),
    ).toEqual([
      ['warning', 'NO_ADDRESS', 'vm.worker[2]', 'No address of lab-worker-2 is known on net0: null in the outputs.'],
      ['warning', 'NOT_FOUND', 'vm.web[1]', 'lab-web-1 has not been made yet: its id and addresses are null.'],
    ]);
  });

  it('have every key for a stack without VMs and without state', () => {
    const { values, warnings } = stackOutputs(stackOf([]), emptyState('lab'));
    expect(values).toEqual({
      contract_version: 1,
      vms: {},
      talos_control_plane_endpoints: [],
      talos_cluster_endpoint: null,
      talos_node_ips: {},
      talos_node_roles: {},
      talos_vm_ids: {},
      control_plane_ips: [],
      worker_ips: [],
      vm_ids: {},
    });
    expect(warnings).toEqual([]);
  });

  it('keep the place of a control plane whose address is not known', () => {
    const stack = stackOf([vm('control', 1, { role: 'control-plane' }), vm('control', 2, { role: 'controlplane' })]);
    const state: StackState = {
      ...emptyState('lab'),
      vms: { 'vm.control[1]': known(101), 'vm.control[2]': known(102, { addresses: { net0: ['2001:db8::2'] } }) },
    };
    const { values } = stackOutputs(stack, state);
    expect(values.talos_control_plane_endpoints).toEqual([null, '2001:db8::2']);
    expect(values.talos_cluster_endpoint).toBe('https://[2001:db8::2]:6443');
    expect(outputsAsShell({ values })).toContain("TALOS_CONTROL_PLANE_ENDPOINTS='2001:db8::2'\n");
  });

  it('say that the endpoint of the cluster is not known', () => {
    const stack = stackOf([vm('control', 1, { role: 'control-plane' })]);
    const { values, warnings } = stackOutputs(stack, { ...emptyState('lab'), vms: { 'vm.control[1]': known(101) } });
    expect(values.talos_cluster_endpoint).toBeNull();
    expect(warnings.map(({ detail }) => detail)).toContain(
      'talos_cluster_endpoint is null: no address of a control plane is known.',
    );
  });

  it('take addresses by NIC: the managed one counts, wherever the others stand', () => {
    const nics = { net0: { bridge: 'vmbr1' }, net1: { ipv4: 'dhcp' as const } };
    const stack = stackOf([vm('control', 1, { role: 'control-plane', nics })]);
    const state = {
      ...emptyState('lab'),
      vms: { 'vm.control[1]': known(101, { addresses: { net0: ['10.1.1.1'], net1: ['10.2.2.2'] } }) },
    };
    expect(stackOutputs(stack, state).values.talos_node_ips).toEqual({ 'lab-control-1': '10.2.2.2' });
  });

  it('show no NIC that the stack removes', () => {
    const stack = stackOf([vm('control', 1, { nics: { net1: { remove: true } } })]);
    const { values } = stackOutputs(stack, { ...emptyState('lab'), vms: { 'vm.control[1]': known(101) } });
    expect(Object.keys(values.vms['lab-control-1']?.addresses ?? {})).toEqual(['net0']);
  });
});

describe('reading one output', () => {
  it('gives its value', () => {
    expect(readOutput(OUTPUTS, 'talos_cluster_endpoint')).toEqual({ value: 'https://10.0.20.10:6443', warnings: [] });
  });

  it.each(['control_plane_ips', 'worker_ips', 'vm_ids'])('still knows %s, and warns', (name) => {
    const { value, warnings } = readOutput(OUTPUTS, name);
    expect(value).toEqual(expect.anything());
    expect(warnings).toMatchObject([
      { severity: 'warning', code: 'DEPRECATED_OUTPUT', hint: expect.stringMatching(/^Read (talos_|vms)/) },
    ]);
  });

  it('refuses a name that is none, and suggests', () => {
    expect(() => readOutput(OUTPUTS, 'talos_node_ip')).toThrow('Did you mean "talos_node_ips"?');
    expect(() => readOutput(OUTPUTS, 'constructor')).toThrow('There is no output "constructor".');
  });
});

describe('outputs as text', () => {
  it('for people', () => {
    expect(outputsForPeople(OUTPUTS)).toMatchInlineSnapshot(`
      "VM             ID   NODE  ROLE           STATUS      ADDRESSES
      lab-control-1  101  pve1  control-plane  complete    net0 10.0.20.11
      lab-control-2  102  pve2  control-plane  complete    net0 10.0.20.12
      lab-worker-1   111  pve1  worker         complete    net2 192.168.7.7, net10 10.9.0.7
      lab-worker-2   112  pve1  worker         incomplete  net0 —
      lab-web-1      —    pve1  —              absent      net0 —

      contract_version               1
      talos_cluster_endpoint         https://10.0.20.10:6443
      talos_control_plane_endpoints  10.0.20.11, 10.0.20.12
      "
    `);
  });

  it('for a shell', () => {
    expect(outputsAsShell(OUTPUTS)).toMatchInlineSnapshot(`
      "CONTRACT_VERSION='1'
      VMS='{"lab-control-1":{"vmid":101,"node":"pve1","role":"control-plane","status":"complete","macs":{"net0":"BC:24:11:00:00:01"},"addresses":{"net0":"10.0.20.11"}},"lab-control-2":{"vmid":102,"node":"pve2","role":"control-plane","status":"complete","macs":{"net0":"BC:24:11:00:00:02"},"addresses":{"net0":"10.0.20.12"}},"lab-worker-1":{"vmid":111,"node":"pve1","role":"worker","status":"complete","macs":{"net2":"BC:24:11:00:01:01","net10":"BC:24:11:00:01:02"},"addresses":{"net2":"192.168.7.7","net10":"10.9.0.7"}},"lab-worker-2":{"vmid":112,"node":"pve1","role":"worker","status":"incomplete","macs":{"net0":"BC:24:11:00:00:12"},"addresses":{"net0":null}},"lab-web-1":{"vmid":null,"node":"pve1","role":null,"status":"absent","macs":{"net0":null},"addresses":{"net0":null}}}'
      TALOS_CONTROL_PLANE_ENDPOINTS='10.0.20.11 10.0.20.12'
      TALOS_CLUSTER_ENDPOINT='https://10.0.20.10:6443'
      TALOS_NODE_IPS='{"lab-control-1":"10.0.20.11","lab-control-2":"10.0.20.12","lab-worker-1":"192.168.7.7","lab-worker-2":null}'
      TALOS_NODE_ROLES='{"lab-control-1":"control-plane","lab-control-2":"control-plane","lab-worker-1":"worker","lab-worker-2":"worker"}'
      TALOS_VM_IDS='{"lab-control-1":101,"lab-control-2":102,"lab-worker-1":111,"lab-worker-2":112}'
      CONTROL_PLANE_IPS='10.0.20.11 10.0.20.12'
      WORKER_IPS='192.168.7.7'
      VM_IDS='{"lab-control-1":101,"lab-control-2":102,"lab-worker-1":111,"lab-worker-2":112,"lab-web-1":null}'
      "
    `);
  });

  it('for a shell, whatever they hold', () => {
    const text = outputsAsShell({ values: { ...OUTPUTS.values, talos_cluster_endpoint: "it's $(here)" } });
    expect(text).toContain("TALOS_CLUSTER_ENDPOINT='it'\\''s $(here)'\n");
  });

  it('as an Ansible inventory', () => {
    expect(ansibleInventory(OUTPUTS)).toMatchInlineSnapshot(`
      "all:
        hosts:
          lab-control-1:
            ansible_host: 10.0.20.11
            proxmox_vmid: 101
            proxmox_node: pve1
            proxwright_status: complete
          lab-control-2:
            ansible_host: 10.0.20.12
            proxmox_vmid: 102
            proxmox_node: pve2
            proxwright_status: complete
          lab-worker-1:
            ansible_host: 192.168.7.7
            proxmox_vmid: 111
            proxmox_node: pve1
            proxwright_status: complete
          lab-worker-2:
            proxmox_vmid: 112
            proxmox_node: pve1
            proxwright_status: incomplete
          lab-web-1:
            proxmox_vmid: null
            proxmox_node: pve1
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

  it('as an Ansible inventory, with groups that Ansible accepts', () => {
    const stack = stackOf([vm('all', 1, { role: '3-tier' })]);
    const text = ansibleInventory(stackOutputs(stack, emptyState('lab')));
    expect(text).toContain('group_all:');
    expect(text).toContain('group_3_tier:');
  });

  it('as files, two for each VM that has an id', () => {
    const files = outputFiles(OUTPUTS);
    expect(files.map(({ name }) => name)).toEqual(
      [101, 102, 111, 112].flatMap((id) => [`vm_${id}_ip.txt`, `vm_${id}_summary.txt`]),
    );
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
});
