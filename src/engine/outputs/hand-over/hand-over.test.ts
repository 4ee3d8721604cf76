/** Runs hand-over scripts in bash, with fakes of the programs that they call. */
import { execFileSync, spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ResolvedStack } from '../../../kinds/stack.ts';
import { stackOutputs } from '../outputs.ts';
import { FakeCluster } from '../testing/fakes.ts';
import { address, known, stackOf, stateOf, vm } from '../testing/lab.ts';
import { k3sScript } from './k3s.ts';
import { rancherScript } from './rancher.ts';
import { talosScript } from './talos.ts';

const inZone = (stack: ResolvedStack): ResolvedStack => ({
  ...stack,
  zones: [{ name: 'rack-a', nodes: [{ node: 'pve1', at: {} }] }],
});
const NODE_LABELS = '--node-label topology.kubernetes.io/zone=rack-a --node-label proxwright/host=pve1';
const LABELS = '{"machine":{"nodeLabels":{"topology.kubernetes.io/zone":"rack-a","proxwright/host":"pve1"}}}';

const TALOS = stackOutputs(
  inZone(
    stackOf(
      [
        vm('control', 1, { role: 'control-plane', ...address('10.0.20.11') }),
        vm('control', 2, { role: 'controlplane', ...address('10.0.20.12') }),
        vm('worker', 1, { role: 'worker' }),
      ],
      { talos: { vip: '10.0.20.10' } },
    ),
  ),
  stateOf({ 'vm.control[1]': known(101), 'vm.control[2]': known(102), 'vm.worker[1]': known(111) }),
);

const guest = { guest: 'cloud-init' as const, cloud_init: { user: 'ubuntu' } };
const RANCHER = stackOutputs(
  inZone(
    stackOf([
      ...[1, 2, 3].map((number) =>
        vm('manager', number, { ...guest, role: 'manager', ...address(`10.0.20.1${number}`) }),
      ),
      vm('agent', 1, { ...guest, cloud_init: {}, role: 'agent', ...address('10.0.20.21') }),
      ...[1, 2].map((number) => vm('apps', number, { ...guest, role: 'apps', ...address(`10.0.20.3${number}`) })),
    ]),
  ),
  stateOf({
    'vm.manager[1]': known(401),
    'vm.manager[2]': known(402),
    'vm.manager[3]': known(403),
    'vm.agent[1]': known(404),
    'vm.apps[1]': known(405),
    'vm.apps[2]': known(406),
  }),
);

/** Without what only looks. */
const acts = (lines: readonly string[]) =>
  lines
    .filter(
      (line) =>
        !/ (version|etcd members)$| patch machineconfig | config (endpoint|node) |^helm status|^kubectl get/.test(line),
    )
    .map((line) => line.replace(/--talosconfig \S+ --endpoints \S+ /, ''));

let cluster: FakeCluster;
beforeEach(() => {
  cluster = new FakeCluster();
});
afterEach(() => cluster.remove());

/** Not every machine has it. */
const LINTER = 'shellcheck';

const scripts = { talos: talosScript(TALOS), k3s: k3sScript(RANCHER), rancher: rancherScript(RANCHER) };

