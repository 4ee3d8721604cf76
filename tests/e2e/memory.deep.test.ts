/** What is recorded of a stack, by the commands that show and change it: outputs, state, runs, import. */
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureBuilt, runCommand } from './built-command.ts';
import { type Cluster, makeProject, type Project, startCluster } from './project.ts';

const STACK = `version: 1
stack: lab
defaults: { node: pve1, clone: { template: ubuntu-24.04 }, power: stopped }
vms:
  web: { count: 2, name: "lab-web-\${number}", vmids: 601-609, memory: 4GiB, role: worker, nics: { net0: { bridge: vmbr0 } } }
`;

let cluster: Cluster;
let project: Project;
const state = () => JSON.parse(readFileSync(join(project.directory, '.proxwright/lab/state.json'), 'utf8'));

async function succeed(...args: string[]): Promise<{ stdout: string; stderr: string }> {
  const { code, stdout, stderr } = await project.run(...args);
  expect(code, `${args.join(' ')}\n${stdout}${stderr}`).toBe(0);
  return { stdout, stderr };
}

beforeAll(async () => {
  ensureBuilt();
  cluster = await startCluster(50);
  project = makeProject(STACK, cluster.environment);
  await succeed('apply', '--yes');
});

afterAll(async () => {
  project?.remove();
  await cluster?.close();
});

describe('init', () => {
  it('writes a stack that validates, its schema and a .gitignore, and never replaces a stack unasked', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'proxwright-init-'));
    try {
      writeFileSync(join(directory, '.gitignore'), 'node_modules');
      expect(await runCommand(['init', '--example', 'talos'], {}, directory)).toMatchObject({ code: 0 });
      expect(readFileSync(join(directory, '.gitignore'), 'utf8')).toBe('node_modules\n.proxwright/\n');
      expect(JSON.parse(readFileSync(join(directory, 'stack.schema.json'), 'utf8')).title).toBe('Proxwright stack');
      expect(await runCommand(['validate'], {}, directory)).toMatchObject({ code: 0 });
      const before = readFileSync(join(directory, 'stack.yaml'), 'utf8');
      const second = await runCommand(['init'], {}, directory);
      expect(second).toMatchObject({ code: 1, stderr: expect.stringContaining('--force') });
      expect(readFileSync(join(directory, 'stack.yaml'), 'utf8')).toBe(before);
      expect(await runCommand(['init', '--force', '--example', 'k3s'], {}, directory)).toMatchObject({ code: 0 });
      expect(readFileSync(join(directory, 'stack.yaml'), 'utf8')).toContain('stack: k3s');
      expect(readFileSync(join(directory, '.gitignore'), 'utf8')).toBe('node_modules\n.proxwright/\n');
      const wrong = await runCommand(['init', '--force', '--example', 'k33s'], {}, directory);
      expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining('Did you mean "k3s"?') });
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });
});

describe('output', () => {
  it('prints for people, programs, shells and Ansible, and single values', async () => {
    expect((await succeed('output')).stdout).toMatch(/lab-web-2 +602 +pve1 +worker +complete/);
    const values = JSON.parse((await succeed('output', '--format', 'json')).stdout);
    expect(values.vms['lab-web-1']).toMatchObject({ vmid: 601, node: 'pve1', role: 'worker' });
    expect((await succeed('output', '--format', 'env')).stdout).toContain("CONTRACT_VERSION='1'\n");
    expect((await succeed('output', '--format', 'ansible')).stdout).toContain('proxmox_vmid: 601');
    expect((await succeed('output', 'contract_version')).stdout).toBe('1\n');
    const talos = JSON.parse((await succeed('output', '--contract', 'talos')).stdout);
    expect(Object.keys(talos)).toContain('talos_cluster_endpoint');
    expect(Object.keys(talos)).not.toContain('vms');
    expect((await succeed('output', 'vm_ids', '--json')).stderr).toContain('DEPRECATED_OUTPUT');
  });

  it('says which outputs and formats there are', async () => {
    expect(await project.run('output', 'vmz')).toMatchObject({ code: 1, stderr: expect.stringContaining('"vms"') });
    expect(await project.run('output', '--format', 'xml')).toMatchObject({ code: 1 });
  });
});

