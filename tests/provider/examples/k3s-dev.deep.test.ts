/**
 * examples/terraform/environments/k3s-dev on the module proxmox-talos-vm: the gate from a clean copy, the contract of its
 * outputs, wrong inputs refused before anything is asked of the server, and what its README says of a lost state.
 */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { HOSTS, ONE_HOST } from '../terraform/support/hosts.ts';
import { problems } from '../terraform/support/scene.ts';
import { CleanCopy } from './clean-copy.ts';
import { talosHost } from './worlds.ts';

const FOLDER = 'environments/k3s-dev';

describe.each(HOSTS)('k3s-dev under $name $version', (host) => {
  let copy: CleanCopy;

  beforeEach(async () => {
    copy = await CleanCopy.open({ host, world: talosHost, folder: FOLDER });
    const ready = await copy.init();
    expect([ready.code, ready.stderr]).toEqual([0, '']);
  });

  afterEach(() => copy.close());

  it('passes its gate with the example values: init, validate, plan, apply, and a plan without changes', async () => {
    const valid = await copy.run('validate', '-json');
    expect(problems(valid)).toEqual([]);
    const first = await copy.plan('-var-file=terraform.tfvars');
    expect([first.code, problems(first)]).toEqual([2, []]);
    expect(problems(await copy.apply('-var-file=terraform.tfvars'))).toEqual([]);
    expect(copy.scene.ours().sort((a, b) => a.vmid - b.vmid)).toEqual([
      { vmid: 101, node: 'vmhost', name: 'k3s-dev-control-1', running: true },
      { vmid: 102, node: 'vmhost', name: 'k3s-dev-worker-1', running: true },
    ]);
    const control = copy.scene.configOf('k3s-dev-control-1');
    expect(Object.fromEntries(control)).toMatchObject({
      cores: '4',
      cpu: 'host',
      memory: '8192',
      boot: 'order=scsi0;net0',
      tags: 'control-plane;k3s-dev;talos',
      ipconfig0: 'gw=10.0.20.1,ip=10.0.20.11/24',
    });
    expect(control.get('scsi0')).toMatch(/^tank:vm-101-disk-\d+,.*size=100G/);
    expect(control.get('net0')).toContain('bridge=vmbr0,tag=20');
    expect(copy.scene.configOf('k3s-dev-worker-1').get('memory')).toBe('16384');

    const second = await copy.plan('-var-file=terraform.tfvars');
    expect([second.code, problems(second)]).toEqual([0, []]);

    expect(await copy.outputs()).toEqual({
      contract_version: 1,
      talos_control_plane_endpoints: ['10.0.20.11'],
      talos_cluster_endpoint: 'https://10.0.20.11:6443',
      talos_node_ips: { 'k3s-dev-control-1': '10.0.20.11', 'k3s-dev-worker-1': '10.0.20.31' },
      talos_node_roles: { 'k3s-dev-control-1': 'control-plane', 'k3s-dev-worker-1': 'worker' },
      talos_vm_ids: { 'k3s-dev-control-1': 101, 'k3s-dev-worker-1': 102 },
      control_plane_ips: ['10.0.20.11'],
      worker_ips: ['10.0.20.31'],
      vm_ids: { 'k3s-dev-control-1': 101, 'k3s-dev-worker-1': 102 },
    });

    expect(problems(await copy.destroy())).toEqual([]);
    expect(copy.leftovers()).toEqual([]);
  });

  it('grows by a GPU worker and a virtual address without touching the others', async () => {
    expect(problems(await copy.apply('-var=worker_count=0'))).toEqual([]);
    const [before] = copy.scene.ours();
    const text = await readFile(copy.path('terraform.tfvars'), 'utf8');
    const grown = text.replace('gpu_pci_addresses = []', 'gpu_pci_addresses = ["0000:01:00"]');
    await writeFile(copy.path('terraform.tfvars'), `${grown}\ncluster_vip = "10.0.20.10"\n`);
    const applied = await copy.apply('-var=worker_count=0');
    expect(problems(applied)).toEqual([]);
    expect(applied.messages.find(({ type }) => type === 'change_summary')).toMatchObject({
      changes: { add: 1, change: 0, remove: 0 },
    });
    expect(copy.scene.ours()).toContainEqual(before);
    const gpu = copy.scene.configOf('k3s-dev-gpu-01');
    expect(gpu.get('machine')).toContain('q35');
    expect(gpu.get('hostpci0')).toMatch(/^mapping=.*pcie=1/);
    expect(await copy.outputs()).toMatchObject({
      talos_cluster_endpoint: 'https://10.0.20.10:6443',
      talos_vm_ids: { 'k3s-dev-gpu-01': 201 },
      talos_node_ips: { 'k3s-dev-gpu-01': '10.0.20.201' },
      talos_node_roles: { 'k3s-dev-gpu-01': 'worker' },
    });
    expect((await copy.plan('-var=worker_count=0')).code).toBe(0);
  });

  it('refuses to make anything twice when its state is lost, and takes the VMs back by import', async () => {
    expect(problems(await copy.apply())).toEqual([]);
    const made = [101, 102].map((vmid) => Object.fromEntries(copy.scene.world.vms.get(vmid)?.config.current ?? []));
    await rm(copy.path('terraform.tfstate'));
    const lost = problems(await copy.plan());
    expect(lost).toHaveLength(2);
    expect(lost.join()).toMatch(/101.*102|102.*101/);

    for (const [name, vmid] of [
      ['control-1', 101],
      ['worker-1', 102],
    ]) {
      const address = `module.node["k3s-dev-${name}"].proxwright_vm.node`;
      const imported = await copy.run('import', '-no-color', '-input=false', address, `vmhost/${vmid}`);
      expect([imported.code, imported.stderr]).toEqual([0, '']);
    }
    // What stands nowhere in a VM is written down, beside the checks of the inputs; nothing is sent.
    copy.scene.requests.length = 0;
    const applied = await copy.apply();
    expect(problems(applied)).toEqual([]);
    expect(applied.messages.find(({ type }) => type === 'change_summary')).toMatchObject({
      changes: { add: 1, change: 2, remove: 0 },
    });
    expect(copy.scene.requests.filter((line) => !line.startsWith('GET '))).toEqual([]);
    expect((await copy.plan()).code).toBe(0);
    const now = [101, 102].map((vmid) => Object.fromEntries(copy.scene.world.vms.get(vmid)?.config.current ?? []));
    expect(now).toEqual(made);
  });
});

