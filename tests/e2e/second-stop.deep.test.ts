/** Ctrl-C twice: the first waits for a disk that does not answer, the second stops immediately; the next run resumes. */
import { spawnSync } from 'node:child_process';
import { closeSync, constants, existsSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { effectiveTasks } from '../support/effective-tasks.ts';
import { ensureBuilt, type RunningCommand } from './built-command.ts';
import { type Cluster, makeProject, type Project, stackText, startCluster } from './project.ts';

/** Within this time a second signal counts as the echo of the first. */
const ECHO_MS = 250;

let cluster: Cluster;
const projects: Project[] = [];

beforeAll(async () => {
  ensureBuilt();
  cluster = await startCluster(20);
});
afterAll(async () => {
  for (const project of projects) project.remove();
  await cluster?.close();
});

/** A reader of the file waits until it is released, as on a network disk that went away. */
function stall(file: string): { letGo(): void; mend(): void } {
  const text = readFileSync(file, 'utf8');
  const pipe = `${file}.pipe`;
  const { status, stderr } = spawnSync('mkfifo', [pipe], { encoding: 'utf8' });
  expect(status, stderr).toBe(0);
  renameSync(pipe, file);
  return {
    letGo: () => closeSync(openSync(file, constants.O_WRONLY | constants.O_NONBLOCK)),
    mend: () => {
      writeFileSync(`${file}.whole`, text);
      renameSync(`${file}.whole`, file);
    },
  };
}

/**
 * Until a process has done everything a signal made it do: from the moment of the signal its main thread is ready to run,
 * however long it has to wait for a core, and sleeps again when there is nothing left but the disk to wait for.
 */
async function untilAsleep(pid = Number.NaN): Promise<void> {
  if (process.platform !== 'linux') return pause(4 * ECHO_MS);
  for (let asleep = 0; asleep < 3; ) {
    const [, state] = /\) (\w) /.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
    asleep = state === 'S' ? asleep + 1 : 0;
    await pause(20);
  }
}

interface Begun {
  readonly project: Project;
  /** Where the stack's state is. */
  readonly directory: string;
  readonly command: RunningCommand;
  /** The next apply ends what was begun, and nothing was done twice. */
  expectResumed(): Promise<void>;
}

async function beginApply(name: string, firstId: number): Promise<Begun> {
  const project = makeProject(stackText({ name, firstId, count: 3 }), cluster.environment);
  projects.push(project);
  const directory = join(project.directory, '.proxwright', name);
  const ours = () => [...cluster.world.vms.values()].map(({ config }) => config.current.get('name') ?? '');
  const clones = () => effectiveTasks(cluster.world).filter(({ type }) => type === 'qmclone').length;
  const before = clones();
  const command = project.start('apply', '--yes');
  await command.said('vm.web[1]: clone starts');
  return {
    project,
    directory,
    command,
    expectResumed: async () => {
      const next = await project.run('apply', '--yes');
      expect(next.code, next.stderr).toBe(0);
      expect(next.stderr).toContain('which no longer runs');
      expect(ours().filter((each) => each.startsWith(`${name}-`))).toHaveLength(3);
      expect(clones() - before).toBe(3);
      expect(existsSync(join(directory, 'lock'))).toBe(false);
      expect(await project.run('plan', '--exit-code')).toMatchObject({ code: 0, stdout: 'No changes.\n' });
    },
  };
}

describe.skipIf(process.platform === 'win32')('a second stop', () => {
  it('exits on Ctrl-C while the first stop still waits for the disk, and the next apply resumes', async () => {
    const { command, directory, expectResumed } = await beginApply('twice', 2600);
    const disk = stall(join(directory, 'state.json'));
    command.process.kill('SIGINT');
    await command.said('Press Ctrl-C again to stop immediately.');
    await pause(2 * ECHO_MS);
    expect(command.process.exitCode).toBeNull();
    command.process.kill('SIGINT');
    await untilAsleep(command.process.pid);
    // A thread that hangs in the file system keeps any process from ending.
    disk.letGo();
    expect(await command.finished).toMatchObject({ code: 130, signal: null });
    // The disk answered, but no process was left to clean up.
    expect(existsSync(join(directory, 'lock'))).toBe(true);
    disk.mend();
    await expectResumed();
  });

  it('exits immediately on another signal, and the next apply resumes', async () => {
    const { command, directory, expectResumed } = await beginApply('other', 2700);
    command.process.kill('SIGINT');
    command.process.kill('SIGTERM');
    expect(await command.finished).toMatchObject({ code: 130, signal: null });
    expect(existsSync(join(directory, 'lock'))).toBe(true);
    await expectResumed();
  });
});
