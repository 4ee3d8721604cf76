/** What a configuration manages, what becomes unmanaged, and what is visible without being managed. */
import { describe, expect, it } from 'vitest';
import { UNKNOWN } from '../../src/provider/cty/value.ts';
import { dottedOf } from '../../src/provider/values/diagnostics.ts';
import { codes, make, SMALL, told, withMade } from './support/small-vms.ts';
import { VmBench } from './support/vm-bench.ts';

const COMPUTED = /^(all_|macs|addresses|primary_address|restart_pending|status)/;
const managed = (changed: readonly string[]) => changed.filter((path) => !COMPUTED.test(path));

const TWO_OF_ALL = {
  ...SMALL,
  disks: { scsi1: { storage: 'local-lvm', size: '1GiB' } },
  nics: { net0: { bridge: 'vmbr0' }, net1: { bridge: 'vmbr1', vlan: 20 } },
};

describe('an attribute that leaves the configuration', () => {
  it('is shown once as becoming unmanaged, and the VM stays as it is', async () => {
    const tagged = { ...SMALL, tags: ['web'], cpu: { cores: 4 } };
    await withMade(tagged, async (bench, next) => {
      const before = bench.vm('web').config.current;
      const { host } = next();
      const letGo = await host.apply(SMALL);
      expect(letGo).toMatchObject({ action: 'update', diagnostics: [] });
      expect(managed(letGo.changed).map((path) => path.split('.')[0])).toEqual(expect.arrayContaining(['tags', 'cpu']));
      expect(managed(letGo.changed)).toHaveLength(2);
      expect(bench.vm('web').config.current).toEqual(before);
      expect(await next().host.plan(SMALL)).toEqual({ action: 'none', changed: [], diagnostics: [] });
    });
  });
});

describe('a device', () => {
  it('is removed where the configuration says so, and then nothing is left to do', async () => {
    await withMade(TWO_OF_ALL, async (bench, next) => {
      const without = {
        ...SMALL,
        disks: { scsi1: { remove: true } },
        nics: { net0: { bridge: 'vmbr0' }, net1: { remove: true } },
      };
      // A guest that has not booted does not release a device.
      await bench.clock.sleep(120_000);
      await make(next().host, without);
      const { current } = bench.vm('web').config;
      expect([current.has('scsi1'), current.has('net1')]).toEqual([false, false]);
      expect([...current.keys()].filter((key) => key.startsWith('unused'))).toEqual([]);
      expect((await next().host.plan(without)).action).toBe('none');
      expect((await next().host.apply(SMALL)).diagnostics).toEqual([]);
      expect((await next().host.plan(SMALL)).action).toBe('none');
    });
  });

  it('stays, and is visible, if the configuration does not mention it', async () => {
    await withMade(SMALL, async (bench, next) => {
      const { vmid } = bench.vm('web');
      const config = bench.outside().node('pve1').vm(vmid).config;
      await config.put({ net3: 'e1000=BC:24:11:99:00:03,bridge=vmbr1,tag=7' });
      const { host } = next();
      expect(await host.plan(SMALL)).toMatchObject({ action: 'none', diagnostics: [] });
      expect(host.state.all_nics).toMatchObject({
        net0: { bridge: 'vmbr0' },
        net3: { model: 'e1000', mac: 'BC:24:11:99:00:03', bridge: 'vmbr1', vlan: 7 },
      });
      expect(host.state.all_disks).toMatchObject({
        scsi0: { kind: 'disk', storage: 'local-lvm' },
        ide2: { kind: 'cloud-init' },
      });
      await make(host, { ...SMALL, tags: ['changed'] });
      expect(bench.vm('web').config.current.get('net3')).toContain('BC:24:11:99:00:03');
    });
  });
});

describe('high availability', () => {
  it('is compared like every other attribute', async () => {
    const config = { ...SMALL, ha: { enabled: true, max_restart: 3 } };
    await withMade(config, async (bench, next) => {
      expect(await next().host.plan(config)).toEqual({ action: 'none', changed: [], diagnostics: [] });
      const resource = bench.world.ha.resources.get(`vm:${bench.vm('web').vmid}`);
      if (!resource) throw new Error('it is no HA resource');
      resource.set('max_restart', '7');
      const drifted = await next().host.plan(config);
      expect(managed(drifted.changed)).toEqual(['ha.max_restart']);
      await make(next().host, config);
      expect(resource.get('max_restart')).toBe('3');
      expect((await next().host.plan(config)).action).toBe('none');
    });
  });
});

describe('the checks of a plan', () => {
  const wrong = { ...SMALL, clone: { template: 'no-such-template' }, nics: { net0: { bridge: 'vmbr9' } } };

  it('refuse what cannot work, each at its attribute', async () => {
    const bench = new VmBench();
    await bench.run(async () => {
      const planned = await bench.process().host.plan(wrong);
      const places = planned.diagnostics.map(({ path = [] }) => dottedOf(path));
      expect(places).toEqual(['clone', 'nics.net0']);
      expect(planned.diagnostics.map(told)).toEqual([
        expect.stringContaining('no-such-template'),
        expect.stringContaining('vmbr9'),
      ]);
      expect(bench.writes()).toEqual([]);
    });
  });

  it('warn or keep silent as the provider is configured', async () => {
    const bench = new VmBench();
    await bench.run(async () => {
      const warned = await bench.process({ planChecks: 'warn' }).host.plan(wrong);
      expect(warned).toMatchObject({ action: 'create' });
      expect(warned.diagnostics.map(({ severity }) => severity)).toEqual(['warning', 'warning']);
      bench.requests.length = 0;
      const silent = await bench.process({ planChecks: 'off' }).host.plan(wrong);
      expect(silent).toMatchObject({ action: 'create', diagnostics: [] });
      expect(bench.requests).toEqual([]);
      // What is not checked in the plan is found out when it is applied.
      const applied = await bench.process({ planChecks: 'off' }).host.apply(wrong);
      expect(codes(applied.diagnostics)).toContain('MISSING_REFERENCE');
      expect(bench.writes()).toEqual([]);
    });
  });

  it.each([
    ['a bridge', { nics: { net0: { bridge: UNKNOWN } } }],
    ['a storage', { disks: { scsi1: { storage: UNKNOWN, size: '1GiB' } } }],
    ['an id', { vmid: UNKNOWN }],
    ['all disks', { disks: UNKNOWN, boot: ['scsi5'] }],
    ['a name', { name: UNKNOWN }],
    ['a node', { node: UNKNOWN }],
  ])('wait for %s that is not known yet', async (_, unknown) => {
    const bench = new VmBench();
    await bench.run(async () => {
      const { host } = bench.process();
      expect(await host.validate({ ...SMALL, ...unknown })).toEqual([]);
      expect(await host.plan({ ...SMALL, ...unknown })).toMatchObject({ action: 'create', diagnostics: [] });
    });
  });

  it('wait for an unknown value also in an existing VM', async () => {
    await withMade(SMALL, async (_, next) => {
      const plan = await next().host.plan({ ...SMALL, nics: { net0: { bridge: UNKNOWN } } });
      expect(plan).toMatchObject({ action: 'update', diagnostics: [] });
    });
  });
});
