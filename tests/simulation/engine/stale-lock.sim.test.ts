/** A lock that a killed worker left behind: the first error names it and the commands, and the run does not wait for it. */
import { describe, expect, it } from 'vitest';
import type { Diagnostic } from '../../../src/base/diagnostics.ts';
import { parseToken } from '../../../src/pve/index.ts';
import { lockVm } from '../../../src/simulator/faults/strangers.ts';
import { grant } from '../../../src/simulator/testing/access.ts';
import { draftOf, saveConfig } from '../../../src/simulator/vm/config/config-file.ts';
import { readRecorded } from '../../../src/state/recorded.ts';
import { labWorld, visit, WEAK } from '../doctor/support/clinic.ts';
import { type RunEnd, Scene } from './support/scene.ts';
import { administer } from './support/storm.ts';

const stackWith = (place: string) => `
version: 1
stack: lab
vms:
  web: { name: web, node: pve1, ${place}, power: stopped, clone: { template: ubuntu-24.04, mode: full } }
`;
const FIXED = stackWith('vmid: 401');
const RANGE = stackWith('vmids: 401-410');
const COMMANDS = 'qm unlock 401 && qm destroy 401 --purge 1 --destroy-unreferenced-disks 1';

/** Kills the worker of the first clone while it copies, as `kill -9` on the node does. */
function killClone(scene: Scene): void {
  scene.onRequest = () => {
    const { tasks } = scene.simulator.runtime;
    const clone = [...scene.world.tasks.values()].find(({ type, upid }) => type === 'qmclone' && tasks.isRunning(upid));
    if (!clone || !scene.world.vms.has(401)) return;
    scene.onRequest = () => {};
    void tasks.kill(clone.upid);
  };
}

function problemsOf(end: RunEnd): readonly Diagnostic[] {
  switch (end.kind) {
    case 'ended':
      return [...(end.result?.problems.values() ?? [])];
    case 'refused':
      return end.problems;
    case 'failed':
      return [end.problem];
    default:
      return [];
  }
}

const textOf = (problems: readonly Diagnostic[]) =>
  problems.map(({ detail, hint }) => `${detail} ${hint?.text ?? ''}`).join('\n');

const DONE = { kind: 'ended', result: { outcomes: new Map([['vm.web', 'done']]) } };

const IMPORT = /proxwright (import|state recover)/;

function lock(scene: Scene, vmid: number, name: string): void {
  const vm = scene.world.vms.get(vmid);
  if (!vm) throw new Error(`there is no VM ${vmid}`);
  const draft = draftOf(vm.config);
  draft.current.set('lock', name);
  saveConfig(vm, draft);
}

describe('a clone whose worker was killed on the node', () => {
  it.each([
    ['a fixed id', FIXED],
    ['a range of ids', RANGE],
  ])('is named within seconds, with the two commands, in every run until it is removed: %s', async (_, stack) => {
    const scene = new Scene();
    killClone(scene);
    const before = scene.clock.now();
    const first = await scene.apply(stack);
    expect(scene.tasks('qmclone')).toEqual(['unexpected status']);
    expect(scene.world.vms.get(401)?.config.current.get('lock')).toBe('clone');
    expect(problemsOf(first)).toMatchObject([
      {
        code: 'STALE_LOCK',
        detail: expect.stringMatching(
          /^VM 401 on pve1 is locked \(clone\).*No task on pve1 works on it, checked twice/,
        ),
        hint: { text: expect.stringContaining(`As root on pve1, remove what is left of it: ${COMMANDS}`) },
      },
    ]);
    expect(scene.clock.now() - before).toBeLessThan(60_000);

    for (const again of [() => scene.plan(stack), () => scene.apply(stack)]) {
      const since = scene.clock.now();
      const problems = problemsOf(await again());
      expect(problems).toMatchObject([{ code: 'STALE_LOCK', where: { line: 5 } }]);
      expect(textOf(problems)).toContain(COMMANDS);
      expect(textOf(problems)).not.toMatch(IMPORT);
      expect(scene.clock.now() - since).toBeLessThan(30_000);
      expect(scene.writes()).toEqual([]);
    }

    administer(scene);
    expect(await scene.apply(stack)).toMatchObject(DONE);
    expect(scene.world.vms.get(401)?.config.current.get('name')).toBe('web');
  });

  it('is named by doctor, which advises no import, with or without a state', async () => {
    const scene = new Scene();
    killClone(scene);
    await scene.apply(RANGE);
    const { state } = await readRecorded(scene.store, 'lab');
    // Without a state only the id leads to it.
    for (const [text, options] of [
      [RANGE, { state }],
      [FIXED, { state }],
      [FIXED, {}],
    ] as const) {
      const { findings } = await visit(scene.world, text, { ...options, now: scene.clock.now() });
      const said = JSON.stringify(findings);
      expect(said).toContain(COMMANDS);
      expect(said).not.toMatch(IMPORT);
    }
  });

  it('keeps doctor from saying that the plan is ready, also before the clone has a name', async () => {
    const scene = new Scene();
    killClone(scene);
    await scene.apply(RANGE);
    const { state } = await readRecorded(scene.store, 'lab');
    // What Proxmox writes before the first disk is copied.
    const vm = scene.world.vms.get(401);
    if (vm) saveConfig(vm, { ...draftOf(vm.config), current: new Map([['lock', 'clone']]) });
    const { findings } = await visit(scene.world, RANGE, { state, now: scene.clock.now() });
    expect(findings.filter(({ check }) => check === 'plan')).toMatchObject([
      { verdict: 'bad', remedy: expect.stringContaining(COMMANDS) },
    ]);
  });

  it('is not waited for by a token that sees only its own tasks, which says so', async () => {
    const scene = new Scene({
      world: () => labWorld(),
      credentials: parseToken(`${WEAK}=00000000-0000-4000-8000-0000000000aa`),
    });
    const { runtime } = scene.simulator;
    for (const who of [WEAK, 'prov@pve']) {
      grant(runtime, who, '/vms', [
        'VM.Audit',
        'VM.Clone',
        'VM.Allocate',
        'VM.Config.Options',
        'VM.Config.Disk',
        'VM.Config.Network',
        'VM.PowerMgmt',
      ]);
      grant(runtime, who, '/storage', ['Datastore.AllocateSpace', 'Datastore.Audit']);
      grant(runtime, who, '/sdn', ['SDN.Use']);
    }
    killClone(scene);
    const before = scene.clock.now();
    const problems = problemsOf(await scene.apply(FIXED));
    expect(problems).toMatchObject([{ code: 'STALE_LOCK' }]);
    expect(textOf(problems)).toContain(`No task of ${WEAK} on pve1 works on it`);
    expect(textOf(problems)).toContain('Sys.Audit on /nodes/pve1');
    expect(scene.clock.now() - before).toBeLessThan(60_000);
  });
});

