import { describe, expect, it } from 'vitest';
import { EXAMPLE } from './testing/example.ts';
import { problemsOf, resolveText, stackOf } from './testing/resolving.ts';

const GIB = 1024 ** 3;

describe('the example of the product', () => {
  it('resolves as its comments say', () => {
    const stack = stackOf(EXAMPLE, {
      settings: ['worker_count=2', 'gpu_devices=["0000:01:00"]', 'vm_configs={k3s-dev-worker-2: {memory: 32GiB}}'],
    });
    expect(stack.name).toBe('k3s-dev');
    expect(stack.connection).toMatchObject({
      endpoint: 'https://vmhost.lab:8006',
      token: { env: 'PROXMOX_VE_API_TOKEN' },
    });
    expect(stack.vms.map(({ address }) => address)).toEqual([
      'vm.control[1]',
      'vm.worker[1]',
      'vm.worker[2]',
      'vm.gpu["0000:01:00"]',
    ]);
    const clone = { template: 'talos-v1.12.4-base', mode: 'full', storage: 'tank' };
    expect(stack.vms.map(({ fields }) => fields)).toEqual([
      {
        name: 'k3s-dev-control-1',
        node: 'vmhost',
        role: 'control-plane',
        guest: 'plain',
        ownership: 'line',
        clone,
        cpu: { cores: 4 },
        memory: 8 * GIB,
        disks: { scsi0: { size: 100 * GIB } },
        nics: { net0: { bridge: 'vmbr0', vlan: 20, ipv4: { address: '10.0.20.11/24', gateway: '10.0.20.1' } } },
        boot: ['scsi0', 'net0'],
        power: 'running',
        restart: 'never',
      },
      ...[16, 32].map((memoryGiB, index) => ({
        name: `k3s-dev-worker-${index + 1}`,
        node: 'vmhost',
        role: 'worker',
        guest: 'plain',
        ownership: 'line',
        clone,
        memory: memoryGiB * GIB,
        nics: { net0: { bridge: 'vmbr0', vlan: 20 } },
        power: 'running',
        restart: 'never',
      })),
      {
        name: 'k3s-dev-gpu-1',
        node: 'vmhost',
        guest: 'plain',
        ownership: 'line',
        clone,
        nics: { net0: { bridge: 'vmbr0', vlan: 20 } },
        pci: { hostpci0: { device: '0000:01:00', pcie: true } },
        power: 'running',
        restart: 'never',
      },
    ]);
    const [control, worker, , gpu] = stack.vms;
    expect(control?.vmids).toEqual([101, 102, 103, 104, 105, 106, 107, 108, 109]);
    expect([control?.after, worker?.after, gpu?.after]).toEqual([[], ['vm.control[1]'], []]);
    expect(gpu?.vmids).toBeUndefined();
    expect(stack.rollout).toEqual({
      staggerMs: 30_000,
      readiness: 'sequential',
      onFailure: 'continue',
      update: {},
      retry: { attempts: 5, firstMs: 2_000, maxMs: 30_000 },
      limits: {
        vms: 10,
        clonesPerNode: 2,
        clonesPerStorage: 2,
        destroys: 2,
        requests: 6,
        agentCalls: 2,
        groupSize: 50,
      },
      timeouts: {
        cloneMs: 1_800_000,
        diskMoveMs: 43_200_000,
        startMs: 300_000,
        readyMs: 1_800_000,
        shutdownMs: 180_000,
        lockMs: 300_000,
        imageMs: 3_600_000,
        unreachableMs: 300_000,
      },
    });
    expect(stack.outputs).toEqual({ talos: { vip: '10.0.20.10' }, files: './out' });
  });

  it('has one worker and no GPU by default', () => {
    expect(stackOf(EXAMPLE).vms.map(({ address }) => address)).toEqual(['vm.control[1]', 'vm.worker[1]']);
  });

  it('has an image on the node of its template, and the template’s disk made from it', () => {
    const { images, templates } = stackOf(EXAMPLE);
    expect(images).toMatchObject([
      { name: 'talos', address: 'image.talos', file: 'talos-v1.12.4.qcow2', nodes: ['vmhost'] },
    ]);
    expect(templates.map(({ vm }) => vm.fields)).toEqual([
      {
        name: 'talos-v1.12.4-base',
        vmid: 9000,
        node: 'vmhost',
        guest: 'talos',
        ownership: 'line',
        machine: 'q35',
        disks: { scsi0: { import_from: 'local:import/talos-v1.12.4.qcow2', storage: 'tank', size: 20 * GIB } },
        power: 'stopped',
        restart: 'never',
      },
    ]);
  });
});

describe('positions', () => {
  it('record for each value the layer it came from', () => {
    const [vm] = stackOf(EXAMPLE).vms;
    expect(vm?.positions['']).toMatchObject({ file: 'stack.yaml', line: 30, column: 3 });
    expect(vm?.positions.node).toMatchObject({ line: 25, column: 9 });
    expect(vm?.positions['nics.net0.vlan']).toMatchObject({ line: 27, column: 40 });
    expect(vm?.positions['nics.net0.ipv4.address']).toMatchObject({ line: 38, column: 40 });
    expect(vm?.positions['boot.1']).toMatchObject({ line: 39, column: 19 });
  });
});

