/**
 * The built command is killed (SIGKILL) while it changes a running estate: restarts with hooks and snapshots, replacements with the
 * new VM first, snapshots and rollbacks, drains and rebalances, HA rules and groups, disk moves. It dies at a request or in the
 * middle of a hook. The same command, typed again, must end as without the kill: the same VMs, volumes, rules and number
 * of tasks, no hook repeated that had ended, nothing left behind, an empty plan. The world is asked all the time how many members of
 * a group do not answer.
 *
 * It takes one request and one hook of each story; PROXWRIGHT_KILL_POINTS=all takes every request, a number takes that many.
 */
import { readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { Limiter } from '../../src/base/limiter.ts';
import { guestState } from '../../src/simulator/guests/guest.ts';
import { defaultWorld, type World } from '../../src/simulator/index.ts';
import { fiveNodes, TWO_NODES } from '../simulation/engine/support/five-nodes.ts';
import { haStack } from '../simulation/engine/support/ha-sweep.ts';
import { STRANGERS } from '../simulation/engine/support/lab-world.ts';
import { differences, orphans, pictureOf, strangersPicture } from '../simulation/engine/support/picture.ts';
import { groupsIn } from '../simulation/pve8/support/ha-groups.ts';
import { effectiveTasks } from '../support/effective-tasks.ts';
import { ensureBuilt, type Finished } from './built-command.ts';
import { clock, type Moment, openScene, run, runUntilKilled, type Scene, spread, writeStack } from './lethal-server.ts';

const ASKED = process.env.PROXWRIGHT_KILL_POINTS ?? '1';
const SAMPLES = ASKED === 'all' ? Number.POSITIVE_INFINITY : Number(ASKED);
const OTHERS = new Set<number>(STRANGERS);

/** Tells its start and its end, and kills the command that runs it where the file `strike` says so: `2 begun` or `2 over`. */
const HOOK = `echo "start $PROXWRIGHT_HOOK $PROXWRIGHT_VM_NAME" >> hooks.log
at="$(grep -c ^start hooks.log)"
[ "$(cat strike 2>/dev/null)" = "$at begun" ] && kill -9 $PPID && exit 1
echo "end $PROXWRIGHT_HOOK $PROXWRIGHT_VM_NAME" >> hooks.log
[ "$(cat strike 2>/dev/null)" = "$at over" ] && kill -9 $PPID
exit 0
`;
const hooks = (more = '') =>
  `hooks: { before_stop: { run: [sh, hook.sh]${more} }, after_ready: { run: [sh, hook.sh]${more} } }`;

const web = (more: string, template = 'ubuntu-24.04') => `
version: 1
stack: lab
defaults: { node: pve1, clone: { template: ${template}, mode: linked }, restart: when_needed }
vms:
  web: { count: 2, name: "web-\${number}", vmids: 411-419, guest: cloud-init, ${more} }
rollout: { readiness: parallel, limits: { clones_per_node: 5, clones_per_storage: 5 } }
`;
const rolled = (memory: string) => web(`memory: ${memory}, snapshot: { keep: 1 }, ${hooks()}`);
const beside = (template: string) =>
  web(`update: { order: create_first, replace: when_template_changes }, ${hooks(', repeatable: true')}`, template);
const stored = (storage: string) =>
  web(`tpm: { storage: ${storage} }, disks: { scsi1: { storage: ${storage}, size: 1GiB, keep: true } }`);
const ruled = (count: number, nodes: string, placement: string) => haStack({ count, nodes, placement });

interface Story {
  readonly name: string;
  readonly world?: (options: { now: number }) => World;
  /** Applied before, followed by these commands. */
  readonly before: string;
  readonly prepare?: readonly (readonly string[])[];
  /** What others do to the cluster before the command. */
  readonly change?: (world: World) => void;
  /** The stack file of the command that is killed. */
  readonly stack: string;
  readonly command: readonly string[];
  /** Hooks that run in all. */
  readonly hooks?: number;
  /** Members of the group web that may be out of service at once. */
  readonly mostDown: number;
  /** Tasks of which there may be no more than without a kill. */
  readonly tasks: readonly string[];
  /** A repeated command may find that everything is done, and say so with this code. */
  readonly isDone?: string;
  /** Which of several equal nodes takes a VM depends on what the next run sees. */
  readonly isPlaceFree?: boolean;
}

const eight = fiveNodes((world) => ({ ...world, version: '8.4' }));

const STORIES: readonly Story[] = [
  {
    name: 'restart with hooks and snapshots',
    before: rolled('2GiB'),
    stack: rolled('3GiB'),
    command: ['apply', '--yes'],
    hooks: 4,
    mostDown: 1,
    tasks: ['qmsnapshot', 'qmshutdown'],
  },
  {
    name: 'replacement with the new VM first',
    before: beside('ubuntu-24.04'),
    change: (world) => {
      const old = world.vms.get(9000);
      if (!old) throw new Error('The template is not there.');
      const current = new Map(old.config.current).set('name', 'ubuntu-next');
      world.vms.set(9012, { ...old, vmid: 9012, config: { ...old.config, current } });
    },
    stack: beside('ubuntu-next'),
    command: ['apply', '--yes'],
    hooks: 4,
    mostDown: 0,
    tasks: ['qmclone', 'qmdestroy'],
  },
  {
    name: 'disk moves',
    before: stored('local-lvm'),
    stack: stored('nfs'),
    command: ['apply', '--yes'],
    mostDown: 1,
    tasks: ['qmmove', 'qmshutdown'],
  },
  {
    name: 'snapshot create',
    before: rolled('2GiB'),
    stack: rolled('2GiB'),
    command: ['snapshot', 'create', 'one'],
    mostDown: 0,
    tasks: ['qmsnapshot'],
    isDone: 'ALREADY_EXISTS',
  },
  {
    name: 'snapshot delete',
    before: rolled('2GiB'),
    prepare: [['snapshot', 'create', 'one']],
    stack: rolled('2GiB'),
    command: ['snapshot', 'delete', 'one', '--yes'],
    mostDown: 0,
    tasks: ['qmdelsnapshot'],
    isDone: 'MISSING_REFERENCE',
  },
  {
    name: 'rollback',
    before: web('memory: 2GiB'),
    prepare: [['snapshot', 'create', 'one', '--memory']],
    stack: web('memory: 2GiB'),
    command: ['rollback', 'one', '--yes'],
    mostDown: 1,
    // The same rollback again rolls every selected VM back, also those that the killed one had finished.
    tasks: [],
  },
  {
    name: 'drain',
    world: fiveNodes(),
    before: TWO_NODES,
    stack: TWO_NODES,
    command: ['drain', 'pve1', '--yes'],
    mostDown: 0,
    tasks: ['qmigrate'],
    isPlaceFree: true,
  },
  {
    name: 'rebalance',
    world: fiveNodes(),
    before: TWO_NODES,
    prepare: [['drain', 'pve1', '--yes']],
    stack: TWO_NODES,
    command: ['rebalance', '--yes'],
    mostDown: 0,
    tasks: ['qmigrate'],
  },
  {
    name: 'HA rules',
    world: fiveNodes(),
    before: ruled(2, '[pve1, pve2, pve3]', '{ max_per_node: 1 }'),
    stack: ruled(3, '[pve2, pve1, pve3, pve4]', '{ max_per_node: 1 }'),
    command: ['apply', '--yes'],
    mostDown: 0,
    tasks: ['qmcreate'],
  },
  {
    name: 'HA groups of Proxmox VE 8',
    world: eight,
    before: ruled(2, '[pve1, pve2, pve3]', '{ spread: false }'),
    stack: ruled(3, '[pve2, pve1, pve3, pve4]', '{ spread: false }'),
    command: ['apply', '--yes'],
    mostDown: 0,
    tasks: ['qmcreate'],
  },
];

/** What must be the same with and without a kill; automatic snapshots have the id of a run in their names. */
function pictureAfter({ tasks, isPlaceFree }: Story, world: World): string[] {
  const snapshots = [...world.vms.values()].flatMap(({ vmid, config }) =>
    [...config.snapshots].map(
      ([name, section]) =>
        `${vmid} has ${name.replace(/\d.*/, 'N')}: ${section.get('memory')} ${section.get('snapstate')}`,
    ),
  );
  const done = effectiveTasks(world);
  const facts = [
    ...pictureOf(world, OTHERS),
    ...snapshots,
    ...[...world.ha.rules.values()].map(({ id, resources }) => `rule ${id}: ${[...resources].sort()}`),
    ...groupsIn(world),
    ...[...world.ha.resources.keys()].map((id) => `${id} is under HA`),
    ...tasks.map((type) => `${done.filter((each) => each.type === type).length} × ${type}`),
  ];
  const named = facts.map((fact) => fact.replace(/parent: proxwright-\d.*/, 'parent: N'));
  return (isPlaceFree ? named.map((fact) => fact.replace(/ on pve[2-5] /, ' elsewhere ')) : named).sort();
}

const hookLines = (directory: string): string[] => {
  try {
    return readFileSync(join(directory, 'hooks.log'), 'utf8').trim().split('\n');
  } catch {
    return [];
  }
};

/** Looks all the time how many members of the group are out of service: they do not answer, or a hook took them out. */
function watched({ server, directory }: Scene, isBeside: boolean): () => number {
  const { world } = server.simulator;
  const names = ['web-1', 'web-2', 'web-3'].filter((name) => named(world, name).length > 0);
  let most = 0;
  const look = () => {
    const lines = hookLines(directory);
    const isOut = (name: string) => {
      if (!named(world, name).some(({ process }) => guestState(process, clock.now()).agentAnswers)) return true;
      // With the new VM first, the old one is taken out of service when the new one is in it.
      const last = isBeside ? undefined : lines.findLast((line) => line.endsWith(` ${name}`));
      return last !== undefined && !last.startsWith('end after_ready');
    };
    most = Math.max(most, names.filter(isOut).length);
  };
  const timer = setInterval(look, 10);
  return () => {
    clearInterval(timer);
    return most;
  };
}

const named = (world: World, name: string) =>
  [...world.vms.values()].filter(({ config }) => config.current.get('name') === name);

/** Until the guests have booted and the HA manager has nothing left to do. */
async function settle({ server }: Scene): Promise<void> {
  const { world } = server.simulator;
  const isBooting = () =>
    [...world.vms.values()].some(
      ({ vmid, process }) =>
        vmid < 9000 && !OTHERS.has(vmid) && process && !guestState(process, clock.now()).agentAnswers,
    );
  for (let waits = 0; isBooting() && waits < 300; waits++) await clock.sleep(1_000);
  await clock.sleep(60_000);
}

type Strike =
  | { readonly at: 'request'; readonly number: number; readonly moment: Moment }
  | { readonly at: 'hook'; readonly number: number; readonly moment: 'begun' | 'over' };

/** The same command again; where it asks about a hook, it is told what the hook itself wrote down. */
async function resume(scene: Scene, command: readonly string[]): Promise<Finished> {
  const end = await run(scene, ...command);
  const [, address = ''] = /--hook-again '([^']+)'/.exec(end.stderr) ?? [];
  if (end.code === 0 || address === '') return end;
  const isOver = hookLines(scene.directory).at(-1)?.startsWith('end');
  return run(scene, ...command, isOver ? '--hook-done' : '--hook-again', address);
}

