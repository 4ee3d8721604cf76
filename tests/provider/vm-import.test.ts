/** VMs that are there already: taken over by id or name, or from the state of another provider, and nothing of them changes. */
import { describe, expect, it } from 'vitest';
import { codes, make, SMALL, told } from './support/small-vms.ts';
import type { Config } from './support/toy-host.ts';
import { VmBench } from './support/vm-bench.ts';

const STANDING: Config = { ...SMALL, vmid: 450, tags: ['web'] };
const { clone: _, ...CONFIG } = STANDING;

async function withStanding(story: (bench: VmBench) => Promise<void>): Promise<void> {
  const bench = new VmBench();
  await bench.run(async () => {
    await make(bench.process().host, STANDING);
    bench.requests.length = 0;
    await story(bench);
    expect(bench.writes()).toEqual([]);
  });
}

describe('an import', () => {
  it.each(['pve1/450', '450', 'web', ' 450 '])('has an empty plan by %j', async (id) => {
    await withStanding(async (bench) => {
      const { host } = bench.process();
      expect(await host.import(id)).toEqual([]);
      expect(host.state).toMatchObject({ vmid: 450, name: 'web', current_node: 'pve1' });
      const later = bench.process().host;
      later.instance = host.instance;
      expect(await later.plan(CONFIG)).toEqual({ action: 'none', changed: [], diagnostics: [] });
    });
  });

  it('has an empty plan for a VM whose notes hold what a stack file would escape', async () => {
    const config = { ...CONFIG, description: `costs $${'{5}'} and 100 %` };
    const bench = new VmBench();
    await bench.run(async () => {
      await make(bench.process().host, { ...STANDING, description: config.description });
      const { host } = bench.process();
      expect(await host.import('450')).toEqual([]);
      expect((await host.plan(config)).action).toBe('none');
    });
  });

  it.each([
    ['an id that no VM has', '999', 'NOT_FOUND'],
    ['a name that no VM has', 'nothing', 'NOT_FOUND'],
    ['an id on another node', 'pve2/450', 'NOT_FOUND'],
    ['a template', '9000', 'BAD_VALUE'],
  ])('is refused for %s', async (_what, id, code) => {
    await withStanding(async (bench) => {
      const { host } = bench.process();
      expect(codes(await host.import(id))).toEqual([code]);
      expect(host.instance).toBeUndefined();
    });
  });

  it('is refused by a name that several VMs have, and lists them', async () => {
    await withStanding(async (bench) => {
      const pve = bench.outside();
      await pve.tasks.wait(await pve.node('pve2').vms.create({ vmid: 451, name: 'web', memory: 64 }));
      const { host } = bench.process();
      const refused = await host.import('web');
      expect(refused.map(told)).toEqual(['error -: Several VMs are called "web": pve1/450, pve2/451.']);
      expect(await bench.process().host.import('pve2/451')).toEqual([]);
    });
  });
});

describe('a VM in the state of another provider', () => {
  it.each([
    ['proxmox_virtual_environment_vm', { vm_id: 450, node_name: 'pve1', id: '450', name: 'web' }],
    ['proxmox_vm_qemu', { vmid: 450, target_node: 'pve1', id: 'pve1/qemu/450', name: 'web' }],
  ])('moves over from %s with an empty plan', async (sourceType, sourceState) => {
    await withStanding(async (bench) => {
      const { host, resource } = bench.process();
      const source = {
        sourceProvider: 'registry.terraform.io/some/proxmox',
        sourceType,
        sourceVersion: 0,
        sourceState,
      };
      const moved = await resource.move?.(source);
      expect(moved?.diagnostics).toEqual([]);
      if (!moved?.state) throw new Error('nothing was moved');
      host.instance = { state: moved.state, private: moved.private };
      expect(await host.plan(CONFIG)).toEqual({ action: 'none', changed: [], diagnostics: [] });
      expect(host.state).toMatchObject({ vmid: 450, name: 'web' });
    });
  });

  it('stays where it is if it is no VM', async () => {
    const { resource } = new VmBench().process();
    const source = { sourceProvider: 'some/proxmox', sourceVersion: 0, sourceState: { id: 'x' } };
    const refused = await resource.move?.({ ...source, sourceType: 'proxmox_virtual_environment_container' });
    expect(refused?.state).toBeNull();
    expect(codes(refused?.diagnostics ?? [])).toEqual(['BAD_VALUE']);
  });
});
