import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { printOwnership } from '../../src/kinds/vm/ownership.ts';
import { ownerName } from '../../src/provider/adapter/engine-run.ts';
import { type CtyObject, isObject, UNKNOWN } from '../../src/provider/cty/value.ts';
import { createProvider } from '../../src/provider/index.ts';
import {
  buildWorld,
  createSimulator,
  defaultWorld,
  seededRandom,
  serveSimulator,
  systemClock,
} from '../../src/simulator/index.ts';
import { DEFAULT_WORLD } from '../../src/simulator/world/default-world.ts';
import { LAB_WORLD, labWorld } from '../simulation/engine/support/lab-world.ts';
import { ADMIN, configure, NO_RIGHTS, ProviderBench, readData, told, type Written } from './support/provider-bench.ts';

async function read(type: string, written: Written = {}, { bench = new ProviderBench(labWorld), token = ADMIN } = {}) {
  return bench.run(async () => readData(await bench.process(token), type, written));
}

const listOf = (state: CtyObject | null, name: string): readonly CtyObject[] => {
  const list = state?.[name];
  if (!Array.isArray(list)) throw new Error(`${name} is not a list`);
  return list.filter(isObject);
};
const vmids = (state: CtyObject | null, name: string) => listOf(state, name).map(({ vmid }) => vmid);

const placesOf = (state: CtyObject | null) =>
  listOf(state, 'storages').map(({ node, name }) => `${String(node)}/${String(name)}`);

const emptyWorld = ({ now }: { now: number }) =>
  buildWorld({ ...DEFAULT_WORLD, storages: {}, vms: {} }, { now, file: 'empty' });

describe('proxwright_nodes', () => {
  it('lists the nodes by name', async () => {
    const { state, told: said } = await read('proxwright_nodes');
    expect(said).toEqual([]);
    expect(state).toMatchObject({
      names: ['pve1', 'pve2'],
      nodes: [
        { name: 'pve1', online: true, cpus: 16, memory_bytes: 64 * 1024 ** 3 },
        { name: 'pve2', online: true, cpus: 16 },
      ],
    });
  });

  it('can leave out those that are away', async () => {
    const bench = new ProviderBench(labWorld);
    const away = bench.world.nodes.get('pve2');
    if (away) away.online = false;
    expect((await read('proxwright_nodes', { online: true }, { bench })).state).toMatchObject({ names: ['pve1'] });
    expect((await read('proxwright_nodes', { online: false }, { bench })).state).toMatchObject({ names: ['pve2'] });
  });

  it('names them also to a token without rights, but tells no numbers', async () => {
    const { state } = await read('proxwright_nodes', {}, { token: NO_RIGHTS });
    expect(state).toMatchObject({ names: ['pve1', 'pve2'] });
    expect(listOf(state, 'nodes').map(({ cpus, memory_bytes }) => [cpus, memory_bytes])).toEqual([
      [null, null],
      [null, null],
    ]);
  });
});

describe('proxwright_storages', () => {
  it('lists those of all nodes, with what they can hold', async () => {
    const { state, told: said } = await read('proxwright_storages');
    expect(said).toEqual([]);
    expect(placesOf(state)).toEqual([
      'pve1/local',
      'pve1/local-lvm',
      'pve1/nfs',
      'pve2/local',
      'pve2/local-lvm',
      'pve2/nfs',
    ]);
    expect(listOf(state, 'storages')[1]).toMatchObject({
      type: 'lvmthin',
      active: true,
      enabled: true,
      shared: false,
      content: ['images', 'rootdir'],
      formats: ['raw'],
      total_bytes: 816 * 1024 ** 3,
    });
  });

  it('filters by node and content', async () => {
    const { state } = await read('proxwright_storages', { node: 'pve2', content: 'images' });
    expect(placesOf(state)).toEqual(['pve2/local-lvm', 'pve2/nfs']);
    expect((await read('proxwright_storages', { content: 'nothing' })).state).toMatchObject({ storages: [] });
  });

  it('points at a node that is not there or away', async () => {
    const absent = await read('proxwright_storages', { node: 'pve3' });
    expect(absent.told).toEqual(['error node: The cluster has no node "pve3".']);
    expect(absent.diagnostics[0]?.detail).toContain('Did you mean "pve1"?');
    const bench = new ProviderBench(labWorld);
    const away = bench.world.nodes.get('pve2');
    if (away) away.online = false;
    expect((await read('proxwright_storages', { node: 'pve2' }, { bench })).told).toEqual([
      'error node: Node "pve2" is offline, so its storages cannot be read.',
    ]);
  });

  it('warns where the token sees none', async () => {
    const { state, told: said } = await read('proxwright_storages', {}, { token: NO_RIGHTS });
    expect(state).toMatchObject({ storages: [] });
    expect(said).toEqual([expect.stringContaining('warning -: The token cannot see any storage')]);
  });
});

