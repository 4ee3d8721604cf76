/** `node` of a resource changes: the VM moves, or the plan says what keeps it. */
import { expect, it } from 'vitest';
import { codes } from './support/small-vms.ts';
import type { Config } from './support/toy-host.ts';
import { VmBench } from './support/vm-bench.ts';

const config = (node: string, more: Config = {}): Config => ({
  name: 'web',
  node,
  guest: 'cloud-init',
  clone: { template: 'ubuntu-24.04' },
  ...more,
});
const WITH_ISO: Config = { disks: { ide0: { iso: 'local:iso/debian-13.1.0-amd64-netinst.iso' } } };

it('refuses a changed node at plan time if the VM has an ISO file on storage of its node', async () => {
  const bench = new VmBench();
  await bench.run(async () => {
    const { host } = bench.process();
    expect(codes((await host.apply(config('pve1', WITH_ISO))).diagnostics)).toEqual([]);
    bench.requests.length = 0;
    const plan = await host.plan(config('pve2', WITH_ISO));
    expect(codes(plan.diagnostics)).toEqual(['CANNOT_MOVE']);
    expect(bench.writes()).toEqual([]);
  });
});

it('moves a VM that nothing keeps, and plans nothing more', async () => {
  const bench = new VmBench();
  await bench.run(async () => {
    const { host } = bench.process();
    expect(codes((await host.apply(config('pve1'))).diagnostics)).toEqual([]);
    expect(codes((await host.apply(config('pve2'))).diagnostics)).toEqual([]);
    expect(host.state).toMatchObject({ current_node: 'pve2', status: 'running' });
    expect((await host.plan(config('pve2'))).action).toBe('none');
  });
});
