/** Durations learned from tasks of the cluster: which source counts, and how wide the ranges are. */
import { describe, expect, it } from 'vitest';
import { loadStack, type ResolvedStack, resolveStack } from '../../spec/index.ts';
import { defaultDurations, learned, mergedDurations, originOf, paceOf, speedsOf } from './durations.ts';
import { learnFromTasks, type TaskInput } from './from-tasks.ts';

const STACK = `
version: 1
stack: lab
vms:
  web: { name: web, node: pve1, vmids: 401-409, clone: { template: golden, mode: full } }
`;
const stack = resolveStack(loadStack(STACK, 'stack.yaml'), {}).stack as ResolvedStack; // it is valid

const GB = 1e9;

/** A template whose disk holds this much. */
function input(
  bytes: number,
  tasks: readonly (readonly [type: string, id: string, from: number, to?: number])[],
): TaskInput {
  const vm = {
    vmid: 9000,
    node: 'pve1',
    current: new Map([['scsi0', 'disks:base-9000-disk-0,size=20G']]),
  };
  return {
    stack,
    observed: {
      templates: new Map([['golden', [{ node: 'pve1', vmid: 9000, name: 'golden', vm: { ok: true, value: vm } }]]]),
      vms: new Map([['vm.web', { kind: 'present', vm: { vmid: 401 } }]]),
    } as unknown as TaskInput['observed'], // only what is read of it
    dataBytes: () => bytes,
    ownMs: new Map([['qmstart', 900]]),
    history: tasks.map(([type, id, starttime, endtime]) => ({
      type,
      id,
      starttime,
      endtime,
      status: endtime === undefined ? undefined : 'OK',
    })) as unknown as TaskInput['history'], // nothing else is read
  };
}

describe('earlier tasks of the cluster', () => {
  it('show how much longer a start takes here: the mean, because a list has whole seconds', () => {
    const starts = [2, 3, 3, 2, 60, 2, 3, 0].map(
      (took, index) => ['qmstart', `${index}`, index, index + took] as const,
    );
    const { extras } = learnFromTasks(input(GB, starts));
    expect(extras?.get('vm.start')).toMatchObject({ value: 2_500 - 900, from: 8, origin: 'tasks' });
    expect(extras?.size).toBe(1);
    expect(learnFromTasks(input(GB, starts.slice(0, 2))).extras?.size).toBe(0);
  });

  it('show how fast copies are: concurrent ones share the storage, and linked clones do not count', () => {
    const { copies } = learnFromTasks(
      input(10 * GB, [
        ['qmclone', '9000', 0, 100],
        ['qmclone', '9000', 0, 100],
        ['qmclone', '9000', 300, 301],
        ['qmclone', '9001', 500, 501],
        ['qmclone', '9000', 700],
      ]),
    );
    expect(copies?.get('disks')).toMatchObject({ value: (2 * 10 * GB) / 100, from: 2 });
    expect(learnFromTasks(input(0.3 * GB, [['qmclone', '9000', 0, 1]])).copies?.get('disks')?.value).toBe(0.3 * GB);
  });

  it('show how fast copies usually are: one clone to a throttled storage does not count', () => {
    const usual = [10, 20, 30, 40, 50].flatMap((at) => [
      ['qmclone', '9000', at, at + 2] as const,
      ['qmclone', '9000', at + 1, at + 2] as const,
    ]);
    const { copies } = learnFromTasks(input(GB, [...usual, ['qmclone', '9000', 100, 200]]));
    expect(copies?.get('disks')).toMatchObject({ value: GB, from: 11 });
    const three = [...usual.slice(0, 4), ['qmclone', '9000', 100, 200] as const];
    expect(learnFromTasks(input(GB, three)).copies?.get('disks')?.value).toBe(GB);
  });

  it('leave out of the speed what a clone takes even if it copies nothing, and expect nothing beyond it', () => {
    const clones = [10, 20, 30, 40].map((at) => ['qmclone', '9000', at, at + 3] as const);
    const known = { ...input(GB, clones), ownMs: new Map([['qmclone', 1_000]]) };
    const { copies, extras } = learnFromTasks(known);
    expect(copies?.get('disks')?.value).toBe(GB / 2);
    expect(extras?.get('vm.clone')).toMatchObject({ value: 0, origin: 'tasks' });
    const pairs = [10, 20, 30, 40].flatMap((at) => [0, 0].map(() => ['qmclone', '9000', at, at + 5] as const));
    const together = learnFromTasks({ ...input(GB, pairs), ownMs: new Map([['qmclone', 1_000]]) });
    expect(together.copies?.get('disks')?.value).toBe((2 * GB) / 4);
    // Clones that take no longer than that copy as fast as a storage can.
    const slowServer = learnFromTasks({ ...known, ownMs: new Map([['qmclone', 3_000]]) });
    expect(slowServer.copies?.get('disks')?.value).toBe(1.5 * GB);
  });

  it('show how long the guests of the stack take to shut down', () => {
    const { shutdowns } = learnFromTasks(
      input(GB, [
        ['qmshutdown', '401', 0, 12],
        ['qmshutdown', '999', 0, 180],
        ['qmstop', '401', 20, 21],
      ]),
    );
    expect([...(shutdowns ?? [])].map(([source, { value }]) => [source, value])).toEqual([['golden', 12_000]]);
  });
});

describe('durations', () => {
  const own = new Map([['vm.start', 1_000]]);
  const defaults = defaultDurations(own, 10);

  it('come from the best source that has them, and the report names it', () => {
    const tasks = { extras: new Map([['vm.start', learned([2_000], 'tasks')]]), boots: new Map() };
    const runs = { boots: new Map([['golden', learned([30_000, 31_000, 30_500], 'runs')]]) };
    const known = { ...defaults, ...mergedDurations(defaults, tasks, runs) };
    expect(paceOf(known, 'value').extraMs.get('vm.start')).toBe(2_000);
    expect(originOf(known, stack)).toEqual([
      'Copies: 200 MB/s, a default.',
      'Boot of golden: 31 s, from 3 recorded starts.',
      'Tasks of the server: from 1 earlier start of the cluster.',
    ]);
    expect(originOf(defaults, stack)).toEqual([
      'Copies: 200 MB/s, a default.',
      'Boot of golden: 20 s, a default.',
      'Tasks of the server: a default.',
    ]);
  });

  it('have a range: wide for a default, narrower the more often it was measured, and never without a measured value', () => {
    expect(paceOf(defaults, 'fastest').extraMs.get('vm.start')).toBe(0);
    expect(paceOf(defaults, 'slowest').extraMs.get('vm.start')).toBe(2_000);
    expect(speedsOf(defaults, 'slowest').guest('golden').bootMs).toBe(40_000);
    const width = ({ least, most }: { least: number; most: number }) => most / least;
    expect(width(learned([100], 'runs'))).toBeGreaterThan(width(learned([100, 100, 100], 'runs')));
    expect(learned([100, 100, 100, 500], 'runs')).toMatchObject({ value: 100, most: 500 });
    // Old values no longer count.
    expect(learned([500, ...Array<number>(12).fill(100)], 'runs')).toMatchObject({
      value: 100,
      most: expect.closeTo(112.5),
    });
  });
});
