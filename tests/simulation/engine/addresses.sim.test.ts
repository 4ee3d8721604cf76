/** Addresses that other VMs have: a plan that gives one of them to a VM is refused, no matter which client made the other VM and how it got the address. */
import { describe, expect, it } from 'vitest';
import { buildWorld, type WorldFile } from '../../../src/simulator/index.ts';
import { failuresOf } from './support/invariants.ts';
import { LAB_WORLD } from './support/lab-world.ts';
import { type RunEnd, Scene } from './support/scene.ts';

const stack = (address: string, more = '', name = 'lab') => `version: 1
stack: ${name}
vms:
  web:
    name: web-${name}
    node: pve1
    guest: cloud-init
    clone: { template: ubuntu-24.04, storage: local-lvm }
    nics: { net0: { bridge: vmbr0, ipv4: { address: ${address}/24, gateway: 10.0.0.1 } } }
${more}`;

function sceneWith(config: Readonly<Record<string, string>>): Scene {
  const base = LAB_WORLD.vms?.[403];
  if (!base) throw new Error('the world has no VM 403');
  const vms: WorldFile['vms'] = { ...LAB_WORLD.vms, 403: { ...base, config: { ...base.config, ...config } } };
  return new Scene({ world: ({ now }) => buildWorld({ ...LAB_WORLD, vms }, { now, file: 'taken' }) });
}

const details = (end: RunEnd) => (end.kind === 'refused' ? end.problems.map(({ detail }) => detail) : [end.kind]);
const warnings = (end: RunEnd) => (end.kind === 'ended' ? end.plan.warnings.map(({ detail }) => detail) : [end.kind]);

describe('a plan that gives a VM an address', () => {
  it('is refused where the ipconfig of another VM has it, naming both VMs and the line', async () => {
    const scene = sceneWith({ ipconfig0: 'ip=10.0.0.9/24' });
    const end = await scene.apply(stack('10.0.0.9'));
    expect(end).toMatchObject({ kind: 'refused', problems: [{ code: 'ADDRESS_TAKEN', where: { line: 9 } }] });
    expect(details(end)).toEqual([
      '10.0.0.9 of vm.web is already the address of VM 403 (others-403) on pve1, according to its configuration.',
    ]);
    expect(scene.writes()).toEqual([]);
  });

  it('finds the same IPv6 address in another spelling', async () => {
    const scene = sceneWith({ ipconfig0: 'ip6=fd00:0:0::9/64' });
    const text = stack('10.0.0.9').replace(
      'ipv4: { address: 10.0.0.9/24, gateway: 10.0.0.1 }',
      'ipv6: { address: "FD00::0009/64" }',
    );
    expect(details(await scene.plan(text))).toEqual([expect.stringContaining('fd00::9 of vm.web is already')]);
  });

  it('warns only, where the other VM is on another network', async () => {
    const scene = sceneWith({ ipconfig0: 'ip=10.0.0.9/24', net0: 'virtio=BC:24:11:77:00:03,bridge=vmbr0,tag=30' });
    const end = await scene.plan(stack('10.0.0.9'));
    expect(warnings(end)).toEqual([expect.stringContaining('different networks (vmbr0 and vmbr0, VLAN 30)')]);
  });

  it('names a guest whose addresses may be on an ISO of another stack, also beside its ipconfig', async () => {
    for (const ipconfig0 of [undefined, 'ip=10.0.0.8/24']) {
      const scene = sceneWith({
        ide2: 'local:iso/proxwright-other-0123.iso,media=cdrom',
        ...(ipconfig0 !== undefined && { ipconfig0 }),
      });
      expect(warnings(await scene.plan(stack('10.0.0.9')))).toEqual([
        expect.stringMatching(/not compared with all guests: 403 \(others-403\) has its addresses in /),
      ]);
    }
  });

  it('says how many VMs it was compared with, and which say nothing', async () => {
    const end = await sceneWith({ ipconfig0: 'ip=10.0.0.8/24' }).plan(stack('10.0.0.9'));
    expect(end).toMatchObject({
      plan: {
        checked: [
          expect.stringMatching(
            /^Addresses were compared with \d+ other VMs\..* say nothing about addresses .*120 \(others-120\)/,
          ),
        ],
      },
    });
  });

  it('reads no other VM where no address is given or changed', async () => {
    const scene = sceneWith({ ipconfig0: 'ip=10.0.0.9/24' });
    expect(failuresOf(await scene.apply(stack('10.0.0.7')))).toEqual([]);
    expect(scene.requests.some(({ target }) => target.includes('/qemu/403/pending'))).toBe(true);
    expect(await scene.plan(stack('10.0.0.7', '    cpu: { cores: 2 }\n'))).toMatchObject({
      plan: { changes: [{ kind: 'update' }] },
    });
    expect(scene.requests.some(({ target }) => target.includes('/qemu/403/'))).toBe(false);
  });

  it('is refused when a change of an existing VM would take the address', async () => {
    const scene = sceneWith({ ipconfig0: 'ip=10.0.0.9/24' });
    expect(failuresOf(await scene.apply(stack('10.0.0.7')))).toEqual([]);
    expect(details(await scene.apply(stack('10.0.0.9')))).toEqual([expect.stringContaining('10.0.0.9 of vm.web')]);
  });
});

const SEEDED = '    cloud_init: { storage: local, user_data: { text: "#cloud-config" } }\n';

