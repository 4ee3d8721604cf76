/** Another storage or format in the file moves a disk: live where Proxmox can, with the source deleted last. */
import { describe, expect, it } from 'vitest';
import type { PlanOptions } from '../../../src/engine/session.ts';
import { codesOf, failuresOf } from './support/invariants.ts';
import { volumesOf } from './support/picture.ts';
import { type RunEnd, Scene, type SceneOptions } from './support/scene.ts';

const stack = (fields: string, more = '') => `version: 1
stack: lab
vms:
  web:
    name: web
    vmid: 420
    node: pve1
    guest: cloud-init
    clone: { template: ubuntu-24.04, storage: local-lvm }
    cloud_init: { storage: local-lvm, user: ops }
    nics: { net0: { ipv4: dhcp } }
${fields
  .split('\n')
  .map((line) => `    ${line}`)
  .join('\n')}
${more}`;
const BEFORE = stack('disks: { scsi1: { storage: local-lvm, size: 2GiB } }\ntpm: { storage: local-lvm }');
const MOVED = stack('disks: { scsi1: { storage: nfs, size: 4GiB } }\ntpm: { storage: local-lvm }');

async function made(text = BEFORE, options: SceneOptions = {}): Promise<Scene> {
  const scene = new Scene(options);
  expect(failuresOf(await scene.apply(text))).toEqual([]);
  await scene.clock.advance(60_000);
  return scene;
}

const stepsOf = (end: RunEnd) => (end.kind === 'ended' ? end.plan.steps.map(({ id }) => id) : [end.kind]);
const fieldOf = (scene: Scene, key: string) => scene.world.vms.get(420)?.config.current.get(key) ?? '';
const volumesOn = (scene: Scene, storage: string) =>
  volumesOf(scene.world).filter((each) => each.storage === storage && each.vmid === 420).length;

async function isSettled(scene: Scene, text: string, options?: PlanOptions): Promise<void> {
  expect(stepsOf(await scene.plan(text, options))).toEqual([]);
  expect(scene.wireViolations).toEqual([]);
}

