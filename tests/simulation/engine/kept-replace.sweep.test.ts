/**
 * A replacement that carries kept disks is killed everywhere and stormed: each kept volume exists exactly once at the end, in
 * its slot of its VM, with its content; nothing that held it is left, and the next plan is empty.
 */
import { describe, expect, it } from 'vitest';
import type { PlanOptions } from '../../../src/engine/session.ts';
import { seededRandom } from '../../../src/simulator/index.ts';
import { draftOf, saveConfig } from '../../../src/simulator/vm/config/config-file.ts';
import { byDepth, pointsOf } from '../../support/depth.ts';
import { beforehand, codesOf, complaintsAfter, failuresOf } from './support/invariants.ts';
import { STRANGERS } from './support/lab-world.ts';
import { volumesOf } from './support/picture.ts';
import { type RunEnd, Scene, type SceneOptions, type Snapshot } from './support/scene.ts';
import { administer, CALM_MS } from './support/storm.ts';
import { faultsOf, troublesOf } from './support/troubles.ts';

/** One that is cloned, with EFI variables and TPM state beside its kept disks, and one that is created, with a boot order. */
const STACK = `version: 1
stack: lab
vms:
  db:
    name: db
    vmid: 420
    node: pve1
    clone: { template: ubuntu-24.04, storage: local-lvm }
    bios: ovmf
    efi: { storage: local-lvm }
    tpm: { storage: local-lvm }
    disks:
      scsi1: { storage: local-lvm, size: 2GiB, keep: true, discard: true }
      scsi2: { storage: nfs, size: 3GiB, format: qcow2, keep: true }
  log:
    name: log
    vmids: 430-439
    node: pve1
    power: stopped
    boot: [scsi0, virtio1]
    disks: { scsi0: { storage: local-lvm, size: 1GiB }, virtio1: { storage: local-lvm, size: 4GiB, keep: true } }
`;
const BOTH = { replace: ['vm.db', 'vm.log'] };

/** Members of a group, which is replaced in turns because its template is another one by now. */
const GROUP = `version: 1
stack: lab
defaults: { node: pve1, clone: { template: ubuntu-24.04, mode: linked } }
vms:
  node:
    count: 2
    name: "node-\${number}"
    vmids: 401-409
    guest: cloud-init
    update: { replace: when_template_changes }
    disks: { scsi1: { storage: local-lvm, size: 2GiB, keep: true } }
rollout: { readiness: parallel }
`;
const [OLD, NEW] = [9000, 9012];

/** By VM and slot: what is on the kept disks. */
const CONTENTS: Readonly<Record<string, number>> = {
  'db scsi1': 1_001,
  'db scsi2': 1_002,
  'log virtio1': 1_003,
  'node-1 scsi1': 1_004,
  'node-2 scsi1': 1_005,
};

function fill(scene: Scene): void {
  for (const { place, volume } of places(scene)) volume.dataBytes = CONTENTS[place] ?? volume.dataBytes;
}

/** Every volume, with the VM and the slot that have it. */
function places({ world }: Scene) {
  const volumes = new Map(volumesOf(world).map((volume) => [`${volume.storage}:${volume.name}`, volume]));
  return [...world.vms.values()].flatMap(({ config: { current } }) =>
    [...current].flatMap(([slot, text]) => {
      const volume = volumes.get(text.split(',')[0] ?? '');
      return volume ? [{ place: `${current.get('name')} ${slot}`, volume }] : [];
    }),
  );
}

/** The contents that this world began with. */
const begunWith = new WeakMap<Scene, readonly number[]>();

function lostOrDoubled(scene: Scene): string[] {
  const kept = new Set(begunWith.get(scene));
  const found = places(scene).filter(({ volume }) => kept.has(volume.dataBytes));
  const now = found.map(({ place, volume }) => `${place}: ${volume.dataBytes}`).sort();
  const all = Object.entries(CONTENTS).filter(([, content]) => kept.has(content));
  const expected = all.map(([place, content]) => `${place}: ${content}`);
  return JSON.stringify(now) === JSON.stringify(expected) ? [] : [`kept disks are ${now}, expected ${expected}`];
}

const cached = new Map<string, Promise<Snapshot>>();

async function standing(text: string, after: (scene: Scene) => void = () => {}): Promise<Snapshot> {
  const made = async () => {
    const scene = new Scene();
    expect(failuresOf(await scene.apply(text))).toEqual([]);
    fill(scene);
    after(scene);
    await scene.clock.advance(120_000);
    return scene.snapshot();
  };
  const known = cached.get(text) ?? made();
  cached.set(text, known);
  return known;
}

async function begin(from: Promise<Snapshot> = standing(STACK), options: SceneOptions = {}): Promise<Scene> {
  const scene = new Scene({ from: await from, ...options });
  const contents = new Set(Object.values(CONTENTS));
  begunWith.set(
    scene,
    volumesOf(scene.world).flatMap(({ dataBytes }) => (contents.has(dataBytes) ? [dataBytes] : [])),
  );
  return scene;
}

