/**
 * Members of a group that a change makes unavailable take turns. The world itself is asked, at every request and on its own
 * clock, how many of them do not answer: never more than one because of us, also when runs are killed in between.
 */
import { describe, expect, it } from 'vitest';
import { observe } from '../../../src/engine/observe.ts';
import { planStack } from '../../../src/engine/plan.ts';
import type { PlanOptions } from '../../../src/engine/session.ts';
import { createPve, parseToken } from '../../../src/pve/index.ts';
import { guestState } from '../../../src/simulator/guests/guest.ts';
import { seededRandom } from '../../../src/simulator/index.ts';
import { readRecorded } from '../../../src/state/recorded.ts';
import { pointsOf } from '../../support/depth.ts';
import { beforehand, codesOf, complaintsAfter, failuresOf } from './support/invariants.ts';
import { resolved, Scene, type Snapshot, secretsOf, TOKEN_SECRET } from './support/scene.ts';

const THREE = (memory: string, more = '') => `
version: 1
stack: lab
defaults: { node: pve1, clone: { template: ubuntu-24.04, mode: linked }, restart: when_needed }
vms:
  control: { count: 3, name: "control-\${number}", vmids: 401-409, guest: cloud-init, memory: ${memory} }
  worker: { count: 2, name: "worker-\${number}", vmids: 411-419, guest: cloud-init, memory: ${memory}, after: [control] }
rollout: { readiness: sequential, limits: { clones_per_node: 5, clones_per_storage: 5 }${more} }
`;
const BEFORE = THREE('2GiB');
const AFTER = THREE('3GiB');
const CONTROL = new Set(['control-1', 'control-2', 'control-3']);

let cached: Promise<Snapshot> | undefined;

/** Five VMs that run and are ready. */
function standing(): Promise<Snapshot> {
  cached ??= (async () => {
    const scene = new Scene();
    expect(failuresOf(await scene.apply(BEFORE))).toEqual([]);
    await scene.clock.advance(120_000);
    return scene.snapshot();
  })();
  return cached;
}

interface Watched {
  readonly scene: Scene;
  /** The largest number of control planes that were unavailable at the same time. */
  mostDown(): number;
}

async function watched(text = CONTROL): Promise<Watched> {
  const scene = new Scene({ from: await standing() });
  let most = 0;
  const look = () => {
    const now = scene.clock.now();
    const there = [...scene.world.vms.values()].filter(({ config }) => text.has(config.current.get('name') ?? ''));
    const up = there.filter(({ process }) => guestState(process, now).agentAnswers);
    most = Math.max(most, text.size - up.length);
  };
  scene.onRequest = look;
  scene.onEvent = look;
  return { scene, mostDown: () => most };
}

const restarts = (scene: Scene) => scene.tasks('qmshutdown').length;

