/** A rehearsal against the run that follows it: the same plan, the same requests, the predicted time. */
import { describe, expect, test } from 'vitest';
import { describeRun } from '../../../src/engine/record/run-record.ts';
import { parseToken } from '../../../src/pve/index.ts';
import { savedWorld } from '../../../src/rehearse/saved-world.ts';
import { interruptEverywhere, weather } from '../../../src/rehearse/trial/interrupt.ts';
import { lineOf } from '../../../src/rehearse/trial/mortal-process.ts';
import { buildWorld, type WorldFile } from '../../../src/simulator/index.ts';
import { draftOf, saveConfig } from '../../../src/simulator/vm/config/config-file.ts';
import { readRuns } from '../../../src/state/journal.ts';
import { failuresOf } from '../engine/support/invariants.ts';
import { LAB_WORLD } from '../engine/support/lab-world.ts';
import { GUEST_PASSWORD, Scene, TOKEN_SECRET } from '../engine/support/scene.ts';
import { rehearseScene } from './support/bench.ts';

async function lastRun(scene: Scene) {
  const journal = (await readRuns(scene.store)).at(-1);
  if (!journal) throw new Error('there is no run');
  return describeRun(journal);
}

/** Polls come as often as the time allows; everything else is a decision. */
const decisions = (lines: readonly string[]) =>
  lines.filter((line) => !line.startsWith('GET ') && !line.endsWith('/agent/ping'));

const TWO_VMS = `
version: 1
stack: lab
defaults:
  node: pve1
  clone: { template: ubuntu-24.04, mode: full }
  memory: 4GiB
vms:
  db:
    name: db
    vmids: 401-409
    guest: cloud-init
    cloud_init: { user: admin, password: { env: GUEST_PASSWORD } }
    nics: { net0: { bridge: vmbr0, ipv4: dhcp } }
  web:
    name: web
    vmids: 401-409
    after: [db]
    disks: { scsi0: { size: 10GiB } }
`;
const MORE_MEMORY = TWO_VMS.replace('memory: 4GiB', 'memory: 6GiB\n  restart: when_needed');
const CI = parseToken('deploy@pve!ci=00000000-0000-4000-8000-000000000003');