describe('a lock on an existing VM', () => {
  const CHANGED = FIXED.replace('power: stopped', 'power: stopped, cpu: { cores: 3 }');

  async function made(): Promise<Scene> {
    const scene = new Scene();
    expect((await scene.apply(FIXED)).kind).toBe('ended');
    return scene;
  }

  it.each([
    ['backup', 'qm unlock 401'],
    ['migrate', 'qm unlock 401'],
    ['snapshot-delete', 'qm unlock 401'],
    ['rollback', 'qm unlock 401'],
    ['suspended', 'qm resume 401'],
  ])('is a warning of the plan and ends the wait immediately if no task holds it: %s', async (name, command) => {
    const scene = await made();
    lock(scene, 401, name);
    const planned = await scene.plan(CHANGED);
    const warnings = planned.kind === 'ended' ? planned.plan.warnings : [];
    expect(warnings).toMatchObject([{ code: 'STALE_LOCK', severity: 'warning', where: { address: 'vm.web' } }]);
    expect(textOf(warnings)).toContain(command);
    expect(textOf(warnings)).not.toContain('qm destroy');

    const before = scene.clock.now();
    const problems = problemsOf(await scene.apply(CHANGED));
    expect(problems).toMatchObject([{ code: 'STALE_LOCK' }]);
    expect(textOf(problems)).toContain(command);
    expect(scene.clock.now() - before).toBeLessThan(30_000);

    // qm unlock
    const vm = scene.world.vms.get(401);
    if (vm) {
      const draft = draftOf(vm.config);
      draft.current.delete('lock');
      saveConfig(vm, draft);
    }
    expect(await scene.apply(CHANGED)).toMatchObject(DONE);
  });

  it('is waited for while a task holds it, and the task is named', async () => {
    const scene = await made();
    const vm = scene.world.vms.get(401);
    if (vm) lockVm(scene.simulator.runtime, vm, 'backup', 120_000);
    const planned = await scene.plan(CHANGED);
    const warnings = planned.kind === 'ended' ? planned.plan.warnings : [];
    const named = /the task vzdump of operator@pve, running since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/;
    expect(warnings).toMatchObject([{ code: 'GUEST_LOCKED', detail: expect.stringMatching(named) }]);
    expect(await scene.apply(CHANGED)).toMatchObject(DONE);
    const told = scene.events.map((event) => JSON.stringify(event)).filter((line) => named.test(line));
    expect(told.length).toBeGreaterThan(0);
  });

  it('is not mentioned where the plan changes nothing', async () => {
    const scene = await made();
    lock(scene, 401, 'backup');
    expect(await scene.plan(FIXED)).toMatchObject({ kind: 'ended', plan: { steps: [], warnings: [] } });
  });
});
