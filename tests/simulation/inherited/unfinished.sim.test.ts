/** What a plan says of a VM that an earlier run left half made or half changed, and of one that could never be finished. */
import { describe, expect, it } from 'vitest';
import { codesOf, failuresOf } from '../engine/support/invariants.ts';
import { type RunEnd, Scene } from '../engine/support/scene.ts';
import { type Shape, shapesWorld, stackOf } from './support/shapes.ts';

const shape = (more: Partial<Shape>): Shape => ({
  has: new Set(['drive', 'agent']),
  states: new Set(),
  cloudInit: 'drive',
  ...more,
});

const changesOf = (end: RunEnd) =>
  end.kind === 'ended'
    ? end.plan.changes.map(({ kind, reason, differences }) => ({ kind, reason, by: differences.map(({ by }) => by) }))
    : failuresOf(end);

async function made(text: string): Promise<Scene> {
  const scene = new Scene({ world: shapesWorld });
  expect(failuresOf(await scene.apply(text))).toEqual([]);
  await scene.clock.advance(60_000);
  return scene;
}

/** Kills the next apply right after its first configuration write. */
async function killedWhileConfiguring(scene: Scene, text: string): Promise<void> {
  const rehearsal = new Scene({ from: await scene.snapshot() });
  await rehearsal.apply(text);
  scene.killAt = rehearsal.points.findIndex((point) => /^after (?:PUT|POST) .*\/config$/.test(point)) + 1;
  expect(await scene.apply(text)).toMatchObject({ kind: 'killed' });
}

describe('a plan', () => {
  it('shows an interrupted change of an existing VM as a change, not as a VM to create', async () => {
    const before = stackOf(shape({}));
    const after = before.replace('memory: 1GiB', 'memory: 1GiB\n    tags: [changed]');
    const scene = await made(before);
    await killedWhileConfiguring(scene, after);
    const reason = 'An earlier run did not finish changing it.';
    expect(changesOf(await scene.plan(after))).toMatchObject([{ kind: 'update', reason }]);
    expect(failuresOf(await scene.apply(after))).toEqual([]);
    expect(changesOf(await scene.plan(after))).toMatchObject([{ kind: 'none' }]);
  });

  it('does not blame another client for half of its own change', async () => {
    const tagged = (tag: string) => stackOf(shape({})).replace('memory: 1GiB', `memory: 1GiB\n    tags: [${tag}]`);
    const scene = await made(tagged('old'));
    await killedWhileConfiguring(scene, tagged('new'));
    expect(changesOf(await scene.plan(tagged('old')))).toMatchObject([{ by: ['file', 'file'] }]);
  });

  it('sends a secret again after a change that did not finish', async () => {
    const before = stackOf(shape({}));
    const scene = await made(before);
    await killedWhileConfiguring(scene, before.replace('memory: 1GiB', 'memory: 1GiB\n    tags: [changed]'));
    await scene.apply(before);
    const sent = scene.requests.filter(({ body }) => String(body ?? '').includes('cipassword='));
    expect(sent).toHaveLength(1);
  });

  it('shows a VM whose creation was interrupted as one to complete', async () => {
    const text = stackOf(shape({ cloudInit: 'user data' }));
    const scene = new Scene({ world: shapesWorld });
    await killedWhileConfiguring(scene, text);
    expect(changesOf(await scene.plan(text))).toMatchObject([{ kind: 'complete' }]);
  });

  it('refuses before cloning what no request could change in the clone', async () => {
    const scene = new Scene({ world: shapesWorld });
    const slot = stackOf(shape({ cloudInit: 'none' })).replace(
      'disks: { ',
      'disks: { ide2: { iso: "local:iso/debian-13.1.0-amd64-netinst.iso" }, ',
    );
    const keys = stackOf(shape({ has: new Set(['efi']), states: new Set(['efi']) })).replace(
      'efi: { storage: local-lvm }',
      'efi: { storage: local-lvm, secure_boot: true }',
    );
    const bare = stackOf(shape({ cloudInit: 'none' })).replace(
      'disks: { ',
      'disks: { scsi5: { size: 2GiB, ssd: true }, ',
    );
    for (const [text, words] of [
      [bare, 'disks.scsi5 cannot be made: The VM has no scsi5, and a new one needs a storage'],
      [slot, 'ide2 is the cloud-init drive and cannot become a CD drive'],
      [keys, 'efidisk0 cannot be changed after it has been created'],
    ] as const) {
      const end = await scene.apply(text);
      expect(codesOf(end)).toEqual(['BAD_VALUE']);
      expect(failuresOf(end).join()).toContain(words);
    }
    expect(scene.tasks('qmclone')).toEqual([]);
  });

  it('accepts the storage and format of a disk that the clone will have', async () => {
    const text = stackOf(
      shape({ has: new Set(['drive', 'efi', 'tpm', 'second']), states: new Set(['efi', 'tpm', 'second']) }),
    );
    const elsewhere = text
      .replace('mode: full', 'mode: full, storage: nfs, format: qcow2')
      .replaceAll('local-lvm', 'nfs');
    const scene = await made(elsewhere);
    expect(changesOf(await scene.plan(elsewhere))).toMatchObject([{ kind: 'none' }]);
  });
});

describe('custom user-data for a VM with a cloud-init drive', () => {
  const plain = stackOf(shape({ cloudInit: 'none' }));
  const custom = stackOf(shape({ cloudInit: 'user data' }));

  it('takes its place while the VM is stopped', async () => {
    const off = (text: string) => text.replace('guest: plain', 'guest: plain\n    power: stopped');
    const scene = await made(off(plain));
    expect(failuresOf(await scene.apply(off(custom)))).toEqual([]);
    expect(scene.world.vms.get(401)?.config.current.get('ide2')).toMatch(/^local:iso\/proxwright-one-/);
    expect(changesOf(await scene.plan(off(custom)))).toMatchObject([{ kind: 'none' }]);
  });

  it('is refused while the VM runs, because the volume of the drive would be left behind', async () => {
    const scene = await made(plain);
    const end = await scene.apply(custom);
    expect(codesOf(end)).toEqual(['BAD_VALUE']);
    expect(failuresOf(end).join()).toContain('Stop the VM first.');
  });
});
