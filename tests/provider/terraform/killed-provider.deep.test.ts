/**
 * Nothing is in one process here: the built command simulates the cluster, a real host plans and applies, and the provider
 * that it has started is killed (SIGKILL) while VMs are made. What becomes of them is seen by the API alone.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Running, Workspace } from '../../../src/provider/testing/terraform.ts';
import { createPve, fingerprintTrust, type Pve, parseEndpoint, parseToken } from '../../../src/pve/index.ts';
import { announcedVariables, ensureBuilt, type RunningCommand, startCommand } from '../../e2e/built-command.ts';
import { ref, SMALL, SOURCE, settings, vm } from './support/hcl.ts';
import { ONE_HOST } from './support/hosts.ts';
import { type Installed, installProvider } from './support/installed.ts';
import { hasProcesses, providerPidOf } from './support/provider-process.ts';
import { problems } from './support/scene.ts';

const APPLY = ['apply', '-json', '-input=false', '-auto-approve'];
/** A clone lasts some seconds, so that there is a middle of it. */
const SPEED = '4';
const LOOK_MS = 25;

/** One that is told its id and one that finds its own. */
const FILE = [
  settings(),
  vm('web', { ...SMALL, vmid: 410, guest: 'cloud-init', cpu: { cores: 4 }, disks: { scsi0: { size: '4GiB' } } }),
  vm('db', { ...SMALL, name: 'db', guest: 'cloud-init', cpu: { cores: 4 } }),
].join('\n');

const GROUP = [411, 412, 413];
/** Three that stand in for each other. */
const groupOf = (memory: string) =>
  [
    settings(),
    vm('member', {
      ...SMALL,
      count: GROUP.length,
      vmid: ref(`${GROUP[0]} + count.index`),
      name: `member-${ref('count.index + 1')}`,
      guest: 'cloud-init',
      restart: 'when_needed',
      update_group: 'members',
      max_unavailable: 1,
      memory,
    }),
  ].join('\n');

let provider: Installed;
let simulator: RunningCommand;
let pve: Pve;
let workspace: Workspace;

beforeAll(async () => {
  ensureBuilt();
  provider = await installProvider();
});

afterAll(() => provider.remove());

beforeEach(async () => {
  simulator = startCommand(['sim', '--listen', '127.0.0.1:0', '--speed', SPEED]);
});

afterEach(async () => {
  await pve?.close();
  await workspace?.remove();
  simulator.process.kill('SIGTERM');
  await simulator.finished;
});

const node = () => pve.node('pve1');
const tasksOf = async (type: string) =>
  (await node().tasks.list({ source: 'all', limit: 500 })).filter((task) => task.type === type);

/** What the cluster has: guests by id, and volumes of guests. */
async function picture(): Promise<string[]> {
  const guests = await node().vms.list();
  const volumes = await node().storage('local-lvm').content.list({ content: 'images' });
  return [...guests.map(({ vmid, name }) => `VM ${vmid} ${name}`), ...volumes.map(({ volid }) => volid)].sort();
}

interface Moment {
  readonly when: string;
  /** Whether it has come. */
  readonly isNow: () => Promise<boolean>;
}

const MOMENTS: readonly Moment[] = [
  {
    when: 'while it clones',
    isNow: async () => (await tasksOf('qmclone')).some(({ endtime }) => endtime === undefined),
  },
  { when: 'between a clone and its configuration', isNow: async () => (await tasksOf('qmclone')).some(isOver) },
  { when: 'while it waits for a guest', isNow: async () => (await tasksOf('qmstart')).some(isOver) },
];

function isOver({ endtime }: { readonly endtime?: number | undefined }): boolean {
  return endtime !== undefined;
}

