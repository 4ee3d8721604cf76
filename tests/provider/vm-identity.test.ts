/** The VM in the state is the one that was created: found where it is now, and no other VM is taken for it under its id. */
import { describe, expect, it } from 'vitest';
import { codes, SMALL, told, withMade } from './support/small-vms.ts';
import { hasErrors, ToyHost } from './support/toy-host.ts';
import type { VmBench } from './support/vm-bench.ts';

const FIXED = { ...SMALL, vmid: 450, stop_on_destroy: true };

async function remove(bench: VmBench): Promise<void> {
  const pve = bench.outside();
  const vm = pve.node('pve1').vm(450);
  await pve.tasks.wait(await vm.status.stop());
  await pve.tasks.wait(await vm.destroy({ purge: true }));
}

describe('an id that has become another VM', () => {
  it('is refused by read, plan and destroy, and the stranger is not touched', async () => {
    await withMade(FIXED, async (bench, next) => {
      await remove(bench);
      const pve = bench.outside();
      await pve.tasks.wait(await pve.node('pve1').vms.create({ vmid: 450, name: 'somebody-else', memory: 64 }));
      const stranger = bench.world.vms.get(450)?.config;
      bench.requests.length = 0;
      const { host, resource } = next();
      const instance = host.instance;
      expect(codes(await host.refresh())).toEqual(['NOT_OURS']);
      expect(codes((await host.plan(FIXED)).diagnostics)).toEqual(['NOT_OURS']);
      expect(codes((await host.apply(null)).diagnostics)).toEqual(['NOT_OURS']);
      // Also where the host did not look before: `-refresh=false`.
      const { state: prior, private: bytes } = instance ?? {};
      if (!prior) throw new Error('nothing is in the state');
      const removal = { prior, proposed: null, config: null, private: bytes };
      expect(hasErrors((await resource.plan(removal, host.call)).diagnostics)).toBe(true);
      const destroyed = await resource.apply({ prior, planned: null, config: null, private: bytes }, host.call);
      expect(hasErrors(destroyed.diagnostics)).toBe(true);
      expect(destroyed.state).toBe(prior);
      expect(bench.world.vms.get(450)?.config).toBe(stranger);
      expect(bench.writes()).toEqual([]);
    });
  });
});

describe('a uuid that differs only in case', () => {
  it('is that of the same VM for read, plan and destroy', async () => {
    await withMade(FIXED, async (bench, next) => {
      const vm = bench.world.vms.get(450);
      const smbios = (vm?.config.current.get('smbios1') ?? '').replace(/(?<=uuid=)[^,]+/, (uuid) => uuid.toUpperCase());
      expect(smbios).toMatch(/uuid=[0-9A-F-]{36}/);
      if (vm) vm.config = { ...vm.config, current: new Map([...vm.config.current, ['smbios1', smbios]]) };
      expect(hasErrors((await next().host.plan(FIXED)).diagnostics)).toBe(false);
      expect(hasErrors((await next().host.apply(null)).diagnostics)).toBe(false);
      expect(bench.called('web')).toEqual([]);
    });
  });
});

describe('the id of another VM of the state', () => {
  it('is taken, unless that VM is about to go', async () => {
    await withMade(FIXED, async (_bench, next) => {
      const { host, resource } = next();
      await host.refresh();
      const other = new ToyHost(resource);
      const renamed = { ...FIXED, name: 'another' };
      expect(codes((await other.plan(renamed)).diagnostics)).toEqual(['VMID_TAKEN']);
      // A replacement that the user asked for shows only in its successor having id and name.
      expect((await other.plan(FIXED)).diagnostics).toEqual([]);
      await host.plan(null);
      expect((await other.plan(renamed)).diagnostics).toEqual([]);
    });
  });
});

describe('a VM of the state', () => {
  it('is planned for creation after it was deleted outside Terraform', async () => {
    await withMade(FIXED, async (bench, next) => {
      await remove(bench);
      expect(await next().host.plan(FIXED)).toMatchObject({ action: 'create', diagnostics: [] });
      await next().host.apply(FIXED);
      expect(bench.vm('web').vmid).toBe(450);
    });
  });

  it('is found on its new node, and stays there, after it was migrated outside Terraform', async () => {
    await withMade({ ...SMALL, clone: { template: 'ubuntu-24.04', storage: 'nfs' } }, async (bench, next) => {
      const config = { ...SMALL, clone: { template: 'ubuntu-24.04', storage: 'nfs' } };
      const { vmid } = bench.vm('web');
      const pve = bench.outside();
      await pve.tasks.wait(
        await pve.node('pve1').vm(vmid).migrate({ target: 'pve2', online: true, 'with-local-disks': true }),
      );
      const { host } = next();
      expect(await host.plan(config)).toEqual({ action: 'none', changed: [], diagnostics: [] });
      expect(host.state).toMatchObject({ node: 'pve1', current_node: 'pve2', vmid });
    });
  });

  it('migrates when its node changes', async () => {
    await withMade(SMALL, async (bench, next) => {
      const { vmid } = bench.vm('web');
      const { host } = next();
      const moved = await host.apply({ ...SMALL, node: 'pve2' });
      expect(moved).toMatchObject({ action: 'update', diagnostics: [] });
      expect(bench.vm('web')).toMatchObject({ vmid, node: 'pve2' });
      expect(host.state).toMatchObject({ node: 'pve2', current_node: 'pve2' });
      expect((await next().host.plan({ ...SMALL, node: 'pve2' })).action).toBe('none');
    });
  });

  it('is not destroyed while it is protected, and the plan says so', async () => {
    const config = { ...SMALL, protection: true };
    await withMade(config, async (bench, next) => {
      bench.requests.length = 0;
      const planned = await next().host.plan(null);
      expect(planned.diagnostics.map(told)[0]).toMatch(/^error -: VM \d+ is protected/);
      expect(hasErrors((await next({ planChecks: 'off' }).host.apply(null)).diagnostics)).toBe(true);
      expect(bench.called('web')).toHaveLength(1);
      expect(bench.writes()).toEqual([]);
      await next().host.apply({ ...config, protection: false, stop_on_destroy: true });
      expect(hasErrors((await next().host.apply(null)).diagnostics)).toBe(false);
      expect(bench.called('web')).toEqual([]);
    });
  });
});

describe('an id whose VM goes in the same run', () => {
  it.each([
    ['first', 0, 500],
    ['a moment later', 500, 0],
  ])('may be planned for a new VM, if the host plans the removal %s', async (_when, removalMs, createMs) => {
    await withMade(FIXED, async (bench, next) => {
      const { resource, host } = next();
      const coming = new ToyHost(resource);
      const later = async <T>(ms: number, work: () => Promise<T>) => {
        await bench.clock.sleep(ms);
        return work();
      };
      const [planned] = await Promise.all([
        later(createMs, () => coming.plan({ ...FIXED, name: 'omega' })),
        later(removalMs, () => host.plan(null)),
      ]);
      expect(codes(planned.diagnostics)).not.toContain('VMID_TAKEN');
    });
  });

  it('is refused if no removal is planned', async () => {
    await withMade(FIXED, async (_bench, next) => {
      const { diagnostics } = await new ToyHost(next().resource).plan({ ...FIXED, name: 'omega' });
      expect(codes(diagnostics)).toContain('VMID_TAKEN');
    });
  });
});
