import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { emptyState, type StackState } from '../../kinds/recorded.ts';
import { readOutput, stackOutputs } from './outputs.ts';
import { outputsAsEnvironment, outputsAsJson, outputsAsShell, outputsForPeople } from './render.ts';
import { known, STACK, STATE, stackOf, stateOf, vm } from './testing/lab.ts';

const OUTPUTS = stackOutputs(STACK, STATE);

describe('the outputs of a stack', () => {
  it('match the contract', () => {
    expect(outputsAsJson(OUTPUTS)).toMatchInlineSnapshot(`
      "{
        "contract_version": 1,
        "vms": {
          "lab-control-1": {
            "vmid": 101,
            "node": "pve1",
            "zone": null,
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
            "zone": null,
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
            "zone": null,
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
            "zone": null,
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
            "zone": null,
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

  it('warn about every null value', () => {
    expect(
      OUTPUTS.warnings.map(({ severity, code, where, detail }) => [severity, code, where?.address, detail]),
    ).toEqual([
      [
        'warning',
        'NO_ADDRESS',
        'vm.worker[2]',
        'No address of lab-worker-2 is known on net0; the outputs contain null.',
      ],
      ['warning', 'NOT_FOUND', 'vm.web[1]', 'lab-web-1 does not exist yet: its id and addresses are null.'],
    ]);
  });

  it('have every key for a stack without VMs and state', () => {
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

  it('keep the position of a control plane without a known address', () => {
    const stack = stackOf([vm('control', 1, { role: 'control-plane' }), vm('control', 2, { role: 'controlplane' })]);
    const state: StackState = {
      ...emptyState('lab'),
      vms: { 'vm.control[1]': known(101), 'vm.control[2]': known(102, { addresses: { net0: ['2001:db8::2'] } }) },
    };
    const { values } = stackOutputs(stack, state);
    expect(values.talos_control_plane_endpoints).toEqual([null, '2001:db8::2']);
    expect(values.talos_cluster_endpoint).toBe('https://[2001:db8::2]:6443');
    expect(outputsAsEnvironment({ values })).toContain("TALOS_CONTROL_PLANE_ENDPOINTS='2001:db8::2'\n");
  });

  it('warn about an unknown endpoint of the cluster', () => {
    const stack = stackOf([vm('control', 1, { role: 'control-plane' })]);
    const { values, warnings } = stackOutputs(stack, { ...emptyState('lab'), vms: { 'vm.control[1]': known(101) } });
    expect(values.talos_cluster_endpoint).toBeNull();
    expect(warnings.map(({ detail }) => detail)).toContain(
      'talos_cluster_endpoint is null: no address of a control plane is known.',
    );
  });

  it('use the address of the managed NIC, whatever its position', () => {
    const nics = { net0: { bridge: 'vmbr1' }, net1: { ipv4: 'dhcp' as const } };
    const stack = stackOf([vm('control', 1, { role: 'control-plane', nics })]);
    const state = {
      ...emptyState('lab'),
      vms: { 'vm.control[1]': known(101, { addresses: { net0: ['10.1.1.1'], net1: ['10.2.2.2'] } }) },
    };
    expect(stackOutputs(stack, state).values.talos_node_ips).toEqual({ 'lab-control-1': '10.2.2.2' });
  });

  it('omit NICs that the stack removes', () => {
    const stack = stackOf([vm('control', 1, { nics: { net1: { remove: true } } })]);
    const { values } = stackOutputs(stack, { ...emptyState('lab'), vms: { 'vm.control[1]': known(101) } });
    expect(Object.keys(values.vms['lab-control-1']?.addresses ?? {})).toEqual(['net0']);
  });
});

describe('reading one output', () => {
  it('returns its value', () => {
    expect(readOutput(OUTPUTS, 'talos_cluster_endpoint')).toEqual({ value: 'https://10.0.20.10:6443', warnings: [] });
  });

  it.each(['control_plane_ips', 'worker_ips', 'vm_ids'])('returns the deprecated %s with a warning', (name) => {
    const { value, warnings } = readOutput(OUTPUTS, name);
    expect(value).toEqual(expect.anything());
    expect(warnings[0]).toMatchObject({
      severity: 'warning',
      code: 'DEPRECATED_OUTPUT',
      hint: { text: expect.stringMatching(/^Read (talos_|vms)/) },
    });
  });

  it('warns only about null values in this output', () => {
    expect(readOutput(OUTPUTS, 'talos_node_ips').warnings).toEqual(OUTPUTS.warnings);
    expect(readOutput(OUTPUTS, 'talos_vm_ids').warnings).toEqual([]);
  });

  it('rejects an unknown name with a suggestion', () => {
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

  it('as an environment', () => {
    expect(outputsAsEnvironment(OUTPUTS)).toMatchInlineSnapshot(`
      "CONTRACT_VERSION='1'
      VMS='{"lab-control-1":{"vmid":101,"node":"pve1","zone":null,"role":"control-plane","status":"complete","macs":{"net0":"BC:24:11:00:00:01"},"addresses":{"net0":"10.0.20.11"}},"lab-control-2":{"vmid":102,"node":"pve2","zone":null,"role":"control-plane","status":"complete","macs":{"net0":"BC:24:11:00:00:02"},"addresses":{"net0":"10.0.20.12"}},"lab-worker-1":{"vmid":111,"node":"pve1","zone":null,"role":"worker","status":"complete","macs":{"net2":"BC:24:11:00:01:01","net10":"BC:24:11:00:01:02"},"addresses":{"net2":"192.168.7.7","net10":"10.9.0.7"}},"lab-worker-2":{"vmid":112,"node":"pve1","zone":null,"role":"worker","status":"incomplete","macs":{"net0":"BC:24:11:00:00:12"},"addresses":{"net0":null}},"lab-web-1":{"vmid":null,"node":"pve1","zone":null,"role":null,"status":"absent","macs":{"net0":null},"addresses":{"net0":null}}}'
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

  it('for a shell, exported and quoted', () => {
    const endpoint = 'it\'s $(echo here)\n`echo there` "$HOME" \\';
    const text = outputsAsShell({ values: { ...OUTPUTS.values, talos_cluster_endpoint: endpoint } });
    const script = `set -eu\neval "$OUTPUTS"\nexec printenv TALOS_CLUSTER_ENDPOINT TALOS_NODE_IPS`;
    const { stdout } = spawnSync('sh', ['-c', script], { env: { ...process.env, OUTPUTS: text }, encoding: 'utf8' });
    expect(stdout).toBe(`${endpoint}\n${JSON.stringify(OUTPUTS.values.talos_node_ips)}\n`);
  });

  it('for people, with a dash for an unknown endpoint of a Talos cluster', () => {
    const outputs = stackOutputs(stackOf([vm('control', 1, { role: 'control-plane' })]), stateOf({}));
    expect(outputsForPeople(outputs)).toMatch(/^talos_cluster_endpoint +—$/m);
    expect(outputsForPeople(stackOutputs(stackOf([]), stateOf({})))).not.toContain('talos');
  });
});
