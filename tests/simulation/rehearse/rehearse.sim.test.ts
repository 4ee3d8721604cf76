/** A rehearsal against the run that follows it: the same plan, the same requests, the predicted time. */
import { describe, expect, test } from 'vitest';
import { describeRun } from '../../../src/engine/record/run-record.ts';
import { parseToken } from '../../../src/pve/index.ts';
import { savedWorld } from '../../../src/rehearse/saved-world.ts';
import { interruptEverywhere, weather } from '../../../src/rehearse/trial/interrupt.ts';
import { lineOf } from '../../../src/rehearse/trial/mortal-process.ts';
import { buildWorld } from '../../../src/simulator/index.ts';
import { draftOf, saveConfig } from '../../../src/simulator/vm/config/config-file.ts';
import { readRuns } from '../../../src/state/journal.ts';
import { failuresOf } from '../engine/support/invariants.ts';
import { LAB_WORLD } from '../engine/support/lab-world.ts';
import { GUEST_PASSWORD, Scene, TOKEN_SECRET } from '../engine/support/scene.ts';
import { rehearseScene } from './support/bench.ts';

async function lastRun(scene: Scene) {
  const journal = (await readRuns(scene.store)).at(-1);
  if (!journal) throw new Error('there is no run');
  return describeRun(journal);
}

/** Polls come as often as the time allows; everything else is a decision. */
const decisions = (lines: readonly string[]) =>
  lines.filter((line) => !line.startsWith('GET ') && !line.endsWith('/agent/ping'));

const TWO_VMS = `
version: 1
stack: lab
defaults:
  node: pve1
  clone: { template: ubuntu-24.04, mode: full }
  memory: 4GiB
vms:
  db:
    name: db
    vmids: 401-409
    guest: cloud-init
    cloud_init: { user: admin, password: { env: GUEST_PASSWORD } }
    nics: { net0: { bridge: vmbr0, ipv4: dhcp } }
  web:
    name: web
    vmids: 401-409
    after: [db]
    disks: { scsi0: { size: 10GiB } }
`;
const MORE_MEMORY = TWO_VMS.replace('memory: 4GiB', 'memory: 6GiB\n  restart: when_needed');
const CI = parseToken('deploy@pve!ci=00000000-0000-4000-8000-000000000003');

