/** `keep = true` in Terraform: whatever would destroy the disk is an error, in the plan and in the apply. */
import { describe, expect, it } from 'vitest';
import { SMALL } from './support/small-vms.ts';
import { hasErrors } from './support/toy-host.ts';
import { VmBench } from './support/vm-bench.ts';

const config = (keep: boolean, more: object = {}) => ({
  ...SMALL,
  vmid: 450,
  stop_on_destroy: true,
  clone: { template: 'ubuntu-24.04', mode: 'full' },
  disks: { scsi1: { size: '2GiB', storage: 'local-lvm', keep } },
  ...more,
});
const KEPT = config(true);
const LINKED = { clone: { template: 'ubuntu-24.04', mode: 'linked' } };

const diskOf = (bench: VmBench) => bench.world.vms.get(450)?.config.current.get('scsi1');

describe('a VM with a kept disk', () => {
  it('is not replaced, and the plan names the disk and the way out', async () => {
    const bench = new VmBench();
    await bench.run(async () => {
      const { host } = bench.process();
      await host.apply(KEPT);
      for (const change of [LINKED, { vmid: 451 }]) {
        const plan = await host.plan(config(true, change));
        expect(plan.action).not.toBe('replace');
        expect(plan.diagnostics).toMatchObject([{ severity: 'error', summary: 'Disks are marked as kept' }]);
        expect(plan.diagnostics[0]?.detail).toMatch(/would destroy scsi1.*set keep = false, apply that/);
      }
      // Taking the mark away in the same change is not enough: the disk was kept until now.
      expect(hasErrors((await host.plan(config(false, LINKED))).diagnostics)).toBe(true);
    });
  });

  it('is not destroyed, by a plan or by an apply that had none, until the mark is gone', async () => {
    const bench = new VmBench();
    await bench.run(async () => {
      const { host, resource } = bench.process();
      await host.apply(KEPT);
      const before = diskOf(bench);
      const plan = await host.plan(null);
      expect(plan.diagnostics).toMatchObject([{ severity: 'error' }]);
      expect(plan.diagnostics[0]?.detail).toMatch(/scsi1 \(2GiB, local-lvm:vm-450-disk-\d+\)/);
      // As `-replace` does it: the host plans a new VM and destroys the old one without having asked.
      const { state: prior = null, private: bytes } = host.instance ?? {};
      const destroyed = await resource.apply({ prior, planned: null, config: null, private: bytes }, host.call);
      expect(destroyed.diagnostics).toMatchObject([{ severity: 'error' }]);
      expect(destroyed.state).toBe(prior);
      expect(diskOf(bench)).toBe(before);
      expect(bench.world.vms.get(450)?.process).toBeDefined();

      expect((await host.apply(config(false))).diagnostics).toEqual([]);
      expect((await host.apply(null)).diagnostics).toEqual([]);
      expect(bench.world.vms.has(450)).toBe(false);
    });
  });

  it('keeps the disk where the configuration removes it', async () => {
    const bench = new VmBench();
    await bench.run(async () => {
      const { host } = bench.process();
      await host.apply(KEPT);
      const plan = await host.plan(config(true, { disks: { scsi1: { remove: true } } }));
      expect(plan.diagnostics).toMatchObject([{ severity: 'error' }]);
      expect(diskOf(bench)).toBeDefined();
    });
  });
});