async function strike(scene: Scene, command: readonly string[], { at, number, moment }: Strike): Promise<boolean> {
  if (at === 'request') return runUntilKilled(scene, command, number, moment);
  await writeFile(join(scene.directory, 'strike'), `${number} ${moment}\n`);
  const isKilled = await runUntilKilled(scene, command, 0, 'before');
  await rm(join(scene.directory, 'strike'));
  return isKilled;
}

/** The scene in which the command is killed, each time from the same beginning. */
async function prepared(story: Story): Promise<{ begin: () => Promise<Scene>; close: () => Promise<void> }> {
  const scene = await openScene({ world: (story.world ?? defaultWorld)({ now: clock.now() }) });
  await writeFile(join(scene.directory, 'hook.sh'), HOOK);
  await writeStack(scene, story.before);
  for (const args of [['apply', '--yes'], ...(story.prepare ?? [])]) {
    const end = await run(scene, ...args);
    expect(end.code, end.stderr).toBe(0);
    await settle(scene);
  }
  const { world } = scene.server.simulator;
  story.change?.(world);
  await writeStack(scene, story.stack);
  return {
    begin: () => openScene({ world: structuredClone(world), directory: scene.directory }),
    close: () => scene.close(),
  };
}

/** A hook runs once, but for the one in which the command died: it runs again if it may, or if it did not end. */
function repeatedHooks({ stack, hooks: once = 0 }: Story, lines: readonly string[], { at, moment }: Strike): string[] {
  const starts = lines.filter((line) => line.startsWith('start')).length;
  const isRepeatable = stack.includes('repeatable: true');
  const least = once + (at === 'hook' && (isRepeatable || moment === 'begun') ? 1 : 0);
  // A request may be under way beside a hook, and the kill at it then ends both.
  const most = at === 'request' && isRepeatable ? least + 1 : least;
  return starts >= least && starts <= most ? [] : [`hooks ran ${starts} times, not ${least}: ${lines.join('; ')}`];
}