describe('a rehearsal', () => {
  /** Nothing in the API names the QEMU of a node. The release came with 11.0; a VM made under 11.1 shows a later update. */
  test.each(['11.0.0', '11.1.2'])('starts machines that a server with QEMU %s starts', async (qemu) => {
    const scene = new Scene();
    Object.assign(scene.world.version, { qemu });
    const template = [...scene.world.vms.values()].find(({ config }) => config.current.get('name') === 'ubuntu-24.04');
    if (!template) throw new Error('there is no template');
    const draft = draftOf(template.config);
    draft.current.set('meta', `creation-qemu=${qemu},ctime=1794768904`);
    saveConfig(template, draft);
    const machine = `machine: pc-q35-${qemu.split('.').slice(0, 2).join('.')}`;
    const { rehearsal } = await rehearseScene(scene, TWO_VMS.replace('memory: 4GiB', `memory: 4GiB\n  ${machine}`));
    expect(rehearsal.problems).toEqual([]);
    expect(rehearsal.run.resources.map(({ status }) => status)).toEqual(['done', 'done']);
  });

  test('carries out the real plan on a copy, and only reads from the cluster', async () => {
    const scene = new Scene();
    const before = [...scene.world.vms.keys()];
    const { rehearsal, plan, reads } = await rehearseScene(scene, TWO_VMS);
    expect(rehearsal.problems).toEqual([]);
    expect(rehearsal.planDifferences).toEqual([]);
    expect(rehearsal.run.resources.map(({ status }) => status)).toEqual(['done', 'done']);
    expect(rehearsal.run.planned).toBe(plan.steps.length);
    expect([...scene.world.vms.keys()]).toEqual(before);
    expect(scene.world.tasks.size).toBe(0);
    expect(reads.sent.filter((line) => !line.startsWith('GET '))).toEqual([]);
    // An address for every VM of a large stack, and none twice in the cluster.
    const pools = Object.values(rehearsal.world.nodes).flatMap(({ bridges }) =>
      Object.values(bridges ?? {}).map(({ dhcp }) => dhcp),
    );
    expect(pools.length).toBeGreaterThan(1);
    expect(new Set(pools.map((pool) => pool?.first)).size).toBe(pools.length);
    expect(pools.every((pool) => pool?.first.endsWith('.0.10') && pool.last.endsWith('.255.250'))).toBe(true);
    // The cluster, two nodes, and one template to clone.
    expect(reads.sent.length).toBeLessThanOrEqual(12 + 2 * 6 + 1);
    expect(new Set(reads.sent).size).toBe(reads.sent.length);
    expect(failuresOf(await scene.apply(TWO_VMS))).toEqual([]);
    expect(decisions(rehearsal.requests)).toEqual(decisions(scene.requests.map(lineOf)));
    const memory = rehearsal.peaks.find(({ node }) => node === 'pve1')?.memory;
    expect((memory?.peakBytes ?? 0) - (memory?.beforeBytes ?? 0)).toBe(2 * 4 * 1024 ** 3);
    expect(rehearsal.order.map(({ what, address }) => `${what} ${address}`)).toEqual(['start vm.db', 'start vm.web']);
  });

  test('predicts runs within 10 % once it has learned from earlier ones', async () => {
    const scene = new Scene();
    const ratio = async (text: string) => {
      await scene.clock.advance(60_000);
      const { rehearsal } = await rehearseScene(scene, text);
      expect(rehearsal.problems).toEqual([]);
      expect(rehearsal.planDifferences).toEqual([]);
      expect(failuresOf(await scene.apply(text))).toEqual([]);
      return { rehearsal, ratio: rehearsal.tookMs / ((await lastRun(scene)).durationMs ?? 0) };
    };
    expect((await ratio(TWO_VMS)).rehearsal.durations.join()).toMatch(/a default/);
    await ratio(MORE_MEMORY);
    expect(failuresOf(await scene.destroy(MORE_MEMORY))).toEqual([]);
    const again = await ratio(TWO_VMS);
    expect(again.rehearsal.durations.join()).toMatch(/Copies on local-lvm: \d+ MB\/s, from 2 recorded clones/);
    expect(again.ratio).toBeGreaterThan(0.9);
    expect(again.ratio).toBeLessThan(1.1);
    const update = await ratio(MORE_MEMORY);
    expect(update.ratio).toBeGreaterThan(0.9);
    expect(update.ratio).toBeLessThan(1.1);
    const { fastestMs, tookMs, slowestMs } = update.rehearsal;
    expect(fastestMs <= tookMs && tookMs <= slowestMs).toBe(true);
  });

  test('has the rights of the token, and names the line for which one is missing', async () => {
    const scene = new Scene();
    const { rehearsal } = await rehearseScene(scene, TWO_VMS, { credentials: CI });
    expect(rehearsal.problems).toEqual([]);
    const limited = {
      ...LAB_WORLD,
      roles: { Deploy: (LAB_WORLD.roles?.Deploy ?? []).filter((each) => each !== 'VM.Clone') },
    };
    const poor = new Scene({ world: ({ now }) => buildWorld(limited, { now }) });
    const refused = await rehearseScene(poor, TWO_VMS, { credentials: CI });
    expect(refused.rehearsal.ok).toBe(false);
    expect(refused.rehearsal.problems.map(({ code, where }) => [code, where?.line])).toContainEqual([
      'PRIVILEGE_MISSING',
      expect.any(Number),
    ]);
  });

  test('keeps a lock that is held now, and says so', async () => {
    const scene = new Scene();
    expect(failuresOf(await scene.apply(TWO_VMS))).toEqual([]);
    const vm = [...scene.world.vms.values()].find(({ config }) => config.current.get('name') === 'web');
    if (!vm) throw new Error('there is no VM web');
    const draft = draftOf(vm.config);
    draft.current.set('lock', 'backup');
    saveConfig(vm, draft);
    const { rehearsal } = await rehearseScene(scene, MORE_MEMORY);
    expect(rehearsal.assumptions.join()).toContain(`VM ${vm.vmid} stays locked (backup)`);
    expect(rehearsal.ok).toBe(false);
    expect(rehearsal.problems.map(({ where }) => where?.address)).toEqual(['vm.web']);
    expect(rehearsal.problems[0]?.where?.line).toBeGreaterThan(0);
  });

  test('copies VMs that have no name, or empty tags', async () => {
    const nameless = {
      ...LAB_WORLD,
      vms: { ...LAB_WORLD.vms, 777: { node: 'pve1', config: { memory: 256, tags: ' ' } } },
    };
    const scene = new Scene({ world: ({ now }) => buildWorld(nameless, { now }) });
    const { rehearsal } = await rehearseScene(scene, TWO_VMS);
    expect(rehearsal.problems).toEqual([]);
    expect(rehearsal.world.vms?.[777]?.config).not.toHaveProperty('name');
    expect(rehearsal.run.resources.map(({ status }) => status)).toEqual(['done', 'done']);
  });

  test('is resumed wherever it is interrupted, and survives storms', async () => {
    const scene = new Scene();
    const { rehearsal } = await rehearseScene(
      scene,
      TWO_VMS.replace(/ {2}db:[\s\S]*web:/, '  web:').replace('after: [db]', ''),
    );
    const whole = await interruptEverywhere(rehearsal.stage, { at: 7 });
    expect(whole).toEqual({ points: 1, killed: 1, resumed: 1, failures: [] });
    const storms = await weather(rehearsal.stage, [1]);
    expect(storms.failures).toEqual([]);
  });

  test('keeps a copy without secrets that the simulator serves again', async () => {
    const scene = new Scene();
    expect(failuresOf(await scene.apply(TWO_VMS))).toEqual([]);
    const { rehearsal } = await rehearseScene(scene, MORE_MEMORY);
    for (const anonymize of [false, true]) {
      const text = JSON.stringify(savedWorld(rehearsal.world, { anonymize }));
      for (const secret of [GUEST_PASSWORD, TOKEN_SECRET, 'cipassword', 'sshkeys']) expect(text).not.toContain(secret);
      const world = buildWorld(JSON.parse(text), { now: 0 });
      expect([...world.vms.keys()].toSorted()).toEqual([...scene.world.vms.keys()].toSorted());
      const names = ['pve1', 'local-lvm', 'deploy@pve', 'ubuntu-24.04', '"lab"'];
      expect(names.filter((name) => text.includes(name))).toEqual(anonymize ? [] : expect.arrayContaining(['pve1']));
    }
  });

  test('names nothing in an anonymized copy that its owner chose', async () => {
    const text = JSON.stringify(savedWorld(ACME_WORLD, { anonymize: true }));
    expect(text.match(/"[^"]*(?:acme|acae|10\.255\.3|10\.9\.8|11111111|99999999)[^"]*"/gi)).toBeNull();
    const world = buildWorld(JSON.parse(text), { now: 0 });
    // What refers to each other still does.
    const config = Object.fromEntries(world.vms.get(300)?.config.current ?? []);
    const [net = ''] = [...(world.nodes.get('node1')?.bridges.keys() ?? [])];
    expect(config.net0).toContain(`bridge=${net}`);
    expect(config.ide0).toBe('local:iso/file1.iso,media=cdrom');
    expect(config.ipconfig0).toMatch(/^ip=10\.254\.\d+\.\d+\/24,gw=10\.254\.\d+\.\d+,ip6=fd00::\w+\/64,gw6=fd00::\w+$/);
    expect([...world.storages.values()].flatMap(({ id }) => id)).toEqual(['local', 'storage1']);
  });
});