/** Another template has the name now. */
function renewTemplate({ world }: Scene): void {
  const old = world.vms.get(OLD);
  if (!old) throw new Error('The template is not there.');
  world.vms.set(NEW, { ...old, vmid: NEW, config: { ...old.config, current: new Map(old.config.current) } });
  const draft = draftOf(old.config);
  draft.current.set('name', 'ubuntu-before');
  saveConfig(old, draft);
}

/** At no time may a kept volume be without a VM, or gone: a node that fails then would lose it. */
function watching(scene: Scene): () => string[] {
  const seen = new Set<string>();
  scene.onRequest = () => {
    const contents = volumesOf(scene.world).map(({ dataBytes }) => dataBytes);
    for (const content of begunWith.get(scene) ?? []) {
      if (contents.filter((each) => each === content).length !== 1) seen.add(`content ${content} was lost or doubled`);
    }
  };
  return () => [...seen];
}

describe('a replacement that carries kept disks', () => {
  it.each<[string, PlanOptions]>([
    ['continues as the file says', {}],
    ['is asked for again', BOTH],
  ])('loses, doubles and orphans none, wherever it is killed, and %s', async (_, again) => {
    const whole = await begin();
    const calm = beforehand(whole);
    expect(failuresOf(await whole.apply(STACK, BOTH))).toEqual([]);
    const points = [...whole.points];
    expect(lostOrDoubled(whole)).toEqual([]);
    expect(whole.tasks('qmmove')).toHaveLength(6);
    expect(whole.tasks('qmdestroy')).toHaveLength(4);
    expect(await complaintsAfter(whole, STACK, calm)).toEqual([]);
    const failures: string[] = [];
    const kills = pointsOf(points.length, 23, again.replace ? 11 : 0);
    for (const killAt of kills) {
      const scene = await begin();
      const before = beforehand(scene);
      const watched = watching(scene);
      scene.killAt = killAt;
      const end = await scene.apply(STACK, BOTH);
      // A guest that boots does not shut down, so a second replacement waits until it is up.
      if (again.replace || killAt % 3 === 0) await scene.clock.advance(120_000);
      const found = end.kind === 'killed' ? failuresOf(await scene.apply(STACK, again)) : ['it was not killed'];
      found.push(...(await complaintsAfter(scene, STACK, before)), ...lostOrDoubled(scene), ...watched());
      failures.push(...found.map((each) => `killed at ${killAt} (${points[killAt - 1]}): ${each}`));
    }
    process.stdout.write(`replacement with kept disks: killed at ${kills.length} of ${points.length} points\n`);
    expect(failures.slice(0, 20)).toEqual([]);
  });

  it('takes turns in a group that follows its template, wherever it is killed', async () => {
    const begun = () => begin(standing(GROUP, renewTemplate));
    const strangers = new Set([...STRANGERS, NEW]);
    const whole = await begun();
    expect(begunWith.get(whole)).toHaveLength(2);
    expect(failuresOf(await whole.apply(GROUP))).toEqual([]);
    expect(whole.tasks('qmmove')).toHaveLength(4);
    const failures: string[] = [];
    for (const killAt of pointsOf(whole.points.length, 47)) {
      const scene = await begun();
      const before = beforehand(scene, strangers);
      const watched = watching(scene);
      scene.killAt = killAt;
      await scene.apply(GROUP);
      const found = [...(await complaintsAfter(scene, GROUP, before)), ...lostOrDoubled(scene), ...watched()];
      failures.push(...found.map((each) => `killed at ${killAt} (${whole.points[killAt - 1]}): ${each}`));
    }
    expect(failures.slice(0, 20)).toEqual([]);
  });

  it('survives storms', async () => {
    const failures: string[] = [];
    let strikes = 0;
    for (let seed = 1; seed <= byDepth(2, 8, 100); seed++) {
      const faults = faultsOf(troublesOf(seed), seededRandom(`kept ${seed}`).fork('strikes'));
      const scene = await begin(standing(STACK), { seed, faults });
      const before = beforehand(scene, new Set(STRANGERS));
      const watched = watching(scene);
      const ends: RunEnd[] = [await scene.apply(STACK, BOTH), await scene.apply(STACK, BOTH)];
      scene.faults.stop();
      await scene.clock.advance(CALM_MS);
      administer(scene);
      strikes += scene.faults.strikes.length;
      const bugs = ends.flatMap(codesOf).filter((code) => code === 'INVARIANT');
      const found = [...bugs, ...(await complaintsAfter(scene, STACK, before)), ...lostOrDoubled(scene), ...watched()];
      failures.push(...found.map((each) => `seed ${seed}: ${each}`));
    }
    expect(failures.slice(0, 20)).toEqual([]);
    expect(strikes).toBeGreaterThan(0);
  });
});