describe('proxwright_template', () => {
  it('is found by its id', async () => {
    const { state, told: said } = await read('proxwright_template', { vmid: 9010 });
    expect(said).toEqual([]);
    expect(state).toMatchObject({
      vmid: 9010,
      name: 'ubuntu-24.04',
      node: 'pve2',
      tags: ['template', 'ubuntu'],
      uuid: '5e0c4a77-7886-477f-ad9d-000000009010',
      disks: { scsi0: { kind: 'disk', storage: 'local-lvm', size: '3584MiB' }, ide2: { kind: 'cloud-init' } },
      nics: { net0: { model: 'virtio', bridge: 'vmbr0' } },
      macs: { net0: 'BC:24:11:00:90:10' },
    });
  });

  it('is found by its name on a node', async () => {
    const { state } = await read('proxwright_template', { name: 'ubuntu-24.04', node: 'pve2' });
    expect(state).toMatchObject({ vmid: 9010, node: 'pve2' });
  });

  it('is refused with the message of the engine if two templates have the name', async () => {
    const { state, told: said, diagnostics } = await read('proxwright_template', { name: 'ubuntu-24.04' });
    expect(state).toBeNull();
    expect(said).toEqual(['error name: "ubuntu-24.04" names several templates: 9000 on pve1, 9010 on pve2.']);
    expect(diagnostics[0]?.detail).toContain('vmid = 9000; or name its node: node = "pve1"');
  });

  it.each<[Written, string]>([
    [
      { name: 'ubuntu-24.4' },
      'error name: No visible VM is called "ubuntu-24.4". Templates the token can see: ubuntu-24.04, talos-v1.12.4-base.',
    ],
    [{ vmid: 4711 }, 'error vmid: No visible VM is called "4711".'],
    [{ vmid: 150 }, 'error vmid: "150" is VM 150 on pve1, but it is not a template.'],
    [{ vmid: 9000, node: 'pve2' }, 'error node: VM 9000 is not on pve2; it is 9000 on pve1.'],
    [{ vmid: 9000, node: 'pve9' }, 'error node: The cluster has no node "pve9".'],
    [{}, 'error -: Either "name" or "vmid" is required.'],
    [{ name: 'x', vmid: 9000 }, 'error vmid: "name" and "vmid" cannot be used together.'],
    [{ vmid: 7 }, 'error vmid: "vmid" must be at least 100; it is 7.'],
  ])('refuses %j at its attribute', async (written, complaint) => {
    const { state, told: said } = await read('proxwright_template', written);
    expect(state).toBeNull();
    expect(said).toEqual([expect.stringContaining(complaint)]);
  });

  it('tells a token that sees nothing from a cluster that has nothing', async () => {
    const blind = await read('proxwright_template', { name: 'ubuntu-24.04' }, { token: NO_RIGHTS });
    expect(blind.told).toEqual([
      'error name: The token sees no VM at all, so Proxwright cannot tell whether "ubuntu-24.04" exists: the token lacks VM.Audit everywhere.',
    ]);
    const none = await read('proxwright_template', { name: 'ubuntu-24.04' }, { bench: new ProviderBench(emptyWorld) });
    expect(none.told).toEqual(['error name: No visible VM is called "ubuntu-24.04". The token can see no template.']);
  });

  it('is not judged by what is unknown', async () => {
    const bench = new ProviderBench();
    await bench.run(async () => {
      const source = await (await bench.process()).dataSources.get('proxwright_template')?.();
      expect(await source?.validate({ name: UNKNOWN, vmid: null, node: UNKNOWN })).toEqual([]);
    });
  });
});

