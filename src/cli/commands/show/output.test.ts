import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { vmAddress } from '../../../base/address.ts';
import type { Diagnostic } from '../../../base/diagnostics.ts';
import { known } from '../../../engine/outputs/testing/lab.ts';
import { emptyState } from '../../../kinds/recorded.ts';
import { testDeps } from '../../testing/deps.ts';
import { type OutputOptions, runOutput } from './output.ts';

const STACK = `
version: 1
stack: lab
defaults: { node: pve1, guest: talos, clone: { template: talos } }
vms:
  control:
    name: lab-control
    role: control-plane
    nics: { net0: { ipv4: { address: 10.0.20.11/24, gateway: 10.0.20.1 } } }
  worker: { name: lab-worker, role: worker, nics: { net0: { bridge: vmbr0 } } }
`;

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'proxwright-output-'));
  writeFileSync(join(directory, 'stack.yaml'), STACK);
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** The output and the messages of a command. */
async function output(name?: string, options: OutputOptions = {}): Promise<{ text: string; said: Diagnostic[] }> {
  const lines: string[] = [];
  const said: Diagnostic[] = [];
  const { deps } = testDeps({ directory });
  const terminal = {
    ...deps.terminal,
    result: (line: string) => void lines.push(line),
    data: (value: unknown, indent?: number) => void lines.push(JSON.stringify(value, undefined, indent)),
    diagnostic: (each: Diagnostic) => void said.push(each),
  };
  expect(await runOutput(name, options, { ...deps, terminal })).toBe(0);
  return { text: `${lines.join('\n')}\n`, said };
}

async function remember(): Promise<void> {
  const { DirectoryStore } = await import('../../../state/directory-store.ts');
  const store = new DirectoryStore(join(directory, '.proxwright', 'lab'));
  const vms = { [vmAddress('control')]: known(101), [vmAddress('worker')]: known(111) };
  await store.write('state.json', JSON.stringify({ ...emptyState('lab'), vms }));
}

const TALOS_KEYS = [
  'contract_version',
  'talos_control_plane_endpoints',
  'talos_cluster_endpoint',
  'talos_node_ips',
  'talos_node_roles',
  'talos_vm_ids',
  'control_plane_ips',
  'worker_ips',
  'vm_ids',
];

describe('the contract for Talos', () => {
  it('is JSON by default, with every key; unknown values are null, with a warning', async () => {
    await remember();
    const { text, said } = await output(undefined, { contract: 'talos' });
    expect(Object.keys(JSON.parse(text))).toEqual(TALOS_KEYS);
    expect(JSON.parse(text)).toMatchObject({
      contract_version: 1,
      talos_cluster_endpoint: 'https://10.0.20.11:6443',
      talos_node_ips: { 'lab-control': '10.0.20.11', 'lab-worker': null },
    });
    expect(said.map(({ severity, code }) => [severity, code])).toEqual([['warning', 'NO_ADDRESS']]);
  });

  it('has every key before anything exists', async () => {
    const { text, said } = await output(undefined, { contract: 'talos' });
    expect(Object.keys(JSON.parse(text))).toEqual(TALOS_KEYS);
    expect(JSON.parse(text).talos_vm_ids).toEqual({ 'lab-control': null, 'lab-worker': null });
    expect(said).toHaveLength(3);
  });

  it.each([
    ['env', /^CONTRACT_VERSION='1'\nTALOS_CONTROL_PLANE_ENDPOINTS='10\.0\.20\.11'\n/],
    ['shell', /^export CONTRACT_VERSION='1'\nexport TALOS_CONTROL_PLANE_ENDPOINTS='10\.0\.20\.11'\n/],
    ['human', /^talos_cluster_endpoint +https:\/\/10\.0\.20\.11:6443$/m],
  ])('has the format %s', async (format, pattern) => {
    await remember();
    expect((await output(undefined, { contract: 'talos', format })).text).toMatch(pattern);
  });

  it('is rejected under another name', async () => {
    await expect(output(undefined, { contract: 'nomad' })).rejects.toThrow('There is no contract "nomad".');
    await expect(output(undefined, { contract: 'constructor' })).rejects.toThrow('There is no contract');
  });
});

describe('one output', () => {
  it('is plain for scripts, and can be JSON, environment or shell', async () => {
    await remember();
    expect((await output('talos_control_plane_endpoints')).text).toBe('10.0.20.11\n');
    expect((await output('talos_vm_ids', { format: 'shell' })).text).toBe(
      `export TALOS_VM_IDS='{"lab-control":101,"lab-worker":111}'\n`,
    );
    expect((await output('contract_version', { format: 'env' })).text).toBe("CONTRACT_VERSION='1'\n");
    expect((await output('talos_vm_ids', { format: 'json' })).said).toEqual([]);
  });

  it('warns if its name is deprecated, also within the contract', async () => {
    await remember();
    const { text, said } = await output('control_plane_ips', { contract: 'talos', format: 'human' });
    expect(text).toBe('10.0.20.11\n');
    expect(said.map(({ code }) => code)).toEqual(['DEPRECATED_OUTPUT']);
  });

  it('warns if a part of it is unknown', async () => {
    await remember();
    expect((await output('talos_node_ips')).said.map(({ code }) => code)).toEqual(['NO_ADDRESS']);
  });

  it('rejects formats that cover all VMs', async () => {
    await expect(output('vms', { format: 'ansible' })).rejects.toThrow('it cannot show a single output');
  });
});

describe('other formats', () => {
  it.each([
    ['ansible', 'ansible_host: 10.0.20.11'],
    ['dnsmasq', 'dhcp-host=bc:24:11:00:00:01,10.0.20.11,lab-control\n'],
    ['isc-dhcp', 'host lab-control { hardware ethernet bc:24:11:00:00:01; fixed-address 10.0.20.11; }\n'],
    ['talos-script', '#!/usr/bin/env bash\n'],
  ])('%s', async (format, part) => {
    await remember();
    expect((await output(undefined, { format })).text).toContain(part);
  });

  it('include the schema, which does not depend on the stack', async () => {
    const { text, said } = await output(undefined, { format: 'schema' });
    expect(JSON.parse(text).required).toContain('talos_cluster_endpoint');
    expect(said).toEqual([]);
  });

  it.each(['k3s-script', 'rancher-script'])('%s is rejected if no VM fits it', async (format) => {
    await expect(output(undefined, { format })).rejects.toThrow('This stack has no K3s server');
  });

  it('are listed if you ask for one that does not exist', async () => {
    await expect(output(undefined, { format: 'toString' })).rejects.toMatchObject({
      diagnostic: { hint: { text: expect.stringContaining('talos-script, k3s-script, rancher-script') } },
    });
  });
});
