/**
 * A DELETE that a killed provider had sent and that arrives later: Proxmox carries it out on whatever VM has the id by then.
 * Here the killed process dies right before its DELETE has an effect, and the request arrives 29 s later, as late as Proxmox's
 * own proxy lets it. Meanwhile the host destroys the VM again and creates another one under its id.
 */
import { describe, expect, it } from 'vitest';
import { make, SMALL, told, withMade } from './support/small-vms.ts';
import type { Config } from './support/toy-host.ts';
import type { VmBench } from './support/vm-bench.ts';

const VM: Config = { ...SMALL, vmid: 410, stop_on_destroy: true };
const LATE_MS = 29_000;
const isDelete = (point: string) => point.includes('DELETE') && point.includes('/qemu/410');

async function arrivesLate(bench: VmBench): Promise<void> {
  await bench.clock.sleep(LATE_MS);
  const pve = bench.outside();
  // Refused where nothing has the id, or where the VM runs.
  await pve
    .node('pve1')
    .vm(410)
    .destroy({ purge: true })
    .then((upid) => pve.tasks.wait(upid))
    .catch(() => undefined);
}

/** The number of the point at which the DELETE of a destroy has not reached the server yet. */
async function pointOfDelete(config: Config): Promise<number> {
  let found = 0;
  await withMade(config, async (_, next) => {
    const { host, points } = next();
    await host.apply(null);
    found = points.findIndex(isDelete) + 1;
  });
  expect(found).toBeGreaterThan(0);
  return found;
}

describe.each([
  ['running', VM],
  ['stopped', { ...VM, power: 'stopped' }],
])('a DELETE of a killed provider that arrives after a second destroy, of a VM that is %s', (_, config) => {
  it('does not destroy the VM that a later run creates under its id', async () => {
    const killAt = await pointOfDelete(config);
    await withMade(config, async (bench, next) => {
      const first = next({ killAt });
      const { instance } = first.host;
      expect(await first.orDeath(first.host.apply(null))).toMatchObject({
        kind: 'killed',
        at: expect.stringContaining('DELETE'),
      });
      expect(bench.called('web')).toHaveLength(1);
      const late = arrivesLate(bench);
      const second = next();
      second.host.instance = instance;
      expect((await second.host.apply(null)).diagnostics).toEqual([]);
      expect(bench.called('web')).toHaveLength(0);
      await make(next().host, { ...config, power: 'stopped' });
      await late;
      expect(bench.called('web')).toHaveLength(1);
    });
  });

  it('does not destroy the VM that the same run puts in its place', async () => {
    const killAt = await pointOfDelete(config);
    await withMade(config, async (bench, next) => {
      const first = next({ killAt });
      const { instance } = first.host;
      await first.orDeath(first.host.apply(null));
      const late = arrivesLate(bench);
      const second = next();
      second.host.instance = instance;
      const renewed = { ...config, power: 'stopped', clone: { template: 'talos-v1.12.4-base' } };
      const replaced = await second.host.apply(renewed);
      expect([
        replaced.action,
        ...replaced.diagnostics.filter(({ severity }) => severity === 'error').map(told),
      ]).toEqual(['replace']);
      await late;
      expect(bench.called('web')).toHaveLength(1);
    });
  });
});

describe('a provider that deletes a VM', () => {
  it('writes nothing before, and does not wait, if the VM runs', async () => {
    await withMade(VM, async (bench, next) => {
      const { host } = next();
      const begin = bench.requests.length;
      await host.apply(null);
      expect(bench.requests.slice(begin).filter((line) => /^(PUT|POST) .*config/.test(line))).toEqual([]);
    });
  });

  it('plans nothing for a VM that was to be deleted and stayed', async () => {
    const config = { ...VM, power: 'stopped' };
    await withMade(config, async (bench, next) => {
      const values = bench.vm('web').config.current as Map<string, string>;
      values.set('description', `${values.get('description')} state=leaving`);
      expect(await next().host.plan(config)).toMatchObject({ action: 'none' });
      expect(await next().host.apply({ ...config, memory: '2GiB' })).toMatchObject({
        action: 'update',
        diagnostics: [],
      });
      expect(await next().host.plan({ ...config, memory: '2GiB' })).toMatchObject({ action: 'none' });
    });
  });
});
