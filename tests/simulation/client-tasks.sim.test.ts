/** What waiting for a task reports when the task fails, warns, meets a lock, or is not known for a while. */
import { describe, expect, it } from 'vitest';

import { isLockContention } from '../../src/pve/index.ts';
import { type ClientScene, clientScene, TEMPLATE, VM } from './support/client-scene.ts';

const cloneAndWait =
  (scene: ClientScene, newid = 300) =>
  async () =>
    scene.pve.tasks.wait(await scene.vm(TEMPLATE).clone({ newid, full: true }));

describe('a task', () => {
  it('ends the wait with its message and the last lines of its log if it fails', async () => {
    const scene = clientScene([
      { kind: 'task-fail', match: { task: 'qmclone' }, percent: 40, message: 'disk on fire', at: 1 },
    ]);
    const error = await scene.failure(cloneAndWait(scene));
    expect(error).toMatchObject({ family: 'task' });
    expect(error.code).toBe('TASK_FAILED');
    expect(error.diagnostic.detail).toContain(`qmclone ${TEMPLATE} on pve1 ended with: "clone failed: disk on fire".`);
    expect(error.diagnostic.detail).toMatch(/Last lines of its log:\n(.*\n)* +allocated target volume/);
    expect(error.diagnostic.where?.upid).toMatch(/^UPID:pve1:.*:qmclone:/);
    expect(scene.world.vms.has(300)).toBe(false);
    expect(scene.tasksOf('qmclone')).toBe(1);
  });

  it('is a success with its warnings if it warns', async () => {
    const scene = clientScene([{ kind: 'task-warn', message: 'the moon is full', at: 1 }]);
    const result = await scene.run(cloneAndWait(scene));
    expect(result).toMatchObject({ outcome: 'warnings', warnings: 1, log: ['WARN: the moon is full'] });
    expect(scene.world.vms.has(300)).toBe(true);
  });

  it('is waited for although it is unknown for a moment', async () => {
    const scene = clientScene([{ kind: 'task-unknown', for_ms: 5_000, at: 1 }]);
    const result = await scene.run(cloneAndWait(scene));
    expect(result.outcome).toBe('ok');
    expect(scene.plan.strikes).toHaveLength(1);
    expect(scene.tasksOf('qmclone')).toBe(1);
  });

  it('is reported as vanished if it stays unknown', async () => {
    const scene = clientScene([{ kind: 'task-unknown', for_ms: 3_600_000, at: 1 }]);
    const error = await scene.failure(cloneAndWait(scene));
    expect(error).toMatchObject({ family: 'task' });
    expect(error.code).toBe('TASK_VANISHED');
  });

  it('is left running if it takes longer than allowed', async () => {
    const scene = clientScene([]);
    await scene.run(async () => {
      const upid = await scene.vm(TEMPLATE).clone({ newid: 300, full: true });
      await expect(scene.pve.tasks.wait(upid, { timeoutMs: 400 })).rejects.toMatchObject({ code: 'TASK_TIMEOUT' });
      expect((await scene.pve.tasks.wait(upid)).outcome).toBe('ok');
    });
    expect(scene.tasksOf('qmclone')).toBe(1);
  });

  it('ends the wait as a failure if another client stops it', async () => {
    const scene = clientScene([]);
    const error = await scene.failure(async () => {
      const upid = await scene.vm(TEMPLATE).clone({ newid: 300, full: true });
      await scene.clock.sleep(500);
      await Promise.all([scene.pve.node('pve1').tasks.stop(upid), scene.pve.tasks.wait(upid)]);
    });
    expect(error.code).toBe('TASK_FAILED');
    expect(error.diagnostic.detail).toContain('interrupted by signal');
  });

  it('is waited for through cuts, refused connections, proxy timeouts and odd answers', async () => {
    const match = { path: 'tasks/*/status' };
    const scene = clientScene([
      { kind: 'cut-before', match, at: 1, times: 5 },
      { kind: 'unreachable', match, at: 1, times: 6 },
      { kind: 'proxy-timeout', match, at: 1 },
      { kind: 'refuse', match, at: 1, times: 2 },
      { kind: 'cut-after', match, at: 1, times: 3 },
    ]);
    const result = await scene.run(cloneAndWait(scene));
    expect(result.outcome).toBe('ok');
    expect(new Set(scene.plan.strikes.map(({ kind }) => kind)).size).toBe(5);
    expect(scene.tasksOf('qmclone')).toBe(1);
  });

  it('still has an outcome if its log cannot be read', async () => {
    const scene = clientScene([
      { kind: 'task-fail', percent: 0, message: 'disk on fire', at: 1 },
      { kind: 'refuse', match: { path: 'tasks/*/log' } },
    ]);
    const error = await scene.failure(cloneAndWait(scene));
    expect(error.code).toBe('TASK_FAILED');
    expect(error.diagnostic.detail).toBe(`qmclone ${TEMPLATE} on pve1 ended with: "disk on fire".`);
  });
});

describe('a lock met inside a task', () => {
  it('says that another client holds the storage, not that the task is broken', async () => {
    const scene = clientScene([{ kind: 'storage-lock', storage: 'local', for_ms: 90_000, at: 1 }]);
    const error = await scene.failure(cloneAndWait(scene));
    expect(error).toMatchObject({ family: 'busy' });
    expect(error.code).toBe('STORAGE_LOCKED');
    expect(isLockContention(error)).toBe(true);
    expect(scene.world.vms.has(300)).toBe(false);
  });

  it('says the same of a VM', async () => {
    const scene = clientScene([{ kind: 'stranger-lock', match: { path: 'start' }, at: 1, for_ms: 60_000 }]);
    const start = async () => scene.pve.tasks.wait(await scene.vm(VM).status.start());
    const error = await scene.failure(start);
    expect(error).toMatchObject({ family: 'busy' });
    expect(error.code).toBe('GUEST_LOCKED');
    expect(error.diagnostic.where?.upid).toContain(':qmstart:');
    await scene.run(async () => {
      await scene.clock.sleep(60_000);
      expect((await start()).outcome).toBe('ok');
    });
  });

  it('says the same of a configuration file', async () => {
    const scene = clientScene([{ kind: 'lock', match: { path: 'start' }, at: 1, for_ms: 30_000 }]);
    const error = await scene.failure(async () => scene.pve.tasks.wait(await scene.vm(VM).status.start()));
    expect(error).toMatchObject({ family: 'busy' });
    expect(error.code).toBe('CONFIG_LOCKED');
  });
});
