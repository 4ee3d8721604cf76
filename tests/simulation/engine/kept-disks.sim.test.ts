/** `keep: true`: nothing destroys such a disk unless the user names its VM. */
import { describe, expect, it } from 'vitest';
import type { PlanOptions } from '../../../src/engine/session.ts';
import { createPve, parseToken } from '../../../src/pve/index.ts';
import { beforehand, codesOf, complaintsAfter, failuresOf } from './support/invariants.ts';
import { volumesOf } from './support/picture.ts';
import { type RunEnd, Scene } from './support/scene.ts';

const OTHER = `  app:
    name: app
    vmid: 421
    node: pve1
    power: stopped
    clone: { template: ubuntu-24.04 }
`;
const stack = (disk = '{ storage: local-lvm, size: 2GiB, keep: true }') => `version: 1
stack: lab
vms:
${OTHER}  web:
    name: web
    vmid: 420
    node: pve1
    power: stopped
    clone: { template: ubuntu-24.04, storage: local-lvm }
    disks: { scsi1: ${disk} }
`;
const WITHOUT_WEB = `version: 1\nstack: lab\nvms:\n${OTHER}`;

async function made(text = stack()): Promise<Scene> {
  const scene = new Scene();
  expect(failuresOf(await scene.apply(text))).toEqual([]);
  return scene;
}

const TOKEN = 'root@pam!admin=00000000-0000-4000-8000-000000000001';
const CONTENT = 12_345_678;

/** Gives the kept volume a content, and says which slots of which VMs have it. */
function marked(scene: Scene): string[] {
  const [volume] = volumesOf(scene.world).filter(({ sizeBytes }) => sizeBytes === 2 * 1024 ** 3);
  if (volume?.dataBytes === 0) volume.dataBytes = CONTENT;
  return [...scene.world.vms.values()].flatMap(({ vmid, config }) =>
    [...config.current].flatMap(([slot, text]) => {
      const found = volumesOf(scene.world).find(({ storage, name }) => text.startsWith(`${storage}:${name},`));
      return found?.dataBytes === CONTENT ? [`${vmid} ${slot}`] : [];
    }),
  );
}

const kept = (scene: Scene) => volumesOf(scene.world).filter(({ sizeBytes }) => sizeBytes === 2 * 1024 ** 3).length;
const hintOf = (end: RunEnd) => (end.kind === 'refused' ? end.problems.map(({ hint }) => hint?.text).join() : end.kind);
const detailOf = (end: RunEnd) => (end.kind === 'refused' ? end.problems.map(({ detail }) => detail).join() : end.kind);

describe('a kept disk', () => {
  it.each<[string, string, PlanOptions, string]>([
    ['the removal of its VM from the file', WITHOUT_WEB, { allowDelete: true }, '--allow-delete '],
    ['remove: true', stack('{ remove: true }'), {}, ''],
  ])('refuses %s, and names slot, size, volume and the command for this VM', async (_, text, options, allowed) => {
    const scene = await made();
    const end = await scene.apply(text, options);
    expect(codesOf(end)).toEqual(['DATA_KEPT']);
    expect(detailOf(end)).toMatch(/scsi1 \(2GiB, local-lvm:vm-420-disk-\d+\)/);
    expect(hintOf(end)).toContain(`now: proxwright apply --only vm.web ${allowed}--destroy-data web`);
    expect(kept(scene)).toBe(1);
    expect(failuresOf(await scene.apply(text, { ...options, destroyData: ['web'] }))).toEqual([]);
    expect(kept(scene)).toBe(0);
  });

  it('refuses to destroy the stack, also when the mark has just left the file', async () => {
    const scene = await made();
    const unmarked = stack('{ storage: local-lvm, size: 2GiB }');
    const refused = await scene.destroy(stack());
    expect(codesOf(refused)).toEqual(['DATA_KEPT']);
    expect(hintOf(refused)).toContain('now: proxwright destroy --only vm.web --destroy-data web');
    expect(codesOf(await scene.destroy(unmarked))).toEqual(['DATA_KEPT']);
    expect(codesOf(await scene.destroy(stack(), { destroyData: ['app'] }))).toEqual(['DATA_KEPT']);
    expect(failuresOf(await scene.apply(unmarked))).toEqual([]);
    expect(failuresOf(await scene.destroy(unmarked))).toEqual([]);
    expect(kept(scene)).toBe(0);
  });

  it.each([
    ['as an unused volume', undefined],
    ['on a slot that the file does not have', 'scsi5'],
  ])('is found %s if another client detached it, and nothing destroys it', async (_, slot) => {
    const scene = await made();
    const { clock, simulator } = scene;
    const { config } = createPve({ transport: simulator.transport(), credentials: parseToken(TOKEN), clock })
      .node('pve1')
      .vm(420);
    await clock.run(async () => {
      await config.put({ delete: 'scsi1' });
      const unused = (await config.get()).values.get('unused0') ?? '';
      if (slot !== undefined) await config.put({ [slot]: unused });
    });
    const place = slot ?? 'unused0';
    for (const end of [
      await scene.destroy(stack()),
      await scene.apply(WITHOUT_WEB, { allowDelete: true }),
      await scene.apply(stack(), { replace: ['vm.web'] }),
    ]) {
      expect(codesOf(end)).toEqual(['DATA_KEPT']);
      expect(detailOf(end)).toContain(`Another client detached scsi1 of "web"`);
      expect(detailOf(end)).toMatch(new RegExp(`would destroy .*${place} \\(.*local-lvm:vm-420-disk-\\d+\\)`));
    }
    expect(kept(scene)).toBe(1);
    expect(failuresOf(await scene.destroy(stack(), { destroyData: ['web'] }))).toEqual([]);
    expect(kept(scene)).toBe(0);
  });

  it('goes with its VM when the user names the VM', async () => {
    const scene = await made();
    expect(failuresOf(await scene.destroy(stack(), { destroyData: ['web'] }))).toEqual([]);
    expect(kept(scene)).toBe(0);
  });

  it('is carried through a replacement, with its content, and the plan says so', async () => {
    const scene = await made();
    const before = marked(scene);
    const end = await scene.apply(stack(), { replace: ['vm.web'] });
    expect(failuresOf(end)).toEqual([]);
    const [change] = end.kind === 'ended' ? end.plan.changes.filter(({ address }) => address === 'vm.web') : [];
    expect(change?.notes).toContain('kept: scsi1 (2GiB) is carried to the new VM');
    expect(change?.destroys?.map(({ slot }) => slot).sort()).toEqual(['ide2', 'scsi0']);
    expect(marked(scene)).toEqual(before);
    expect(Object.keys((await scene.state()).vms)).toEqual(['vm.app', 'vm.web']);
    expect(await complaintsAfter(scene, stack(), beforehand(scene))).toEqual([]);
  });

  it('is only recorded: marking a disk changes nothing on the server', async () => {
    const scene = await made(stack('{ storage: local-lvm, size: 2GiB }'));
    expect(failuresOf(await scene.apply(stack()))).toEqual([]);
    expect(scene.writes()).toEqual([]);
    expect(codesOf(await scene.destroy(stack()))).toEqual(['DATA_KEPT']);
  });
});