describe('proxwright_templates', () => {
  it.each<[Written, readonly number[]]>([
    [{}, [9000, 9001, 9010, 9011]],
    [{ node: 'pve2' }, [9010, 9011]],
    [{ tag: 'talos' }, [9001, 9011]],
    [{ name_regex: '^ubuntu-' }, [9000, 9010]],
    [{ name_regex: '^ubuntu-', node: 'pve1', tag: 'ubuntu' }, [9000]],
    [{ tag: 'nothing' }, []],
  ])('finds with %j the templates %j', async (written, expected) => {
    const { state, told: said } = await read('proxwright_templates', written);
    expect(said).toEqual([]);
    expect(vmids(state, 'templates')).toEqual(expected);
  });

  it('points at an expression that is none', async () => {
    const { told: said } = await read('proxwright_templates', { name_regex: '(' });
    expect(said).toEqual(['error name_regex: "name_regex" is "(": it is not a regular expression.']);
  });

  it('warns a token that sees nothing, and does not warn about an empty cluster', async () => {
    const blind = await read('proxwright_templates', {}, { token: NO_RIGHTS });
    expect(blind.state).toMatchObject({ templates: [] });
    expect(blind.told).toEqual([expect.stringContaining('warning -: The token cannot see any VM')]);
    const none = await read('proxwright_templates', {}, { bench: new ProviderBench(emptyWorld) });
    expect(none).toMatchObject({ state: { templates: [] }, told: [] });
  });
});

const twins = ({ now }: { now: number }) => {
  const [, other] = [LAB_WORLD.vms?.[150], LAB_WORLD.vms?.[403]];
  if (!other) throw new Error('the lab has lost a VM');
  const vms = { ...LAB_WORLD.vms, 403: { ...other, config: { ...other.config, name: 'others-150' } } };
  return buildWorld({ ...LAB_WORLD, vms }, { now, file: 'twins' });
};

describe('proxwright_vm', () => {
  it.each<Written>([{ vmid: 150 }, { name: 'others-150' }, { name: 'others-150', node: 'pve1' }])(
    'is found by %j',
    async (written) => {
      const { state, told: said } = await read('proxwright_vm', written);
      expect(said).toEqual([]);
      expect(state).toMatchObject({
        vmid: 150,
        node: 'pve1',
        name: 'others-150',
        status: 'running',
        lock: null,
        tags: ['others'],
        uuid: '77777777-0000-4000-8000-000000000150',
        macs: { net0: 'BC:24:11:77:00:50' },
        disks: { scsi0: { storage: 'local-lvm', size: '1GiB' } },
        nics: { net0: { bridge: 'vmbr0', vlan: null } },
      });
    },
  );

  it.each<[Written, string]>([
    [{ vmid: 4711 }, 'error vmid: The token cannot see VM 4711.'],
    [{ name: 'others-15' }, 'error name: The token cannot see a VM called "others-15".'],
    [{ vmid: 9000 }, 'error vmid: VM 9000 is a template (9000 on pve1).'],
    [{ vmid: 150, node: 'pve2' }, 'error node: VM 150 is not on pve2; it is 150 on pve1.'],
  ])('refuses %j at its attribute', async (written, complaint) => {
    const { state, told: said } = await read('proxwright_vm', written);
    expect(state).toBeNull();
    expect(said).toEqual([complaint]);
  });

  it('is refused where the name means several', async () => {
    const { told: said } = await read('proxwright_vm', { name: 'others-150' }, { bench: new ProviderBench(twins) });
    expect(said).toEqual(['error name: Several VMs are called "others-150": 150 on pve1, 403 on pve1.']);
  });

  it('is not said to be absent by a token that sees nothing', async () => {
    const { told: said } = await read('proxwright_vm', { vmid: 150 }, { token: NO_RIGHTS });
    expect(said).toEqual([
      'error vmid: The token sees no VM at all, so Proxwright cannot tell whether VM 150 exists: the token lacks VM.Audit everywhere.',
    ]);
  });

  it('shows notes without our own line, and asks no guest', async () => {
    const bench = new ProviderBench(labWorld);
    const { state } = await read('proxwright_vm', { vmid: 120 }, { bench });
    expect(state).toMatchObject({ description: 'A copy.' });
    expect(bench.requests.filter((line) => line.includes('agent'))).toEqual([]);
  });
});