describe('an address in the custom cloud-init files of a VM', () => {
  it('is found through the guest agent while a VM of another stack runs', async () => {
    const other = new Scene();
    expect(failuresOf(await other.apply(stack('10.0.0.9', SEEDED, 'other')))).toEqual([]);
    const { world, now } = await other.snapshot();
    const scene = new Scene({ from: { world, now, documents: new Map() } });
    expect(details(await scene.plan(stack('10.0.0.9')))).toEqual([
      expect.stringMatching(/\(web-other\) on pve1, according to its guest agent/),
    ]);
  });

  it('is found in the state for a VM that left the file', async () => {
    const scene = new Scene();
    expect(failuresOf(await scene.apply(stack('10.0.0.9', SEEDED)))).toEqual([]);
    const renamed = stack('10.0.0.9').replace('  web:', '  app:').replace('name: web-lab', 'name: app');
    expect(details(await scene.plan(renamed))).toEqual([
      expect.stringMatching(/^10.0.0.9 of vm.app is already the address of vm.web, VM \d+/),
    ]);
  });
});

const STOPPED = `${SEEDED}    power: stopped\n`;
const notesOf = (scene: Scene, name: string) =>
  [...scene.world.vms.values()]
    .find(({ config }) => config.current.get('name') === name)
    ?.config.current.get('description') ?? '';
const spoiled = (scene: Scene, change: (notes: string) => string) => {
  for (const { config } of scene.world.vms.values()) {
    const notes = config.current.get('description');
    if (notes?.includes('stack=other')) (config.current as Map<string, string>).set('description', change(notes));
  }
};
const afterwards = async (other: Scene): Promise<Scene> => {
  const { world, now } = await other.snapshot();
  return new Scene({ from: { world, now, documents: new Map() } });
};

describe('an address in the custom cloud-init files of a stopped VM', () => {
  const madeBy = async (text: string): Promise<Scene> => {
    const other = new Scene();
    expect(failuresOf(await other.apply(text))).toEqual([]);
    return other;
  };

  it('is in the ownership line, so every other stack is refused it, by plan and by apply', async () => {
    const other = await madeBy(stack('10.0.0.9', STOPPED, 'other'));
    expect(notesOf(other, 'web-other')).toMatch(/ ips=net0\/10\.0\.0\.9( |$)/);
    const scene = await afterwards(other);
    const refusal = expect.stringMatching(
      /^10.0.0.9 of vm.web is .* VM \d+ \(web-other\) on pve1, according to the ownership line in its notes/,
    );
    expect(details(await scene.plan(stack('10.0.0.9')))).toEqual([refusal]);
    expect(details(await scene.apply(stack('10.0.0.9')))).toEqual([refusal]);
    const end = await scene.plan(stack('10.0.0.10'));
    expect(warnings(end)).toEqual([]);
  });

  it('of a VM with DHCP alone is no address, and is said to be none', async () => {
    const text = stack('10.0.0.9', STOPPED, 'other').replace(
      'ipv4: { address: 10.0.0.9/24, gateway: 10.0.0.1 }',
      'ipv4: dhcp',
    );
    const other = await madeBy(text);
    expect(notesOf(other, 'web-other')).toContain(' ips=none');
    expect(warnings(await (await afterwards(other)).plan(stack('10.0.0.9')))).toEqual([]);
  });

  it.each([
    ['custom network data', STOPPED.replace('user_data', 'network_data: { text: "version: 2" }, user_data'), undefined],
    ['a copied line', STOPPED, (notes: string) => notes.replace(/uuid=./, 'uuid=0')],
    ['an edited line', STOPPED, (notes: string) => notes.replace('net0/', 'net0:')],
    ['no ownership line', `${STOPPED}    ownership: off\n`, undefined],
  ])('is not known with %s, and the plan says that it was not compared', async (_, more, change) => {
    const other = await madeBy(stack('10.0.0.9', more, 'other'));
    if (change) spoiled(other, change);
    const end = await (await afterwards(other)).plan(stack('10.0.0.9'));
    expect(warnings(end)).toEqual([
      expect.stringMatching(/not compared with all guests: .*web-other.* has its addresses in/),
    ]);
  });

  it('moves with the address of the file, as a change of the file', async () => {
    const scene = await madeBy(stack('10.0.0.9', STOPPED));
    const end = await scene.apply(stack('10.0.0.11', STOPPED));
    const [change] = end.kind === 'ended' ? end.plan.changes : [];
    expect(change?.differences.map(({ path, by }) => [path, by])).toEqual([
      ['ownership', 'file'],
      ['nics.net0.ipv4.address', 'file'],
    ]);
    expect(notesOf(scene, 'web-lab')).toContain(' ips=net0/10.0.0.11');
    expect(await scene.plan(stack('10.0.0.11', STOPPED))).toMatchObject({ plan: { changes: [{ kind: 'none' }] } });
  });

  it('of a VM that an older version made changes no plan, and is written with the next change', async () => {
    const scene = await madeBy(stack('10.0.0.9', STOPPED, 'other'));
    spoiled(scene, (notes) => notes.replace(/ ips=\S+/, ''));
    const old = stack('10.0.0.9', STOPPED, 'other');
    expect(await scene.plan(old)).toMatchObject({ plan: { changes: [{ kind: 'none' }] } });
    const more = stack('10.0.0.9', `${STOPPED}    memory: 1GiB\n`, 'other');
    const end = await scene.apply(more);
    expect(failuresOf(end)).toEqual([]);
    const [change] = end.kind === 'ended' ? end.plan.changes : [];
    expect(change?.differences.map(({ path }) => path)).toEqual(['memory', 'ownership']);
    expect(await scene.plan(more)).toMatchObject({ plan: { changes: [{ kind: 'none' }] } });
    expect(details(await (await afterwards(scene)).plan(stack('10.0.0.9')))).toEqual([
      expect.stringContaining('according to the ownership line'),
    ]);
  });
});
