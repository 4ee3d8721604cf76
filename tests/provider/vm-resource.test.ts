import { describe, expect, it } from 'vitest';
import { formatPath } from '../../src/provider/cty/path.ts';
import { UNKNOWN } from '../../src/provider/cty/value.ts';
import { hasErrors } from './support/toy-host.ts';
import { VmBench } from './support/vm-bench.ts';

const WEB = {
  name: 'web-1',
  node: 'pve1',
  guest: 'cloud-init',
  clone: { template: 'ubuntu-24.04' },
  cpu: { cores: 4 },
  memory: '8GiB',
  disks: { scsi0: { size: '40GiB' } },
  nics: { net0: { bridge: 'vmbr0', ipv4: { address: 'dhcp' } } },
  tags: ['web', 'prod'],
} as const;

describe('a VM of Terraform', () => {
  it('is made, and then nothing is left to do', async () => {
    const bench = new VmBench();
    await bench.run(async () => {
      const { host } = bench.process();
      expect(await host.validate(WEB)).toEqual([]);
      const made = await host.apply(WEB);
      expect(made.diagnostics).toEqual([]);
      expect(host.state).toMatchObject({ current_node: 'pve1', status: 'running' });
      const later = bench.process().host;
      later.instance = host.instance;
      expect(await later.plan(WEB)).toEqual({ action: 'none', changed: [], diagnostics: [] });
    });
  });

  it('is made although its configuration gets a warning', async () => {
    const bench = new VmBench();
    await bench.run(async () => {
      const { host } = bench.process();
      const raw = { ...WEB, extra: { kvm: '0' } };
      const warnings = await host.validate(raw);
      expect(warnings.map(({ severity }) => severity)).toEqual(['warning']);
      const made = await host.apply(raw);
      expect(hasErrors(made.diagnostics)).toBe(false);
      expect(host.state).toMatchObject({ current_node: 'pve1', status: 'running' });
      const bigger = { ...raw, memory: '16GiB' };
      await host.apply(bigger);
      expect(host.state).toMatchObject({ memory: '16GiB' });
      expect((await host.plan(bigger)).action).toBe('none');
    });
  });

  it('is imported and read again if its configuration sets a raw key that has a field', async () => {
    const bench = new VmBench();
    await bench.run(async () => {
      const { host } = bench.process();
      const raw = { ...WEB, extra: { kvm: '0' } };
      await host.apply(raw);
      const vmid = String(host.state?.vmid);
      host.instance = undefined;
      expect(hasErrors(await host.import(vmid))).toBe(false);
      expect(host.state).toMatchObject({ kvm: false, extra: null });
      const before = bench.writes().length;
      expect(hasErrors((await host.apply(raw)).diagnostics)).toBe(false);
      expect(bench.writes()).toHaveLength(before);
      expect(hasErrors(await host.refresh())).toBe(false);
      expect((await host.plan(raw)).action).toBe('none');
      expect(hasErrors((await host.apply({ ...raw, extra: { kvm: '1' } })).diagnostics)).toBe(false);
      expect((await host.plan({ ...raw, extra: { kvm: '1' } })).action).toBe('none');
    });
  });

  it('changes in place, and says what waits for a restart', async () => {
    const bench = new VmBench();
    await bench.run(async () => {
      const { host } = bench.process();
      await host.apply(WEB);
      const bigger = { ...WEB, memory: '16GiB', tags: ['web'] };
      const changed = await host.apply(bigger);
      expect(changed.action).toBe('update');
      expect(changed.changed.filter((path) => !path.startsWith('restart'))).toEqual(['tags', 'memory']);
      expect(hasErrors(changed.diagnostics)).toBe(false);
      // In the plan that apply makes first, and by apply itself.
      expect(changed.diagnostics.map(({ summary }) => summary)).toEqual([
        'Some changes take effect after a restart',
        'Restart pending',
      ]);
      expect(host.state).toMatchObject({ memory: '16GiB', restart_pending: ['memory'] });
      const again = await host.plan(bigger);
      expect(again.action).toBe('none');
      expect(again.diagnostics.map(({ summary }) => summary)).toEqual(['Restart pending']);
    });
  });

  it('is taken over by its id, and a configuration that is true of it changes nothing', async () => {
    const bench = new VmBench();
    await bench.run(async () => {
      await bench.process().host.apply({ ...WEB, vmid: 410 });
      const { host } = bench.process();
      expect(await host.import('pve1/410')).toEqual([]);
      const { clone: _, ...config } = WEB;
      expect(await host.plan(config)).toEqual({ action: 'none', changed: [], diagnostics: [] });
      expect(await host.plan({ ...config, memory: '4GiB' })).toMatchObject({ action: 'update' });
    });
  });

  it('is refused in the plan for a CPU model that Proxmox does not know', async () => {
    const bench = new VmBench();
    await bench.run(async () => {
      const { host } = bench.process();
      const { diagnostics } = await host.plan({ ...WEB, cpu: { type: 'x86-64-v9' } });
      expect(diagnostics).toMatchObject([
        { severity: 'error', detail: expect.stringContaining('There is no CPU model "x86-64-v9"') },
      ]);
      expect(formatPath(diagnostics[0]?.path ?? [])).toBe('cpu');
    });
  });

  it('postpones what cannot be known yet', async () => {
    const bench = new VmBench();
    await bench.run(async () => {
      const { host } = bench.process();
      const plan = await host.plan({ ...WEB, clone: { template: UNKNOWN }, memory: UNKNOWN });
      expect(plan).toMatchObject({ action: 'create', diagnostics: [] });
    });
  });

  it('is destroyed with its disks', async () => {
    const bench = new VmBench();
    await bench.run(async () => {
      const before = bench.world.vms.size;
      const { host } = bench.process();
      await host.apply(WEB);
      expect(bench.world.vms.size).toBe(before + 1);
      expect((await host.apply(null)).diagnostics).toEqual([]);
      expect(bench.world.vms.size).toBe(before);
    });
  });
});

describe('a creation that fails', () => {
  it('is completed by the next one, which makes no second VM', async () => {
    const bench = new VmBench();
    await bench.run(async () => {
      const before = bench.world.vms.size;
      const first = bench.process();
      // Stopped while the clone is being configured: as a Ctrl-C, a crash or a lost server would.
      setAbortAfter(bench, first.abort, (request) => /^(PUT|POST) \/nodes\/pve1\/qemu\/\d+\/config$/.test(request));
      const stopped = await first.host.apply(WEB);
      expect(hasErrors(stopped.diagnostics)).toBe(true);
      expect(first.host.instance).toBeUndefined();
      expect(bench.world.vms.size).toBe(before + 1);
      const [left] = [...bench.world.vms.values()].slice(-1);
      expect(left?.config.current.get('description')).toContain('state=incomplete');

      const { host } = bench.process();
      const planned = await host.plan(WEB);
      expect(planned.diagnostics.map(({ summary }) => summary)).toEqual(['An earlier run left this VM incomplete']);
      const made = await host.apply(WEB);
      expect(hasErrors(made.diagnostics)).toBe(false);
      expect(bench.world.vms.size).toBe(before + 1);
      expect(host.state.vmid).toBe(left?.vmid);
      expect(left?.config.current.get('description')).not.toContain('incomplete');
      expect((await host.plan(WEB)).action).toBe('none');
    });
  });
});

function setAbortAfter(bench: VmBench, abort: AbortController, isIt: (request: string) => boolean): void {
  const push = bench.requests.push.bind(bench.requests);
  bench.requests.push = (...lines) => {
    if (lines.some(isIt)) abort.abort();
    return push(...lines);
  };
}
