/** Templates: several versions, drift, unfinished builds, and templates that a stack does not own. */
import { describe, expect, it } from 'vitest';
import { recoverState } from '../../../src/engine/take-over.ts';
import { emptyState } from '../../../src/kinds/recorded.ts';
import { createPve, parseToken } from '../../../src/pve/index.ts';
import { seededRandom } from '../../../src/simulator/index.ts';
import { draftOf, saveConfig } from '../../../src/simulator/vm/config/config-file.ts';
import { writeState } from '../../../src/state/state-file.ts';
import { codesOf, failuresOf } from '../engine/support/invariants.ts';
import { type RunEnd, resolved, Scene, type Snapshot, TOKEN_SECRET } from '../engine/support/scene.ts';
import { complaints, complaintsAfter, complaintsAfterDestroy, ourVms, strangersPicture } from './support/invariants.ts';
import { cloudStack, talosStack } from './support/stacks.ts';
import { hostWorld } from './support/worlds.ts';

const TEXT = cloudStack();
const CHANGED = cloudStack({ cores: 4 });
const AGAIN = cloudStack({ cores: 6 });
const FULL = cloudStack({ mode: 'full' });

const kept = new Map<string, Promise<Snapshot>>();

async function standing(text = TEXT): Promise<{ scene: Scene; before: string }> {
  const known = kept.get(text) ?? made(text);
  kept.set(text, known);
  const scene = new Scene({ from: await known });
  return { scene, before: strangersPicture(scene.world) };
}

async function made(text: string): Promise<Snapshot> {
  const scene = new Scene({ world: hostWorld });
  expect(failuresOf(await scene.apply(text))).toEqual([]);
  await scene.clock.advance(120_000);
  return scene.snapshot();
}

const kindsOf = (end: RunEnd) =>
  end.kind === 'ended'
    ? Object.fromEntries(
        end.plan.changes.filter(({ kind }) => kind !== 'none').map(({ address, kind }) => [address, kind]),
      )
    : failuresOf(end);

const namesOf = (scene: Scene) =>
  Object.fromEntries(ourVms(scene.world).map(({ vmid, config }) => [vmid, config.current.get('name')]));

function edit(scene: Scene, vmid: number, change: (values: Map<string, string>) => void): void {
  const vm = scene.world.vms.get(vmid);
  if (!vm) throw new Error(`there is no VM ${vmid}`);
  const draft = draftOf(vm.config);
  change(draft.current);
  saveConfig(vm, draft);
}

/** As `qm destroy` does. */
function remove(scene: Scene, vmid: number): void {
  scene.world.vms.delete(vmid);
  for (const { volumes } of scene.world.storages.values()) {
    for (const onNode of volumes.values()) {
      for (const [name, volume] of onNode) if (volume.vmid === vmid) onNode.delete(name);
    }
  }
}

describe('a changed recipe', () => {
  it('builds a new version beside the old one, which keeps its linked clones and gives up the name', async () => {
    const { scene, before } = await standing();
    const disks = ourVms(scene.world)
      .filter(({ vmid }) => vmid < 200)
      .map(({ config }) => config.current.get('scsi0'));
    const end = await scene.apply(CHANGED);
    expect(failuresOf(end)).toEqual([]);
    expect(kindsOf(end)).toEqual({ 'template.ubuntu': 'supersede' });
    // 9001 belongs to another client.
    expect(namesOf(scene)).toEqual({ 101: 'web-1', 102: 'web-2', 9000: 'ubuntu-retired-9000', 9002: 'ubuntu' });
    expect(await complaintsAfter(scene, CHANGED, before, { retired: 1 })).toEqual([]);
    expect(
      ourVms(scene.world)
        .filter(({ vmid }) => vmid < 200)
        .map(({ config }) => config.current.get('scsi0')),
    ).toEqual(disks);
  });

  it('builds a third version if it changes once more, and destroy --all removes everything', async () => {
    const { scene, before } = await standing();
    for (const text of [CHANGED, AGAIN]) expect(failuresOf(await scene.apply(text))).toEqual([]);
    expect(await complaintsAfter(scene, AGAIN, before, { retired: 2 })).toEqual([]);
    expect(await complaintsAfterDestroy(scene, AGAIN, before)).toEqual([]);
  });

  it('is a new version if it is the first recipe again', async () => {
    const { scene, before } = await standing();
    for (const text of [CHANGED, TEXT]) expect(failuresOf(await scene.apply(text))).toEqual([]);
    expect(await complaintsAfter(scene, TEXT, before, { retired: 2 })).toEqual([]);
  });

  it('drops a half-built version of the recipe before, and the first version keeps the name until the last is done', async () => {
    const { scene } = await standing();
    await scene.apply(CHANGED);
    for (let killAt = 30; killAt <= scene.points.length; killAt += 9) {
      const { scene: each, before } = await standing();
      each.killAt = killAt;
      expect((await each.apply(CHANGED)).kind).toBe('killed');
      const found = await complaintsAfter(each, AGAIN, before);
      // Killed behind the last write of the version between, that one is finished, and superseded in its turn.
      const retired = Object.values(namesOf(each)).filter((name) => name?.includes('-retired-')).length;
      expect(
        found.filter((complaint) => !complaint.startsWith('retired are')),
        `point ${killAt}`,
      ).toEqual([]);
      expect([1, 2], `point ${killAt}`).toContain(retired);
    }
  });

  it('deletes no retired version without --allow-delete, and none that linked clones use', async () => {
    const { scene, before } = await standing();
    expect(failuresOf(await scene.apply(CHANGED))).toEqual([]);
    // It was asked for, and stays all the same: that is no failure.
    expect(failuresOf(await scene.apply(CHANGED, { allowDelete: true }))).toEqual([]);
    expect(scene.world.vms.has(9000)).toBe(true);
    expect(await complaintsAfter(scene, CHANGED, before, { retired: 1 })).toEqual([]);
  });

  it('deletes a retired version with --allow-delete if no linked clone uses it', async () => {
    const { scene, before } = await standing(FULL);
    const changed = cloudStack({ mode: 'full', cores: 4 });
    expect(failuresOf(await scene.apply(changed))).toEqual([]);
    expect(failuresOf(await scene.apply(changed, { allowDelete: true }))).toEqual([]);
    expect(await complaintsAfter(scene, changed, before)).toEqual([]);
  });
});

