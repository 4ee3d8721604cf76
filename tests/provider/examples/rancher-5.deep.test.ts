/** examples/terraform/rancher-5: the five VMs whose memory once stayed at 2 GiB. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HOSTS } from '../terraform/support/hosts.ts';
import { problems } from '../terraform/support/scene.ts';
import { CleanCopy } from './clean-copy.ts';
import { documentedCluster } from './worlds.ts';

const ADDRESSES = {
  'rancher-manager-1': '10.20.0.11',
  'rancher-manager-2': '10.20.0.12',
  'rancher-manager-3': '10.20.0.13',
  'nprd-apps-1': '10.20.0.21',
  'nprd-apps-2': '10.20.0.22',
};

describe.each(HOSTS)('rancher-5 under $name $version', (host) => {
  let copy: CleanCopy;

  beforeEach(async () => {
    copy = await CleanCopy.open({ host, world: documentedCluster, folder: 'rancher-5' });
  });

  afterEach(() => copy.close());

  it('makes five VMs as they are described, wants nothing more, and leaves nothing behind', async () => {
    expect((await copy.init()).code).toBe(0);
    expect(problems(await copy.apply())).toEqual([]);
    expect(copy.scene.ours().sort((a, b) => a.vmid - b.vmid)).toMatchObject([
      { vmid: 401, name: 'rancher-manager-1', running: true },
      { vmid: 402, name: 'rancher-manager-2', running: true },
      { vmid: 403, name: 'rancher-manager-3', running: true },
      { vmid: 404, name: 'nprd-apps-1', running: true },
      { vmid: 405, name: 'nprd-apps-2', running: true },
    ]);
    for (const [name, address] of Object.entries(ADDRESSES)) {
      const config = copy.scene.configOf(name);
      // Not the template's 2048 and 2.
      expect([config.get('memory'), config.get('cores')]).toEqual(['8192', '4']);
      expect(config.get('scsi0')).toContain('size=100G');
      expect(config.get('net0')).toContain('bridge=vmbr1,tag=20');
      expect(config.get('ipconfig0')).toBe(`gw=10.20.0.1,ip=${address}/24`);
    }
    expect(await copy.outputs()).toEqual({ addresses: ADDRESSES });
    const again = await copy.plan();
    expect([again.code, problems(again)]).toEqual([0, []]);
    expect(problems(await copy.destroy())).toEqual([]);
    expect(copy.leftovers()).toEqual([]);
  });
});
