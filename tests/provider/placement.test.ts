/** `proxwright_placement`: nodes for groups of VMs, chosen together, on the simulated cluster of two nodes. */
import { describe, expect, it } from 'vitest';
import { printOwnership } from '../../src/kinds/vm/ownership.ts';
import type { CtyObject } from '../../src/provider/cty/value.ts';
import { labWorld } from '../simulation/engine/support/lab-world.ts';
import { ProviderBench, readData } from './support/provider-bench.ts';
import { type Config, complete } from './support/toy-host.ts';

const TYPE = 'proxwright_placement';

const CLONE = { template: 'ubuntu-24.04' };
const group = (names: readonly string[], more: Config = {}): Config => ({ names, clone: CLONE, ...more });

async function place(written: Config, bench = new ProviderBench(labWorld)) {
  return bench.run(async () => {
    const provider = await bench.process();
    const { attributes } = (await provider.dataSources.get(TYPE)?.())?.schema ?? { attributes: {} };
    const { node: _, zone: _zone, reason: _reason, ...config } = complete(attributes, written);
    return readData(provider, TYPE, config);
  });
}

/** What another client wrote into VM 403, which is on pve1. */
function rewrite({ world }: ProviderBench, values: Readonly<Record<string, string>>): void {
  const vm = world.vms.get(403);
  if (vm) vm.config = { ...vm.config, current: new Map([...vm.config.current, ...Object.entries(values)]) };
}

const WEB = ['web-1', 'web-2', 'web-3', 'web-4'];

describe('proxwright_placement', () => {
  it('spreads each group, says why, and asks nothing of the cluster but reads', async () => {
    const bench = new ProviderBench(labWorld);
    const { state, told } = await place({ groups: { web: group(WEB, { memory: '2GiB' }) } }, bench);
    expect(told).toEqual([]);
    expect(state?.node).toEqual({ 'web-1': 'pve2', 'web-2': 'pve1', 'web-3': 'pve2', 'web-4': 'pve1' });
    expect(state?.reason).toMatchObject({ 'web-2': expect.stringMatching(/GiB free, none of this group$/) });
    expect(bench.requests.filter((line) => !line.startsWith('GET '))).toEqual([]);
  });

  it('chooses the same whatever order the groups and nodes are written in', async () => {
    const db = group(['db-1', 'db-2']);
    const one = await place({ nodes: ['pve1', 'pve2'], groups: { web: group(WEB), db } });
    const other = await place({ nodes: ['pve2', 'pve1'], groups: { db, web: group(WEB) } });
    expect(other.state?.node).toEqual(one.state?.node);
  });

  it('leaves a VM that exists where it is, and spreads the new ones around it', async () => {
    const bench = new ProviderBench(labWorld);
    rewrite(bench, { name: 'web-1' });
    const { state } = await place({ groups: { web: group(['web-1', 'web-2', 'web-3']) } }, bench);
    expect(state?.node).toMatchObject({ 'web-1': 'pve1', 'web-2': 'pve2' });
    expect(state?.reason).toMatchObject({ 'web-1': '' });
  });

  it('does not mistake a VM of another owner for the one it places', async () => {
    const bench = new ProviderBench(labWorld);
    rewrite(bench, { name: 'web-1', description: printOwnership({ stack: 'other', address: 'vm.web-1', vmid: 403 }) });
    const { state, told } = await place({ groups: { web: group(['web-1']) } }, bench);
    expect(told).toEqual([]);
    expect(state?.reason).toMatchObject({ 'web-1': expect.stringContaining('free') });
  });

  it('warns where a node is offline, because Proxmox does not name its guests then', async () => {
    const bench = new ProviderBench(labWorld);
    const pve1 = bench.world.nodes.get('pve1');
    await bench.run(async () => {
      if (pve1) pve1.online = false;
      await bench.clock.sleep(3_600_000);
    });
    const { state, told } = await place({ groups: { web: { names: ['web-1'] } } }, bench);
    expect(state?.node).toEqual({ 'web-1': 'pve2' });
    expect(told).toEqual([expect.stringMatching(/^warning -: Proxmox does not know the names of .*403 on pve1/)]);
  });

  it('goes over zones, and names the zone of each VM', async () => {
    const { state } = await place({ zones: { a: ['pve1'], b: ['pve2'] }, groups: { web: group(['web-1', 'web-2']) } });
    expect(new Set(Object.values(state?.zone as CtyObject))).toEqual(new Set(['a', 'b']));
  });

  it('keeps groups apart, and refuses with the reason for each node where that cannot be', async () => {
    const control = group(['control-1'], { placement: { max_per_node: 1 } });
    const apart = (count: number) =>
      group(WEB.slice(0, count), { placement: { max_per_node: 1, apart_from: ['control'] } });
    const fits = await place({ groups: { control, web: apart(1) } });
    expect(new Set(Object.values(fits.state?.node as CtyObject)).size).toBe(2);
    const { state, diagnostics } = await place({ groups: { control, web: apart(2) } });
    expect(state).toBeNull();
    expect(diagnostics[0]?.detail).toMatch(/pve[12]: It has vm\.control-1, which apart_from keeps apart\./);
    expect(diagnostics[0]?.path?.[0]).toEqual({ kind: 'attribute', name: 'groups' });
  });

  it('refuses a template that is nowhere, and names twice or unknown groups', async () => {
    const missing = await place({ groups: { web: group(['web-1'], { clone: { template: 'nowhere' } }) } });
    expect(missing.told).toEqual([expect.stringMatching(/cannot see a template "nowhere" on any node/)]);
    const twice = await place({
      groups: {
        web: group(['web-1']),
        db: group(['web-1'], { placement: { apart_from: ['db', 'cache'] } }),
      },
    });
    expect(twice.told.map((line) => line.replace(/^[^:]*: /, ''))).toEqual([
      '"web-1" is named twice.',
      '"db" cannot be kept apart from itself.',
      'There is no group "cache" here.',
    ]);
  });
});