describe('a disk on another storage', () => {
  it('moves while the VM runs, before it grows, and its source is gone', async () => {
    const scene = await made();
    const startedAt = scene.world.vms.get(420)?.process?.startedAt;
    const end = await scene.apply(MOVED);
    expect(failuresOf(end)).toEqual([]);
    expect(stepsOf(end)).toEqual(['vm.web/move-disk/scsi1', 'vm.web/resize/scsi1', 'vm.web/verify']);
    expect(fieldOf(scene, 'scsi1')).toMatch(/^nfs:420\/vm-420-disk-\d+\.raw,size=4G$/);
    expect(volumesOn(scene, 'nfs')).toBe(1);
    expect(scene.world.vms.get(420)?.process?.startedAt).toBe(startedAt);
    await isSettled(scene, MOVED);
  });

  it('says what the server answered where it cannot tell whether the source is gone', async () => {
    const path = 'storage/local-lvm/content';
    const scene = await made(BEFORE, {
      faults: [{ kind: 'refuse', match: { method: 'GET', path }, message: 'no listing' }],
    });
    expect(failuresOf(await scene.apply(MOVED))).toEqual([]);
    const told = scene.logs.filter((line) => line.includes('was not checked'));
    expect(told).toEqual([expect.stringContaining('The server answered 500: "no listing".')]);
    expect(told.join()).not.toContain('the token needs');
  });

  it('is copied no faster than the file allows, and the view shows how far it is', async () => {
    const scene = await made();
    const limited = `${MOVED}rollout: { disk_move_limit: 10MiB }\n`;
    expect(failuresOf(await scene.apply(limited))).toEqual([]);
    const sent = scene.requests.find(({ target }) => target.endsWith('/move_disk'));
    expect(String(sent?.body)).toContain('bwlimit=10240');
    const told = scene.events.flatMap((event) => ('text' in event && 'percent' in event ? [event.text] : []));
    expect(told).toContainEqual(expect.stringMatching(/^move of scsi1 to nfs\b.*up to \d+\w/));
  });

  it('is refused before anything happens where it certainly does not fit', async () => {
    const scene = await made(stack('disks: { scsi1: { storage: local-lvm, size: 6TiB } }'));
    const end = await scene.plan(stack('disks: { scsi1: { storage: nfs, size: 6TiB } }'));
    expect(codesOf(end)).toEqual(['NO_SPACE']);
  });

  it('takes along a change that waits for a restart', async () => {
    const scene = await made();
    const cached = 'disks: { scsi1: { storage: STORAGE, size: 2GiB, cache: writeback } }\ntpm: { storage: local-lvm }';
    expect(failuresOf(await scene.apply(stack(cached.replace('STORAGE', 'local-lvm'))))).toEqual([]);
    const moved = stack(cached.replace('STORAGE', 'nfs'));
    expect(failuresOf(await scene.apply(moved))).toEqual([]);
    const pending = scene.world.vms.get(420)?.config.pending.get('scsi1');
    expect(pending).toMatch(/^nfs:.*cache=writeback/);
    expect(failuresOf(await scene.apply(moved, { allowRestart: true }))).toEqual([]);
    expect(fieldOf(scene, 'scsi1')).toMatch(/^nfs:.*cache=writeback/);
    await isSettled(scene, moved);
  });

  it('moves after a clone where the file names another storage than the clone', async () => {
    const text = stack('disks: { scsi0: { storage: nfs, format: qcow2 } }');
    const scene = await made(text);
    expect(fieldOf(scene, 'scsi0')).toMatch(/^nfs:420\/vm-420-disk-\d+\.qcow2/);
    await isSettled(scene, text);
  });

  it('becomes a full copy for a linked clone, and the plan says so', async () => {
    const linked = (disks: string) =>
      stack(disks).replace('storage: local-lvm }\n    cloud', 'mode: linked }\n    cloud');
    const scene = await made(linked('disks: { scsi0: { size: 20GiB } }'));
    const text = linked('disks: { scsi0: { size: 20GiB, storage: nfs } }');
    const end = await scene.apply(text);
    expect(failuresOf(end)).toEqual([]);
    await isSettled(scene, text);
  });
});

describe('drives that move only while the VM is off', () => {
  const TPM = stack('disks: { scsi1: { storage: local-lvm, size: 2GiB } }\ntpm: { storage: nfs }');
  const CLOUD_INIT = BEFORE.replace('cloud_init: { storage: local-lvm', 'cloud_init: { storage: nfs');

  it.each([
    ['the TPM state', TPM, 'tpmstate0', 'tpm.storage'],
    ['the cloud-init drive', CLOUD_INIT, 'ide2', 'cloud_init.storage'],
  ])('wait for a restart that is allowed, and the plan says so: %s', async (_, text, slot, field) => {
    const scene = await made();
    const waiting = await scene.plan(text);
    expect(stepsOf(waiting)).toEqual([]);
    expect(waiting.kind === 'ended' ? waiting.plan.changes.map(({ restartPending }) => restartPending) : []).toEqual([
      [field],
    ]);
    const end = await scene.apply(text, { allowRestart: true });
    expect(failuresOf(end)).toEqual([]);
    expect(stepsOf(end)).toEqual([
      'vm.web/stop',
      `vm.web/move-disk/${slot}`,
      'vm.web/verify',
      'vm.web/start',
      'vm.web/ready',
    ]);
    const outages = end.kind === 'ended' ? end.plan.steps.flatMap(({ outage }) => outage?.group ?? []) : [];
    expect(outages).toEqual(['vm.web']);
    expect(fieldOf(scene, slot)).toMatch(/^nfs:/);
    expect(scene.world.vms.get(420)?.process).toBeDefined();
    await isSettled(scene, text);
  });
});