/** Whether the point was reached; what goes wrong after it is thrown. */
async function kill(story: Story, scene: Scene, point: Strike, expected: readonly string[]): Promise<boolean> {
  const { world } = scene.server.simulator;
  const before = JSON.stringify(strangersPicture(world, OTHERS));
  const mostDown = watched(scene, story.stack.includes('create_first'));
  try {
    if (!(await strike(scene, story.command, point))) return false;
    const resumed = await resume(scene, story.command);
    const said = `${resumed.stdout}${resumed.stderr}`;
    if (resumed.code !== 0 && !(story.isDone && said.includes(`[${story.isDone}]`))) expect.fail(said);
    await settle(scene);
    const wrong = differences(pictureAfter(story, world), expected);
    wrong.push(...orphans(world).map((volume) => `orphan ${volume}`));
    if (JSON.stringify(strangersPicture(world, OTHERS)) !== before) wrong.push('something of others was touched');
    if (mostDown() > story.mostDown) wrong.push(`${mostDown()} members were out of service`);
    wrong.push(...repeatedHooks(story, hookLines(scene.directory), point));
    const plan = await run(scene, 'plan', '--exit-code');
    if (plan.code !== 0) wrong.push(`the plan after that: ${plan.stdout}${plan.stderr}`);
    if (wrong.length > 0) expect.fail([...wrong, said].join('\n'));
    return true;
  } finally {
    mostDown();
    await scene.close();
  }
}