describe('a template that is replaced on request', () => {
  it('is built beside the old one, though its recipe is the same', async () => {
    const { scene, before } = await standing();
    const end = await scene.apply(TEXT, { replace: ['template.ubuntu'] });
    expect(failuresOf(end)).toEqual([]);
    expect(kindsOf(end)).toEqual({ 'template.ubuntu': 'supersede' });
    expect(await complaintsAfter(scene, TEXT, before, { retired: 1 })).toEqual([]);
  });
});

describe('drift', () => {
  it('builds a template again that was deleted outside Proxwright', async () => {
    const { scene, before } = await standing(FULL);
    remove(scene, 9000);
    const end = await scene.plan(FULL);
    expect(kindsOf(end)).toEqual({ 'template.ubuntu': 'create' });
    expect(await complaintsAfter(scene, FULL, before)).toEqual([]);
  });

  it('builds a deleted template again beside the version that it replaced', async () => {
    const { scene, before } = await standing();
    expect(failuresOf(await scene.apply(CHANGED))).toEqual([]);
    remove(scene, 9002);
    expect(await complaintsAfter(scene, CHANGED, before, { retired: 1 })).toEqual([]);
  });

  it('finishes an unfinished template that was converted by hand', async () => {
    const whole = new Scene({ world: hostWorld });
    await whole.apply(TEXT);
    const killAt =
      whole.points.findIndex((point) => point.startsWith('before append stepStarted template.ubuntu/convert')) + 1;
    expect(killAt).toBeGreaterThan(1);
    const scene = new Scene({ world: hostWorld });
    const before = strangersPicture(scene.world);
    scene.killAt = killAt;
    await scene.apply(TEXT);
    const pve = client(scene);
    await scene.clock.run(async () => {
      const upid = await pve.node('vmhost').vm(9000).template();
      if (upid) await pve.tasks.wait(upid, { timeoutMs: 600_000 });
    });
    expect(scene.world.vms.get(9000)?.config.current.get('template')).toBe('1');
    expect(await complaintsAfter(scene, TEXT, before)).toEqual([]);
  });

  it('does not touch a VM that has the name', async () => {
    const scene = new Scene({ world: hostWorld });
    edit(scene, 9001, (values) => values.set('name', 'ubuntu'));
    const before = strangersPicture(scene.world);
    await scene.clock.advance(60_000);
    const end = await scene.apply(TEXT);
    expect(codesOf(end)).toEqual(['NOT_OURS']);
    expect(scene.writes()).toEqual([]);
    expect(strangersPicture(scene.world)).toBe(before);
  });

  it('reports an id that another guest has, with the template', async () => {
    const scene = new Scene({ world: hostWorld });
    expect(codesOf(await scene.apply(TEXT.replace('vmid: 9000', 'vmid: 150')))).toEqual(['VMID_TAKEN']);
  });

  it('finds a renamed template by its id, and leaves the new name', async () => {
    const { scene } = await standing();
    edit(scene, 9000, (values) => values.set('name', 'renamed'));
    await scene.clock.advance(60_000);
    const end = await scene.apply(TEXT);
    expect(failuresOf(end)).toEqual([]);
    expect(kindsOf(end)).toEqual({});
  });

  it('notices an id that was reused', async () => {
    const { scene } = await standing(FULL);
    edit(scene, 9000, (values) => values.set('smbios1', 'uuid=99999999-0000-4000-8000-000000000000'));
    expect(codesOf(await scene.apply(cloudStack({ mode: 'full', cores: 4 })))).toEqual(['NOT_OURS']);
    expect(scene.writes()).toEqual([]);
  });
});

