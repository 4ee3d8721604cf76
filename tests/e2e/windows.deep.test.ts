/**
 * The built command under the paths and the file system of Windows, imitated by windows/as-windows.cjs: separators, drives,
 * names that Windows refuses, and directories that cannot be flushed. A real Windows has not run it.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureBuilt, type Finished } from './built-command.ts';
import { type Cluster, makeProject, type Project, stackText, startCluster, TOKEN } from './project.ts';

const AS_WINDOWS = fileURLToPath(new URL('windows/as-windows.cjs', import.meta.url));
const toWindows = (path: string) => `C:${path.replaceAll('/', '\\')}`;

describe.skipIf(process.platform === 'win32')('the command under the paths of Windows', () => {
  let cluster: Cluster;
  let project: Project;

  beforeAll(async () => {
    ensureBuilt();
    cluster = await startCluster(60);
    const { PROXMOX_VE_API_TOKEN: _, ...environment } = cluster.environment;
    project = makeProject('', { ...environment, NODE_OPTIONS: `--require "${AS_WINDOWS}"` });
    mkdirSync(join(project.directory, 'files'));
    project.write('files/token', TOKEN);
    project.write('files/user-data.yaml', '#cloud-config\npackages: [qemu-guest-agent]\n');
    project.write('stack.yaml', stack(project.directory));
  });
  afterAll(async () => {
    await cluster.close();
    project.remove();
  });

  const done = async (...args: string[]): Promise<Finished> => {
    const end = await project.run(...args);
    expect(end, `${args.join(' ')}: ${end.stdout}${end.stderr}`).toMatchObject({ code: 0 });
    return end;
  };

  it('creates VMs from files named with drives and separators, and plans no changes afterwards', async () => {
    await done('apply', '--yes', '--verify');
    expect((await done('plan', '--exit-code')).stdout).toContain('No changes.');
    expect([...cluster.world.vms.values()].map(({ vmid }) => vmid)).toContain(701);
    expect(readFileSync(join(project.directory, 'evidence.md'), 'utf8')).toContain('web');
  });

  it('keeps state, backups, journals, saved plans and outputs in files whose names Windows takes', async () => {
    await done('state', 'backup', 'before');
    await done('plan', '--out', 'plan.json');
    expect((await done('runs')).stdout).toContain('apply');
    const names = readdirSync(project.directory, { recursive: true, encoding: 'utf8' });
    expect(names.some((name) => name.endsWith('before.json'))).toBe(true);
    expect(names.filter((name) => /[\\<>:"|?*]/.test(name))).toEqual([]);
  });

  it('reads a stack file with Windows line ends, and names positions in it', async () => {
    const path = join(project.directory, 'stack.yaml');
    const text = readFileSync(path, 'utf8').replaceAll('\n', '\r\n');
    writeFileSync(path, text);
    expect((await done('plan', '--exit-code')).stdout).toContain('No changes.');
    writeFileSync(path, text.replace('cores: 4', 'coers: 4'));
    const end = await project.run('validate');
    expect(end.code).toBe(1);
    expect(end.stderr).toMatch(/stack\.yaml:\d+:\d+/);
    writeFileSync(path, text);
  });

  it('destroys what it made', async () => {
    await done('destroy', '--yes');
    expect([...cluster.world.vms.values()].map(({ vmid }) => vmid)).not.toContain(701);
  });
});

function stack(directory: string): string {
  const token = `connection: { token: { file: '${toWindows(join(directory, 'files', 'token'))}' } }\n`;
  const seed = `    cloud_init: { storage: local, user_data: { file: 'files\\user-data.yaml' } }\n`;
  return stackText({ name: 'win', firstId: 701, count: 1, guest: 'cloud-init', more: `${seed}${token}` });
}
