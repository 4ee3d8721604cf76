/** Which VM a creation completes, and which it leaves alone. */
import { describe, expect, it } from 'vitest';
import { codes, make, plantIncomplete, SMALL, told } from './support/small-vms.ts';
import { VmBench } from './support/vm-bench.ts';
import { othersPicture } from './support/vm-invariants.ts';

const NEW = { name: 'web', node: 'pve1', memory: '512MiB', boot: ['net0'], nics: { net0: { bridge: 'vmbr0' } } };

describe('a creation that finds VMs which earlier ones left', () => {
  it('refuses two of one name, and names both', async () => {
    const bench = new VmBench();
    await bench.run(async () => {
      await plantIncomplete(bench, { vmid: 501 });
      await plantIncomplete(bench, { vmid: 502 });
      const { host } = bench.process();
      const planned = await host.plan(NEW);
      expect(codes(planned.diagnostics)).toEqual(['AMBIGUOUS']);
      expect(planned.diagnostics.map(told)[0]).toMatch(/^error vmid: .*501 on pve1, 502 on pve1/);
      const applied = await bench.process({ planChecks: 'off' }).host.apply(NEW);
      expect(applied.diagnostics.map(told)[0]).toMatch(/^error vmid: .*501 on pve1, 502 on pve1/);
      expect(bench.called('web')).toHaveLength(2);
    });
  });

  it('completes the one whose id is given, and leaves the other', async () => {
    const bench = new VmBench();
    await bench.run(async () => {
      await plantIncomplete(bench, { vmid: 501 });
      await plantIncomplete(bench, { vmid: 502 });
      const other = bench.world.vms.get(501)?.config;
      const { host } = bench.process();
      await make(host, { ...NEW, vmid: 502 });
      expect(host.state.vmid).toBe(502);
      expect(bench.world.vms.get(502)?.config.current.get('description')).not.toContain('incomplete');
      expect(bench.world.vms.get(501)?.config).toBe(other);
      expect(bench.called('web')).toHaveLength(2);
    });
  });

  it.each([
    ['another token', { vmid: 501, token: 'root@pam!other' }],
    ['another name', { vmid: 501, name: 'else' }],
  ])('never completes one of %s', async (_, planted) => {
    const bench = new VmBench();
    await bench.run(async () => {
      await plantIncomplete(bench, planted);
      const before = bench.world.vms.get(501)?.config;
      const { host } = bench.process();
      await make(host, NEW);
      expect(host.state.vmid).not.toBe(501);
      expect(bench.world.vms.get(501)?.config).toBe(before);
    });
  });

  it('never completes a VM whose mark is a copy of that of another VM', async () => {
    const bench = new VmBench();
    await bench.run(async () => {
      await plantIncomplete(bench, { vmid: 501 });
      const copied = bench.world.vms.get(501)?.config.current.get('description') ?? '';
      const pve = bench.outside();
      await pve.tasks.wait(await pve.node('pve1').vms.create({ vmid: 502, name: 'web', description: copied }));
      const { host } = bench.process();
      await make(host, NEW);
      expect(host.state.vmid).toBe(501);
      expect(bench.world.vms.get(502)?.config.current.get('description')).toBe(copied);
    });
  });

  it('never completes a VM without the mark: a taken id is refused in the plan, at its attribute', async () => {
    const bench = new VmBench();
    await bench.run(async () => {
      const before = othersPicture(bench.world);
      const planned = await bench.process().host.plan({ ...SMALL, vmid: 120 });
      expect(codes(planned.diagnostics)).toEqual(['VMID_TAKEN']);
      expect(planned.diagnostics.map(told)[0]).toMatch(/^error vmid: /);
      const applied = await bench.process({ planChecks: 'off' }).host.apply({ ...SMALL, vmid: 120 });
      expect(codes(applied.diagnostics)).toEqual(['VMID_TAKEN']);
      expect(othersPicture(bench.world)).toBe(before);
    });
  });

  it('says what it will complete, and waits for a clone that still runs', async () => {
    const bench = new VmBench();
    await bench.run(async () => {
      const first = bench.process();
      bench.onRequest = (line) => {
        if (/tasks\/UPID.*qmclone/.test(line)) first.abort.abort();
      };
      await first.host.apply(SMALL);
      bench.onRequest = () => {};
      expect(bench.tasks('qmclone')).toEqual(['runs']);
      const { host } = bench.process();
      await make(host, SMALL);
      expect(bench.tasks('qmclone')).toEqual(['OK']);
      expect(bench.called('web')).toHaveLength(1);
    });
  });
});