describe('runs', () => {
  it('lists them, shows one step by step, and writes metrics', async () => {
    expect((await succeed('runs')).stdout).toMatch(/Z-[0-9a-f]{6} .*apply +done +2 /);
    const { stdout } = await succeed('runs', 'show', 'last', '--metrics', 'run.prom', '-f', 'stack.yaml');
    expect(stdout).toMatch(/vm\.web\[1\][\s\S]*clone[\s\S]*configure[\s\S]*verify[\s\S]*vm\.web\[2\]/);
    const metrics = readFileSync(join(project.directory, 'run.prom'), 'utf8');
    expect(metrics).toContain('proxwright_run_success{stack="lab",command="apply"} 1\n');
    expect(JSON.parse((await succeed('runs', '--json')).stdout)[0]).toMatchObject({ command: 'apply', vms: 2 });
    expect(await project.run('runs', 'show', 'nothing')).toMatchObject({ code: 1 });
  });
});

describe('state', () => {
  it('lists and shows', async () => {
    expect((await succeed('state', 'list')).stdout).toMatch(/vm\.web\[1\] +lab-web-1 +601 +pve1 +complete/);
    const { stdout } = await succeed('state', 'show', 'vm.web[1]');
    expect(stdout).toMatch(/memory +4GiB/);
    expect(await project.run('state', 'show', 'vm.wed[1]')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("Did you mean 'vm.web[1]'?"),
    });
  });

  it('moves an address there and back', async () => {
    await succeed('state', 'mv', 'vm.web[2]', 'vm.site');
    expect(Object.keys(state().vms)).toEqual(['vm.site', 'vm.web[1]']);
    await succeed('state', 'mv', 'vm.site', 'vm.web[2]');
    expect((await succeed('plan')).stdout).toContain('No changes.');
  });

  it('is rebuilt from the cluster after it was lost', async () => {
    const before = state();
    rmSync(join(project.directory, '.proxwright/lab/state.json'));
    expect(await project.run('plan')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/STATE_LOST[\s\S]*vm\.web\[1\] is VM 601 [\s\S]*proxwright state recover/),
    });
    expect(await project.run('state', 'recover')).toMatchObject({ code: 1, stderr: expect.stringContaining('--yes') });
    expect((await succeed('state', 'recover', '--yes')).stdout).toMatch(/vm\.web\[2\] +602/);
    // The nonce of the clone served its purpose, and no VM says what it was cloned from; everything else is found again.
    const known = Object.entries(before.vms as Record<string, object>).map(([address, vm]) => [
      address,
      { ...vm, nonce: undefined, source: undefined },
    ]);
    expect(state().vms).toEqual(Object.fromEntries(known));
    expect((await succeed('plan')).stdout).toContain('No changes.');
    expect((await succeed('state', 'recover', '--yes')).stderr).toContain('Nothing to recover');
  });

  it('is backed up by name, private, and restored after a comparison with the cluster', async () => {
    await succeed('state', 'backup', 'before');
    const file = join(project.directory, '.proxwright/lab/saved/before.json');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await project.run('state', 'backup', 'before')).toMatchObject({ code: 1 });
    const { serial, vms } = state();
    await succeed('state', 'forget', 'vm.web[2]', '--yes');
    expect(Object.keys(state().vms)).toEqual(['vm.web[1]']);
    expect((await succeed('state', 'restore')).stdout).toMatch(/^before /m);
    const { stdout, stderr } = await succeed('state', 'restore', 'before', '--yes');
    expect(stdout).toMatch(/vm\.web\[2\] +602 +lab-web-2 +pve1 +as recorded/);
    expect(stderr).toContain(`"before" has serial ${serial}`);
    expect(state()).toMatchObject({ serial: serial + 2, vms });
    expect((await succeed('plan')).stdout).toContain('No changes.');
  });

  it('refuses a backup of another stack, and one that is damaged', async () => {
    project.write('other.json', JSON.stringify({ ...state(), stack: 'prod', checksum: undefined }));
    project.write('torn.json', '{"version": 1');
    const before = state();
    expect(await project.run('state', 'restore', 'other.json', '--yes')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('belongs to the stack "prod", not to "lab"'),
    });
    expect(await project.run('state', 'restore', 'torn.json', '--yes')).toMatchObject({ code: 1 });
    expect(await project.run('state', 'restore', 'nothing', '--yes')).toMatchObject({ code: 1 });
    expect(state()).toEqual(before);
  });

  it('shows whose lock it is before it removes it', async () => {
    const lock = join(project.directory, '.proxwright/lab/lock');
    const owner = {
      runId: 'r',
      who: 'ada',
      host: 'elsewhere',
      pid: 7,
      since: '2026-01-01T00:00:00Z',
      command: 'apply',
    };
    writeFileSync(lock, JSON.stringify(owner));
    expect(await project.run('state', 'unlock')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('ada has been running "apply" on elsewhere since 2026-01-01'),
    });
    expect(existsSync(lock)).toBe(true);
    expect(await project.run('state', 'unlock', '--yes')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('proxwright state unlock --id r'),
    });
    expect(await project.run('state', 'unlock', '--id', 'other')).toMatchObject({ code: 1 });
    expect(existsSync(lock)).toBe(true);
    await succeed('state', 'unlock', '--id', 'r');
    expect(existsSync(lock)).toBe(false);
    writeFileSync(lock, '{');
    await succeed('state', 'unlock', '--yes');
    expect(existsSync(lock)).toBe(false);
    writeFileSync(lock, JSON.stringify({ ...owner, host: hostname(), pid: process.pid }));
    expect(await project.run('state', 'unlock', '--yes')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`Process ${process.pid} is alive on this machine`),
    });
    expect(existsSync(lock)).toBe(true);
    await succeed('state', 'unlock', '--force');
    expect(existsSync(lock)).toBe(false);
    writeFileSync(lock, JSON.stringify({ ...owner, host: hostname(), pid: 2 ** 22 + 1 }));
    expect((await succeed('state', 'unlock')).stderr).toContain('stale');
    expect((await succeed('state', 'unlock')).stderr).toContain('There is no lock.');
  });
});