/** Of the requests and hooks of a run, those at which it is killed. */
function pointsOf(requests: number, hookRuns: number): Strike[] {
  const moments =
    SAMPLES === 1
      ? ([['after', 'begun']] as const)
      : ([
          ['before', 'begun'],
          ['after', 'over'],
        ] as const);
  return moments.flatMap(([moment, inHook]): Strike[] => [
    ...spread(requests, SAMPLES).map((number) => ({ at: 'request', number, moment }) as const),
    ...spread(hookRuns, SAMPLES).map((number) => ({ at: 'hook', number, moment: inHook }) as const),
  ]);
}

/** Most of the time is spent waiting for guests. */
const stories = new Limiter(3);

beforeAll(ensureBuilt);

describe('a command that is killed and typed again', () => {
  it.concurrent.each(STORIES)('ends as without the kill: $name', (story) =>
    stories.run(async () => {
      const { begin, close } = await prepared(story);
      const whole = await begin();
      const end = await run(whole, ...story.command);
      expect(end.code, end.stderr).toBe(0);
      await settle(whole);
      const { requests } = whole.server;
      expect(hookLines(whole.directory).filter((line) => line.startsWith('end'))).toHaveLength(story.hooks ?? 0);
      const expected = pictureAfter(story, whole.server.simulator.world);
      for (const type of story.tasks) expect(expected).not.toContain(`0 × ${type}`);
      await whole.close();

      const left = pointsOf(requests, story.hooks ?? 0);
      const total = left.length;
      const failures: string[] = [];
      for (let next = left.shift(); next; next = left.shift()) {
        const point = next;
        const isReached = await kill(story, await begin(), point, expected).catch((error: unknown) => {
          failures.push(
            `${point.moment} ${point.at} ${point.number}: ${error instanceof Error ? error.message : error}`,
          );
          return true;
        });
        // A run on a busy machine asks less often how its tasks are, and may end before the point: it is struck earlier.
        if (!isReached) left.push({ ...point, number: Math.ceil(point.number / 2) });
      }
      await close();
      process.stdout.write(
        `${story.name}: ${requests} requests; killed at ${total} points, ${failures.length} failed\n`,
      );
      expect(failures).toEqual([]);
    }),
  );
});
