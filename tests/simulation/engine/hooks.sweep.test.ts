/**
 * Hooks around changes that make VMs unavailable: when they run, what a failure does, and that a run which resumes after a
 * crash repeats none that has ended. Programs are recorded instead of run.
 */
import { describe, expect, it } from 'vitest';
import { canceled } from '../../../src/base/errors.ts';
import type { HookChoice } from '../../../src/kinds/change.ts';
import { guestState } from '../../../src/simulator/guests/guest.ts';
import { readRuns } from '../../../src/state/journal.ts';
import { pointsOf } from '../../support/depth.ts';
import { beforehand, codesOf, complaintsAfter, failuresOf } from './support/invariants.ts';
import { type RunEnd, Scene, type Snapshot, TOKEN_SECRET } from './support/scene.ts';

const HOOKS = (more = '') =>
  `{ before_stop: { run: [drain, "\${name}", "\${vmid}", "\${address}"]${more} }, after_ready: { run: [uncordon, "\${name}"]${more} } }`;

const STACK = (memory: string, hooks = HOOKS(), count = 3) => `
version: 1
stack: lab
defaults: { node: pve1, clone: { template: ubuntu-24.04, mode: linked }, restart: when_needed }
vms:
  web: { count: ${count}, name: "web-\${number}", vmids: 411-419, guest: cloud-init, memory: ${memory}, hooks: ${hooks} }
rollout: { readiness: parallel, limits: { clones_per_node: 5, clones_per_storage: 5 } }
`;
const BEFORE = STACK('2GiB');
const AFTER = STACK('3GiB');
const NAMES = ['web-1', 'web-2', 'web-3'];

let cached: Promise<Snapshot> | undefined;

/** Three VMs that run and are ready. */
function standing(): Promise<Snapshot> {
  cached ??= (async () => {
    const scene = new Scene();
    expect(failuresOf(await scene.apply(BEFORE))).toEqual([]);
    expect(scene.programs).toEqual([]);
    await scene.clock.advance(120_000);
    return scene.snapshot();
  })();
  return cached;
}

const ranIn = (scene: Scene) => scene.programs.map(({ command }) => command.replace(/ (\d+) .*$/, ' $1'));
const inOrder = NAMES.flatMap((name, index) => [`drain ${name} ${411 + index}`, `uncordon ${name}`]);

/** Out of service from the start of its first hook to the end of its last one; at every request, on the world's clock. */
async function watched(): Promise<{ readonly scene: Scene; readonly mostDown: () => number }> {
  const scene = new Scene({ from: await standing() });
  let most = 0;
  const look = () => {
    const answering = new Set(
      [...scene.world.vms.values()]
        .filter(({ process }) => guestState(process, scene.clock.now()).agentAnswers)
        .map(({ config }) => config.current.get('name') ?? ''),
    );
    const isDrained = (name: string) => {
      const own = scene.programs.filter(({ command }) => command.split(' ')[1] === name);
      const last = own.at(-1);
      return last !== undefined && !(last.command.startsWith('uncordon') && last.endedAt !== undefined);
    };
    most = Math.max(most, NAMES.filter((name) => !answering.has(name) || isDrained(name)).length);
  };
  scene.onRequest = look;
  scene.onEvent = look;
  return { scene, mostDown: () => most };
}

/** What the programs were told, each once. */
const changesIn = ({ programs }: Scene) => [
  ...new Set(programs.map(({ environment }) => environment.PROXWRIGHT_VM_CHANGE)),
];

const failing = (scene: Scene, program: string) => {
  const usual = scene.program;
  scene.program = async (started) => {
    if (!started.command.join(' ').startsWith(program)) return usual(started);
    for (const line of ['evicting pod a', `\u001b[31mno\u001b[0m ${TOKEN_SECRET}`]) started.onLine(line);
    return { kind: 'exited', code: 3 };
  };
  return () => {
    scene.program = usual;
  };
};

const journalOf = async (scene: Scene) => (await readRuns(scene.store)).flatMap(({ events }) => events);