describe('a file with many mistakes', () => {
  it('reports them all at once, each at its place, in the order of the file', () => {
    const text = `version: 2
stack: 9k
conection: {}
defaults:
  node: pve1
  nics: { net0: { bridge: vmbr0, vlan: 5000 } }
vms:
  web:
    count: 2
    name: \${stck}-\${number}
    memmory: 8GiB
    cores: 4
    memory: 8
    clone: { template: debian }
    nics: { net0: { ipv4: { address: 10.0.20.0/24, gateway: 10.0.21.1 } } }
rollout: { stagger: 30, limits: { requets: 1 } }
`;
    expect(resolveText(text).stack).toBeUndefined();
    expect(problemsOf(text)).toEqual(
      [
        '1:10 error BAD_VALUE: "version" is 2; this version of Proxwright reads version 1 of the format. | Write version: 1, or use a version of Proxwright that supports it.',
        '2:8 error BAD_VALUE: "stack" is "9k": a stack name has letters, digits, - and _, and begins with a letter.',
        '3:1 error UNKNOWN_FIELD: "conection" is not a section of a stack file. | Did you mean "connection"?',
        '6:40 error BAD_VALUE: "nics.net0.vlan" must be at most 4094; it is 5000.',
        `10:11 error MISSING_REFERENCE: \${stck} refers to nothing. | Did you mean "stack"?`,
        '11:5 error UNKNOWN_FIELD: "memmory" is not a field of a VM. | Did you mean "memory"?',
        '12:5 error UNKNOWN_FIELD: "cores" is not a field of a VM. | It belongs under "cpu": cpu: { cores: … }.',
        '13:13 error BAD_VALUE: "memory": a size needs a unit; write 8MiB or 8GiB.',
        '15:38 error BAD_VALUE: No VM can have the address 10.0.20.0: it is the address of the network 10.0.20.0/24 itself.',
        '15:38 error BAD_VALUE: The address 10.0.20.0 is given to both vm.web[1] and vm.web[2].',
        '15:61 error BAD_VALUE: The gateway "10.0.21.1" cannot work: it is outside the network 10.0.20.0/24.',
        '16:21 error BAD_VALUE: "rollout.stagger": a duration needs a unit; write 30s or 30m.',
        '16:35 error UNKNOWN_FIELD: "requets" is not a field of "rollout.limits". | Did you mean "requests"?',
      ].map((line) => expect.stringContaining(line)),
    );
  });

  it('names the VM if the mistake is in a VM', () => {
    const { diagnostics } = resolveText('version: 1\nstack: s\nvms:\n  web: { name: web }\n');
    expect(diagnostics[0]).toMatchObject({
      detail: '"node" is missing.',
      hint: { text: 'Write node: … here or under "defaults".' },
      where: { file: 'stack.yaml', line: 4, column: 3, address: 'vm.web' },
    });
  });

  it('checks the fields of a group even if it has no members', () => {
    expect(
      problemsOf(
        'version: 1\nstack: s\nvms:\n  web: { count: 0, name: web, node: a, clone: { template: 1 }, memry: 1GiB }\n',
      ),
    ).toEqual([expect.stringContaining('UNKNOWN_FIELD: "memry"')]);
  });

  it('needs a version and a name', () => {
    expect(problemsOf('vms: {}')).toEqual([
      expect.stringContaining('1:1 error BAD_VALUE: "version" is missing.'),
      expect.stringContaining('1:1 error BAD_VALUE: "stack" is missing.'),
    ]);
  });
});

describe('secrets', () => {
  it('never appear in a message', () => {
    const text = `version: 1
stack: s
connection:
  endpoint: https://root:topsecret@pve1:8006
  token: root@pam!x=topsecret
variables:
  password: { type: integer, sensitive: true }
vms:
  web:
    name: web
    node: pve1
    clone: { template: debian }
    memory: \${var.password}
    cloud_init: { password: topsecret, ssh_keys: ["-----BEGIN PRIVATE KEY----- topsecret"] }
`;
    const problems = problemsOf(text, { environment: { PROXWRIGHT_VAR_password: 'topsecret' } });
    expect(problems).toHaveLength(5);
    expect(problems.join('\n')).not.toContain('topsecret');
  });

  it('stay hidden in a problem about the value of a sensitive variable', () => {
    const text = `version: 1
stack: s
variables: { size: { type: string, sensitive: true } }
vms:
  web: { name: web, node: pve1, clone: { template: debian }, memory: "\${var.size}" }
`;
    const problems = problemsOf(text, { settings: ['size=topsecret'] });
    expect(problems).toEqual([expect.stringContaining('5:70 error BAD_VALUE: "memory": "•••" is not a size')]);
  });
});