describe.each(Object.entries(scripts))('the script for %s', (_, text) => {
  it('is valid bash', () => {
    execFileSync('bash', ['-n'], { input: text });
  });

  it.skipIf(spawnSync(LINTER, ['--version']).error)('passes shellcheck', () => {
    expect(spawnSync(LINTER, ['-'], { input: text, encoding: 'utf8' }).stdout).toBe('');
  });

  it('ends with a line break and names the command that wrote it', () => {
    expect(text).toMatch(/^#!\/usr\/bin\/env bash\n# Stack lab: /);
    expect(text).toMatch(/contract version 1/);
    expect(text).toMatch(/[^\n]\n$/);
  });
});

describe('the hand-over script for Talos', () => {
  const settings = { ADDRESS_111: '10.0.20.31' };
  const ready = () => cluster.mark('talos-lab/patch-controlplane.yaml', 'vip: 10.0.20.10\n');

  it('stops before any change if an address is missing, and says what to run', async () => {
    const { code, stderr } = await cluster.run(scripts.talos);
    expect(code).toBe(1);
    expect(stderr).toContain(
      'lab-worker-1 (VM 111) has no known address. Look up BC:24:11:00:00:11 on your DHCP server, then run: export ADDRESS_111=<its address>',
    );
    expect(stderr).not.toContain('lab-control');
    expect(cluster.asked()).toEqual([]);
  });

  it('stops if a VM does not exist', async () => {
    const outputs = stackOutputs(stackOf([vm('control', 1, { role: 'control-plane' })]), stateOf({}));
    const { stderr } = await cluster.run(talosScript(outputs));
    expect(stderr).toContain('lab-control-1 does not exist yet. Run: proxwright apply');
  });

  it('stops if no control plane would use the virtual address', async () => {
    const { code, stderr } = await cluster.run(scripts.talos, settings);
    expect(code).toBe(1);
    expect(stderr).toContain('touch talos-lab/patch-controlplane.yaml');
    expect(cluster.asked()).toEqual([]);
  });

  it('generates, configures each node by its role, bootstraps once and fetches the kubeconfig', async () => {
    ready();
    cluster.mark('booting-10.0.20.12');
    const { code, stdout, stderr } = await cluster.run(scripts.talos, settings);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(acts(cluster.asked())).toEqual([
      'talosctl gen secrets --output-file talos-lab/secrets.yaml.new',
      'talosctl gen config lab https://10.0.20.10:6443 --with-secrets talos-lab/secrets.yaml --output talos-lab/new --config-patch-control-plane @talos-lab/patch-controlplane.yaml',
      `talosctl apply-config --insecure --nodes 10.0.20.11 --file talos-lab/controlplane.yaml --config-patch ${LABELS}`,
      `talosctl apply-config --insecure --nodes 10.0.20.12 --file talos-lab/controlplane.yaml --config-patch ${LABELS}`,
      `talosctl apply-config --insecure --nodes 10.0.20.12 --file talos-lab/controlplane.yaml --config-patch ${LABELS}`,
      'talosctl --nodes 10.0.20.11 bootstrap',
      `talosctl apply-config --insecure --nodes 10.0.20.31 --file talos-lab/worker.yaml --config-patch ${LABELS}`,
      'talosctl --nodes 10.0.20.11 kubeconfig talos-lab/kubeconfig --force --merge=false',
    ]);
    expect(cluster.read('configured-10.0.20.31')).toBe('worker.yaml\n');
    expect(stdout).toContain('export TALOSCONFIG=talos-lab/talosconfig KUBECONFIG=talos-lab/kubeconfig');
    expect(statSync(join(cluster.folder, 'talos-lab/secrets.yaml')).mode & 0o077).toBe(0);
    expect(cluster.committable('talos-lab')).toEqual(['.gitignore', 'bootstrapped', 'patch-controlplane.yaml']);
  });

  it('skips what is already done', async () => {
    ready();
    await cluster.run(scripts.talos, settings);
    cluster.asked();
    expect((await cluster.run(scripts.talos, settings)).code).toBe(0);
    expect(acts(cluster.asked())).toEqual([
      'talosctl --nodes 10.0.20.11 kubeconfig talos-lab/kubeconfig --force --merge=false',
    ]);
  });

  it('updates the labels of a node that is configured, because its VM may have moved, and continues if that fails', async () => {
    ready();
    await cluster.run(scripts.talos, settings);
    cluster.asked();
    cluster.mark('unpatchable-10.0.20.12');
    const { code, stdout } = await cluster.run(scripts.talos.replaceAll('pve1', 'pve2'), settings);
    expect(code).toBe(0);
    const patched = cluster.asked().filter((line) => line.includes(' patch machineconfig '));
    expect(patched).toHaveLength(3);
    for (const line of patched) expect(line).toContain(`--mode=no-reboot --patch ${LABELS.replace('pve1', 'pve2')}`);
    expect(stdout).toContain('lab-control-2 (10.0.20.12): its labels for host and zone were not updated.');
  });

  it('resumes after a failure, and applies the patch of a node', async () => {
    ready();
    cluster.mark('dead-10.0.20.31');
    cluster.mark('talos-lab/node-lab-worker-1.yaml', 'machine: {}\n');
    const stopped = await cluster.run(scripts.talos, { ...settings, WAIT_SECONDS: '0' });
    expect(stopped.code).toBe(1);
    expect(stopped.stderr).toContain(
      'lab-worker-1 (10.0.20.31) accepts its configuration: timed out after 0 s. Last output: no route to host',
    );
    cluster.unmark('dead-10.0.20.31');
    cluster.asked();
    expect((await cluster.run(scripts.talos, settings)).code).toBe(0);
    expect(acts(cluster.asked())).toEqual([
      `talosctl apply-config --insecure --nodes 10.0.20.31 --file talos-lab/worker.yaml --config-patch ${LABELS} --config-patch @talos-lab/node-lab-worker-1.yaml`,
      'talosctl --nodes 10.0.20.11 kubeconfig talos-lab/kubeconfig --force --merge=false',
    ]);
  });

  it('never bootstraps twice, even if etcd does not answer', async () => {
    ready();
    await cluster.run(scripts.talos, settings);
    cluster.asked();
    cluster.mark('etcd-away');
    const { code, stderr } = await cluster.run(scripts.talos, { ...settings, WAIT_SECONDS: '0' });
    expect(code).toBe(1);
    expect(stderr).toContain('rm talos-lab/bootstrapped');
    expect(cluster.asked().filter((line) => line.endsWith(' bootstrap'))).toEqual([]);
  });

  it('accepts a cluster that is already bootstrapped', async () => {
    ready();
    cluster.mark('etcd');
    expect((await cluster.run(scripts.talos, settings)).code).toBe(0);
    expect(cluster.asked().filter((line) => line.endsWith(' bootstrap'))).toEqual([]);
  });

  it('rejects configurations of another endpoint', async () => {
    ready();
    await cluster.run(scripts.talos, settings);
    cluster.mark('talos-lab/controlplane.yaml', 'endpoint: https://10.9.9.9:6443\n');
    const { code, stderr } = await cluster.run(scripts.talos, settings);
    expect(code).toBe(1);
    expect(stderr).toContain('talos-lab/controlplane.yaml is not for https://10.0.20.10:6443');
  });

  it('uses the first control plane as endpoint without a virtual address, also with IPv6', async () => {
    const outputs = stackOutputs(
      stackOf([vm('control', 1, { role: 'control-plane' })]),
      stateOf({ 'vm.control[1]': known(101) }),
    );
    const { code, stderr } = await cluster.run(talosScript(outputs), { ADDRESS_101: 'fd00::11' });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(cluster.asked()).toContain(
      'talosctl gen config lab https://[fd00::11]:6443 --with-secrets talos-lab/secrets.yaml --output talos-lab/new',
    );
  });

  it('stops a program after its timeout', async () => {
    const slow = scripts.talos.replace('bounded 60 talosctl apply-config', 'bounded 1 sleep 60; talosctl apply-config');
    expect(slow).not.toBe(scripts.talos);
    ready();
    expect((await cluster.run(slow, settings)).code).toBe(0);
  });

  it('quotes every name', async () => {
    const evil = "x'; touch pwned; '$(touch pwned)`touch pwned`";
    const [first, ...rest] = TALOS.vms;
    if (!first) throw new Error('no VM');
    const outputs = { ...TALOS, stack: `${evil}\ntouch pwned`, vms: [{ ...first, name: evil, ip: evil }, ...rest] };
    execFileSync('bash', ['-n'], { input: talosScript(outputs) });
    await cluster.run(talosScript(outputs), { ...settings, TALOS_FOLDER: 'talos lab', WAIT_SECONDS: '0' });
    expect(cluster.has('pwned')).toBe(false);
  });

  it('is refused for a stack without a control plane', () => {
    expect(() => talosScript(RANCHER)).toThrow('No VM of this stack has guest: talos and role: control-plane.');
  });
});

describe('the hand-over script for K3s', () => {
  const installs = (ip: string) =>
    cluster.has(`machines/${ip}/installs`) ? cluster.read(`machines/${ip}/installs`) : '';
  const token = (ip: string) => `--token-file ${cluster.folder}/machines/${ip}/etc/rancher/k3s/token`;

  it('creates the cluster on the first server and lets the others join, with the token in a file', async () => {
    const { code, stdout, stderr } = await cluster.run(scripts.k3s, { K3S_VERSION: "v1.33.1+k3s1'" });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(installs('10.0.20.11')).toBe(
      `v1.33.1+k3s1' server --cluster-init ${token('10.0.20.11')} --node-name lab-manager-1 ${NODE_LABELS}\n`,
    );
    for (const number of [2, 3]) {
      expect(installs(`10.0.20.1${number}`)).toBe(
        `v1.33.1+k3s1' server --server https://10.0.20.11:6443 ${token(`10.0.20.1${number}`)} --node-name lab-manager-${number} ${NODE_LABELS}\n`,
      );
    }
    expect(installs('10.0.20.21')).toContain('agent --server https://10.0.20.11:6443');
    expect(installs('10.0.20.31')).toBe('');
    expect(cluster.committable('k3s-lab')).toEqual([]);
    expect(cluster.read('k3s-lab/kubeconfig')).toBe('server: https://10.0.20.11:6443\n');
    expect(stdout).toContain('export KUBECONFIG=k3s-lab/kubeconfig');
    const secret = cluster.read('k3s-lab/token');
    expect(secret).toMatch(/^[0-9a-f]{64}$/);
    expect(cluster.read('machines/10.0.20.21/etc/rancher/k3s/token')).toBe(secret);
    const asked = cluster.asked().join('\n');
    expect(asked).not.toContain(secret);
    expect(stdout).not.toContain(secret);
    expect(asked).toContain(' ubuntu@10.0.20.11 ');
    expect(asked).toMatch(/ 10\.0\.20\.21 if /);
  });

  it('never passes a user or address as an option to ssh', async () => {
    const evil = '-oProxyCommand=touch pwned';
    const vms = RANCHER.vms.map((each) => ({ ...each, user: evil, ip: evil }));
    await cluster.run(k3sScript({ ...RANCHER, vms }), { WAIT_SECONDS: '5' });
    const asked = cluster.asked().filter((line) => line.startsWith('ssh '));
    expect(asked.length).toBeGreaterThan(0);
    for (const line of asked) expect(line).toContain(` -- ${evil}@${evil} `);
  });

  it('installs everything only once', async () => {
    await cluster.run(scripts.k3s);
    const before = installs('10.0.20.11') + installs('10.0.20.21');
    const { code, stdout } = await cluster.run(scripts.k3s, { SSH_USER: 'admin' });
    expect(code).toBe(0);
    expect(installs('10.0.20.11') + installs('10.0.20.21')).toBe(before);
    expect(stdout).toContain('lab-manager-1: server, running');
    // The VMs may be on other hosts by now.
    expect(cluster.read('machines/10.0.20.11/labels')).toContain(
      'kubectl label --overwrite node lab-agent-1 topology.kubernetes.io/zone=rack-a proxwright/host=pve1\n',
    );
    expect(cluster.asked().at(-1)).toContain('admin@10.0.20.11');
  });

  it('lets a replaced first server join the existing cluster', async () => {
    await cluster.run(scripts.k3s);
    cluster.unmark('machines/10.0.20.11');
    expect((await cluster.run(scripts.k3s)).code).toBe(0);
    expect(installs('10.0.20.11')).toContain('server --server https://10.0.20.12:6443');
    expect(installs('10.0.20.11')).not.toContain('--cluster-init');
  });

  it('does not create a second cluster if the existing one is down', async () => {
    await cluster.run(scripts.k3s);
    for (const number of [1, 2, 3]) cluster.unmark(`machines/10.0.20.1${number}/k3s.runs`);
    cluster.unmark('machines/10.0.20.11');
    const { code, stderr } = await cluster.run(scripts.k3s, { WAIT_SECONDS: '5' });
    expect(code).toBe(1);
    expect(stderr).toContain(
      'K3s runs on lab-manager-2, which was a server before (to start it: ssh -- ubuntu@10.0.20.12',
    );
    expect(installs('10.0.20.11')).toBe('');
  });

  it('stops before any installation if a server does not answer', async () => {
    cluster.mark('machines/10.0.20.13.dead');
    const { code, stderr } = await cluster.run(scripts.k3s, { WAIT_SECONDS: '5' });
    expect(code).toBe(1);
    expect(stderr).toContain('ubuntu@10.0.20.13 answers through SSH');
    expect(stderr).toContain('no route to host');
    expect(installs('10.0.20.11')).toBe('');
  });

  it('stops if the installer cannot be downloaded, and resumes later', async () => {
    cluster.mark('machines/10.0.20.12/offline');
    const stopped = await cluster.run(scripts.k3s);
    expect(stopped.code).toBe(1);
    expect(stopped.stderr).toContain('lab-manager-2: K3s was not installed.');
    cluster.unmark('machines/10.0.20.12/offline');
    expect((await cluster.run(scripts.k3s)).code).toBe(0);
    expect(installs('10.0.20.11').split('\n')).toHaveLength(2);
  });

  it('is refused for a stack without servers', () => {
    expect(() => k3sScript(TALOS)).toThrow('This stack has no K3s server');
  });
});

describe('the hand-over script for Rancher', () => {
  const settings = { RANCHER_HOSTNAME: 'rancher.example.org' };
  const NODES = 'node/lab-manager-1\nnode/lab-manager-2\nnode/lab-manager-3\n';
  beforeEach(() => {
    cluster.mark('k3s-lab/kubeconfig', 'server: https://10.0.20.11:6443\n');
    cluster.mark('nodes', NODES);
  });

  it('installs cert-manager and Rancher with one replica per manager, and lists the other VMs', async () => {
    const { code, stdout, stderr } = await cluster.run(scripts.rancher, { ...settings, RANCHER_VERSION: '2.12.1' });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(acts(cluster.asked())).toEqual([
      'helm upgrade --install cert-manager cert-manager --repo https://charts.jetstack.io --namespace cert-manager --create-namespace --wait --timeout 600s --set crds.enabled=true',
      'helm upgrade --install rancher rancher --repo https://releases.rancher.com/server-charts/stable --namespace cattle-system --create-namespace --version 2.12.1 --wait --timeout 600s --set hostname=rancher.example.org --set replicas=3 --set-file bootstrapPassword=rancher-lab/bootstrap-password',
      'kubectl rollout status deployment/rancher --namespace cattle-system --timeout 600s',
    ]);
    const labels = '--label topology.kubernetes.io/zone=rack-a --label proxwright/host=pve1';
    for (const number of [1, 2]) {
      const line = `  lab-apps-${number}: ssh -- ubuntu@10.0.20.3${number} (add to the command: ${labels})\n`;
      expect(stdout).toContain(line);
    }
    expect(stdout).not.toContain(cluster.read('rancher-lab/bootstrap-password'));
    expect(cluster.read('rancher-lab/bootstrap-password')).toMatch(/^[0-9a-f]{32}$/);
  });

  it('upgrades nothing when it runs again', async () => {
    await cluster.run(scripts.rancher, settings);
    const password = cluster.read('rancher-lab/bootstrap-password');
    cluster.asked();
    expect((await cluster.run(scripts.rancher, settings)).code).toBe(0);
    expect(acts(cluster.asked()).map((line) => line.split(' ')[0])).toEqual(['kubectl']);
    expect(cluster.read('rancher-lab/bootstrap-password')).toBe(password);
  });

  it.each([
    ['a name', {}, 'export RANCHER_HOSTNAME=rancher.example.org'],
    ['a kubeconfig', { ...settings, KUBECONFIG: 'nowhere' }, 'There is no nowhere.'],
  ])('stops without %s', async (_, given, words) => {
    const { code, stderr } = await cluster.run(scripts.rancher, given);
    expect(code).toBe(1);
    expect(stderr).toContain(words);
    expect(cluster.asked()).toEqual([]);
  });

  it('installs nothing in another cluster', async () => {
    cluster.mark('nodes', 'node/lab-manager-1\nnode/production-1\n');
    const { code, stderr } = await cluster.run(scripts.rancher, settings);
    expect(code).toBe(1);
    expect(stderr).toContain('lab-manager-2 is not a node of the cluster of k3s-lab/kubeconfig');
    expect(acts(cluster.asked())).toEqual([]);
  });

  it('says what to check if a chart fails', async () => {
    cluster.mark('broken-rancher');
    const { code, stderr } = await cluster.run(scripts.rancher, settings);
    expect(code).toBe(1);
    expect(stderr).toContain('rancher was not installed. See: kubectl get events --namespace cattle-system');
  });
});