describe('import', () => {
  it('takes a VM over and prints lines that, put into the file, give an empty plan', async () => {
    const node = cluster.outside.node('pve1');
    const upid = await node.vms.create({
      vmid: 700,
      name: 'old',
      cores: 2,
      memory: 2048,
      scsi0: 'local-lvm:4',
      net0: 'virtio,bridge=vmbr0',
    });
    await cluster.outside.tasks.wait(upid);
    const { stdout, stderr } = await succeed('import', 'vm.old', '700');
    expect(stderr).toContain('does not contain vm.old yet');
    expect(stdout).toContain('vms:\n  old:\n    name: old\n    vmid: 700\n');
    expect(stdout).not.toContain('clone:');
    project.write('stack.yaml', `${STACK}${stdout.replace(/^vms:\n/, '')}`);
    await succeed('validate');
    expect((await succeed('plan')).stdout).toBe('No changes.\n');
    expect(await project.run('import', 'vm.other', '700')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('VM 700 belongs to vm.old of this stack.'),
    });
    expect(await project.run('import', 'old', '700')).toMatchObject({ code: 1 });
    expect(await project.run('import', 'vm.base', '9000')).toMatchObject({ code: 1 });
    project.write('stack.yaml', STACK);
    const forgotten = await succeed('state', 'forget', 'vm.old', '--yes');
    expect(forgotten.stderr).toContain('proxwright import vm.old 700');
    expect(forgotten.stderr).toContain('delete the line that begins with "proxwright:"');
    await succeed('import', 'vm.old', '700');
    expect((await succeed('state', 'forget', 'vm.old', '--release', '--yes')).stderr).toContain(
      'no longer has an ownership line',
    );
    expect((await node.vm(700).config.get()).values.get('description') ?? '').not.toContain('proxwright:');
    expect((await succeed('state', 'list')).stdout).not.toContain('vm.old');
  });
});
