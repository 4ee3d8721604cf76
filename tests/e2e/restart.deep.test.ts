/** Changes that need a restart: made if you allow it, by option or by an answer; otherwise the plan says that they are pending. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureBuilt, hasTerminal, startOnTerminal } from './built-command.ts';
import { type Cluster, makeProject, type Project, stackText, startCluster } from './project.ts';

let cluster: Cluster;
const projects: Project[] = [];

beforeAll(async () => {
  ensureBuilt();
  cluster = await startCluster(30);
});

afterAll(async () => {
  for (const each of projects) each.remove();
  await cluster?.close();
});

interface Running extends Project {
  /** Of the VM: which process it is, the memory it was started with, and what waits in its configuration. */
  facts(): { pid: number | undefined; memory: string | undefined; pending: readonly string[] };
  type(...args: string[]): ReturnType<typeof startOnTerminal>;
}

/** A VM that runs with 4 GiB, and a file that has come to ask for 6 GiB. */
async function changed(name: string, firstId: number): Promise<Running> {
  const text = (memory: string) => stackText({ name, firstId, count: 1, power: 'running', memory });
  const project = makeProject(text('4GiB'), cluster.environment);
  projects.push(project);
  const made = await project.run('apply', '--yes');
  expect(made.code, made.stderr).toBe(0);
  project.write('stack.yaml', text('6GiB'));
  return {
    ...project,
    facts: () => {
      const vm = cluster.world.vms.get(firstId);
      return {
        pid: vm?.process?.pid,
        memory: vm?.process?.launched.get('memory'),
        pending: [...(vm?.config.pending.keys() ?? [])],
      };
    },
    type: (...args) => startOnTerminal(args, cluster.environment, project.directory),
  };
}

const QUESTION = 'Restart them now? [y/N]';

describe('without a terminal', () => {
  it('does not restart a VM by --yes alone: it writes the change and says that a restart is pending', async () => {
    const vm = await changed('waiting', 2100);
    const before = vm.facts();
    const refused = await vm.run('apply');
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('--yes was not given') });
    expect(vm.facts()).toEqual(before);

    const { code, stdout, stderr } = await vm.run('apply', '--yes');
    expect(code, stderr).toBe(0);
    expect(stdout).toContain('restart pending: memory');
    expect(stdout).not.toContain('the VM is restarted');
    expect(stderr).not.toContain('restart starts');
    expect(`${stdout}${stderr}`).not.toContain(QUESTION);
    expect(vm.facts()).toEqual({ ...before, pending: ['memory'] });

    // It stays pending, and every plan says so.
    const again = await vm.run('apply', '--yes');
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining('restart pending: memory') });
    expect(vm.facts()).toEqual({ ...before, pending: ['memory'] });
  });

  it('restarts the VM with --allow-restart, and the plan says so', async () => {
    const vm = await changed('allowed', 2200);
    const before = vm.facts();
    const planned = await vm.run('plan', '--allow-restart');
    expect(planned.stdout).toContain('the VM is restarted');
    expect(planned.stdout).not.toContain('restart pending');
    expect(vm.facts()).toEqual(before);

    const { code, stdout, stderr } = await vm.run('apply', '--yes', '--allow-restart');
    expect(code, stderr).toBe(0);
    expect(stdout).toContain('the VM is restarted');
    expect(stderr).toMatch(/vm\.web\[1\]: restart done after/);
    expect(vm.facts()).toEqual({ pid: expect.any(Number), memory: '6144', pending: [] });
    expect(vm.facts().pid).not.toBe(before.pid);
    expect(await vm.run('plan', '--exit-code')).toMatchObject({ code: 0, stdout: 'No changes.\n' });
  });

  it('carries out a pending restart with --allow-restart', async () => {
    const vm = await changed('late', 2300);
    expect(await vm.run('apply', '--yes')).toMatchObject({ code: 0 });
    const before = vm.facts();
    expect(before.pending).toEqual(['memory']);
    expect(await vm.run('apply', '--yes', '--allow-restart')).toMatchObject({ code: 0 });
    expect(vm.facts()).toEqual({ pid: expect.any(Number), memory: '6144', pending: [] });
    expect(vm.facts().pid).not.toBe(before.pid);
  });
});

describe.skipIf(!hasTerminal)('on a terminal', () => {
  it('restarts the VM if the answer is yes', async () => {
    const vm = await changed('agreed', 2400);
    const before = vm.facts();
    const command = vm.type('apply');
    await command.printed(`Needs a restart: vm.web[1] (agreed-1). ${QUESTION}`);
    command.process.stdin?.write('yes\n');
    await command.printed('Apply these changes? [y/N]');
    // Nothing happens between the questions.
    expect(vm.facts()).toEqual(before);
    command.process.stdin?.write('y\n');
    const { code, stdout } = await command.finished;
    expect(code, stdout).toBe(0);
    expect(stdout).toContain('the VM is restarted');
    expect(stdout).not.toContain('restart pending');
    expect(vm.facts()).toEqual({ pid: expect.any(Number), memory: '6144', pending: [] });
    expect(vm.facts().pid).not.toBe(before.pid);
    expect(await vm.run('plan', '--exit-code')).toMatchObject({ code: 0 });
  });

  it.each([
    ['no', 'n\n', 2500],
    ['nothing', '\n', 2600],
  ])('writes the change and leaves the VM running if the answer is %s', async (name, typed, firstId) => {
    const vm = await changed(name, firstId);
    const before = vm.facts();
    const command = vm.type('apply');
    await command.printed(QUESTION);
    command.process.stdin?.write(typed);
    await command.printed('Apply these changes? [y/N]');
    command.process.stdin?.write('y\n');
    const { code, stdout } = await command.finished;
    expect(code, stdout).toBe(0);
    expect(stdout).toContain('restart pending: memory');
    expect(stdout).not.toContain('the VM is restarted');
    expect(vm.facts()).toEqual({ ...before, pending: ['memory'] });
  });

  it('is not asked where the option or --yes has answered, nor where nothing waits', async () => {
    const vm = await changed('unasked', 2700);
    const before = vm.facts();
    const decided = vm.type('apply', '--yes');
    expect((await decided.finished).stdout).not.toContain(QUESTION);
    expect(vm.facts()).toEqual({ ...before, pending: ['memory'] });
    const allowed = vm.type('apply', '--allow-restart');
    await allowed.printed('Apply these changes? [y/N]');
    allowed.process.stdin?.write('y\n');
    const { code, stdout } = await allowed.finished;
    expect(code, stdout).toBe(0);
    expect(stdout).not.toContain(QUESTION);
    expect(vm.facts()).toEqual({ pid: expect.any(Number), memory: '6144', pending: [] });
    const idle = await vm.type('apply').finished;
    expect(idle.stdout).toContain('No changes.');
    expect(idle.stdout).not.toContain('[y/N]');
  });
});
