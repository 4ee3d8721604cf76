/** What is refused before a kept disk is carried, and what becomes of one while a replacement is not finished. */
import { describe, expect, it } from 'vitest';
import { type Address, keptAddress } from '../../../src/base/address.ts';
import { recoverState } from '../../../src/engine/take-over.ts';
import { emptyState } from '../../../src/kinds/recorded.ts';
import { createPve, parseToken } from '../../../src/pve/index.ts';
import { draftOf, saveConfig } from '../../../src/simulator/vm/config/config-file.ts';
import { writeState } from '../../../src/state/state-file.ts';
import { beforehand, codesOf, complaintsAfter, complaintsAfterDestroy, failuresOf } from './support/invariants.ts';
import { orphans, volumesOf } from './support/picture.ts';
import { type RunEnd, resolved, Scene, type Snapshot, TOKEN_SECRET } from './support/scene.ts';

const GIB = 1024 ** 3;
const CONTENT = 12_345_678;
const DISKS = 'scsi1: { storage: local-lvm, size: 2GiB, keep: true }';
const stack = (more = '', disks = DISKS, group = 'web') => `version: 1
stack: lab
defaults: { node: pve1, power: stopped, clone: { template: ubuntu-24.04, storage: local-lvm } }
vms:
  app: { name: app, vmid: 421 }
  ${group}:
    name: web
    vmids: 430-439
    disks: { ${disks} }
${more}`;
const WITHOUT_WEB = stack().split('  web:')[0] ?? '';
const REPLACE = { replace: ['vm.web'] };
const KEPT = keptAddress('vm.web' as Address);

const fullOf = new Map<string, Promise<Snapshot>>();

async function made(text = stack()): Promise<Scene> {
  const known = fullOf.get(text) ?? filled(text);
  fullOf.set(text, known);
  return new Scene({ from: await known });
}

async function filled(text: string): Promise<Snapshot> {
  const scene = new Scene();
  expect(failuresOf(await scene.apply(text))).toEqual([]);
  for (const volume of volumesOf(scene.world)) if (volume.sizeBytes === 2 * GIB) volume.dataBytes = CONTENT;
  return scene.snapshot();
}

/** Ended by kill -9 right before a request. */
async function killedBefore(request: RegExp, text = stack()): Promise<Scene> {
  const whole = await made(text);
  await whole.apply(text, REPLACE);
  const scene = await made(text);
  scene.killAt = 1 + whole.points.findIndex((point) => point.startsWith('before') && request.test(point));
  expect((await scene.apply(text, REPLACE)).kind).toBe('killed');
  return scene;
}

const AFTER_DESTROY = /POST .*\/clone$/;

/** Volumes with the content, as `web scsi1`. */
function contents({ world }: Scene): string[] {
  return volumesOf(world)
    .filter(({ dataBytes }) => dataBytes === CONTENT)
    .map(({ storage, name }) => {
      const holder = [...world.vms.values()].flatMap(({ config: { current } }) =>
        [...current].flatMap(([slot, text]) =>
          text.split(',')[0] === `${storage}:${name}` ? [`${current.get('name')} ${slot}`] : [],
        ),
      );
      return holder.join() || `orphan ${storage}:${name}`;
    });
}

/** Another client. */
const clientOf = ({ simulator, clock }: Scene) =>
  createPve({
    transport: simulator.transport(),
    credentials: parseToken(`root@pam!admin=${TOKEN_SECRET}`),
    clock,
  });

const said = (end: RunEnd) =>
  end.kind === 'refused'
    ? end.problems.map(({ detail, hint }) => `${detail} ${hint?.text ?? ''}`).join('\n')
    : end.kind;