describe('a template of another stack', () => {
  const OTHER = TEXT.replace('stack: lab', 'stack: other').replaceAll('web-', 'app-').replace('101-109', '111-119');

  /** Another directory, the same cluster. */
  async function elsewhere(): Promise<Scene> {
    const { scene } = await standing();
    return new Scene({ from: { ...(await scene.snapshot()), documents: new Map() } });
  }
  const template = (scene: Scene) => JSON.stringify([...(scene.world.vms.get(9000)?.config.current ?? [])]);

  it('is cloned, and never touched, if it was made from the same recipe', async () => {
    const scene = await elsewhere();
    const before = template(scene);
    const end = await scene.apply(OTHER);
    expect(failuresOf(end)).toEqual([]);
    expect(Object.values(kindsOf(end))).toEqual(['create', 'create']);
    expect((await scene.state('other')).vms['template.ubuntu']).toBeUndefined();
    expect(kindsOf(await scene.apply(OTHER))).toEqual({});
    expect(failuresOf(await scene.destroy(OTHER, { all: true }))).toEqual([]);
    expect(template(scene)).toBe(before);
    expect(scene.wireViolations).toEqual([]);
  });

  it('is reported, and not touched, if it was made from another recipe', async () => {
    const scene = await elsewhere();
    expect(codesOf(await scene.apply(OTHER.replace('cores: 2', 'cores: 8')))).toEqual(['NOT_OURS']);
    expect(scene.writes()).toEqual([]);
  });
});

describe('a lost state', () => {
  it('finds its template by the recipe, says so where the recipe changed, and gets it back', async () => {
    const { scene, before } = await standing(FULL);
    await writeState(scene.store, emptyState('lab'));
    const changed = cloudStack({ mode: 'full', cores: 4 });
    const refused = await scene.apply(changed);
    expect(codesOf(refused)).toContain('STATE_LOST');
    expect(failuresOf(refused).join()).toContain('proxwright state recover');
    const { state, found } = await scene.clock.run(() =>
      recoverState({ pve: client(scene), clock: scene.clock, stack: resolved(FULL), state: emptyState('lab') }),
    );
    expect(found).toContain('template.ubuntu');
    await writeState(scene.store, state);
    expect(kindsOf(await scene.plan(FULL))).toEqual({});
    expect(failuresOf(await scene.apply(changed))).toEqual([]);
    expect(await complaints(scene, changed, before, { retired: 1, files: [] })).toEqual([]);
  });
});

describe('an installation', () => {
  it('is reported if it does not end in time; a later apply continues to wait and does not start it again', async () => {
    const text = talosStack().replace('install: { timeout: 30m }', 'install: { timeout: 10s }');
    const scene = new Scene({ world: hostWorld });
    const before = strangersPicture(scene.world);
    const end = await scene.apply(text);
    expect(codesOf(end)).toEqual(['TASK_TIMEOUT']);
    expect(failuresOf(end)[0]).toContain('has not shut itself down within 10s');
    await scene.clock.advance(1_800_000);
    expect(await complaintsAfter(scene, text, before)).toEqual([]);
  });

  it('does not count as finished if another client stopped it; it is rebuilt on request', async () => {
    const text = talosStack().replace('install: { timeout: 30m }', 'install: { timeout: 10s }');
    const scene = new Scene({ world: hostWorld });
    const before = strangersPicture(scene.world);
    expect(codesOf(await scene.apply(text))).toEqual(['TASK_TIMEOUT']);
    await scene.clock.run(async () => {
      const outside = createPve({
        transport: scene.simulator.transport(),
        credentials: parseToken(`root@pam!admin=${TOKEN_SECRET}`),
        clock: scene.clock,
        random: seededRandom('outside'),
      });
      await outside.tasks.wait(await outside.node('vmhost').vm(9000).status.stop());
    });
    const end = await scene.apply(text);
    expect(codesOf(end)).toEqual(['CHECK_FAILED']);
    expect(failuresOf(end)[0]).toContain('was stopped by root@pam');
    const patient = talosStack();
    expect(failuresOf(await scene.apply(patient, { replace: ['template.talos-base'] }))).toEqual([]);
    expect(await complaintsAfter(scene, patient, before)).toEqual([]);
  });

  it('is not begun again if it ended after the run that began it was killed', async () => {
    const whole = new Scene({ world: hostWorld });
    await whole.apply(talosStack());
    const killAt = whole.points.indexOf('after POST /nodes/vmhost/qemu/9000/status/start') + 1;
    expect(killAt).toBeGreaterThan(1);
    const scene = new Scene({ world: hostWorld });
    const before = strangersPicture(scene.world);
    scene.killAt = killAt;
    expect((await scene.apply(talosStack())).kind).toBe('killed');
    await scene.clock.advance(3_600_000);
    expect(scene.world.vms.get(9000)?.process).toBeUndefined();
    expect(await complaintsAfter(scene, talosStack(), before)).toEqual([]);
    const starts = [...scene.world.tasks.values()].filter(({ type, id }) => type === 'qmstart' && id === '9000');
    expect(starts).toHaveLength(1);
  });
});

