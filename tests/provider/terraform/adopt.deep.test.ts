/** VMs that were there before, written as a Terraform configuration: the host imports them, and nothing else happens. */
import { afterEach, describe, expect, it } from 'vitest';
import { emptyState } from '../../../src/kinds/recorded.ts';
import { foundVms } from '../../../src/kinds/vm/adopt/adopt.ts';
import { readGuests, survey } from '../../../src/kinds/vm/adopt/survey.ts';
import { terraformText } from '../../../src/kinds/vm/adopt/terraform-text.ts';
import { readHa } from '../../../src/kinds/vm/observe/ha.ts';
import { BY_HAND } from '../../simulation/support/stack-scene.ts';
import { ONE_HOST } from './support/hosts.ts';
import { problems, Scene } from './support/scene.ts';

let scene: Scene;
afterEach(() => scene.close());

describe.each(ONE_HOST)('VMs that were there before, under $name $version', (host) => {
  it('are imported by the configuration that adopt prints, and no request changes them', async () => {
    scene = await Scene.open({ host });
    const { outside: pve } = scene;
    const made = [
      { ...BY_HAND, vmid: 701, name: 'app-1' },
      {
        ...BY_HAND,
        vmid: 702,
        name: 'app-2',
        memory: 8192,
        ipconfig0: 'ip=10.0.30.6/24,gw=10.0.30.1',
        description: `$${'{cost}'} "%{if}"`,
      },
      { vmid: 703, name: 'odd.example.org', memory: 512, net0: 'e1000,bridge=vmbr0', tags: 'odd' },
    ];
    for (const values of made) await pve.tasks.wait(await pve.node('pve1').vms.create(values));
    const { signal } = new AbortController();
    const choice = { pools: [], tags: [], nodes: [], names: [], ids: [[701, 703]] as const };
    const guests = await readGuests(pve, signal);
    const found = await survey({ pve, signal, state: emptyState('lab'), stackName: 'lab' }, guests, choice);
    await scene.workspace.write('main.tf', terraformText(foundVms(found, await readHa(pve, signal))));
    const before = [701, 702, 703].map((vmid) => Object.fromEntries(scene.world.vms.get(vmid)?.config.current ?? []));
    scene.requests.length = 0;
    const applied = await scene.apply();
    expect(problems(applied)).toEqual([]);
    expect(applied.stdout).toContain('3 imported');
    expect(scene.requests.filter((line) => !line.startsWith('GET '))).toEqual([]);
    expect([701, 702, 703].map((vmid) => Object.fromEntries(scene.world.vms.get(vmid)?.config.current ?? []))).toEqual(
      before,
    );
    expect((await scene.plan()).code).toBe(0);
  });
});
