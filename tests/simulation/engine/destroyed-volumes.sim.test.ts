/** No data is lost that the plan did not name: every plan that destroys volumes lists each of them with its slot and size. */
import { describe, expect, it } from 'vitest';
import { failuresOf } from './support/invariants.ts';
import { type RunEnd, Scene } from './support/scene.ts';

const GIB = 1024 ** 3;
const stack = (disks: string, more = '') => `version: 1
stack: lab
vms:
  web:
    name: web
    vmid: 420
    node: pve1
    guest: plain
    power: stopped
    clone: { template: ubuntu-24.04, storage: local-lvm }
    disks: { ${disks} }
${more}`;
const WITH_DATA = stack('scsi1: { storage: local-lvm, size: 2GiB }');

const volumes = (end: RunEnd) =>
  end.kind === 'ended'
    ? end.plan.changes.map(({ kind, destroys = [] }) => [
        kind,
        ...destroys.map(({ slot, sizeBytes }) => `${slot} ${(sizeBytes ?? 0) / GIB}`),
      ])
    : [[end.kind]];

async function made(): Promise<Scene> {
  const scene = new Scene();
  expect(failuresOf(await scene.apply(WITH_DATA))).toEqual([]);
  return scene;
}

describe('the volumes that a plan destroys', () => {
  it('are all volumes of a replaced VM, also that of a disk that left the file', async () => {
    const scene = await made();
    const [[kind = '', ...slots] = []] = volumes(await scene.plan(stack(''), { replace: ['vm.web'] }));
    expect(kind).toBe('replace');
    expect(slots).toEqual(expect.arrayContaining([expect.stringMatching(/^scsi0 /), 'scsi1 2']));
  });

  it('are that volume alone for a removed disk', async () => {
    const scene = await made();
    expect(volumes(await scene.plan(stack('scsi1: { remove: true }')))).toEqual([['update', 'scsi1 2']]);
  });

  it('are all of them for a destroy and for a VM that left the file, and none while it is kept', async () => {
    const scene = await made();
    const other = WITH_DATA.replace('  web:', '  app:').replace('name: web', 'name: app').replace('420', '421');
    expect(volumes(await scene.plan(other)).at(-1)).toEqual(['keep']);
    expect(volumes(await scene.plan(other, { allowDelete: true })).at(-1)).toEqual(
      expect.arrayContaining(['delete', 'scsi1 2']),
    );
    expect(volumes(await scene.destroy(WITH_DATA))[0]).toEqual(expect.arrayContaining(['delete', 'scsi1 2']));
  });
});

describe('a plan says what it will not change', () => {
  it('names the template that a VM was made from, once the file means another one', async () => {
    const scene = await made();
    const notes = async (text: string) => {
      const end = await scene.plan(text);
      return end.kind === 'ended' ? end.plan.changes.map(({ kind, notes: all = [] }) => [kind, ...all]) : [[end.kind]];
    };
    expect(await notes(WITH_DATA)).toEqual([['none']]);
    expect(await notes(WITH_DATA.replace('template: ubuntu-24.04', 'template: 9000'))).toEqual([['none']]);
    expect(await notes(WITH_DATA.replace('template: ubuntu-24.04', 'template: talos'))).toEqual([
      [
        'none',
        expect.stringMatching(
          /^made from template ubuntu-24\.04 \(9000\); the template is now talos.*--replace vm\.web/,
        ),
      ],
    ]);
    expect(await notes(WITH_DATA.replace('vmid: 420', 'vmid: 422'))).toEqual([
      ['none', 'the file says vmid 422; an existing VM keeps its id'],
    ]);
  });

  it('quotes the address of a group member in the command that would replace it', async () => {
    const scene = new Scene();
    const group = WITH_DATA.replace('vmid: 420', 'vmids: 420-421').replace('name: web', `name: "web-\${number}"`);
    const text = group.replace('  web:\n', '  web:\n    count: 1\n');
    expect(failuresOf(await scene.apply(text))).toEqual([]);
    const end = await scene.plan(text.replace('template: ubuntu-24.04', 'template: talos'));
    const notes = end.kind === 'ended' ? end.plan.changes.flatMap(({ notes: all = [] }) => all) : [];
    expect(notes.join()).toContain(`(--replace 'vm.web[1]')`);
  });

  it('says that the file no longer sets a field, not that it sets one', async () => {
    const scene = await made();
    const end = await scene.plan(stack(''));
    expect(end.kind === 'ended' && end.plan.changes[0]).toMatchObject({
      reason: 'The file no longer sets some fields. Proxwright records that and changes nothing.',
      unmanaged: ['disks.scsi1.size', 'disks.scsi1.storage'],
    });
  });

  it('shows pool, target storage and the storage that inherited disks get', async () => {
    const text = WITH_DATA.replace('vmid: 420', 'vmid: 430')
      .replace('power: stopped', 'power: stopped\n    pool: lab')
      .replace('storage: local-lvm }\n', 'storage: nfs, format: qcow2 }\n');
    const end = await new Scene().plan(text);
    if (end.kind !== 'ended') throw new Error(JSON.stringify(end));
    const [change] = end.plan.changes;
    expect(change?.differences.slice(0, 3).map(({ path, after }) => `${path}=${after}`)).toEqual([
      'pool=lab',
      'clone.storage=nfs',
      'clone.format=qcow2',
    ]);
    expect(change?.inherited.join()).toMatch(/scsi0: .* on nfs/);
  });
});

describe('the space of the volumes that a plan destroys', () => {
  const TIB = 1024 ** 4;
  const large = (count: number, order = 'destroy_first') => `version: 1
stack: lab
vms:
  data:
    count: ${count}
    name: "data-\${number}"
    vmids: 420-429
    node: pve1
    guest: plain
    power: stopped
    disks: { scsi0: { storage: nfs, size: 2TiB } }
    nics: { net0: { bridge: vmbr0 } }
    update: { order: ${order} }
`;

  async function full(order?: string): Promise<Scene> {
    const scene = new Scene();
    // One after the other: the files are sparse, but two of them exceed what is free.
    for (const count of [1, 2]) expect(failuresOf(await scene.apply(large(count, order)))).toEqual([]);
    return scene;
  }

  it('goes to the VM in its place: a storage that is nearly full does not refuse the replacement', async () => {
    const scene = await full();
    const replaced = await scene.plan(large(2), { replace: ['vm.data'] });
    expect(failuresOf(replaced)).toEqual([]);
    // Nothing is taken and nothing is left over.
    expect(replaced.kind === 'ended' && (replaced.plan.room ?? [])).toEqual([]);
    const grown = await scene.plan(large(2).replace('2TiB', '3TiB'), { replace: ['vm.data'] });
    const [storage] = grown.kind === 'ended' ? (grown.plan.room?.[0]?.storages ?? []) : [];
    expect(storage && storage.freeBytes - storage.freeAfterBytes).toBe(2 * TIB);
  });

  it('is not there yet for a VM that is created beside the old one', async () => {
    const scene = await full('create_first');
    const end = await scene.plan(large(2, 'create_first'), { replace: ['vm.data'] });
    expect(failuresOf(end).join()).toContain('This plan needs 4TiB on "nfs";');
  });
});
