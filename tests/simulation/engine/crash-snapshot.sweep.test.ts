/** A snapshot, a rollback, and an apply that takes a snapshot first are killed everywhere; the same command completes them. */
import { beforeAll, describe, expect, it } from 'vitest';
import { crashEverywhere } from './support/crash-everywhere.ts';
import { complaintsAfter, failuresOf } from './support/invariants.ts';
import { Scene, type Snapshot } from './support/scene.ts';

const stack = (memory: string) => `version: 1
stack: lab
vms:
  web:
    name: web
    vmid: 420
    node: pve1
    memory: ${memory}
    restart: when_needed
    snapshot: { keep: 1 }
    clone: { template: ubuntu-24.04, storage: local-lvm }
`;
const [BEFORE, AFTER] = [stack('1GiB'), stack('2GiB')];
const CREATE = { kind: 'create', name: 'one', memory: false } as const;
const ROLLBACK = { kind: 'rollback', name: 'one', start: true } as const;

/** Automatic names have the id of a run in them. */
function picture(scene: Scene): string[] {
  const vm = scene.world.vms.get(420);
  return [
    `lock ${vm?.config.current.get('lock')}`,
    `memory ${vm?.config.current.get('memory')}`,
    vm?.process ? 'runs' : 'is stopped',
    ...[...(vm?.config.snapshots ?? [])].map(
      ([name, section]) => `${name.replace(/\d.*/, 'N')} ${section.get('memory')} ${section.get('snapstate')}`,
    ),
  ];
}

describe('a kill at any point', () => {
  let from: Snapshot;
  beforeAll(async () => {
    const scene = new Scene();
    expect(failuresOf(await scene.apply(BEFORE))).toEqual([]);
    await scene.clock.advance(120_000);
    from = await scene.snapshot();
  });

  it('is made good by the same snapshot create again, which takes no second snapshot', async () => {
    const failures = await crashEverywhere({
      name: 'snapshot create',
      from,
      run: (scene) => scene.snapshots(BEFORE, CREATE),
      complaints: async (scene, before) => {
        const again = await scene.snapshots(BEFORE, CREATE);
        const isTaken = again.kind === 'refused' && again.problems[0]?.code === 'ALREADY_EXISTS';
        return [...(isTaken ? [] : failuresOf(again)), ...(await complaintsAfter(scene, BEFORE, before))];
      },
      picture,
      tasks: ['qmsnapshot'],
    });
    expect(failures.slice(0, 20)).toEqual([]);
  });

  it('is made good by the same rollback again, with the VM running', async () => {
    const scene = new Scene({ from });
    expect(failuresOf(await scene.snapshots(BEFORE, CREATE))).toEqual([]);
    expect(failuresOf(await scene.apply(AFTER))).toEqual([]);
    await scene.clock.advance(120_000);
    const failures = await crashEverywhere({
      name: 'rollback',
      from: await scene.snapshot(),
      run: (each) => each.snapshots(AFTER, ROLLBACK),
      complaints: async (each) => failuresOf(await each.snapshots(AFTER, ROLLBACK)),
      picture,
      tasks: [],
    });
    expect(failures.slice(0, 20)).toEqual([]);
  });

  it('leaves exactly one snapshot of an apply that takes one first, of the VM before the change', async () => {
    const failures = await crashEverywhere({
      name: 'apply with a snapshot',
      from,
      run: (scene) => scene.apply(AFTER),
      complaints: (scene, before) => complaintsAfter(scene, AFTER, before),
      picture,
      tasks: ['qmsnapshot', 'qmshutdown'],
    });
    expect(failures.slice(0, 20)).toEqual([]);
  });
});