const ACME_WORLD: WorldFile = {
  cluster: 'acme-cluster',
  nodes: { acme1: { memory: '64G', bridges: { acmelan: { cidr: '10.9.8.1/24' } } }, acme2: { memory: '64G' } },
  storages: {
    local: { type: 'dir', content: ['iso'], volumes: [{ name: 'iso/acme-rescue.iso', size: '1G' }] },
    acmetank: { type: 'zfspool', content: ['images'] },
  },
  pools: { acmepool: { comment: 'acme', vms: [300] } },
  vms: {
    300: {
      node: 'acme1',
      config: {
        name: 'acme-db',
        description: 'acme token',
        tags: 'acme-prod',
        scsi0: 'acmetank:vm-300-disk-0,size=8G,serial=acme7',
        ide0: 'local:iso/acme-rescue.iso,media=cdrom',
        net0: 'virtio=BC:24:11:AA:BB:CD,bridge=acmelan',
        ipconfig0: 'ip=10.255.3.4/24,gw=10.255.3.1,ip6=fd42:acae::5/64,gw6=fd42:acae::1',
        searchdomain: 'corp.acme.example',
        nameserver: '10.9.8.7 fd42:acae::53',
        smbios1: 'uuid=11111111-2222-4333-8444-555555555555,serial=acme',
        vmgenid: '99999999-2222-4333-8444-555555555555',
      },
    },
  },
  users: {
    'bob@acme': { tokens: { 'acme-ci': { secret: '00000000-0000-4000-8000-000000000009', privsep: true } } },
  },
  acl: [
    { path: '/sdn/zones/localnetwork/acmelan', role: 'PVESDNUser', token: 'bob@acme!acme-ci' },
    { path: '/storage/acmetank', role: 'PVEDatastoreUser', user: 'bob@acme' },
  ],
  ha: {
    resources: { 'vm:300': { state: 'started', group: 'acme-group', comment: 'acme' } },
    groups: { 'acme-group': { nodes: 'acme1:2,acme2', comment: 'acme' } },
    rules: { 'acme-rule': { type: 'node-affinity', resources: ['vm:300'], nodes: ['acme1:2'], comment: 'acme' } },
  },
  mappings: { dir: { acmedir: { map: ['node=acme1,path=/srv/acme'] } } },
};