const leftBehind = ({ now }: { now: number }) => {
  const mark = (vmid: number, stack: string) =>
    printOwnership({ stack, address: 'vm.web-1', vmid, nonce: 'abcd', incomplete: true });
  const marked = (vmid: number, description: string) => {
    const vm = LAB_WORLD.vms?.[vmid];
    if (!vm) throw new Error('the lab has lost a VM');
    return { ...vm, config: { ...vm.config, description } };
  };
  const vms = {
    ...LAB_WORLD.vms,
    120: marked(120, mark(120, ownerName({ principal: 'root@pam!admin' }))),
    403: marked(403, mark(403, ownerName({ principal: 'deploy@pve!ci' }))),
  };
  return buildWorld({ ...LAB_WORLD, vms }, { now, file: 'left' });
};

describe('proxwright_vms', () => {
  it.each<[Written, readonly number[]]>([
    [{}, [120, 150, 403]],
    [{ status: 'running' }, [150]],
    [{ status: 'stopped', name_regex: '3$' }, [403]],
    [{ tags: ['others'] }, [120, 150, 403]],
    [{ tags: ['others', 'more'] }, []],
    [{ node: 'pve2' }, []],
  ])('finds with %j the VMs %j', async (written, expected) => {
    const { state, told: said } = await read('proxwright_vms', written);
    expect(said).toEqual([]);
    expect(vmids(state, 'vms')).toEqual(expected);
  });

  it('lists what an interrupted creation of this token left behind, with what to do about it', async () => {
    const { state } = await read('proxwright_vms', { incomplete: true }, { bench: new ProviderBench(leftBehind) });
    expect(vmids(state, 'vms')).toEqual([120]);
    expect(listOf(state, 'vms')[0]?.what_to_do).toBe(
      'To complete it, apply a proxwright_vm with name = "web-1" that is not in the state: the creation resumes with this VM. ' +
        'If the configuration no longer has such a resource, remove the VM by hand, on pve1: qm unlock 120 && qm destroy 120 --purge 1 --destroy-unreferenced-disks 1',
    );
    const without = await read('proxwright_vms', { incomplete: true });
    expect(without).toMatchObject({ state: { vms: [] }, told: [] });
  });

  it('tells of a node that is away that something is there, and no more', async () => {
    const bench = new ProviderBench(labWorld);
    const away = bench.world.nodes.get('pve2');
    if (away) away.online = false;
    const { state } = await read('proxwright_vms', { node: 'pve2' }, { bench });
    expect(listOf(state, 'vms').map(({ vmid, name, status }) => [vmid, name, status])).toEqual([
      [9010, null, 'unknown'],
      [9011, null, 'unknown'],
    ]);
    const one = await read('proxwright_vm', { vmid: 9010 }, { bench });
    expect(one.state).toBeNull();
    expect(one.diagnostics[0]?.summary).toBe('Request not executed');
  });

  it('warns a token that sees nothing', async () => {
    const { state, told: said } = await read('proxwright_vms', {}, { token: NO_RIGHTS });
    expect(state).toMatchObject({ vms: [] });
    expect(said).toEqual([expect.stringContaining('warning -: The token cannot see any VM')]);
  });
});

