/** What the pages about a bare host promise: their stack, their role, and what happens when a recipe changes. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { outputsForPeople } from '../../src/engine/outputs/render.ts';
import { isEmpty } from '../../src/kinds/change.ts';
import { isHealthy } from '../../src/kinds/doctor/finding.ts';
import { buildWorld, type WorldFile } from '../../src/simulator/index.ts';
import { BARE_WORLD } from '../../src/simulator/world/bare-world.ts';
import { type ExampleScene, openExample, type SceneOptions, shown } from './support/example-scene.ts';
import { codeBlocks, shownLines } from './support/readme.ts';

const page = (name: string) =>
  readFileSync(fileURLToPath(new URL(`../../docs/guide/${name}`, import.meta.url)), 'utf8');
const BARE_HOST = page('from-a-bare-host.md');
const TOKEN = { id: 'deploy@pve!proxwright', secret: '11111111-2222-4333-8444-555555555555' };

let scene: ExampleScene | undefined;
afterEach(() => scene?.close());

async function open(options: SceneOptions = {}): Promise<ExampleScene> {
  scene = await openExample('from-bare-host', 'bare', options);
  return scene;
}

/** What an administrator gets who types the commands of the page. */
function rightsOfPage(without?: string): Pick<WorldFile, 'users' | 'roles' | 'acl'> {
  const roles = [...BARE_HOST.matchAll(/^pveum role add (\S+) --privs '([^']+)'$/gm)].map(
    ([, name = '', privileges = '']) => [name, privileges.split(' ').filter((privilege) => privilege !== without)],
  );
  const entries = BARE_HOST.matchAll(
    /^pveum acl modify (\S+) --users '(\S+)' --tokens '(\S+)' --roles (\S+) --propagate ([01])$/gm,
  );
  const acl = [...entries].flatMap(([, path = '', user = '', token = '', role = '', propagates]) => {
    const common = { path, role, propagate: propagates === '1' };
    return [
      { ...common, user },
      { ...common, token },
    ];
  });
  const tokens = { proxwright: { secret: TOKEN.secret, privsep: true } };
  return { users: { ...BARE_WORLD.users, 'deploy@pve': { tokens } }, roles: Object.fromEntries(roles), acl };
}

function withRights(without?: string): SceneOptions {
  const rights = rightsOfPage(without);
  return {
    token: `${TOKEN.id}=${TOKEN.secret}`,
    world: (clock) => buildWorld({ ...BARE_WORLD, ...rights }, { now: clock.now(), file: 'page' }),
  };
}

const isSeed = (volume: string) => volume.includes('iso/proxwright-');

describe('the page from a bare host', () => {
  it('shows a stack, user data and outputs that belong together', async () => {
    const [stack = ''] = codeBlocks(BARE_HOST, 'yaml');
    const [userData = '', ...printed] = codeBlocks(BARE_HOST, 'text');
    const example = await open({ withFiles: { 'stack.yaml': stack, 'user-data.yaml': userData } });
    await example.run(async () => {
      const plan = shown(await example.plan());
      expect(new Set(Object.values(await example.apply()))).toEqual(new Set(['done']));
      expect(isEmpty(await example.plan())).toBe(true);
      const lines = `${plan}${outputsForPeople(await example.outputs())}`.split('\n');
      const expected = printed.flatMap((block) => block.split('\n'));
      expect(expected.length).toBeGreaterThan(3);
      expect(expected.filter((line) => !lines.includes(line))).toEqual([]);
    });
  });

  it('has a role that is enough for the whole lifecycle of the example', async () => {
    const example = await open(withRights());
    await example.run(async () => {
      expect(isHealthy(await example.doctor())).toBe(true);
      expect(new Set(Object.values(await example.apply()))).toEqual(new Set(['done']));
      expect(isEmpty(await example.plan())).toBe(true);
      expect(example.volumes().filter(isSeed)).toHaveLength(2);
      await example.destroy();
      expect(example.volumes().filter(isSeed)).toEqual([]);
      await example.destroy({ all: true });
    });
    expect(example.volumes()).toEqual([]);
  });

  it('says what happens without the right to delete files', async () => {
    const example = await open(withRights('Datastore.Allocate'));
    await example.run(async () => {
      await example.apply();
      expect(new Set(Object.values(await example.destroy()))).toEqual(new Set(['done']));
      expect(example.volumes().filter(isSeed)).toHaveLength(2);
      await expect(example.destroy({ all: true })).rejects.toThrow('Datastore.Allocate on /storage/local');
    });
  });

  it.each(['Sys.AccessNetwork', 'Datastore.AllocateTemplate', 'VM.Clone', 'SDN.Use'])(
    'has no privilege to spare: the doctor misses %s',
    async (privilege) => {
      const example = await open(withRights(privilege));
      const findings = await example.run(() => example.doctor());
      const bad = findings.filter(({ verdict }) => verdict === 'bad');
      expect(JSON.stringify(bad)).toContain(`${privilege} on /`);
    },
  );
});

describe('the page on images and templates', () => {
  it('says what happens to a template whose recipe changes', async () => {
    const lines = shownLines(page('images-and-templates.md'));
    const example = await open();
    await example.run(() => example.apply());
    const stack = readFileSync(`${example.opened.directory}/stack.yaml`, 'utf8');
    await example.change({ withFiles: { 'stack.yaml': stack.replace('memory: 2GiB', 'memory: 3GiB') } });
    await example.run(async () => {
      const plan = await example.plan();
      expect(await example.apply()).toEqual({ 'template.ubuntu-24.04': 'done' });
      expect(example.config(9000)).toMatchObject({ name: 'ubuntu-24.04-retired-9000', template: '1' });
      expect(example.config(9001)).toMatchObject({ name: 'ubuntu-24.04', template: '1', memory: '3072' });
      const after = await example.plan();
      expect(isEmpty(after)).toBe(true);
      const printed = `${shown(plan)}${shown(after)}`.split('\n');
      expect(lines.filter((line) => !printed.includes(line))).toEqual([]);
      const refused = await example.apply({ allowDelete: true });
      expect(refused['retired.ubuntu-24.04["9000"]']).toContain('still in use by linked clone');
      await example.destroy();
      expect(await example.apply({ allowDelete: true, only: ['retired.ubuntu-24.04'] })).toEqual({
        'retired.ubuntu-24.04["9000"]': 'done',
      });
    });
  });

  it('says what happens to an image whose URL changes: it is kept until you replace it', async () => {
    const example = await open();
    await example.run(() => example.apply());
    const stack = readFileSync(`${example.opened.directory}/stack.yaml`, 'utf8');
    const other = stack.replace(
      /url: https:\/\/cloud-images.*/,
      'url: https://cloud.debian.org/images/cloud/bookworm/latest/debian-12-generic-amd64.qcow2',
    );
    await example.change({ withFiles: { 'stack.yaml': other } });
    await example.run(async () => {
      await expect(example.plan()).rejects.toThrow('the url changed since it was transferred. Proxwright keeps it.');
      const replaced = await example.plan({ replace: ['image.noble'] });
      expect(replaced.changes.map(({ address, kind }) => `${address} ${kind}`)).toContain(
        'image.noble["vmhost"] replace',
      );
    });
  });
});
