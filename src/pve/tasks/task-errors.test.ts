import { describe, expect, it } from 'vitest';
import { KnownSecrets, Secret } from '../../base/secret.ts';
import { printUpid, toNodeName } from '../wire/ids.ts';
import { taskFailed, taskName, taskTimedOut, taskUnclear, taskVanished } from './task-errors.ts';

const PARTS = {
  node: toNodeName('pve2'),
  pid: 51_361,
  processStartTicks: 123_456,
  startTimeSeconds: 1_794_768_815,
  type: 'qmigrate',
  id: '101',
  user: 'deploy@pve!ci',
};
const upid = printUpid(PARTS);
const context = {
  upid,
  endpoint: 'https://pve.test:8006',
  principal: 'deploy@pve!ci',
  secrets: new KnownSecrets([new Secret('hunter22')]),
};

describe('a task', () => {
  it('is named by type, guest and node', () => {
    expect(taskName(upid)).toBe('qmigrate 101 on pve2');
  });

  it('without a guest is named without one', () => {
    expect(taskName(printUpid({ ...PARTS, type: 'download', id: '' }))).toBe('download on pve2');
  });
});

describe('a failed task', () => {
  it('does not repeat a secret that its log or its exit text contains', () => {
    const { diagnostic } = taskFailed(context, 'cannot log in with hunter22', ['password=hunter22', 'aHVudGVyMjI6']);
    expect(diagnostic.detail).not.toMatch(/hunter22|aHVudGVyMjI/);
  });

  it('has the hint of its cause', () => {
    const { code, diagnostic } = taskFailed(context, 'VM is locked (backup)', []);
    expect(code).toBe('GUEST_LOCKED');
    expect(diagnostic.hint).toBeDefined();
  });

  it('has no hint if its cause has none', () => {
    const { code, diagnostic } = taskFailed(context, 'VM 101 already running', []);
    expect(code).toBe('ALREADY_RUNNING');
    expect(diagnostic.hint).toBeUndefined();
  });

  it('names its endpoint and its UPID', () => {
    expect(taskFailed(context, 'it broke', []).diagnostic.where).toEqual({ endpoint: context.endpoint, upid });
    expect(taskUnclear(context, 'unexpected status', []).diagnostic.where).toEqual({
      endpoint: context.endpoint,
      upid,
    });
  });

  it('that may be half done is a failure of the task, whatever its last line was', () => {
    const error = taskUnclear(context, 'VM is locked (backup)', ['copying']);
    expect(error.code).toBe('TASK_FAILED');
    expect(error.diagnostic.detail).toContain('\n  copying\n');
  });
});

describe('an aborted migration', () => {
  const aborted = (reason: string) => `2026-11-14 12:00:11 ERROR: migration aborted (duration 00:00:10): ${reason}`;

  it('has its reason in the log, even if more lines follow', () => {
    const log = [aborted('VM is locked (backup)'), 'cleaning up'];
    expect(taskFailed(context, 'migration aborted\n', log).code).toBe('GUEST_LOCKED');
  });

  it('failed for the last reason in its log', () => {
    const log = [aborted('VM is locked (backup)'), aborted("no such cluster node 'pve9'")];
    expect(taskFailed(context, 'migration aborted', log).code).toBe('NOT_FOUND');
  });

  it('is not explained by a line that only quotes such a reason', () => {
    const log = [`the hook saw ${aborted('VM is locked (backup)')}`];
    expect(taskFailed(context, 'migration aborted', log).code).toBe('TASK_FAILED');
  });

  it('does not explain another failure', () => {
    expect(taskFailed(context, 'it broke', [aborted('VM is locked (backup)')]).code).toBe('TASK_FAILED');
  });
});

describe('a wait that ended early', () => {
  it('says how long a task was missing, and what to check', () => {
    const { detail, hint } = taskVanished(context, 12_000).diagnostic;
    expect(detail).toContain('qmigrate 101 on pve2');
    expect(detail).toContain('12s');
    expect(hint).toBeTruthy();
  });

  it('quotes the last line of the log, if there is one', () => {
    const { detail, hint } = taskTimedOut(context, 90_000, 'copying').diagnostic;
    expect(detail.split('\n')).toEqual([expect.stringContaining('1m 30s'), expect.stringContaining('"copying"')]);
    expect(hint).toBeTruthy();
    expect(taskTimedOut(context, 90_000, undefined).diagnostic.detail.split('\n')).toHaveLength(1);
  });
});