/** Value as HCL, and what the operator reads. */
const REFUSED: readonly (readonly [name: string, value: string, message: RegExp])[] = [
  ['proxmox_endpoint', '"vmhost:8006"', /such as https:\/\/vmhost\.lab:8006/],
  ['node', '"vmhost.lab"', /name of a Proxmox node .* no dots/],
  ['storage', '"/tank"', /id of a Proxmox storage, .* not a path/],
  ['cluster_name', '"K3s dev"', /lower-case letters, digits and hyphens/],
  ['template_name', '"talos v1.12.4"', /such as talos-v1\.12\.4-base/],
  ['control_plane', '{ vmids = [101, 103] }', /needs 1, 3 or 5 ids/],
  ['control_plane', '{ vmids = [] }', /needs 1, 3 or 5 ids/],
  ['control_plane', '{ vmids = [99] }', /from 100 to 999999999/],
  ['control_plane', '{ vmids = [101, 101, 103] }', /different whole numbers/],
  ['worker_count', '-1', /whole number from 0 to 50/],
  ['worker_count', '51', /whole number from 0 to 50/],
  ['worker_count', '1.5', /whole number from 0 to 50/],
  ['worker', '{ first_vmid = 42 }', /worker\.first_vmid is a whole number from 100/],
  ['gpu_pci_addresses', '["01:00.0"]', /lspci -D.*0000:01:00/],
  ['gpu_pci_addresses', '["0000:01:00.0", "0000:01:00.1"]', /two devices on one bus/],
  ['gpu_worker', '{ base_vmid = 1 }', /gpu_worker\.base_vmid is a whole number from 100/],
  ['bridge', '"bridge zero"', /such as vmbr0/],
  ['vlan', '4095', /from 1 to 4094, or 0 for none/],
  ['network_cidr', '"10.0.20.0"', /such as 10\.0\.20\.0\/24/],
  ['network_cidr', '"10.0.20.11/24"', /address of the network, not of a host/],
  ['gateway', '"10.0.20.1/24"', /without a length, such as 10\.0\.20\.1/],
  ['cluster_vip', '"k3s.lab"', /without a length, such as 10\.0\.20\.10/],
  // What only shows across variables.
  ['worker', '{ first_vmid = 101 }', /Two VMs would have one id/],
  ['worker', '{ first_host = 11 }', /One address would be used twice/],
  ['gateway', '"10.0.21.1"', /must lie in network_cidr, 10\.0\.20\.0\/24/],
];

describe.each(ONE_HOST)('the inputs of k3s-dev under $name', (host) => {
  let copy: CleanCopy;

  beforeAll(async () => {
    copy = await CleanCopy.open({ host, world: talosHost, folder: FOLDER });
    await copy.init();
  });

  afterAll(() => copy.close());

  it.each(REFUSED)('are refused before anything is created: %s = %s', async (name, value, message) => {
    const refused = await copy.plan('-lock=false', `-var=${name}=${value.replace(/^"|"$/g, '')}`);
    expect(refused.code).toBe(1);
    const texts = refused.diagnostics.map(({ detail = '' }) => detail.replaceAll('\n', ' '));
    expect(texts.filter((text) => message.test(text))).toHaveLength(1);
    expect(copy.scene.requests.filter((line) => !line.startsWith('GET '))).toEqual([]);
  });

  it('are documented, each of them, and so are the outputs', async () => {
    const readme = await readFile(copy.path('README.md'), 'utf8');
    const declared = `${await readFile(copy.path('variables.tf'), 'utf8')}${await readFile(copy.path('outputs.tf'), 'utf8')}`;
    const names = [...declared.matchAll(/^(?:variable|output) "(\w+)"/gm)].map(([, name = '']) => name);
    expect(names.length).toBeGreaterThan(20);
    expect(names.filter((name) => !readme.includes(`\`${name}`))).toEqual([]);
  });
});
