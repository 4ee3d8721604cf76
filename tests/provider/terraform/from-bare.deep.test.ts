/** From a bare host to a VM in one apply, as a user's host goes through it: image, template, clone. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { bareWorld, madeUpChecksums, WELL_KNOWN_URLS } from '../../../src/simulator/index.ts';
import { ref, resource, vm } from './support/hcl.ts';
import { HOSTS } from './support/hosts.ts';
import { problems, Scene, warnings } from './support/scene.ts';

const IMAGE = {
  node: 'vmhost',
  url: WELL_KNOWN_URLS.ubuntuNoble,
  sha256: madeUpChecksums(WELL_KNOWN_URLS.ubuntuNoble).sha256,
  storage: 'local',
  content: 'import',
  file: 'noble.qcow2',
};

const BASE = {
  name: 'ubuntu-base',
  node: 'vmhost',
  vmids: '9000-9009',
  guest: 'cloud-init',
  agent: { enabled: false },
  memory: '1GiB',
  disks: { scsi0: { import_from: ref('proxwright_image.noble.id'), storage: 'tank' } },
  nics: { net0: { bridge: 'vmbr0' } },
  cloud_init: { storage: 'tank' },
  boot: ['scsi0'],
  triggers: { image: ref('proxwright_image.noble.sha256') },
};

const WEB = {
  name: 'web',
  node: 'vmhost',
  guest: 'cloud-init',
  // By its name a VM stays when the template gets a new version.
  clone: { template: ref('proxwright_template.base.name') },
  ready: { agent: false },
  nics: { net0: { bridge: 'vmbr0', ipv4: { address: '10.0.20.200/24', gateway: '10.0.20.1' } } },
};

const image = (more = {}) => resource('proxwright_image', 'noble', { ...IMAGE, ...more });
const template = (more = {}) => resource('proxwright_template', 'base', { ...BASE, ...more });

describe.each(HOSTS)('a bare host under $name $version', (host) => {
  let scene: Scene;

  beforeEach(async () => {
    scene = await Scene.open({ host, world: bareWorld });
  });

  afterEach(() => scene.close());

  const guests = () =>
    [...scene.world.vms.values()].map(({ vmid, config }) => `${vmid} ${config.current.get('name')}`).sort();

  const volumes = () =>
    [...scene.world.storages.values()].flatMap((storage) =>
      [...storage.volumes.values()].flatMap((each) => [...each.values()].map(({ name }) => name)),
    );

  it('gets image, template and VM in one apply, a new version of the template, and is bare again', async () => {
    await scene.write(image(), template(), vm('web', WEB));
    const planned = await scene.plan();
    expect([planned.code, problems(planned)]).toEqual([2, []]);
    expect(warnings(planned).join()).toContain('The same run creates the template');

    const applied = await scene.settle(image(), template(), vm('web', WEB));
    expect(warnings(applied).filter((line) => !line.includes('The same run creates the template'))).toEqual([]);
    const state = await scene.state();
    expect(state.get('proxwright_image.noble')).toMatchObject({ id: 'local:import/noble.qcow2' });
    expect(state.get('proxwright_template.base')).toMatchObject({ vmid: 9000, id: 'vmhost/9000' });
    expect(guests()).toEqual(expect.arrayContaining(['9000 ubuntu-base']));
    expect(scene.ours()).toMatchObject([{ name: 'web', running: true }]);

    // A new recipe: a new version, and the VM stays as it is.
    await scene.write(image(), template({ memory: '2GiB' }), vm('web', WEB));
    expect(await scene.changes()).toEqual([
      {
        address: 'proxwright_template.base',
        actions: ['update'],
        changed: expect.arrayContaining(['memory', 'vmid', 'recipe']),
      },
    ]);
    await scene.settle(image(), template({ memory: '2GiB' }), vm('web', WEB));
    expect(guests()).toEqual(expect.arrayContaining(['9000 ubuntu-base-retired-9000', '9001 ubuntu-base']));
    expect((await scene.state()).get('proxwright_template.base')).toMatchObject({ vmid: 9001 });

    // Another image under the same name reaches the template by its checksum.
    const debian = { url: WELL_KNOWN_URLS.debian12, sha256: madeUpChecksums(WELL_KNOWN_URLS.debian12).sha256 };
    await scene.write(image(debian), template({ memory: '2GiB' }), vm('web', WEB));
    expect((await scene.changes()).map(({ address, actions }) => `${address} ${actions}`).sort()).toEqual([
      'proxwright_image.noble delete,create',
      'proxwright_template.base update',
    ]);
    await scene.settle(image(debian), template({ memory: '2GiB' }), vm('web', WEB));
    expect((await scene.state()).get('proxwright_template.base')).toMatchObject({ vmid: 9002 });

    expect(problems(await scene.destroy())).toEqual([]);
    expect([guests(), volumes()]).toEqual([[], []]);
  });

  it('reports what cannot work before anything happens', async () => {
    await scene.write(image({ storage: 'tank' }), template({ nics: { net0: { bridge: 'vmbr9' } } }));
    const told = problems(await scene.plan()).join('\n');
    expect(told).toContain('Storage "tank" does not hold images to import');
    expect(scene.requests.filter((line) => /^(POST|PUT|DELETE)/.test(line) && !line.includes('/access/'))).toEqual([]);
  });

  it('reports a missing file before an image is transferred', async () => {
    const told = { ...WEB, cloud_init: { storage: 'local', user_data: { file: 'user-data.yaml' } } };
    await scene.write(image(), template(), vm('web', told));
    const refused = await scene.apply();
    expect(problems(refused)).toEqual([
      expect.stringContaining('File cannot be read: "user-data.yaml" cannot be read as a document'),
    ]);
    expect(volumes()).toEqual([]);
    await scene.workspace.write('user-data.yaml', '#cloud-config\nfinal_message: up\n');
    await scene.settle(image(), template(), vm('web', told));
  });

  it('imports what exists already', async () => {
    await scene.settle(image(), template());
    const stated = await scene.run(['state', 'rm', 'proxwright_image.noble', 'proxwright_template.base']);
    expect(stated.code).toBe(0);
    for (const [address, id] of [
      ['proxwright_image.noble', 'vmhost/local:import/noble.qcow2'],
      ['proxwright_template.base', 'vmhost/9000'],
    ] as const) {
      expect(problems(await scene.run(['import', '-input=false', address, id]))).toEqual([]);
    }
    await scene.settle(image(), template());
    expect(guests()).toEqual(['9000 ubuntu-base']);
    expect(scene.taskCount('qmtemplate')).toBe(1);
  });
});