describe('a change that restarts a group', () => {
  it('takes its members down one at a time, each when the one before is ready again', async () => {
    const { scene, mostDown } = await watched();
    expect(failuresOf(await scene.apply(AFTER))).toEqual([]);
    expect(restarts(scene)).toBe(5);
    expect(mostDown()).toBe(1);
  });

  it('takes turns with parallel readiness as well, and in a replacement', async () => {
    const parallel = AFTER.replace('sequential', 'parallel');
    const { scene, mostDown } = await watched();
    expect(failuresOf(await scene.apply(parallel, { replace: ['vm.control'] }))).toEqual([]);
    expect(scene.tasks('qmdestroy')).toHaveLength(3);
    expect(mostDown()).toBe(1);
  });

  it('stops when a member does not become ready, and leaves the others running as they are', async () => {
    const { scene, mostDown } = await watched();
    const vm = scene.world.vms.get(401);
    scene.onEvent = (event) => {
      if (event.event === 'stepStarted' && event.step === 'vm.control[1]/ready' && vm?.process)
        vm.process.qmpStatus = 'paused';
    };
    const end = await scene.apply(THREE('3GiB', ', timeouts: { ready: 1m }'));
    expect(codesOf(end).filter((code) => code === 'ROLL_STOPPED')).toHaveLength(4);
    expect(failuresOf(end).join('\n')).toContain(
      'vm.control[1] did not become ready, so vm.control[3] was not taken down',
    );
    expect(restarts(scene)).toBe(1);
    expect(mostDown()).toBeLessThanOrEqual(1);
    expect(scene.world.vms.get(402)?.config.current.get('memory')).toBe('2048');
  });

  it('names the apply that continues: with the restarts that the user allowed and the file does not', async () => {
    const { scene } = await watched();
    const vm = scene.world.vms.get(401);
    scene.onEvent = (event) => {
      if (event.event === 'stepStarted' && event.step === 'vm.control[1]/ready' && vm?.process)
        vm.process.qmpStatus = 'paused';
    };
    const text = THREE('3GiB', ', timeouts: { ready: 1m }').replace(', restart: when_needed', '');
    const end = await scene.apply(text, { allowRestart: true });
    const problem =
      end.kind === 'ended'
        ? [...(end.result?.problems ?? [])].find(([each]) => each === 'vm.control[2]')?.[1]
        : undefined;
    expect(problem?.hint?.text).toMatch(/then continue: proxwright apply --allow-restart\. /);
    const rolls = end.kind === 'ended' ? (end.plan.rolls ?? []) : [];
    expect(rolls.map(({ again }) => Object.values(again))).toEqual([
      [['--allow-restart'], ['--allow-restart'], ['--allow-restart']],
      [['--allow-restart'], ['--allow-restart']],
    ]);
  });

  it('takes as many down at once as the group allows, rounded down, and pauses in between', async () => {
    const { scene, mostDown } = await watched();
    const text = THREE('3GiB', ', update: { max_unavailable: 67%, pause: 5m }').replace('sequential', 'parallel');
    const end = await scene.apply(text);
    expect(failuresOf(end)).toEqual([]);
    expect(mostDown()).toBe(2);
    const rolls = end.kind === 'ended' ? (end.plan.rolls ?? []) : [];
    expect(rolls.map(({ group, atMost, size, waves }) => ({ group, atMost, size, waves }))).toEqual([
      { group: 'vm.control', atMost: 2, size: 3, waves: [['vm.control[1]', 'vm.control[2]'], ['vm.control[3]']] },
      { group: 'vm.worker', atMost: 1, size: 2, waves: [['vm.worker[1]'], ['vm.worker[2]']] },
    ]);
    const shutdowns = [...scene.world.tasks.values()].filter(({ type }) => type === 'qmshutdown');
    const begun = shutdowns.map(({ startedAt }) => startedAt).sort((a, b) => a - b);
    const [first = 0, second = 0, third = 0, fourth = 0, fifth = 0] = begun;
    expect(second - first).toBeLessThan(60_000);
    expect([third - second, fourth - third, fifth - fourth].filter((ms) => ms > 300_000)).toHaveLength(2);
  });

  it('changes the other members as well where the group says so', async () => {
    const { scene } = await watched();
    const vm = scene.world.vms.get(401);
    scene.onEvent = (event) => {
      if (event.event === 'stepStarted' && event.step === 'vm.control[1]/ready' && vm?.process)
        vm.process.qmpStatus = 'paused';
    };
    const end = await scene.apply(THREE('3GiB', ', update: { on_failure: continue }, timeouts: { ready: 1m }'));
    expect(end.kind === 'ended' && Object.fromEntries(end.result?.outcomes ?? [])).toMatchObject({
      'vm.control[1]': 'notReady',
      'vm.control[2]': 'done',
      'vm.control[3]': 'done',
    });
  });

  it('begins with members that are down, and takes the others down when those are up', async () => {
    const { scene, mostDown } = await watched();
    scene.killAt = (await pointAfter(scene, /^after POST .*\/402\/status\/shutdown$/)) + 2;
    expect(await scene.apply(AFTER)).toMatchObject({ kind: 'killed' });
    await scene.clock.advance(60_000);
    expect(scene.world.vms.get(402)?.process).toBeUndefined();
    expect(failuresOf(await scene.apply(AFTER))).toEqual([]);
    expect(mostDown()).toBe(1);
  });

  it('does not say that others deleted a member that it was replacing itself', async () => {
    const { scene } = await watched();
    const replace = { replace: ['vm.control[1]'] };
    scene.killAt = await pointAfter(scene, /^after DELETE .*\/qemu\/401/, replace);
    expect(await scene.apply(AFTER, replace)).toMatchObject({ kind: 'killed' });
    await scene.clock.advance(60_000);
    expect(scene.world.vms.has(401)).toBe(false);
    // As `plan` does: what the killed run began is not settled.
    const stack = resolved(AFTER);
    const { state } = await scene.look(() => readRecorded(scene.store, 'lab'));
    const credentials = parseToken(`root@pam!admin=${TOKEN_SECRET}`);
    const transport = scene.simulator.transport();
    const pve = createPve({ transport, credentials, clock: scene.clock, random: seededRandom('reads') });
    const secrets = secretsOf(stack);
    const observed = await scene.clock.run(() => observe({ pve, stack, state, secrets }));
    const planned = planStack({ stack, state, observed, secrets, now: scene.clock.now() });
    expect(planned.ok && planned.plan.changes.find(({ address }) => address === 'vm.control[1]')?.reason).toBe(
      'An earlier run began to replace it and did not finish; it is created again.',
    );
  });

  it('never has two members down, wherever it is killed', async () => {
    const whole = await watched();
    expect(failuresOf(await whole.scene.apply(AFTER))).toEqual([]);
    const failures: string[] = [];
    for (const killAt of pointsOf(whole.scene.points.length, 23)) {
      const { scene, mostDown } = await watched();
      const before = beforehand(scene);
      scene.killAt = killAt;
      await scene.apply(AFTER);
      if (killAt % 2 === 0) await scene.clock.advance(60_000);
      const found = await complaintsAfter(scene, AFTER, before);
      if (mostDown() > 1) found.push(`${mostDown()} control planes were down at once`);
      if (restarts(scene) > 5) found.push(`${restarts(scene)} restarts`);
      failures.push(...found.map((each) => `killed at ${killAt} (${whole.scene.points[killAt - 1]}): ${each}`));
    }
    expect(failures.slice(0, 20)).toEqual([]);
  });
});

/** At which point of an apply this happens. */
async function pointAfter(scene: Scene, pattern: RegExp, options: PlanOptions = {}): Promise<number> {
  const rehearsal = new Scene({ from: await scene.snapshot() });
  await rehearsal.apply(AFTER, options);
  return rehearsal.points.findIndex((point) => pattern.test(point)) + 1;
}