describe('a kept disk that cannot be carried', () => {
  it.each<[string, string, string, RegExp]>([
    [
      'the template fills its slot',
      'scsi0: { size: 4GiB, keep: true }',
      '',
      /scsi0 is kept, and the template ubuntu-24.04 already has/,
    ],
    [
      'the new VM would be on another node',
      DISKS,
      '    node: pve2\n',
      /are on pve1, and the VM would get them on pve2/,
    ],
    ['the file removes it', 'scsi1: { remove: true }', '', /scsi1 is kept, and the file removes it/],
  ])('is refused before anything stops where %s', async (_, disks, more, reason) => {
    const before = disks.startsWith('scsi0') ? stack('', disks) : stack();
    const scene = await made(before);
    const end = await scene.apply(stack(more, disks), REPLACE);
    expect(said(end)).toMatch(reason);
    expect(codesOf(end)).toEqual(['DATA_KEPT']);
    expect(scene.writes()).toEqual([]);
  });

  it('is refused while the VM has snapshots, and carried once they are deleted', async () => {
    const scene = await made();
    const pve = clientOf(scene);
    const vm = pve.node('pve1').vm(430);
    await scene.clock.run(async () => pve.tasks.wait(await vm.snapshots.create({ snapname: 'before' })));
    const end = await scene.apply(stack(), REPLACE);
    expect(codesOf(end)).toEqual(['DATA_KEPT']);
    expect(said(end)).toMatch(
      /snapshots \(the last one is before\).*proxwright snapshot delete before --only vm\.web/s,
    );
    expect(scene.writes()).toEqual([]);
    await scene.clock.run(async () => pve.tasks.wait(await vm.snapshots.delete('before')));
    expect(failuresOf(await scene.apply(stack(), REPLACE))).toEqual([]);
    expect(contents(scene)).toEqual(['web scsi1']);
  });

  it('is refused where only the server knows its boot order, and carried once the file sets it', async () => {
    const bare = (boot = '') => `version: 1
stack: lab
vms:
  web: { name: web, vmid: 440, node: pve1, power: stopped, ${boot} disks: { ${DISKS} } }
`;
    const scene = await made(bare());
    const end = await scene.apply(bare(), REPLACE);
    expect(said(end)).toMatch(/in the boot order.*boot: \[scsi1\]/s);
    expect(failuresOf(await scene.apply(bare('boot: [scsi1],'), REPLACE))).toEqual([]);
    expect(contents(scene)).toEqual(['web scsi1']);
    expect(scene.world.vms.get(440)?.config.current.get('boot')).toBe('order=scsi1');
    expect(await complaintsAfter(scene, bare('boot: [scsi1],'), beforehand(scene))).toEqual([]);
  });
});

