/**
 * A replacement that carries kept disks is killed everywhere and stormed: each kept volume exists exactly once at the end, in
 * its slot of its VM, with its content; nothing that held it is left, and the next plan is empty.
 */
import { describe, expect, it } from 'vitest';
import type { PlanOptions } from '../../../src/engine/session.ts';
import { seededRandom } from '../../../src/simulator/index.ts';
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

/** By VM and slot: what is on the kept disks. */
const CONTENTS: Readonly<Record<string, number>> = { 'db scsi1': 1_001, 'db scsi2': 1_002, 'log virtio1': 1_003 };

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

function lostOrDoubled(scene: Scene): string[] {
  const kept = new Set(Object.values(CONTENTS));
  const found = places(scene).filter(({ volume }) => kept.has(volume.dataBytes));
  const now = found.map(({ place, volume }) => `${place}: ${volume.dataBytes}`).sort();
  const wanted = Object.entries(CONTENTS).map(([place, content]) => `${place}: ${content}`);
  return JSON.stringify(now) === JSON.stringify(wanted) ? [] : [`kept disks are ${now}, wanted ${wanted}`];
}

let cached: Promise<Snapshot> | undefined;

function standing(): Promise<Snapshot> {
  cached ??= (async () => {
    const scene = new Scene();
    expect(failuresOf(await scene.apply(STACK))).toEqual([]);
    fill(scene);
    await scene.clock.advance(120_000);
    return scene.snapshot();
  })();
  return cached;
}

async function begin(options: SceneOptions = {}): Promise<Scene> {
  return new Scene({ from: await standing(), ...options });
}

/** At no time may a kept volume be without a VM, or gone: a node that fails then would lose it. */
function watching(scene: Scene): () => string[] {
  const seen = new Set<string>();
  scene.onRequest = () => {
    const contents = volumesOf(scene.world).map(({ dataBytes }) => dataBytes);
    for (const content of Object.values(CONTENTS)) {
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

  it('survives storms', async () => {
    const failures: string[] = [];
    let strikes = 0;
    for (let seed = 1; seed <= byDepth(2, 8, 100); seed++) {
      const faults = faultsOf(troublesOf(seed), seededRandom(`kept ${seed}`).fork('strikes'));
      const scene = await begin({ seed, faults });
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
