/** Custom cloud-init files: renewed when they change, removed when they are no longer desired, whatever happens to the VM. */
import { describe, expect, it } from 'vitest';
import { codesOf, failuresOf } from '../engine/support/invariants.ts';
import { Scene, type Snapshot } from '../engine/support/scene.ts';
import { complaintsAfter, complaintsAfterDestroy, filesOf, strangersPicture } from './support/invariants.ts';
import { talosStack } from './support/stacks.ts';
import { hostWorld } from './support/worlds.ts';

const TEXT = talosStack();
const RETOLD = talosStack({ userData: 'machine: { type: controlplane } # let nobody read this' });
const UNTOLD = talosStack({ isSeeded: false });

const OWN_DRIVE = 'cloud_init: { storage: tank, user: ops } }';

let cached: Promise<Snapshot> | undefined;

/** The stack as it stands, its guests booted. */
async function standing(): Promise<{ scene: Scene; before: string }> {
  cached ??= (async () => {
    const first = new Scene({ world: hostWorld });
    expect(failuresOf(await first.apply(TEXT))).toEqual([]);
    await first.clock.advance(120_000);
    return first.snapshot();
  })();
  const scene = new Scene({ from: await cached });
  return { scene, before: strangersPicture(scene.world) };
}

const seedsIn = (scene: Scene) => filesOf(scene.world).filter((file) => file.includes('proxwright-'));

describe('custom cloud-init files', () => {
  it('are renewed when they change, and the old ones go', async () => {
    const { scene, before } = await standing();
    const old = seedsIn(scene);
    expect(old).toHaveLength(2);
    expect(await complaintsAfter(scene, RETOLD, before)).toEqual([]);
    expect(seedsIn(scene)).toHaveLength(2);
    expect(seedsIn(scene).filter((file) => old.includes(file))).toEqual([]);
  });

  it('stay, like every value that leaves the file, and go with the VM', async () => {
    const { scene, before } = await standing();
    expect(await complaintsAfter(scene, UNTOLD, before)).toEqual([]);
    expect(seedsIn(scene)).toHaveLength(2);
    expect(await complaintsAfterDestroy(scene, UNTOLD, before)).toEqual([]);
  });

  it('are not replaced by Proxmox’s own drive: refused for an existing VM, and done in a replacement', async () => {
    const { scene, before } = await standing();
    const theirs = TEXT.replaceAll(/cloud_init: \{ storage: local, user_data: \{ text: "[^"]*" \} \} \}/g, OWN_DRIVE);
    const refused = await scene.apply(theirs);
    expect(codesOf(refused)).toEqual(['BAD_VALUE', 'BAD_VALUE']);
    expect(failuresOf(refused)[0]).toContain('ide2 is taken');
    expect(failuresOf(await scene.apply(theirs, { replace: ['vm.cp', 'vm.worker'] }))).toEqual([]);
    expect(await complaintsAfter(scene, theirs, before)).toEqual([]);
    expect(seedsIn(scene)).toEqual([]);
  });

  it('go with a VM that leaves the file', async () => {
    const { scene, before } = await standing();
    const fewer = TEXT.replace(/^ {2}worker:.*$/m, '');
    expect(failuresOf(await scene.apply(fewer, { allowDelete: true }))).toEqual([]);
    expect(await complaintsAfter(scene, fewer, before)).toEqual([]);
  });

  it('are removed with a VM that another client deleted, when it is created again', async () => {
    const { scene, before } = await standing();
    scene.world.vms.delete(101);
    scene.world.storages.get('tank')?.volumes.get('vmhost')?.delete('vm-101-disk-0');
    expect(await complaintsAfter(scene, TEXT, before)).toEqual([]);
  });

  it('are removed with a VM that is replaced', async () => {
    const { scene, before } = await standing();
    expect(failuresOf(await scene.apply(TEXT, { replace: ['vm.cp'] }))).toEqual([]);
    expect(await complaintsAfter(scene, TEXT, before)).toEqual([]);
  });

  it('go with the VMs, without --all', async () => {
    const { scene, before } = await standing();
    expect(failuresOf(await scene.destroy(TEXT))).toEqual([]);
    expect(seedsIn(scene)).toEqual([]);
    expect(await complaintsAfterDestroy(scene, TEXT, before)).toEqual([]);
  });

  it('are uploaded again if another client deleted the volume', async () => {
    const { scene, before } = await standing();
    const local = scene.world.storages.get('local')?.volumes.get('vmhost');
    for (const name of [...(local?.keys() ?? [])]) if (name.includes('proxwright-cp')) local?.delete(name);
    expect(await complaintsAfter(scene, RETOLD, before)).toEqual([]);
  });
});
