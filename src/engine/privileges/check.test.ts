import { describe, expect, it } from 'vitest';
import type { Pve } from '../../pve/client.ts';
import { withZones } from './check.ts';
import { Grants } from './grants.ts';
import type { Requirement } from './requirement.ts';

/** A token that may use one zone, on a cluster that shows it another one. */
function server(): { pve: Pve; asked: string[] } {
  const asked: string[] = [];
  const pve = {
    access: {
      permissions: async ({ path }: { path?: string }) => {
        asked.push(path ?? '*');
        if (path === undefined) return { '/sdn/zones/lab': { 'SDN.Use': true } };
        return { [path]: path.startsWith('/sdn/zones/lab/') ? { 'SDN.Use': true } : {} };
      },
    },
    cluster: { resources: async () => [{ id: 'network/pve1/zone/office', type: 'network' }] },
  };
  return { pve: pve as unknown as Pve, asked }; // only what is asked here
}

const using = (network: string): Requirement => ({
  privileges: ['SDN.Use'],
  paths: [{ path: `/sdn/zones/localnetwork/${network}` }],
  because: [{ where: { address: 'vm.web' }, step: 'vm.configure' }],
});

describe('a network that may be a VNet', () => {
  it('is searched for in every visible zone', async () => {
    const { pve, asked } = server();
    expect(await withZones([using('blue/20')], new Grants(pve), pve, undefined)).toEqual([]);
    expect(asked).toContain('/sdn/zones/office/blue/20');
  });

  it('counts as a bridge if it is named like one, without a request', async () => {
    const { pve, asked } = server();
    expect(await withZones([using('vmbr0')], new Grants(pve), pve, undefined)).toEqual([using('vmbr0')]);
    expect(asked).toEqual([]);
  });
});
