/**
 * State directories that version 0.1.0 wrote, with journals of format 1: they still load, their runs read as they did, and
 * what a killed run left unfinished is resumed. The cluster is a world of the simulator with the VMs of that time.
 */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { describeRun, type StepRecord } from '../../src/engine/record/run-record.ts';
import { lineOf } from '../../src/rehearse/trial/mortal-process.ts';
import { buildWorld, type WorldFile } from '../../src/simulator/index.ts';
import { DEFAULT_WORLD } from '../../src/simulator/world/default-world.ts';
import { DirectoryStore } from '../../src/state/directory-store.ts';
import { openSteps } from '../../src/state/events.ts';
import { readRuns, unfinishedRuns } from '../../src/state/journal.ts';
import { readRecorded } from '../../src/state/recorded.ts';
import { listBackups, parseState, readState } from '../../src/state/state-file.ts';
import { Transitions } from '../../src/state/transitions.ts';
import { failuresOf } from './engine/support/invariants.ts';
import { Scene } from './engine/support/scene.ts';

const FIXTURES = join(dirname(fileURLToPath(import.meta.url)), '../fixtures/state-0.1.0');
/** Some hours after the last of those runs died. */
const NOW = Date.UTC(2026, 10, 16, 20);

const textOf = (stack: string, file: string) => readFileSync(join(FIXTURES, stack, file), 'utf8');
const storeOf = (stack: string) => new DirectoryStore(join(FIXTURES, stack, 'state'));

/** As `runs show --json` of version 0.1.0 printed it. */
interface PrintedRun {
  readonly steps: readonly object[];
  readonly vms: readonly { readonly address: string; readonly steps: readonly object[] }[];
  readonly notes: readonly string[];
}

interface Cluster {
  readonly vms: NonNullable<WorldFile['vms']>;
  readonly volumes: NonNullable<NonNullable<WorldFile['storages']>[string]['volumes']>;
}

async function sceneOf(stack: string): Promise<Scene> {
  const { vms, volumes } = JSON.parse(textOf(stack, 'cluster.json')) as Cluster;
  const storage = DEFAULT_WORLD.storages?.['local-lvm'];
  const file: WorldFile = {
    ...DEFAULT_WORLD,
    vms: { ...DEFAULT_WORLD.vms, ...vms },
    storages: {
      ...DEFAULT_WORLD.storages,
      'local-lvm': { ...storage, volumes: [...(storage?.volumes ?? []), ...volumes] },
    },
  };
  const store = storeOf(stack);
  const documents = new Map<string, string>();
  for (const name of await store.list()) documents.set(name, (await store.read(name)) ?? '');
  return new Scene({ from: { world: buildWorld(file, { now: NOW, file: stack }), now: NOW, documents } });
}

describe.each(['lab', 'edge'])('the state directory "%s" of version 0.1.0', (stack) => {
  it('loads with every file in it', async () => {
    const store = storeOf(stack);
    expect((await readState(store, stack)).stack).toBe(stack);
    for (const name of await listBackups(store)) {
      expect(parseState((await store.read(name)) ?? '', name).stack).toBe(stack);
    }
    expect(await readRuns(store)).not.toEqual([]);
  });

  it('has journals that become possible runs of today', async () => {
    for (const { events } of await readRuns(storeOf(stack))) {
      const transitions = new Transitions();
      expect(events.map((event) => transitions.accept(event)).filter((problem) => problem !== undefined)).toEqual([]);
    }
  });

  it('shows the same outcome, steps and durations of each run as before', async () => {
    const printed = JSON.parse(textOf(stack, 'runs.json')) as PrintedRun[];
    const runs = (await readRuns(storeOf(stack))).map(describeRun);
    expect(runs.map(asPrinted)).toEqual(printed.map(({ steps, ...run }) => ({ ...run, steps })));
  });
});