describe('hooks', () => {
  it('run before each member goes down and after it is ready again, and the next one waits for that', async () => {
    const { scene, mostDown } = await watched();
    const end = await scene.apply(AFTER);
    expect(failuresOf(end)).toEqual([]);
    expect(ranIn(scene)).toEqual(inOrder);
    expect(mostDown()).toBe(1);
    const [drain, uncordon] = scene.programs;
    const { addresses } = (await scene.state()).vms['vm.web[1]'] ?? {};
    expect(drain?.command).toBe(`drain web-1 411 ${addresses?.net0?.[0]}`);
    expect(drain?.environment).toEqual({
      PROXWRIGHT_VM_NAME: 'web-1',
      PROXWRIGHT_VM_VMID: '411',
      PROXWRIGHT_VM_NODE: 'pve1',
      PROXWRIGHT_VM_ADDRESS: addresses?.net0?.[0],
      PROXWRIGHT_VM_GROUP: 'web',
      PROXWRIGHT_VM_RESOURCE: 'vm.web[1]',
      PROXWRIGHT_VM_CHANGE: 'restart',
      PROXWRIGHT_HOOK: 'before_stop',
      PROXWRIGHT_STACK: 'lab',
    });
    const shutdown = [...scene.world.tasks.values()].find(({ type, id }) => type === 'qmshutdown' && id === '411');
    const start = [...scene.world.tasks.values()].findLast(({ type, id }) => type === 'qmstart' && id === '411');
    expect(shutdown?.startedAt).toBeGreaterThanOrEqual(drain?.endedAt ?? Number.POSITIVE_INFINITY);
    expect(uncordon?.at).toBeGreaterThan(start?.endedAt ?? Number.POSITIVE_INFINITY);
    expect((await scene.state()).outages ?? {}).toEqual({});
    const second = await scene.plan(AFTER);
    expect(second.kind === 'ended' && second.plan.steps).toEqual([]);
  });

  it('are part of a replacement, a declared stop, the start after it, and the removal of a member', async () => {
    const { scene } = await watched();
    expect(failuresOf(await scene.apply(BEFORE, { replace: ['vm.web[2]'] }))).toEqual([]);
    expect(ranIn(scene)).toEqual(['drain web-2 412', 'uncordon web-2']);
    expect(scene.programs[1]?.environment.PROXWRIGHT_VM_CHANGE).toBe('replace');
    scene.programs.length = 0;
    const stopped = BEFORE.replace('memory: 2GiB', 'memory: 2GiB, overrides: { 3: { power: stopped } }');
    expect(failuresOf(await scene.apply(stopped))).toEqual([]);
    expect(ranIn(scene)).toEqual(['drain web-3 413']);
    const again = await scene.plan(stopped);
    expect(again.kind === 'ended' && again.plan.steps).toEqual([]);
    expect(failuresOf(await scene.apply(BEFORE))).toEqual([]);
    expect(ranIn(scene)).toEqual(['drain web-3 413', 'uncordon web-3']);
    scene.programs.length = 0;
    expect(failuresOf(await scene.apply(STACK('2GiB', HOOKS(), 2), { allowDelete: true }))).toEqual([]);
    expect(ranIn(scene)).toEqual(['drain web-3 413']);
    expect(scene.world.vms.has(413)).toBe(false);
    expect((await scene.state()).outages ?? {}).toEqual({});
  });

  it('stop the roll when one fails, show its last lines without secrets, and run again with the next apply', async () => {
    const { scene, mostDown } = await watched();
    const repair = failing(scene, 'drain web-2');
    const end = await scene.apply(AFTER);
    expect(codesOf(end)).toEqual(['HOOK_FAILED', 'ROLL_STOPPED']);
    const [said = '', stopped] = failuresOf(end);
    expect(said).toMatch(
      /The hook before_stop exited with 3: drain web-2 412 .*\n {4}evicting pod a\n {4}\\x1b\[31mno\\x1b\[0m •••\n/,
    );
    expect(said).toContain('The VM was not taken down.');
    expect(stopped).toContain('A hook of vm.web[2] failed, so vm.web[3] was not taken down');
    expect(scene.tasks('qmshutdown')).toHaveLength(1);
    repair();
    expect(failuresOf(await scene.apply(AFTER))).toEqual([]);
    expect(ranIn(scene)).toEqual([...inOrder.slice(0, 2), 'drain web-2 412', ...inOrder.slice(2)]);
    expect(mostDown()).toBe(1);
  });

  it('keep a member unavailable while after_ready fails, and only repeat that', async () => {
    const { scene, mostDown } = await watched();
    const repair = failing(scene, 'uncordon web-1');
    const end = await scene.apply(AFTER);
    expect(codesOf(end)).toEqual(['HOOK_FAILED', 'ROLL_STOPPED', 'ROLL_STOPPED']);
    repair();
    const resumed = await scene.apply(AFTER);
    expect(failuresOf(resumed)).toEqual([]);
    expect(ranIn(scene)).toEqual(['drain web-1 411', 'uncordon web-1', 'uncordon web-1', ...inOrder.slice(2)]);
    expect(scene.tasks('qmshutdown')).toHaveLength(3);
    expect(mostDown()).toBe(1);
  });

  it('bring back a member that was drained, although the file no longer asks for the change', async () => {
    const { scene } = await watched();
    const repair = failing(scene, 'drain web-2');
    await scene.apply(AFTER);
    repair();
    const back = STACK('3GiB').replace('hooks:', 'overrides: { 2: { memory: 2GiB }, 3: { memory: 2GiB } }, hooks:');
    const end = await scene.apply(back);
    expect(failuresOf(end)).toEqual([]);
    expect(ranIn(scene)).toEqual([...inOrder.slice(0, 2), 'drain web-2 412', 'uncordon web-2']);
    expect(scene.tasks('qmshutdown')).toHaveLength(1);
    const second = await scene.plan(back);
    expect(second.kind === 'ended' && second.plan.steps).toEqual([]);
  });

  it('end with a request to stop, and run again with the next apply', async () => {
    const { scene } = await watched();
    scene.program = ({ signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
        scene.abort.abort(canceled());
      });
    const end = await scene.apply(AFTER);
    expect(failuresOf(end).join('\n')).toContain('vm.web[1]: canceled');
    scene.abort = new AbortController();
    scene.program = async () => ({ kind: 'exited', code: 0 });
    expect(failuresOf(await scene.apply(AFTER))).toEqual([]);
    expect(ranIn(scene)).toEqual(['drain web-1 411', ...inOrder]);
  });

  it('do not run where they are switched off, and the plan shows those that run', async () => {
    const { scene } = await watched();
    const planned = await scene.plan(AFTER);
    const [change] = planned.kind === 'ended' ? planned.plan.changes : [];
    expect(change?.hooks).toEqual([
      { moment: 'before_stop', run: ['drain', 'web-1', `\${vmid}`, `\${address}`], timeoutMs: 300_000 },
      { moment: 'after_ready', run: ['uncordon', 'web-1'], timeoutMs: 300_000 },
    ]);
    expect(failuresOf(await scene.apply(AFTER, { hooks: { off: true } }))).toEqual([]);
    expect(scene.programs).toEqual([]);
    expect(scene.tasks('qmshutdown')).toHaveLength(3);
  });

  it('run around a rollback, unless they are switched off, and the same rollback takes the decision about an unknown end', async () => {
    const { scene, mostDown } = await watched();
    expect(failuresOf(await scene.snapshots(BEFORE, { kind: 'create', name: 'one', memory: false }))).toEqual([]);
    const ROLLBACK = { kind: 'rollback', name: 'one', start: true } as const;
    expect(failuresOf(await scene.snapshots(BEFORE, ROLLBACK, { hooks: { off: true } }))).toEqual([]);
    expect(scene.programs).toEqual([]);
    expect(failuresOf(await scene.snapshots(BEFORE, ROLLBACK))).toEqual([]);
    expect(ranIn(scene)).toEqual(inOrder);
    expect(changesIn(scene)).toEqual(['rollback']);
    scene.programs.length = 0;
    const points = [...scene.points];
    scene.killAt = points.findIndex((point) => point.startsWith('during drain web-2')) + 1;
    expect(await scene.snapshots(BEFORE, ROLLBACK)).toMatchObject({ kind: 'killed' });
    await scene.clock.advance(60_000);
    expect(codesOf(await scene.snapshots(BEFORE, ROLLBACK))).toEqual(['HOOK_UNKNOWN']);
    expect(failuresOf(await scene.snapshots(BEFORE, ROLLBACK, { hooks: { done: ['vm.web[2]'] } }))).toEqual([]);
    expect(ranIn(scene).filter((command) => command.startsWith('drain web-2'))).toEqual(['drain web-2 412']);
    expect(ranIn(scene).at(-1)).toBe('uncordon web-3');
    expect(mostDown()).toBe(1);
  });

  it('are recorded with their output, escaped and without secrets', async () => {
    const { scene } = await watched();
    failing(scene, 'drain web-1');
    await scene.apply(AFTER);
    const hooks = (await journalOf(scene)).filter((event) => event.event === 'hook');
    expect(hooks.map(({ moment, status }) => [moment, status])).toEqual([
      ['before_stop', 'started'],
      ['before_stop', 'failed'],
    ]);
    expect(hooks[1]?.output).toMatch(/^evicting pod a\n\\x1b\[31mno\\x1b\[0m •••$/);
    expect(JSON.stringify(await journalOf(scene))).not.toContain(TOKEN_SECRET);
    expect(scene.logs.join('\n')).toContain('vm.web[1]: before_stop: evicting pod a');
  });
});

/** Answers what apply asks after a crash, by turns. */
async function resume(scene: Scene, text: string, answer: 'again' | 'done'): Promise<RunEnd> {
  const end = await scene.apply(text);
  if (!codesOf(end).includes('HOOK_UNKNOWN')) return end;
  const selectors = ['vm.web'];
  const hooks: HookChoice = answer === 'again' ? { again: selectors } : { done: selectors };
  return scene.apply(text, { hooks });
}

describe('a killed run with hooks', () => {
  it('asks before it repeats a hook whose end is not known, and changes nothing until then', async () => {
    const { scene } = await watched();
    scene.killAt = (await pointsOfWhole(AFTER)).findIndex((point) => point.startsWith('during drain web-2')) + 1;
    expect(await scene.apply(AFTER)).toMatchObject({ kind: 'killed' });
    await scene.clock.advance(60_000);
    const refused = await scene.apply(AFTER);
    expect(codesOf(refused)).toEqual(['HOOK_UNKNOWN']);
    expect(failuresOf(refused).join('\n')).toContain("repeat the command with --hook-again 'vm.web[2]'");
    expect(scene.writes()).toEqual([]);
    expect(failuresOf(await scene.apply(AFTER, { hooks: { done: ['vm.web[2]'] } }))).toEqual([]);
    expect(ranIn(scene)).toEqual(inOrder);
  });

  it('repeats one that says it can run twice', async () => {
    const { scene } = await watched();
    const repeatable = STACK('3GiB', HOOKS(', repeatable: true'));
    scene.killAt = (await pointsOfWhole(repeatable)).findIndex((point) => point.startsWith('during drain web-2')) + 1;
    expect(await scene.apply(repeatable)).toMatchObject({ kind: 'killed' });
    expect(failuresOf(await scene.apply(repeatable))).toEqual([]);
    expect(ranIn(scene)).toEqual([...inOrder.slice(0, 3), ...inOrder.slice(2)]);
  });

  it.each([
    ['after_ready of a new VM', 'uncordon web-1', 'replace'],
    ['before_stop of a VM that stays', 'drain web-1', 'start'],
  ] as const)('tells %s what the interrupted run did', async (_, program, change) => {
    const { scene } = await watched();
    const replace = ['vm.web[1]'];
    const points = await pointsOfWhole(BEFORE, replace);
    scene.killAt = points.findIndex((point) => point.startsWith(`during ${program}`)) + 1;
    expect(await scene.apply(BEFORE, { replace })).toMatchObject({ kind: 'killed' });
    await scene.clock.advance(60_000);
    scene.programs.length = 0;
    expect(failuresOf(await scene.apply(BEFORE, { hooks: { again: ['vm.web'] } }))).toEqual([]);
    expect(changesIn(scene)).toEqual([change]);
  });

  it.each([
    ['a restart', AFTER, undefined, 29],
    ['a replacement', BEFORE, ['vm.web'], 53],
  ] as const)(
    'repeats no hook that has ended, wherever %s is killed, and tells each what changes',
    async (_, text, replace, stride) => {
      const points = await pointsOfWhole(text, replace);
      const hooked = points.flatMap((point, index) => (/drain|uncordon|hook/.test(point) ? [index + 1] : []));
      const failures: string[] = [];
      for (const killAt of new Set([
        ...pointsOf(points.length, stride),
        ...pointsOf(hooked.length, 5).map((at) => hooked[at - 1] ?? 1),
      ])) {
        const { scene, mostDown } = await watched();
        const before = beforehand(scene);
        scene.killAt = killAt;
        await scene.apply(text, { ...(replace && { replace }) });
        await scene.clock.advance(60_000);
        const found = failuresOf(await resume(scene, text, killAt % 2 === 0 ? 'again' : 'done'));
        found.push(...(await complaintsAfter(scene, text, before)));
        if (mostDown() > 1) found.push(`${mostDown()} members were out of service at once`);
        found.push(
          ...repeatedIn(scene, await journalOf(scene)),
          ...untrueChanges(scene, replace ? 'replace' : 'restart'),
        );
        failures.push(...found.map((each) => `killed at ${killAt} (${points[killAt - 1]}): ${each}`));
      }
      expect(failures.slice(0, 20)).toEqual([]);
    },
  );
});

/** A hook may start again only if the journal does not have its end; each drained member is brought back. */
function repeatedIn(scene: Scene, events: Awaited<ReturnType<typeof journalOf>>): string[] {
  const found: string[] = [];
  for (const name of NAMES) {
    const own = scene.programs.filter(({ command }) => command.split(' ')[1] === name);
    const address = `vm.web[${name.slice(-1)}]`;
    const ends = events.filter(
      (event) => event.event === 'hook' && event.address === address && event.status === 'done',
    );
    const starts = events.filter(
      (event) => event.event === 'hook' && event.address === address && event.status === 'started',
    );
    if (ends.length > 2) found.push(`${name}: ${ends.length} hooks ended`);
    if (starts.length > 3) found.push(`${name}: hooks were started ${starts.length} times`);
    if (own.length > starts.length) found.push(`${name}: a program ran that the journal does not have`);
    if (own.length > 0 && !own.at(-1)?.command.startsWith('uncordon')) found.push(`${name} stays drained`);
  }
  return found;
}

/** A member that was only drained when the run died is put back as it was: `start`. */
function untrueChanges(scene: Scene, change: string): string[] {
  return NAMES.flatMap((name, index) => {
    const own = scene.programs.filter(({ command }) => command.split(' ')[1] === name);
    const wasReplaced = [...scene.world.tasks.values()].some(
      ({ type, id }) => type === 'qmdestroy' && id === String(411 + index),
    );
    const expected = change === 'replace' && !wasReplaced ? ['replace', 'start'] : [change];
    return own.flatMap(({ command, environment }) => {
      const told = environment.PROXWRIGHT_VM_CHANGE ?? '';
      return expected.includes(told) ? [] : [`${command} was told ${told}`];
    });
  });
}

async function pointsOfWhole(text: string, replace?: readonly string[]): Promise<string[]> {
  const { scene } = await watched();
  expect(failuresOf(await scene.apply(text, { ...(replace && { replace }) }))).toEqual([]);
  return scene.points;
}
