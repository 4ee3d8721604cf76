/**
 * What the hand-over scripts and the hooks of the guides call, compared with the real programs as far as they get without a
 * cluster: each command and each of its flags exists, labels are valid, and a cluster that does not answer stops the script. The
 * programs are taken from PATH, or from PROXWRIGHT_KUBECTL, PROXWRIGHT_HELM and PROXWRIGHT_TALOSCTL.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { readFile, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { k3sScript } from '../../src/engine/outputs/hand-over/k3s.ts';
import { rancherScript } from '../../src/engine/outputs/hand-over/rancher.ts';
import { talosScript } from '../../src/engine/outputs/hand-over/talos.ts';
import { stackOutputs } from '../../src/engine/outputs/outputs.ts';
import { FakeCluster } from '../../src/engine/outputs/testing/fakes.ts';
import { address, known, stackOf, stateOf, vm } from '../../src/engine/outputs/testing/lab.ts';
import { root } from '../docs-pages.ts';

const PROGRAMS = {
  kubectl: process.env.PROXWRIGHT_KUBECTL ?? 'kubectl',
  helm: process.env.PROXWRIGHT_HELM ?? 'helm',
  talosctl: process.env.PROXWRIGHT_TALOSCTL ?? 'talosctl',
} as const;
type ProgramName = keyof typeof PROGRAMS;

function isMissing(name: ProgramName): boolean {
  if (spawnSync(PROGRAMS[name], ['--help']).status === 0) return false;
  process.stdout.write(`calls of ${name} are not compared with the real one: ${name} is not installed\n`);
  return true;
}

const guest = { guest: 'cloud-init' as const, cloud_init: { user: 'ubuntu' } };
const SERVERS = stackOutputs(
  stackOf([vm('manager', 1, { ...guest, role: 'manager', ...address('10.0.20.11') })]),
  stateOf({ 'vm.manager[1]': known(401) }),
);
const TALOS = stackOutputs(
  stackOf([
    vm('control', 1, { role: 'control-plane', ...address('10.0.20.11') }),
    vm('worker', 1, { role: 'worker', ...address('10.0.20.31') }),
  ]),
  stateOf({ 'vm.control[1]': known(101), 'vm.worker[1]': known(111) }),
);

/** Calls of the scripts, as their stand-ins record them, and of the hooks in the guide. */
async function callsOf(name: ProgramName): Promise<string[][]> {
  const cluster = new FakeCluster();
  try {
    cluster.mark('nodes', 'node/lab-manager-1\n');
    cluster.mark('k3s-lab/kubeconfig', 'kubeconfig');
    for (const script of [talosScript(TALOS), k3sScript(SERVERS), rancherScript(SERVERS)]) {
      await cluster.run(script, { RANCHER_HOSTNAME: 'rancher.example.org', RANCHER_VERSION: '2.12.1' });
    }
    const guide = await readFile(join(root, 'docs/guide/changing.md'), 'utf8');
    const hooks = [...guide.matchAll(/run: \[(kubectl[^\]]*)\]/g)].map(([, list = '']) => list.replaceAll(/[",]/g, ''));
    const scripts = await Promise.all(
      ['leave.sh', 'join.sh'].map((file) => callsIn(join('examples/talos-rolling', file))),
    );
    const calls = [...cluster.asked(), ...hooks, ...scripts.flat()].filter((line) => line.startsWith(`${name} `));
    return [...new Set(calls)].map((line) => line.split(' ').slice(1));
  } finally {
    cluster.remove();
  }
}

/** Calls in a script, with a word in the place of each variable. */
async function callsIn(file: string): Promise<string[]> {
  const script = (await readFile(join(root, file), 'utf8')).replaceAll(/\\\n\s*/g, '');
  const calls = [...script.matchAll(/\b(?:kubectl|talosctl) [^\n;#]*/g)].map(([call]) => call.split(' >')[0] ?? call);
  return calls.map((call) =>
    call
      .trim()
      .replaceAll(/"?\$\{?(\w+)\}?/g, '$1')
      .replaceAll('"', ''),
  );
}

/** The program reads all flags before it shows its help, and refuses those that it does not know. */
function refusalOf(name: ProgramName, call: readonly string[]): string | undefined {
  const { status, stderr } = spawnSync(PROGRAMS[name], [...call, '--help'], { encoding: 'utf8' });
  return status === 0 ? undefined : `${name} ${call.join(' ')}: ${stderr}`;
}

describe.each(Object.keys(PROGRAMS) as ProgramName[])('the real %s', (name) => {
  it.skipIf(isMissing(name))('knows every command and flag that the scripts and guides use', async () => {
    const calls = await callsOf(name);
    expect(calls.length).toBeGreaterThan(1);
    expect(calls.flatMap((call) => refusalOf(name, call) ?? [])).toEqual([]);
    const [first = []] = calls;
    expect(refusalOf(name, [...first, '--no-such-flag'])).toContain('no-such-flag');
  });
});

describe.skipIf(isMissing('kubectl') || isMissing('helm'))('without a cluster', () => {
  let cluster: FakeCluster;
  beforeAll(() => {
    cluster = new FakeCluster();
  });
  afterAll(() => cluster.remove());

  it('stops the Rancher script at the real kubectl, before it installs anything', async () => {
    for (const name of ['kubectl', 'helm'] as const) {
      cluster.unmark(join('bin', name));
      const { stdout } = spawnSync('sh', ['-c', `command -v ${PROGRAMS[name]}`], { encoding: 'utf8' });
      await symlink(stdout.trim(), join(cluster.folder, 'bin', name));
    }
    const config = `apiVersion: v1
kind: Config
clusters: [{ name: lab, cluster: { server: "https://127.0.0.1:1" } }]
users: [{ name: lab, user: { token: none } }]
contexts: [{ name: lab, context: { cluster: lab, user: lab } }]
current-context: lab
`;
    cluster.mark('k3s-lab/kubeconfig', config);
    const settings = { RANCHER_HOSTNAME: 'rancher.example.org', HOME: cluster.folder };
    const { code, stderr } = await cluster.run(rancherScript(SERVERS), settings);
    expect(code).not.toBe(0);
    expect(stderr).toContain('does not answer');
    expect(stderr).toContain('127.0.0.1:1');
    expect(cluster.has('rancher-lab/bootstrap-password')).toBe(false);
  });

  it('writes labels of host and zone that the real kubectl accepts', () => {
    const node = 'apiVersion: v1\nkind: Node\nmetadata: { name: lab-worker-1 }\n';
    const label = (...labels: string[]) =>
      spawnSync(
        PROGRAMS.kubectl,
        ['label', '--local', '--overwrite', '--filename', '-', '--output', 'yaml', ...labels],
        {
          input: node,
          encoding: 'utf8',
        },
      );
    const { status, stdout } = label('topology.kubernetes.io/zone=rack-a', 'proxwright/host=pve1');
    expect([status, stdout]).toEqual([0, expect.stringContaining('topology.kubernetes.io/zone: rack-a')]);
    expect(label('proxwright/host=rack a').status).not.toBe(0);
  });
});

describe.skipIf(isMissing('talosctl'))('machine configurations of the real talosctl', () => {
  const folder = mkdtempSync(join(tmpdir(), 'proxwright-talos-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const talosctl = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(PROGRAMS.talosctl, args, {
      cwd: folder,
      encoding: 'utf8',
      env: { ...process.env, HOME: folder },
    });
    return { status, text: `${stdout}${stderr}` };
  };
  const patched = (name: string, patch: string) => {
    const made = talosctl(
      'machineconfig',
      'patch',
      `${name}.yaml`,
      '--patch',
      patch,
      '--output',
      `patched-${name}.yaml`,
    );
    if (made.status !== 0) return made;
    return talosctl('validate', '--config', `patched-${name}.yaml`, '--mode', 'cloud');
  };

  it('are valid with the labels of host and zone that the script adds', () => {
    expect(talosctl('gen', 'secrets', '--output-file', 'secrets.yaml')).toMatchObject({ status: 0 });
    const made = ['gen', 'config', 'lab', 'https://10.0.20.11:6443', '--with-secrets', 'secrets.yaml', '--output', '.'];
    expect(talosctl(...made)).toMatchObject({ status: 0 });
    const labels = [...talosScript(TALOS).matchAll(/'(\{"machine":\{"nodeLabels":.*?\}\}\})'/g)].map(
      ([, patch = '']) => patch,
    );
    expect(labels).toHaveLength(2);
    for (const [index, name] of ['controlplane', 'worker'].entries()) {
      const patch = labels[index] ?? '';
      expect(patched(name, patch)).toMatchObject({ status: 0 });
      const text = readFileSync(join(folder, `patched-${name}.yaml`), 'utf8');
      for (const label of Object.keys(JSON.parse(patch).machine.nodeLabels)) expect(text).toContain(`${label}:`);
    }
    expect(patched('worker', '{"machine":{"nodeLabels":{"not a label":"x y"}}}').status).not.toBe(0);
  });
});
