/** examples/terraform/ubuntu-staggered: creations apart in time, guests awaited one after the other, files about each. */
import { readdir, readFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { effectiveTasks } from '../../support/effective-tasks.ts';
import { HOSTS, ONE_HOST } from '../terraform/support/hosts.ts';
import { problems } from '../terraform/support/scene.ts';
import { CleanCopy } from './clean-copy.ts';
import { ubuntuHost } from './worlds.ts';

const DELAY_MS = 30_000;
const SETTLE_MS = 30_000;

describe.each(HOSTS)('ubuntu-staggered under $name $version', (host) => {
  let copy: CleanCopy;

  beforeEach(async () => {
    copy = await CleanCopy.open({ host, world: ubuntuHost, folder: 'ubuntu-staggered' });
    expect((await copy.init()).code).toBe(0);
  });

  afterEach(() => copy.close());

  it('makes two VMs half a minute apart, ready one after the other, with a file for each address', async () => {
    const pings: { readonly vmid: number; readonly at: number }[] = [];
    copy.scene.before = async (_request, line) => {
      const [, vmid] = /POST \/nodes\/pve1\/qemu\/(\d+)\/agent\/ping/.exec(line) ?? [];
      if (vmid !== undefined) pings.push({ vmid: Number(vmid), at: copy.scene.simulator.runtime.clock.now() });
      return undefined;
    };
    const overrides = '-var=vm_configs={"ubuntu-opentofu-2"={cores=2,memory=8192}}';
    const applied = await copy.apply('-var=verify_system=true', overrides);
    expect(problems(applied)).toEqual([]);
    expect(
      copy.scene
        .ours()
        .map(({ name, running }) => [name, running])
        .sort(),
    ).toEqual([
      ['ubuntu-opentofu-1', true],
      ['ubuntu-opentofu-2', true],
    ]);

    const first = copy.scene.configOf('ubuntu-opentofu-1');
    expect(Object.fromEntries(first)).toMatchObject({ cores: '4', sockets: '2', memory: '32768', bios: 'ovmf' });
    expect(first.get('scsi0')).toMatch(/^ssd:\d+\/vm-\d+-disk-\d+\.qcow2,.*size=128G/);
    expect(first.get('efidisk0')).toContain('pre-enrolled-keys=1');
    expect(first.get('net0')).toContain('bridge=vmbr1');
    expect(first.get('ipconfig0')).toBe('ip=dhcp');
    const second = copy.scene.configOf('ubuntu-opentofu-2');
    expect(Object.fromEntries(second)).toMatchObject({ cores: '2', sockets: '2', memory: '8192' });
    expect(second.get('scsi0')).toContain('size=128G');

    // All on the clock of the cluster.
    const clones = effectiveTasks(copy.scene.world).filter(({ type }) => type === 'qmclone');
    const [one = 0, two = 0] = clones.map(({ startedAt }) => startedAt).sort((a, b) => a - b);
    // Between the requests; how long each was on its way counts sixtyfold here.
    expect(two - one).toBeGreaterThan(DELAY_MS / 2);
    // The second guest is asked when the first has answered three times and settled.
    const turns = pings.filter(({ vmid }, index) => vmid !== pings[index - 1]?.vmid);
    expect(turns).toHaveLength(2);
    const [earlier = { vmid: 0, at: 0 }, later = { vmid: 0, at: 0 }] = turns;
    const asked = pings.filter(({ vmid }) => vmid === earlier.vmid);
    expect(asked.length).toBeGreaterThanOrEqual(3);
    expect(later.at - earlier.at).toBeGreaterThanOrEqual(SETTLE_MS);

    const { addresses, vmids } = (await copy.outputs()) as Record<string, Record<string, string>>;
    for (const [name, vmid] of Object.entries(vmids ?? {})) {
      const address = addresses?.[name] ?? '';
      expect(address).toMatch(/^192\.168\.7\.\d+$/);
      expect(await readFile(copy.path(`out/vm_${vmid}_ip.txt`), 'utf8')).toBe(`${address}\n`);
      const summary = await readFile(copy.path(`out/vm_${vmid}_summary.txt`), 'utf8');
      expect(summary).toContain(`VM ${vmid} ${name}\nNode: pve1\nAddress: ${address}\n`);
      expect(summary).toContain('Disk: 128GiB\n');
    }

    const again = await copy.plan('-var=verify_system=true', overrides);
    expect([again.code, problems(again)]).toEqual([0, []]);
    expect(problems(await copy.destroy())).toEqual([]);
    expect(copy.leftovers()).toEqual([]);
    expect(await readdir(copy.path('out'))).toEqual([]);
  });
});

const REFUSED: readonly (readonly [argument: string, message: RegExp])[] = [
  ['vm_count=0', /vm_count is a whole number from 1 to 50/],
  ['vm_count=51', /vm_count is a whole number from 1 to 50/],
  ['deployment_delay=-1', /deployment_delay is a whole number of seconds/],
  ['vm_name_prefix=web_server', /vm_name_prefix becomes part of host names/],
  ['vm_configs={"ubuntu-opentofu-1"={memory=32}}', /memory is in MiB and at least 512/],
  ['vm_configs={"ubuntu-opentofu-1"={disk_size="128"}}', /disk_size carries its unit/],
  ['vm_configs={"web-server-1"={cores=4}}', /names VMs that do not exist: web-server-1/],
];

describe.each(ONE_HOST)('the inputs of ubuntu-staggered under $name', (host) => {
  it('are checked before anything is made', async () => {
    const copy = await CleanCopy.open({ host, world: ubuntuHost, folder: 'ubuntu-staggered' });
    try {
      for (const [argument, message] of REFUSED) {
        const refused = await copy.plan(`-var=${argument}`);
        expect(refused.code, argument).toBe(1);
        const texts = refused.diagnostics.map(({ detail = '' }) => detail.replaceAll('\n', ' '));
        expect(
          texts.filter((text) => message.test(text)),
          argument,
        ).toHaveLength(1);
      }
      const most = await copy.plan('-var=vm_count=50');
      expect([most.code, problems(most)]).toEqual([2, []]);
      expect(copy.scene.requests.filter((line) => !line.startsWith('GET '))).toEqual([]);
    } finally {
      await copy.close();
    }
  });
});
