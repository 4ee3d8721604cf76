/** `keep: true`: nothing destroys such a disk unless the user names its VM. */
import { describe, expect, it } from 'vitest';
import type { PlanOptions } from '../../../src/engine/session.ts';
import { codesOf, failuresOf } from './support/invariants.ts';
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

const kept = (scene: Scene) => volumesOf(scene.world).filter(({ sizeBytes }) => sizeBytes === 2 * 1024 ** 3).length;
const detailOf = (end: RunEnd) => (end.kind === 'refused' ? end.problems.map(({ detail }) => detail).join() : end.kind);

describe('a kept disk', () => {
  it.each<[string, string, PlanOptions]>([
    ['the removal of its VM from the file', WITHOUT_WEB, { allowDelete: true }],
    ['remove: true', stack('{ remove: true }'), {}],
  ])('refuses %s, and names slot, size and volume', async (_, text, options) => {
    const scene = await made();
    const end = await scene.apply(text, options);
    expect(codesOf(end)).toEqual(['DATA_KEPT']);
    expect(detailOf(end)).toMatch(/scsi1 \(2GiB, local-lvm:vm-420-disk-\d+\)/);
    expect(kept(scene)).toBe(1);
    expect(failuresOf(await scene.apply(text, { ...options, destroyData: ['web'] }))).toEqual([]);
    expect(kept(scene)).toBe(0);
  });

  it('refuses to destroy the stack, also when the mark has just left the file', async () => {
    const scene = await made();
    const unmarked = stack('{ storage: local-lvm, size: 2GiB }');
    expect(codesOf(await scene.destroy(stack()))).toEqual(['DATA_KEPT']);
    expect(codesOf(await scene.destroy(unmarked))).toEqual(['DATA_KEPT']);
    expect(codesOf(await scene.destroy(stack(), { destroyData: ['app'] }))).toEqual(['DATA_KEPT']);
    expect(failuresOf(await scene.apply(unmarked))).toEqual([]);
    expect(failuresOf(await scene.destroy(unmarked))).toEqual([]);
    expect(kept(scene)).toBe(0);
  });

  it('goes with its VM when the user names the VM', async () => {
    const scene = await made();
    expect(failuresOf(await scene.destroy(stack(), { destroyData: ['web'] }))).toEqual([]);
    expect(kept(scene)).toBe(0);
  });

  it('is only recorded: marking a disk changes nothing on the server', async () => {
    const scene = await made(stack('{ storage: local-lvm, size: 2GiB }'));
    expect(failuresOf(await scene.apply(stack()))).toEqual([]);
    expect(scene.writes()).toEqual([]);
    expect(codesOf(await scene.destroy(stack()))).toEqual(['DATA_KEPT']);
  });
});
