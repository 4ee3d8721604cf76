/**
 * A disk without room for state and journal, as a process meets it: a small file system of its own, filled on purpose. It
 * takes the right to mount one; without it the tests say so and are skipped.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { effectiveTasks } from '../support/effective-tasks.ts';
import { ensureBuilt } from './built-command.ts';
import { type Cluster, makeProject, type Project, stackText, startCluster } from './project.ts';

const SIZE_KIB = 256;
const BLOCK_BYTES = 4_096;

/** Undefined where this user may not mount anything, with the reason printed. */
function mountSmallDisk(): string | undefined {
  const directory = mkdtempSync(join(tmpdir(), 'proxwright-small-disk-'));
  const { status, stderr, error } = spawnSync(
    'mount',
    ['-t', 'tmpfs', '-o', `size=${SIZE_KIB}k`, 'proxwright-test', directory],
    { encoding: 'utf8' },
  );
  if (status === 0) return directory;
  rmdirSync(directory);
  process.stdout.write(`skipped: no small disk could be mounted (${error?.message ?? stderr.trim()})\n`);
  return undefined;
}

const disk = process.platform === 'linux' ? mountSmallDisk() : undefined;

describe.skipIf(disk === undefined)('a full disk', () => {
  const directory = disk ?? '';
  const ballast = join(directory, 'ballast');
  let cluster: Cluster;

  beforeAll(async () => {
    ensureBuilt();
    cluster = await startCluster(20);
  });

  afterAll(async () => {
    spawnSync('umount', [directory]);
    rmdirSync(directory);
    await cluster?.close();
  });

  /** Block by block, to the last one. */
  function fill(): void {
    for (let size = BLOCK_BYTES; ; size += BLOCK_BYTES) {
      try {
        writeFileSync(ballast, Buffer.alloc(BLOCK_BYTES), { flag: 'a' });
      } catch {
        expect(statSync(ballast).size).toBeGreaterThan(0);
        return;
      }
      if (size > 2 * SIZE_KIB * 1024) throw new Error('this disk does not fill up');
    }
  }

  const projectOf = (name: string, firstId: number): Project =>
    makeProject(stackText({ name, firstId, count: 3 }), cluster.environment, directory);
  const named = (name: string) =>
    [...cluster.world.vms.values()].filter(({ config }) => config.current.get('name')?.startsWith(`${name}-`));
  const clones = () => effectiveTasks(cluster.world).filter(({ type }) => type === 'qmclone').length;

  it('stops an apply; with free space again the next apply resumes and loses nothing', async () => {
    const project = projectOf('midway', 2100);
    const before = clones();
    const running = project.start('apply', '--yes');
    await running.said('vm.web[1]: clone starts');
    fill();
    const { code, stderr } = await running.finished;
    expect(code).toBe(1);
    expect(stderr).toContain('STATE_UNWRITABLE');
    expect(stderr).toContain('ENOSPC: no space left on device');
    expect(stderr).toContain('Everything created so far is kept');
    expect(stderr).toMatch(/vm\.web\[1\].*vm\.web\[2\].*vm\.web\[3\]/);
    expect(stderr).toContain('run the same command again. It resumes from here.');
    expect(stderr).not.toMatch(/^\s+at .*\.js:\d+/m);
    expect(existsSync(join(directory, '.proxwright', 'midway', 'lock'))).toBe(false);
    rmSync(ballast);
    const next = await project.run('apply', '--yes');
    expect(next.code, next.stderr).toBe(0);
    expect(named('midway')).toHaveLength(3);
    expect(clones() - before).toBe(3);
    expect(await project.run('plan', '--exit-code')).toMatchObject({ code: 0, stdout: 'No changes.\n' });
  });

  it('refuses an apply that could record nothing, before anything is created, and leaves no lock', async () => {
    const project = projectOf('refused', 2200);
    const before = clones();
    fill();
    const { code, stderr } = await project.run('apply', '--yes');
    expect(code).toBe(1);
    expect(stderr).toContain('STATE_UNWRITABLE');
    expect(stderr).toContain('ENOSPC');
    expect(named('refused')).toEqual([]);
    expect(clones()).toBe(before);
    rmSync(ballast);
    expect(await project.run('apply', '--yes')).toMatchObject({ code: 0 });
    expect(named('refused')).toHaveLength(3);
    expect(await project.run('plan', '--exit-code')).toMatchObject({ code: 0 });
  });
});