/** Changes of the state had no step in format 1, and were not printed. Requests were not counted. */
function asPrinted({ planned: _planned, requests, resources, steps, notes, ...run }: ReturnType<typeof describeRun>) {
  expect(requests).toEqual([]);
  const isShown = ({ action }: StepRecord) => action !== 'state.edit';
  const step = ({ action, tasks, ...rest }: StepRecord) => ({
    ...rest,
    action: action.replace(/^vm\./, ''),
    tasks: tasks.map(({ upid }) => upid),
  });
  const vms = resources.flatMap(({ address, steps: own, durationMs, failed }) =>
    own.some(isShown) ? [{ address, steps: own.filter(isShown).map(step), durationMs, failed }] : [],
  );
  // Without what is undefined, as JSON has it.
  return JSON.parse(
    JSON.stringify({ ...run, steps: steps.filter(isShown).map(step), vms, notes: notes.map(({ text }) => text) }),
  );
}

describe('a clone that a killed run of version 0.1.0 left unfinished', () => {
  it('is found with its intent and its task, and so is the sibling that was read back meanwhile', async () => {
    const store = storeOf('lab');
    const [run, ...others] = await unfinishedRuns(store);
    expect(others).toEqual([]);
    const { nonce, vmid } = (await readRecorded(store, 'lab')).state.vms['vm.mail'] ?? {};
    expect(vmid).toBe(530);
    expect(openSteps(run?.events ?? [])).toEqual([
      {
        step: 'vm.mail/clone',
        address: 'vm.mail',
        action: 'vm.clone',
        intent: { node: 'pve1', vmid: 530, nonce, sentAt: expect.any(Number) },
        upid: expect.stringContaining(':qmclone:9000:'),
      },
      { step: 'vm.store/verify', address: 'vm.store', action: 'vm.verify', intent: undefined, upid: undefined },
    ]);
  });

  it('is resumed by a run of today, which makes nothing twice', async () => {
    const scene = await sceneOf('lab');
    const before = scene.world.vms.size;
    expect(failuresOf(await scene.apply(textOf('lab', 'stack.yaml')))).toEqual([]);
    expect(scene.world.vms.size).toBe(before);
    expect(scene.requests.map(lineOf).filter((line) => line.includes('/clone'))).toEqual([]);
    expect(scene.world.vms.get(530)?.process).toBeDefined();
    const { vms } = await readState(scene.store, 'lab');
    expect(Object.keys(vms).sort()).toEqual(['vm.mail', 'vm.store', 'vm.web[1]', 'vm.web[2]']);
    expect(vms['vm.mail']).toMatchObject({ vmid: 530, phase: 'complete' });
    expect(textOf('lab', 'cluster.json')).toContain(`"uuid=${vms['vm.mail']?.uuid}"`);
    expect(await unfinishedRuns(scene.store)).toEqual([]);
    expect(await scene.apply(textOf('lab', 'stack.yaml'))).toMatchObject({ plan: { steps: [] } });
  });
});

describe('a readiness that a killed run of version 0.1.0 did not see', () => {
  it('leaves a run without open steps, whose VM is recorded as complete', async () => {
    const store = storeOf('edge');
    const { state, unfinished } = await readRecorded(store, 'edge');
    expect(unfinished.map(({ events }) => openSteps(events))).toEqual([[]]);
    expect(state.vms['vm.proxy']).toMatchObject({ vmid: 601, phase: 'complete', addresses: {} });
  });

  it('is waited for by a run of today, which does not start the VM again', async () => {
    const scene = await sceneOf('edge');
    const end = await scene.apply(textOf('edge', 'stack.yaml'));
    expect(failuresOf(end)).toEqual([]);
    if (end.kind !== 'ended') throw new Error('not applied');
    expect(end.plan.steps.map(({ id }) => id)).toEqual(['vm.proxy/verify', 'vm.proxy/ready']);
    expect(
      scene.requests.map(lineOf).filter((line) => /^(PUT|DELETE)|status/.test(line) && !/^GET/.test(line)),
    ).toEqual([]);
    expect((await readState(scene.store, 'edge')).vms['vm.proxy']?.addresses['net0']).toHaveLength(1);
    expect(await unfinishedRuns(scene.store)).toEqual([]);
    expect(await scene.apply(textOf('edge', 'stack.yaml'))).toMatchObject({ plan: { steps: [] } });
  });
});
