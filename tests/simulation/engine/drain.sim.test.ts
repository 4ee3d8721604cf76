/** A node is emptied: online where that is possible, through HA where it must be, and refused before anything moves. */
import { beforeAll, describe, expect, it } from 'vitest';
import { formatDiagnostic } from '../../../src/base/diagnostics.ts';
import type { RelocateOptions } from '../../../src/kinds/kind.ts';
import { placesOf, settled, TWO_NODES } from './support/five-nodes.ts';
import { failuresOf } from './support/invariants.ts';
import { type RunEnd, Scene, type Snapshot } from './support/scene.ts';

const OURS = [401, 402, 403, 404, 421, 431, 441];
const drain = (node: string, more: Partial<RelocateOptions> = {}): RelocateOptions => ({
  relocation: { kind: 'drain', node },
  ...more,
});
const REBALANCE: RelocateOptions = { relocation: { kind: 'rebalance' } };

const changesOf = (end: RunEnd) => (end.kind === 'ended' ? end.plan.changes : []);
const textOf = (end: RunEnd) =>
  end.kind === 'refused' ? end.problems.map(formatDiagnostic).join('\n') : failuresOf(end).join('\n');

describe('drain', () => {
  let from: Snapshot;
  beforeAll(async () => {
    from = await settled(TWO_NODES);
  });
  const begin = () => new Scene({ from });
  const ids = (scene: Scene) => OURS.filter((vmid) => scene.world.vms.has(vmid) && vmid !== 403);

  it('moves every VM of the stack off the node and keeps running ones running; the next drain has nothing to do', async () => {
    const scene = begin();
    const before = placesOf(scene, ids(scene));
    expect(before.filter((place) => place.includes('pve1'))).toHaveLength(5);
    const end = await scene.relocate(TWO_NODES, drain('pve1'));
    expect(failuresOf(end)).toEqual([]);
    await scene.clock.advance(60_000);
    const after = placesOf(scene, ids(scene));
    expect(after.filter((place) => place.includes('pve1'))).toEqual([]);
    expect(after.filter((place) => place.endsWith('stopped'))).toEqual([expect.stringMatching(/^spare /)]);
    // The web servers are on nodes of their own.
    expect(new Set(after.filter((place) => place.startsWith('web')).map((place) => place.split(' ')[1])).size).toBe(3);
    expect(scene.tasks('hamigrate')).toEqual(['OK']);
    expect(scene.tasks('qmshutdown')).toEqual([]);
    expect(await scene.relocate(TWO_NODES, drain('pve1'))).toMatchObject({ plan: { steps: [] } });
    expect(scene.writes()).toEqual([]);
  });

  it('says why each node was chosen, how the VM moves, and that the file still names the old one', async () => {
    const end = await begin().relocate(TWO_NODES, drain('pve1'));
    const web = changesOf(end).find(({ name }) => name === 'web-1');
    expect(web?.reason).toBe('pve1 is drained.');
    expect(web?.notes?.[0]).toMatch(/^pve\d: [\d.]+GiB free, /);
    expect(web?.notes?.slice(1, 2)).toEqual(['it moves while it runs']);
    expect(web?.notes?.at(-1)).toMatch(/^the file says node: pve1; an apply leaves the VM on pve\d/);
    expect(changesOf(end).find(({ name }) => name === 'db')?.notes).toContain('the HA manager moves it');
  });

  it('is followed by an empty plan that tells the move, and by a rebalance that undoes it', async () => {
    const scene = begin();
    const home = placesOf(scene, ids(scene));
    expect(failuresOf(await scene.relocate(TWO_NODES, drain('pve1')))).toEqual([]);
    await scene.clock.advance(60_000);
    const plan = await scene.plan(TWO_NODES);
    expect(plan).toMatchObject({ plan: { steps: [] } });
    expect(changesOf(plan).find(({ name }) => name === 'web-1')?.outside).toEqual([
      { path: 'node', applied: 'pve1', actual: expect.stringMatching(/^pve[2-5]$/), by: 'drain' },
    ]);
    const back = await scene.relocate(TWO_NODES, REBALANCE);
    expect(failuresOf(back)).toEqual([]);
    expect(changesOf(back).map(({ reason }) => reason)).toEqual(Array(5).fill('The file says pve1.'));
    await scene.clock.advance(60_000);
    expect(placesOf(scene, ids(scene))).toEqual(home);
    expect(await scene.relocate(TWO_NODES, REBALANCE)).toMatchObject({ plan: { steps: [] } });
    expect(changesOf(await scene.plan(TWO_NODES)).flatMap(({ outside = [] }) => outside)).toEqual([]);
  });

  it('migrates at most as many VMs of a node at once as rollout.limits.clones_per_node', async () => {
    const scene = begin();
    let [most, now] = [0, 0];
    scene.onEvent = (event) => {
      if (!('step' in event) || !event.step?.endsWith('/migrate')) return;
      if (event.event === 'stepStarted') most = Math.max(most, ++now);
      if (event.event === 'stepDone') now--;
    };
    const limited = `${TWO_NODES}rollout: { limits: { clones_per_node: 1 } }\n`;
    expect(failuresOf(await scene.relocate(limited, drain('pve1')))).toEqual([]);
    expect(most).toBe(1);
  });

  it('names the guests of the node that are no VMs of the stack', async () => {
    const end = await begin().relocate(TWO_NODES, drain('pve1'));
    const checked = end.kind === 'ended' ? (end.plan.checked ?? []) : [];
    expect(checked.join()).toMatch(/^\d+ guests of pve1 are not VMs of this stack and stay there: \d+ \(/);
  });

  it('refuses a node that does not exist, and suggests the one that was meant', async () => {
    const end = await begin().relocate(TWO_NODES, drain('pve7'));
    expect(textOf(end)).toContain('The cluster has no node "pve7"; it has pve1, pve2, pve3, pve4, pve5.');
    expect(textOf(end)).toContain('Did you mean');
  });

  it('says for each node why it cannot take a VM, and moves nothing', async () => {
    const scene = begin();
    for (const name of ['pve2', 'pve3']) scene.world.nodes.get(name)?.bridges.delete('vmbr0');
    const node = scene.world.nodes.get('pve4');
    if (node) scene.world.nodes.set('pve4', { ...node, online: false });
    const storage = scene.world.storages.get('local-lvm');
    if (storage)
      scene.world.storages.set('local-lvm', { ...storage, nodes: new Set(['pve1', 'pve2', 'pve3', 'pve4']) });
    const end = await scene.relocate(TWO_NODES, drain('pve1', { only: ['vm.web[1]'] }));
    expect(textOf(end)).toContain('No node can take web-1:');
    expect(textOf(end)).toContain('pve2: It has no bridge "vmbr0" that the token may use.');
    expect(textOf(end)).toContain('pve4: It is offline.');
    expect(textOf(end)).toContain('pve5: Its storage "local-lvm" is disabled.');
    expect(scene.writes()).toEqual([]);
  });

  it('copies local disks to another storage where the user names one', async () => {
    const pinned = TWO_NODES.replace(
      'memory: 2GiB',
      'memory: 2GiB\n    disks: { scsi0: { storage: local-lvm, size: 4GiB } }',
    );
    const withFast = await settled(pinned, (world) => {
      const { volumes, ...lvm } = world.storages?.['local-lvm'] ?? {};
      return {
        ...world,
        storages: { ...world.storages, fast: { ...lvm, options: { vgname: 'fast', thinpool: 'data' } } },
      };
    });
    const scene = new Scene({ from: withFast });
    const end = await scene.relocate(pinned, drain('pve1', { only: ['vm.web[1]'], targetStorage: 'fast' }));
    expect(failuresOf(end)).toEqual([]);
    expect(scene.world.vms.get(401)?.config.current.get('scsi0')).toMatch(/^fast:/);
    expect(changesOf(end)[0]?.notes).toContain(
      'the file says disks.scsi0.storage: local-lvm; write fast there before the next apply',
    );
  });
});

describe('what keeps a VM on its node', () => {
  const one = (more: string) => `
version: 1
stack: lab
vms:
  web:
    name: web
    vmid: 401
    node: pve1
    clone: { template: ubuntu-24.04 }
    ${more}
`;
  const refusal = async (more: string, change: (scene: Scene) => void = () => {}) => {
    const scene = new Scene({ from: await settled(one(more)) });
    change(scene);
    const end = await scene.relocate(one(more), drain('pve1'));
    expect(scene.writes()).toEqual([]);
    return textOf(end);
  };

  it('is an ISO file in local storage, named with its line and a way out', async () => {
    const text = await refusal('disks: { ide0: { iso: "local:iso/debian-13.1.0-amd64-netinst.iso" } }');
    expect(text).toContain('VM 401 on pve1 has local:iso/debian-13.1.0-amd64-netinst.iso in ide0');
    expect(text).toContain('stack.yaml:10');
    expect(text).toContain('disks.ide0.iso: none');
  });

  it('is a PCI device while the VM runs', async () => {
    const text = await refusal('machine: q35\n    pci: { hostpci0: { mapping: gpu } }');
    expect(text).toContain('VM 401 on pve1 uses hostpci0');
    expect(text).toContain('--allow-restart');
  });

  it.each([
    ['usb0', 'host=1-2', 'uses usb0, a device of its node: host=1-2.', 'Use a mapping'],
    ['serial1', '/dev/ttyS0', 'uses serial1, a device of its node: /dev/ttyS0.', 'Remove serial1'],
    ['parallel0', '/dev/parport0', 'uses parallel0, a device of its node', 'Remove parallel0'],
    ['ivshmem', 'size=32', 'shares memory with its node (ivshmem).', 'Remove ivshmem'],
    ['virtiofs0', 'dirid=media', 'uses virtiofs0, and Proxmox does not move a running VM', '--allow-restart'],
    ['amd-sev', 'type=std', 'has its memory encrypted by AMD SEV (amd-sev)', '--allow-restart'],
    ['intel-tdx', 'type=tdx', 'has its memory encrypted by Intel TDX (intel-tdx)', '--allow-restart'],
    [
      'scsi0',
      'local:9100/base-9100-disk-0.qcow2/401/vm-401-disk-0.qcow2,size=4G',
      'is a linked clone: scsi0 (local:9100/base-9100-disk-0.qcow2/401/vm-401-disk-0.qcow2) is based on base-9100-disk-0.qcow2',
      'disks.scsi0.storage: …',
    ],
    ['parent', 'before', 'has snapshots, and Proxmox does not copy scsi0', '--allow-restart'],
  ])('is what Proxmox does not move: %s', async (key, value, what, hint) => {
    const text = await refusal('', ({ world }) => {
      const { current } = world.vms.get(401)?.config ?? {};
      (current as Map<string, string>).set(key, value); // what an administrator set, in effect
    });
    expect(text).toContain(`VM 401 on pve1 ${what}`);
    expect(text).toContain(hint);
  });

  it('does not keep a VM with a shared directory that may be shut down: it goes where the directory is', async () => {
    const shared = one('virtiofs: { virtiofs0: { mapping: media } }');
    const media = { media: { map: ['pve1', 'pve4'].map((node) => `node=${node},path=/srv/media`) } };
    const directories = ['/srv/media'];
    const from = await settled(shared, (world) => ({
      ...world,
      nodes: Object.fromEntries(Object.entries(world.nodes).map(([name, node]) => [name, { ...node, directories }])),
      mappings: { dir: media },
    }));
    const scene = new Scene({ from });
    expect(textOf(await scene.relocate(shared, drain('pve1')))).toContain('stack.yaml:10');
    expect(failuresOf(await scene.relocate(shared, drain('pve1', { allowRestart: true })))).toEqual([]);
    expect(placesOf(scene, [401])).toEqual(['web pve4']);
  });

  it('is a lock, with the task that holds it', async () => {
    const text = await refusal('', ({ world }) => {
      const { current } = world.vms.get(401)?.config ?? {};
      (current as Map<string, string>).set('lock', 'backup'); // what a backup of another client does
    });
    expect(text).toContain('VM 401 on pve1 is locked (backup)');
  });

  it('is a local disk under HA, because the HA manager does not copy it', async () => {
    const text = await refusal('ha: { state: started }');
    expect(text).toContain('the HA manager does not copy local disks while a VM runs: scsi0 on "local-lvm".');
    expect(text).toContain('add --allow-restart');
    expect(text).toContain('ha: false');
  });

  const group = one(
    `count: 2\n    guest: cloud-init\n    machine: q35\n    pci: { hostpci0: { mapping: "gpu-\${number}" } }`,
  )
    .replace('name: web\n', `name: web-\${number}\n`)
    .replace('vmid: 401', 'vmids: 401-402');

  /** Two members with a device each that every node has. */
  function members(mark: Readonly<Record<string, string>> = {}): ReturnType<typeof settled> {
    const device = (node: string) => `id=10de:2204,iommugroup=14,node=${node},path=0000:01:00.0,subsystem-id=1458:403b`;
    const audio = (node: string) => device(node).replace('01:00.0', '01:00.1').replace('2204', '1aef');
    return settled(group, (world) => {
      const { pve1 } = world.nodes as Record<'pve1', (typeof world.nodes)[string]>;
      const nodes = Object.fromEntries(
        Object.entries(world.nodes).map(([name, each]) => [name, { ...each, pci: pve1.pci ?? [] }]),
      );
      const names = Object.keys(nodes);
      return {
        ...world,
        nodes,
        mappings: {
          pci: { 'gpu-1': { map: names.map(device), options: mark }, 'gpu-2': { map: names.map(audio) } },
        },
      };
    });
  }

  it('is no PCI device whose mapping says that it moves with a running VM', async () => {
    const scene = new Scene({ from: await members({ 'live-migration-capable': '1' }) });
    const first = await scene.relocate(group, drain('pve1', { only: ['vm.web[1]'] }));
    expect(failuresOf(first)).toEqual([]);
    expect(changesOf(first)[0]?.notes).toContain('it moves while it runs');
    const second = textOf(await scene.relocate(group, drain('pve1')));
    expect(second).toContain('VM 402 on pve1 uses hostpci0');
    expect(second).toContain('pvesh set /cluster/mapping/pci/gpu-2 --live-migration-capable 1');
  });

  it('is no such device that the file does not mention', async () => {
    const scene = new Scene({ from: await members({ 'live-migration-capable': '1' }) });
    const silent = group.replace(/ {4}pci: .*\n/, '');
    const end = await scene.relocate(silent, drain('pve1', { only: ['vm.web[1]'] }));
    expect(failuresOf(end)).toEqual([]);
    expect(scene.world.vms.get(401)?.process).toBeDefined();
    expect(placesOf(scene, [401]).filter((place) => / pve1|stopped/.test(place))).toEqual([]);
  });

  it('does not keep it if it may be shut down: it is compared, stopped, moved and started, one of a group at a time', async () => {
    const scene = new Scene({ from: await members() });
    let [down, most] = [0, 0];
    scene.onEvent = (event) => {
      if (event.event === 'stepStarted' && event.step.endsWith('/stop')) most = Math.max(most, ++down);
      if (event.event === 'stepDone' && event.step.endsWith('/ready')) down--;
    };
    const end = await scene.relocate(group, drain('pve1', { allowRestart: true }));
    expect(failuresOf(end)).toEqual([]);
    if (end.kind !== 'ended') return;
    const verbs = end.plan.steps.filter(({ address }) => address === 'vm.web[1]').map(({ action }) => action);
    expect(verbs).toEqual(['vm.verify', 'vm.stop', 'vm.migrate', 'vm.start', 'vm.ready']);
    expect(most).toBe(1);
    expect(placesOf(scene, [401, 402]).filter((place) => / pve1|stopped/.test(place))).toEqual([]);
    expect(await scene.plan(group)).toMatchObject({ plan: { steps: [] } });
    expect(scene.wireViolations).toEqual([]);
  });

  it('stops with a member that fails, and names the command that continues: not an apply', async () => {
    const scene = new Scene({ from: await members() });
    scene.onEvent = (event) => {
      const process = scene.world.vms.get(401)?.process;
      if (event.event === 'stepStarted' && event.step === 'vm.web[1]/ready' && process) process.qmpStatus = 'paused';
    };
    const end = await scene.relocate(
      `${group}rollout: { timeouts: { ready: 1m } }\n`,
      drain('pve1', { allowRestart: true }),
    );
    const stopped =
      end.kind === 'ended'
        ? [...(end.result?.problems ?? [])].find(([address]) => address === 'vm.web[2]')?.[1]
        : undefined;
    expect(stopped).toMatchObject({
      code: 'ROLL_STOPPED',
      hint: {
        text: 'Repair vm.web[1], then continue with the command that this run names at its end.',
      },
    });
  });
});

describe('VMs that may be on several nodes', () => {
  const SPREAD = `
version: 1
stack: lab
vms:
  web:
    count: 4
    name: web-\${number}
    vmids: 401-409
    nodes: all
    placement: { spread: true, max_per_node: 2 }
    clone: { template: ubuntu-24.04, mode: full }
`;
  // 403 is a VM of others.
  const WEB = [401, 402, 404, 405];
  const countOn = (scene: Scene, node: string) =>
    placesOf(scene, WEB).filter((place) => place.split(' ')[1] === node).length;

  it('leave a node that is drained, stay away without a word in the plan, and come back with rebalance', async () => {
    const scene = new Scene({ from: await settled(SPREAD) });
    expect(countOn(scene, 'pve2')).toBeGreaterThan(0);
    const drained = await scene.relocate(SPREAD, drain('pve2'));
    expect(textOf(drained)).toBe('');
    expect(countOn(scene, 'pve2')).toBe(0);
    await scene.clock.advance(60_000);
    const plan = await scene.plan(SPREAD);
    expect(plan).toMatchObject({ plan: { steps: [] } });
    expect(changesOf(plan).flatMap(({ outside = [] }) => outside)).toEqual([]);
    const placed = placesOf(scene, WEB);
    for (const node of ['pve1', 'pve3', 'pve4', 'pve5']) expect(countOn(scene, node), String(placed)).toBeLessThan(3);
    expect(textOf(await scene.relocate(SPREAD, REBALANCE))).toBe('');
    await scene.clock.advance(60_000);
    expect(await scene.relocate(SPREAD, REBALANCE)).toMatchObject({ plan: { steps: [] } });
  });
});
