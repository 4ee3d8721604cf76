/** examples/terraform/from-bare-host: image, template and VMs with custom user-data, on an empty host. */
import { readFile, writeFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { bareWorld, madeUpChecksums, WELL_KNOWN_URLS } from '../../../src/simulator/index.ts';
import { HOSTS, ONE_HOST } from '../terraform/support/hosts.ts';
import { problems, warnings } from '../terraform/support/scene.ts';
import { CleanCopy } from './clean-copy.ts';

const FOLDER = { world: bareWorld, folder: 'from-bare-host' };
const RENAMED = 'web-1={vmid=101,address="10.0.20.11/24"},web-3={vmid=102,address="10.0.20.12/24"}';
const TWO = `-var=vms={${RENAMED}}`;
const THREE = `-var=vms={${RENAMED},web-4={vmid=104,address="10.0.20.14/24"}}`;
const MOVED = 'moved {\n  from = proxwright_vm.web["web-2"]\n  to   = proxwright_vm.web["web-3"]\n}\n';

describe.each(HOSTS)('from-bare-host under $name $version', (host) => {
  let copy: CleanCopy;

  beforeEach(async () => {
    copy = await CleanCopy.open({ host, ...FOLDER });
    expect((await copy.init()).code).toBe(0);
  });

  afterEach(() => copy.close());

  async function settle(...more: string[]) {
    const applied = await copy.apply(...more);
    expect(problems(applied)).toEqual([]);
    const again = await copy.plan(...more);
    expect([again.code, problems(again)]).toEqual([0, []]);
    return applied;
  }

  const guests = () =>
    [...copy.scene.world.vms.values()].map(({ vmid, config }) => `${vmid} ${config.current.get('name')}`).sort();

  const volumes = () =>
    [...copy.scene.world.storages.values()]
      .flatMap((storage) => [...storage.volumes.values()].flatMap((each) => [...each.values()].map(({ name }) => name)))
      .sort();

  it('goes all the way in one apply, wants nothing more, and leaves nothing behind', async () => {
    const applied = await settle();
    expect(warnings(applied).filter((line) => !line.includes('The same run creates the template'))).toEqual([]);
    expect(guests()).toEqual(['101 web-1', '102 web-2', '9000 ubuntu-24.04']);
    expect(await copy.outputs()).toEqual({
      addresses: { 'web-1': '10.0.20.11', 'web-2': '10.0.20.12' },
      template: 9000,
    });
    const web = copy.scene.configOf('web-1');
    expect(Object.fromEntries(web)).toMatchObject({ cores: '2', memory: '4096' });
    expect(web.get('scsi0')).toMatch(/^tank:base-9000-disk-0\/vm-101-disk-0,.*size=20G/);
    expect(web.get('ide2')).toMatch(/^local:iso\/proxwright-web-1-[0-9a-f]{16}\.iso,media=cdrom/);
    expect(copy.scene.ours().every(({ running }) => running)).toBe(true);

    expect(problems(await copy.destroy())).toEqual([]);
    expect([guests(), volumes()]).toEqual([[], []]);
  });

  it('does what its table says', async () => {
    await settle();
    const media = () => volumes().filter((name) => name.startsWith('iso/'));
    const before = media();

    // One is added, one is renamed.
    await writeFile(copy.path('moved.tf'), MOVED);
    await settle(THREE);
    expect(guests()).toEqual(['101 web-1', '102 web-3', '104 web-4', '9000 ubuntu-24.04']);
    expect(copy.scene.taskCount('qmclone')).toBe(3);

    // One is removed.
    await settle(TWO);
    expect(guests()).toEqual(['101 web-1', '102 web-3', '9000 ubuntu-24.04']);
    expect(media()).toHaveLength(2);

    // Other user-data: the ISO images are replaced, nothing else changes.
    const text = await readFile(copy.path('user-data.yaml'), 'utf8');
    await writeFile(copy.path('user-data.yaml'), `${text}final_message: up\n`);
    expect((await copy.plan(TWO)).code).toBe(2);
    await settle(TWO);
    expect(media()).toHaveLength(2);
    expect(media().filter((name) => before.includes(name))).toEqual([]);

    // Another image: a new version of the template, and the VMs stay.
    const url = WELL_KNOWN_URLS.debian12;
    await settle(TWO, `-var=image_url=${url}`, `-var=image_sha256=${madeUpChecksums(url).sha256}`);
    expect(guests()).toEqual(expect.arrayContaining(['9000 ubuntu-24.04-retired-9000', '9001 ubuntu-24.04']));
    expect(copy.scene.taskCount('qmclone')).toBe(3);
    expect(problems(await copy.run('destroy', '-json', '-input=false', '-auto-approve', TWO))).toEqual([]);
    expect([guests(), volumes()]).toEqual([[], []]);
  });
});

const REFUSED: readonly (readonly [argument: string, message: RegExp])[] = [
  ['vms={a={vmid=101,address="10.0.20.11"}}', /address is an IPv4 address with its prefix length/],
  ['vms={a={vmid=101,address="10.0.20.11/24"},b={vmid=101,address="10.0.20.12/24"}}', /Each VM needs a unique vmid/],
  ['vms={a={vmid=101,address="10.0.20.11/24"},b={vmid=102,address="10.0.20.11/24"}}', /Each VM needs a unique address/],
];

describe.each(ONE_HOST)('the inputs of from-bare-host under $name', (host) => {
  it('are checked before anything is made', async () => {
    const copy = await CleanCopy.open({ host, ...FOLDER });
    try {
      for (const [argument, message] of REFUSED) {
        const refused = await copy.plan(`-var=${argument}`);
        const texts = refused.diagnostics.map(({ detail = '' }) => detail.replaceAll('\n', ' '));
        expect([refused.code, texts.filter((text) => message.test(text)).length], argument).toEqual([1, 1]);
      }
      expect(copy.scene.requests.filter((line) => !line.startsWith('GET '))).toEqual([]);
    } finally {
      await copy.close();
    }
  });
});