describe('a rehearsal', () => {
  test('carries out the real plan on a copy, and only reads from the cluster', async () => {
    const scene = new Scene();
    const before = [...scene.world.vms.keys()];
    const { rehearsal, plan, reads } = await rehearseScene(scene, TWO_VMS);
    expect(rehearsal.problems).toEqual([]);
    expect(rehearsal.planDifferences).toEqual([]);
    expect(rehearsal.run.resources.map(({ status }) => status)).toEqual(['done', 'done']);
    expect(rehearsal.run.planned).toBe(plan.steps.length);
    expect([...scene.world.vms.keys()]).toEqual(before);
    expect(scene.world.tasks.size).toBe(0);
    expect(reads.sent.filter((line) => !line.startsWith('GET '))).toEqual([]);
    // The cluster, two nodes, and one template to clone.
    expect(reads.sent.length).toBeLessThanOrEqual(12 + 2 * 6 + 1);
    expect(new Set(reads.sent).size).toBe(reads.sent.length);
    expect(failuresOf(await scene.apply(TWO_VMS))).toEqual([]);
    expect(decisions(rehearsal.requests)).toEqual(decisions(scene.requests.map(lineOf)));
    const memory = rehearsal.peaks.find(({ node }) => node === 'pve1')?.memory;
    expect((memory?.peakBytes ?? 0) - (memory?.beforeBytes ?? 0)).toBe(2 * 4 * 1024 ** 3);
    expect(rehearsal.order.map(({ what, address }) => `${what} ${address}`)).toEqual(['start vm.db', 'start vm.web']);
  });

  test('predicts runs within 10 % once it has learned from earlier ones', async () => {
    const scene = new Scene();
    const ratio = async (text: string) => {
      await scene.clock.advance(60_000);
      const { rehearsal } = await rehearseScene(scene, text);
      expect(rehearsal.problems).toEqual([]);
      expect(rehearsal.planDifferences).toEqual([]);
      expect(failuresOf(await scene.apply(text))).toEqual([]);
      return { rehearsal, ratio: rehearsal.tookMs / ((await lastRun(scene)).durationMs ?? 0) };
    };
    expect((await ratio(TWO_VMS)).rehearsal.durations.join()).toMatch(/a default/);
    await ratio(MORE_MEMORY);
    expect(failuresOf(await scene.destroy(MORE_MEMORY))).toEqual([]);
    const again = await ratio(TWO_VMS);
    expect(again.rehearsal.durations.join()).toMatch(/Copies on local-lvm: \d+ MB\/s, from 2 recorded clones/);
    expect(again.ratio).toBeGreaterThan(0.9);
    expect(again.ratio).toBeLessThan(1.1);
    const update = await ratio(MORE_MEMORY);
    expect(update.ratio).toBeGreaterThan(0.9);
    expect(update.ratio).toBeLessThan(1.1);
    const { fastestMs, tookMs, slowestMs } = update.rehearsal;
    expect(fastestMs <= tookMs && tookMs <= slowestMs).toBe(true);
  });

  test('has the rights of the token, and names the line for which one is missing', async () => {
    const scene = new Scene();
    const { rehearsal } = await rehearseScene(scene, TWO_VMS, { credentials: CI });
    expect(rehearsal.problems).toEqual([]);
    const limited = {
      ...LAB_WORLD,
      roles: { Deploy: (LAB_WORLD.roles?.Deploy ?? []).filter((each) => each !== 'VM.Clone') },
    };
    const poor = new Scene({ world: ({ now }) => buildWorld(limited, { now }) });
    const refused = await rehearseScene(poor, TWO_VMS, { credentials: CI });
    expect(refused.rehearsal.ok).toBe(false);
    expect(refused.rehearsal.problems.map(({ code, where }) => [code, where?.line])).toContainEqual([
      'PRIVILEGE_MISSING',
      expect.any(Number),
    ]);
  });

  test('keeps a lock that is held now, and says so', async () => {
    const scene = new Scene();
    expect(failuresOf(await scene.apply(TWO_VMS))).toEqual([]);
    const vm = [...scene.world.vms.values()].find(({ config }) => config.current.get('name') === 'web');
    if (!vm) throw new Error('there is no VM web');
    const draft = draftOf(vm.config);
    draft.current.set('lock', 'backup');
    saveConfig(vm, draft);
    const { rehearsal } = await rehearseScene(scene, MORE_MEMORY);
    expect(rehearsal.assumptions.join()).toContain(`VM ${vm.vmid} stays locked (backup)`);
    expect(rehearsal.ok).toBe(false);
    expect(rehearsal.problems.map(({ where }) => where?.address)).toEqual(['vm.web']);
    expect(rehearsal.problems[0]?.where?.line).toBeGreaterThan(0);
  });

  test('copies VMs that have no name, or empty tags', async () => {
    const nameless = {
      ...LAB_WORLD,
      vms: { ...LAB_WORLD.vms, 777: { node: 'pve1', config: { memory: 256, tags: ' ' } } },
    };
    const scene = new Scene({ world: ({ now }) => buildWorld(nameless, { now }) });
    const { rehearsal } = await rehearseScene(scene, TWO_VMS);
    expect(rehearsal.problems).toEqual([]);
    expect(rehearsal.world.vms?.[777]?.config).not.toHaveProperty('name');
    expect(rehearsal.run.resources.map(({ status }) => status)).toEqual(['done', 'done']);
  });

  test('is resumed wherever it is interrupted, and survives storms', async () => {
    const scene = new Scene();
    const { rehearsal } = await rehearseScene(
      scene,
      TWO_VMS.replace(/ {2}db:[\s\S]*web:/, '  web:').replace('after: [db]', ''),
    );
    const whole = await interruptEverywhere(rehearsal.stage, { at: 7 });
    expect(whole).toEqual({ points: 1, killed: 1, resumed: 1, failures: [] });
    const storms = await weather(rehearsal.stage, [1]);
    expect(storms.failures).toEqual([]);
  });

  test('keeps a copy without secrets that the simulator serves again', async () => {
    const scene = new Scene();
    expect(failuresOf(await scene.apply(TWO_VMS))).toEqual([]);
    const { rehearsal } = await rehearseScene(scene, MORE_MEMORY);
    for (const anonymize of [false, true]) {
      const text = JSON.stringify(savedWorld(rehearsal.world, { anonymize }));
      for (const secret of [GUEST_PASSWORD, TOKEN_SECRET, 'cipassword', 'sshkeys']) expect(text).not.toContain(secret);
      const world = buildWorld(JSON.parse(text), { now: 0 });
      expect([...world.vms.keys()].toSorted()).toEqual([...scene.world.vms.keys()].toSorted());
      const names = ['pve1', 'local-lvm', 'deploy@pve', 'ubuntu-24.04', '"lab"'];
      expect(names.filter((name) => text.includes(name))).toEqual(anonymize ? [] : expect.arrayContaining(['pve1']));
    }
  });
});