/** Until the run ends or the moment comes, at which the provider is killed; whether it was. */
async function strikeAt({ isNow }: Moment, running: Running): Promise<boolean> {
  let hasEnded = false;
  void running.result.then(() => {
    hasEnded = true;
  });
  while (!hasEnded) {
    if (await isNow()) {
      process.kill(providerPidOf(running), 'SIGKILL');
      return true;
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  return false;
}

describe.skipIf(!hasProcesses).each(ONE_HOST)('a provider that is killed under $name $version', (host) => {
  async function open(file: string): Promise<void> {
    const environment = announcedVariables(await simulator.firstLines(3));
    const { PROXMOX_VE_ENDPOINT = '', PROXMOX_VE_API_TOKEN = '', PROXMOX_VE_FINGERPRINT = '' } = environment;
    pve = createPve({
      connection: { endpoint: parseEndpoint(PROXMOX_VE_ENDPOINT), trust: fingerprintTrust(PROXMOX_VE_FINGERPRINT) },
      credentials: parseToken(PROXMOX_VE_API_TOKEN),
    });
    const { installation } = provider;
    workspace = await Workspace.create({
      host,
      address: SOURCE,
      installation,
      environment,
      files: { 'main.tf': file },
    });
  }

  it.each(MOMENTS)('leaves nothing that the next apply does not resume, $when', async (moment) => {
    await open(FILE);
    const before = await picture();

    const running = workspace.start(APPLY);
    expect(await strikeAt(moment, running)).toBe(true);
    expect((await running.result).code).toBe(1);
    expect([...(await workspace.state()).keys()]).toEqual([]);

    expect(problems(await workspace.apply())).toEqual([]);
    expect((await workspace.plan()).code).toBe(0);
    const state = await workspace.state();
    const ids = ['web', 'db'].map((name) => Number(state.get(`proxwright_vm.${name}`)?.vmid));
    expect(ids[0]).toBe(410);
    const made = (await picture()).filter((line) => !before.includes(line));
    expect(made.filter((line) => line.startsWith('VM '))).toEqual([`VM ${ids[1]} db`, 'VM 410 web'].sort());
    expect(made.every((line) => ids.some((vmid) => line.includes(String(vmid))))).toBe(true);
    for (const vmid of ids) {
      const { values } = await node().vm(vmid).config.get();
      expect([values.get('cores'), values.get('lock')]).toEqual(['4', undefined]);
      expect(values.get('description')).not.toContain('incomplete');
      expect((await node().vm(vmid).status.current()).status).toBe('running');
    }
    expect([(await tasksOf('qmclone')).length, (await tasksOf('qmdestroy')).length]).toEqual([2, 0]);

    expect(problems(await workspace.destroy())).toEqual([]);
    expect(await picture()).toEqual(before);
  });

  it('leaves one VM off in the restart of a group, which comes back before another one goes down', async () => {
    await open(groupOf('1GiB'));
    expect(problems(await workspace.apply())).toEqual([]);
    await workspace.write('main.tf', groupOf('2GiB'));

    const running = workspace.start(APPLY);
    const isOff = async (vmid: number) => (await node().vm(vmid).status.current()).status === 'stopped';
    const off = async () => (await Promise.all(GROUP.map(isOff))).filter(Boolean).length;
    // While the guest shuts down, so that no start can follow before the provider is dead.
    const isShuttingDown = async () => !(await tasksOf('qmshutdown')).every(isOver);
    expect(await strikeAt({ when: 'while a guest shuts down', isNow: isShuttingDown }, running)).toBe(true);
    expect((await running.result).code).toBe(1);
    while (await isShuttingDown()) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    expect(await off()).toBe(1);

    expect(problems(await workspace.apply())).toEqual([]);
    expect((await workspace.plan()).code).toBe(0);
    // In turns over both runs: each went down once, and only while all others had been started again.
    const down: string[] = [];
    const turns = [...(await tasksOf('qmshutdown')), ...(await tasksOf('qmstart')).slice(0, -GROUP.length)];
    expect(turns.map(({ type }) => type).filter((type) => type === 'qmshutdown')).toHaveLength(GROUP.length);
    for (const { type, id } of turns.sort((a, b) => a.starttime - b.starttime || a.type.localeCompare(b.type))) {
      if (type === 'qmshutdown') down.push(id);
      else down.splice(down.indexOf(id), 1);
      expect(down.length).toBeLessThanOrEqual(1);
    }
    for (const vmid of GROUP) {
      const { values } = await node().vm(vmid).config.get({ current: true });
      expect([values.get('memory'), await isOff(vmid)]).toEqual(['2048', false]);
    }
  });
});
