/**
 * A token is withdrawn while a task of ours runs: the run ends with an error, the task continues. The next run, with a
 * login that counts, waits for that very task before anything else is asked of the VM.
 */
import { describe, expect, it } from 'vitest';
import type { TaskRecord } from '../../../src/simulator/world/world.ts';
import { beginningOf, SCENARIOS, whileIn } from './support/cells.ts';
import { beforehand, codesOf, complaintsAfter } from './support/invariants.ts';
import { Scene } from './support/scene.ts';

/** The task that the step of each action starts, and whether it lasts long enough for the next run to meet it. */
const TASKS = [
  ['vm.clone', 'qmclone', 'long'],
  ['vm.create', 'qmcreate', 'short'],
  ['vm.configure', 'qmconfig', 'short'],
  ['vm.resize', 'resize', 'short'],
  ['vm.start', 'qmstart', 'long'],
  ['vm.stop', 'qmshutdown', 'long'],
  ['vm.restart', 'qmshutdown', 'long'],
  ['vm.migrate', 'qmigrate', 'long'],
] as const;

const refused = {
  kind: 'refuse',
  status: 401,
  message: 'authentication failure',
  match: { path: '/nodes/*/tasks/*/*' },
  every: 1,
} as const;

describe('a login that is lost while a task runs', () => {
  it.each(TASKS)('is reported in %s, and the next run waits for its %s', async (action, taskType, lasting) => {
    const scenario = SCENARIOS[action];
    if (!scenario) throw new Error(`there is no scenario for ${action}`);
    const from = await beginningOf(scenario);
    const scene = new Scene({ faults: [refused], gate: whileIn(action), ...(from && { from }) });
    const before = new Set(scene.world.tasks.keys());
    const expectations = beforehand(scene);
    const isOfStep = ({ upid, type }: TaskRecord) => !before.has(upid) && type === taskType;
    expect(codesOf(await scene.apply(scenario.after))).toEqual(['LOGIN_REFUSED']);
    const [left, ...more] = [...scene.world.tasks.values()].filter(isOfStep);
    expect(more).toEqual([]);
    expect(left?.endedAt === undefined).toBe(lasting === 'long');
    scene.faults.stop();
    expect(await complaintsAfter(scene, scenario.after, expectations)).toEqual([]);
    expect([...scene.world.tasks.values()].filter(isOfStep)).toHaveLength(1);
  });
});