describe('proxwright_permissions', () => {
  it('tells what the token may do', async () => {
    const { state } = await read(
      'proxwright_permissions',
      {},
      { token: 'deploy@pve!ci=00000000-0000-4000-8000-000000000003' },
    );
    expect(state).toMatchObject({ principal: 'deploy@pve!ci', sees_nothing: false });
    const all = state?.permissions;
    expect(isObject(all) ? all['/vms'] : undefined).toEqual(expect.arrayContaining(['VM.Audit', 'VM.Clone']));
  });

  it('tells what is inherited on one path', async () => {
    const { state } = await read('proxwright_permissions', { path: '/vms/9000' });
    const all = state?.permissions;
    expect(isObject(all) ? Object.keys(all) : []).toEqual(['/vms/9000']);
  });

  it('says of a token without rights that it sees nothing', async () => {
    const bare = await read('proxwright_permissions', {}, { token: NO_RIGHTS });
    expect(bare).toMatchObject({
      state: { principal: 'guest@pve!none', permissions: {}, sees_nothing: true },
      told: [],
    });
    const onPath = await read('proxwright_permissions', { path: '/vms' }, { token: NO_RIGHTS });
    expect(onPath.state).toMatchObject({ permissions: { '/vms': [] }, sees_nothing: true });
  });

  it('points at a path that is none', async () => {
    const { told: said } = await read('proxwright_permissions', { path: 'vms' });
    expect(said).toEqual(['error path: "path" is "vms": a path begins with /.']);
  });
});

describe('several data sources of one process', () => {
  it('share one inventory', async () => {
    const bench = new ProviderBench(labWorld);
    await bench.run(async () => {
      const provider = await bench.process();
      const questions: [string, Written][] = [
        ['proxwright_nodes', {}],
        ['proxwright_storages', {}],
        ['proxwright_storages', { node: 'pve1', content: 'images' }],
        ['proxwright_templates', {}],
        ['proxwright_templates', { tag: 'talos' }],
        ['proxwright_template', { vmid: 9000 }],
        ['proxwright_template', { name: 'ubuntu-24.04', node: 'pve1' }],
        ['proxwright_vms', {}],
        ['proxwright_vms', { incomplete: true }],
        ['proxwright_vm', { vmid: 150 }],
        ['proxwright_vm', { name: 'others-150' }],
      ];
      const answers = await Promise.all(questions.map(([type, written]) => readData(provider, type, written)));
      expect(answers.flatMap(({ told: said }) => said)).toEqual([]);
    });
    expect([...bench.requests].sort()).toEqual([
      'GET /nodes',
      'GET /nodes/pve1/qemu',
      'GET /nodes/pve1/qemu/120/pending',
      'GET /nodes/pve1/qemu/150/pending',
      'GET /nodes/pve1/qemu/403/pending',
      'GET /nodes/pve1/qemu/9000/pending',
      'GET /nodes/pve1/storage?format=1',
      'GET /nodes/pve2/qemu',
      'GET /nodes/pve2/storage?format=1',
      'GET /version',
    ]);
  });

  it('end with the same words when the login is refused, which is tried once', async () => {
    const bench = new ProviderBench();
    await bench.run(async () => {
      const provider = await bench.process('root@pam!admin=00000000-0000-4000-8000-00000000000f');
      const types = ['proxwright_nodes', 'proxwright_vms', 'proxwright_permissions'];
      const answers = await Promise.all(types.map((type) => readData(provider, type)));
      for (const { told: said } of answers)
        expect(said).toEqual([expect.stringContaining('error -: https://pve1.test:8006 does not accept')]);
    });
    expect(bench.requests).toEqual(['GET /version']);
  });

  it('end soon when the host stops', async () => {
    const bench = new ProviderBench();
    await bench.run(async () => {
      const provider = await bench.process();
      provider.stop();
      expect((await readData(provider, 'proxwright_nodes')).diagnostics).toMatchObject([{ summary: 'Canceled' }]);
    });
  });

  it('end soon when the host cancels the call, and the others continue', async () => {
    const bench = new ProviderBench();
    await bench.run(async () => {
      const provider = await bench.process();
      const call = new AbortController();
      const canceled = readData(provider, 'proxwright_nodes', {}, call.signal);
      const other = readData(provider, 'proxwright_nodes');
      call.abort();
      expect((await canceled).diagnostics).toMatchObject([{ summary: 'Canceled' }]);
      expect((await other).diagnostics).toEqual([]);
    });
  });

  it('need a configuration that is known', async () => {
    const bench = new ProviderBench();
    await bench.run(async () => {
      const provider = await bench.process();
      expect(await configure(provider, { endpoint: UNKNOWN })).toEqual([]);
      expect((await readData(provider, 'proxwright_nodes')).told).toEqual([
        'error -: The configuration of the provider is not known yet, so no server can be asked.',
      ]);
    });
  });
});