it('stops an installation whose recipe changes, and leaves nothing of it', async () => {
  const whole = new Scene({ world: hostWorld });
  await whole.apply(talosStack());
  const begun = whole.points.findIndex((point) => point.startsWith('after append learned template.talos-base/install'));
  const scene = new Scene({ world: hostWorld });
  const before = strangersPicture(scene.world);
  scene.killAt = begun + 5;
  expect((await scene.apply(talosStack())).kind).toBe('killed');
  expect(scene.world.vms.get(9000)?.process).toBeDefined();
  const changed = talosStack({ machineConfig: 'machine: { install: { disk: /dev/sdb } } # let nobody read this' });
  expect(kindsOf(await scene.plan(changed))).toMatchObject({ 'template.talos-base': 'replace' });
  expect(await complaintsAfter(scene, changed, before)).toEqual([]);
});

describe('a template that is copied from a VM', () => {
  const COPY = `
version: 1
stack: lab
templates:
  golden: { vmid: 9100, node: vmhost, from: { vm: others-150 }, boot: [scsi0], cpu: { cores: 3 } }
vms:
  one: { name: one, vmid: 101, node: vmhost, clone: { template: golden, mode: linked } }
`;

  it('is a full copy, converted; the VM is not touched', async () => {
    const scene = new Scene({ world: hostWorld });
    const before = strangersPicture(scene.world);
    const end = await scene.apply(COPY);
    expect(failuresOf(end)).toEqual([]);
    expect(await complaintsAfter(scene, COPY, before)).toEqual([]);
    expect(scene.world.vms.get(101)?.config.current.get('cores')).toBe('3');
    expect(await complaintsAfterDestroy(scene, COPY, before)).toEqual([]);
  });
});

it('lets a template without a boot order boot from its disk, as Proxmox finds it', async () => {
  const text = TEXT.replace('    boot: [scsi0]\n', '');
  const scene = new Scene({ world: hostWorld });
  const before = strangersPicture(scene.world);
  expect(await complaintsAfter(scene, text, before)).toEqual([]);
});

describe('--only', () => {
  it('includes the template and the image of a VM, and nothing else', async () => {
    const text = cloudStack({
      vms: `  web: { name: web, vmid: 101 }
  other: { name: other, vmid: 102 }`,
      template: `  second:
    vmid: 9010
    node: vmhost
    disks: { scsi0: { image: noble, storage: tank } }
    boot: [scsi0]`,
    });
    const scene = new Scene({ world: hostWorld });
    const end = await scene.apply(text, { only: ['vm.web'] });
    expect(failuresOf(end)).toEqual([]);
    expect(kindsOf(end)).toEqual({
      'image.noble["vmhost"]': 'create',
      'template.ubuntu': 'create',
      'vm.web': 'create',
    });
  });

  it('includes nothing else with an image', async () => {
    const scene = new Scene({ world: hostWorld });
    const end = await scene.apply(TEXT, { only: ['image.noble'] });
    expect(failuresOf(end)).toEqual([]);
    expect(kindsOf(end)).toEqual({ 'image.noble["vmhost"]': 'create' });
  });
});

function client(scene: Scene) {
  return createPve({
    transport: scene.simulator.transport(),
    credentials: parseToken(`root@pam!admin=${TOKEN_SECRET}`),
    clock: scene.clock,
    random: seededRandom('by hand'),
  });
}