describe('a kept disk during a replacement', () => {
  it('is held by a protected VM of the range, which a plan names and `destroy` does not take', async () => {
    const scene = await killedBefore(AFTER_DESTROY);
    expect(contents(scene)).toEqual(['web-kept-disks scsi1']);
    const [holder] = [...scene.world.vms.values()].filter(
      ({ config }) => config.current.get('protection') === '1' && config.current.get('name') === 'web-kept-disks',
    );
    expect(holder?.vmid).toBe(439);
    expect(holder?.config.current.get('description')).toMatch(/Do not delete this VM.*address=kept\.web/s);
    expect(codesOf(await scene.destroy(stack()))).toEqual(['DATA_KEPT']);
    const end = await scene.apply(stack());
    expect(end.kind === 'ended' && end.plan.changes.find(({ address }) => address === 'vm.web')).toMatchObject({
      kind: 'create',
      notes: ['kept: scsi1 (2GiB) is carried to the new VM'],
    });
    expect(contents(scene)).toEqual(['web scsi1']);
    expect(await complaintsAfter(scene, stack(), beforehand(scene))).toEqual([]);
  });

  it('goes back to the old VM where the replacement is not asked for again', async () => {
    const scene = await killedBefore(/DELETE .*\/qemu\/430$/);
    const identity = () => scene.world.vms.get(430)?.config.current.get('smbios1');
    const before = identity();
    expect(contents(scene)).toEqual(['web-kept-disks scsi1']);
    expect(failuresOf(await scene.apply(stack()))).toEqual([]);
    expect(identity()).toBe(before);
    expect(contents(scene)).toEqual(['web scsi1']);
    expect(await complaintsAfter(scene, stack(), beforehand(scene))).toEqual([]);
  });

  it('goes where the user gives the data up by the name of the VM', async () => {
    const scene = await killedBefore(AFTER_DESTROY);
    const before = beforehand(scene);
    expect(failuresOf(await scene.destroy(stack(), { destroyData: ['web'] }))).toEqual([]);
    expect(contents(scene)).toEqual([]);
    expect(await complaintsAfterDestroy(scene, stack(), before)).toEqual([]);
  });

  it('stays where its VM has left the file, until the data is given up', async () => {
    const scene = await killedBefore(AFTER_DESTROY);
    const kept = await scene.apply(WITHOUT_WEB);
    expect(kept.kind === 'ended' && kept.plan.changes.find(({ address }) => address === KEPT)).toMatchObject({
      kind: 'keep',
      notes: ['holds scsi1 (local-lvm:vm-439-disk-0)'],
    });
    expect(kept.kind === 'ended' && kept.plan.changes.flatMap(({ destroys = [] }) => destroys)).toEqual([]);
    const refused = await scene.apply(WITHOUT_WEB, { allowDelete: true });
    expect(codesOf(refused)).toEqual(['DATA_KEPT']);
    expect(said(refused)).toContain('--destroy-data web');
    expect(contents(scene)).toEqual(['web-kept-disks scsi1']);
    expect(failuresOf(await scene.apply(WITHOUT_WEB, { allowDelete: true, destroyData: ['web'] }))).toEqual([]);
    expect(orphans(scene.world)).toEqual([]);
    expect(Object.keys((await scene.state()).vms)).toEqual(['vm.app']);
  });

  it('follows a group that is renamed meanwhile', async () => {
    const scene = await killedBefore(AFTER_DESTROY);
    const renamed = stack('    formerly: web\n', DISKS, 'site');
    expect(failuresOf(await scene.apply(renamed))).toEqual([]);
    expect(contents(scene)).toEqual(['web scsi1']);
    expect(await complaintsAfter(scene, renamed, beforehand(scene))).toEqual([]);
  });

  it('is found again where the state was lost, and no VM is created with an empty one meanwhile', async () => {
    const scene = await killedBefore(AFTER_DESTROY);
    await scene.clock.advance(60_000);
    for (const name of await scene.store.list()) await scene.store.remove(name);
    const end = await scene.apply(stack());
    expect(codesOf(end)).toEqual(['STATE_LOST']);
    expect(said(end)).toContain('kept.web is VM 439 (web-kept-disks) on pve1');
    const pve = clientOf(scene);
    const recovery = { pve, clock: scene.clock, stack: resolved(stack()), state: emptyState('lab') };
    const { state, found } = await scene.clock.run(() => recoverState(recovery));
    expect([...found].sort()).toEqual(['kept.web', 'vm.app']);
    await writeState(scene.store, state);
    expect(codesOf(await scene.destroy(stack()))).toEqual(['DATA_KEPT']);
    expect(failuresOf(await scene.apply(stack()))).toEqual([]);
    expect(contents(scene)).toEqual(['web scsi1']);
  });

  it('moves to the storage that the file names by now, with its content', async () => {
    const scene = await made();
    const elsewhere = stack('', 'scsi1: { storage: nfs, size: 3GiB, keep: true }');
    expect(failuresOf(await scene.apply(elsewhere, REPLACE))).toEqual([]);
    expect(contents(scene)).toEqual(['web scsi1']);
    expect(await complaintsAfter(scene, elsewhere, beforehand(scene))).toEqual([]);
  });

  it.each<[string, (scene: Scene) => void, RegExp]>([
    ['its holder is gone', ({ world }) => void world.vms.delete(439), /VM 439, which held the disk, is gone/],
    [
      'no VM has it',
      ({ world }) => {
        const holder = world.vms.get(439);
        if (!holder) throw new Error('There is no holder.');
        const draft = draftOf(holder.config);
        draft.current.delete('scsi1');
        saveConfig(holder, draft);
      },
      /qm disk rescan --vmid 439/,
    ],
  ])('is never replaced by an empty one: %s', async (_, strike, reason) => {
    const scene = await killedBefore(AFTER_DESTROY);
    strike(scene);
    const end = await scene.apply(stack());
    expect(codesOf(end)).toEqual(['NOT_FOUND']);
    expect(said(end)).toMatch(reason);
    expect(said(end)).toContain('proxwright state forget kept.web');
    expect(contents(scene)).toEqual([expect.stringMatching(/^orphan/)]);
  });
});