describe('every data source', () => {
  it('is described, down to its last attribute', async () => {
    const provider = await new ProviderBench().process();
    const sources = [...provider.dataSources].map(async ([type, load]) => ({ type, ...(await load()) }));
    const gaps = (await Promise.all(sources)).flatMap(({ type, schema }) => [
      ...(schema.description === '' ? [type] : []),
      ...Object.entries(schema.attributes).flatMap(([name, { description, type: inner }]) => [
        ...(description === '' ? [`${type}.${name}`] : []),
        ...(inner.kind === 'nested'
          ? Object.entries(inner.attributes).flatMap(([below, each]) =>
              each.description === '' ? [`${type}.${name}.${below}`] : [],
            )
          : []),
      ]),
    ]);
    expect(gaps).toEqual([]);
    expect([...provider.dataSources.keys()]).toHaveLength(8);
  });
});

describe('the certificate of the server', () => {
  it('is verified: refused with the line to paste, and believed by fingerprint or by CA', async () => {
    const world = defaultWorld({ now: systemClock.now() });
    const simulator = createSimulator({ world, clock: systemClock, random: seededRandom(1) });
    const directory = await mkdtemp(join(tmpdir(), 'proxwright-ca-'));
    const server = await serveSimulator(simulator, { host: '127.0.0.1', port: 0 });
    const answer = async (written: Written, environment: Record<string, string> = {}) => {
      const provider = await createProvider({ log: { log: () => {} }, environment, directory });
      const problems = await configure(provider, { endpoint: server.endpoint, token: ADMIN, ...written });
      const { told: said, diagnostics } = await readData(provider, 'proxwright_nodes');
      return { warned: problems.map(told), told: said, detail: diagnostics[0]?.detail ?? '' };
    };
    try {
      const refused = await answer({}, { PROXMOX_VE_INSECURE: '1' });
      expect(refused.warned).toEqual([expect.stringContaining('PROXMOX_VE_INSECURE has no effect')]);
      expect(refused.told).toEqual([expect.stringContaining(`error -: ${server.endpoint} presented a certificate`)]);
      expect(refused.detail).toContain(`fingerprint = "${server.fingerprint}"`);
      const wrong = await answer({ fingerprint: `${'AB:'.repeat(31)}AB` });
      // On a line of its own, which the host does not break.
      expect(wrong.detail).toContain(`\n  fingerprint = "${server.fingerprint}"\n`);
      expect((await answer({ fingerprint: server.fingerprint })).told).toEqual([]);
      expect((await answer({ ca: server.certificate })).told).toEqual([]);
      expect((await answer({}, { PROXMOX_VE_FINGERPRINT: server.fingerprint })).told).toEqual([]);
      await writeFile(join(directory, 'ca.pem'), server.certificate);
      expect((await answer({ ca: 'ca.pem' })).told).toEqual([]);
      expect((await answer({}, { PROXMOX_VE_CA_FILE: 'ca.pem' })).told).toEqual([]);
    } finally {
      await server.close();
      await rm(directory, { recursive: true, force: true });
    }
  });
});
