/** VMs that are made a second time or change their address: removed outside, replaced on request, renamed in the file. */
import { describe, expect, it } from 'vitest';
import { createPve, parseToken } from '../../../src/pve/index.ts';
import { failuresOf } from './support/invariants.ts';
import { type RunEnd, Scene, TOKEN_SECRET } from './support/scene.ts';

const TWO_VMS = `
version: 1
stack: lab
vms:
  web:
    count: 2
    name: web-\${number}
    node: pve1
    vmids: 401-409
    power: stopped
    clone: { template: ubuntu-24.04 }
    nics: { net0: { bridge: vmbr0 } }
`;
const RENAMED = TWO_VMS.replace('  web:\n', '  www:\n    formerly: web\n');

async function applied(text = TWO_VMS): Promise<Scene> {
  const scene = new Scene();
  expect(failuresOf(await scene.apply(text))).toEqual([]);
  return scene;
}

/** Another client. */
async function removeOutside({ simulator, clock }: Scene, vmid: number): Promise<void> {
  const credentials = parseToken(`root@pam!admin=${TOKEN_SECRET}`);
  const pve = createPve({ transport: simulator.transport(), credentials, clock });
  await clock.run(async () => pve.tasks.wait(await pve.node('pve1').vm(vmid).destroy({ purge: true })));
}

const kinds = (end: RunEnd) =>
  end.kind === 'ended' ? end.plan.changes.map(({ address, kind }) => `${address} ${kind}`) : failuresOf(end);

describe('a VM that was deleted outside Proxwright', () => {
  it('is made again, though nothing else is to be made', async () => {
    const scene = await applied();
    const before = await scene.state();
    await removeOutside(scene, 402);
    const end = await scene.apply(TWO_VMS);
    expect(failuresOf(end)).toEqual([]);
    expect(kinds(end)).toEqual(['vm.web[1] none', 'vm.web[2] create']);
    const after = await scene.state();
    expect(after.vms['vm.web[2]']?.uuid).not.toBe(before.vms['vm.web[2]']?.uuid);
    expect(scene.world.vms.get(402)?.config.current.get('name')).toBe('web-2');
    expect(kinds(await scene.plan(TWO_VMS))).toEqual(['vm.web[1] none', 'vm.web[2] none']);
  });
});

describe('a VM that was moved to another node outside', () => {
  it('is named in the plan, and stays there', async () => {
    const scene = await applied();
    const vm = scene.world.vms.get(402);
    if (vm) Object.assign(vm, { node: 'pve2' });
    const end = await scene.plan(TWO_VMS);
    expect(kinds(end)).toEqual(['vm.web[1] none', 'vm.web[2] none']);
    const outside = end.kind === 'ended' ? end.plan.changes.map((change) => change.outside) : [];
    expect(outside).toEqual([undefined, [{ path: 'node', applied: 'pve1', actual: 'pve2' }]]);
  });
});

describe('a VM that is to be replaced', () => {
  it('is destroyed and made from its template, though nothing else is to be made', async () => {
    const scene = await applied();
    const before = await scene.state();
    const end = await scene.apply(TWO_VMS, { replace: ['vm.web[1]'] });
    expect(failuresOf(end)).toEqual([]);
    expect(kinds(end)).toEqual(['vm.web[1] replace', 'vm.web[2] none']);
    const after = await scene.state();
    expect(after.vms['vm.web[1]']?.uuid).not.toBe(before.vms['vm.web[1]']?.uuid);
    expect(after.vms['vm.web[2]']).toEqual(before.vms['vm.web[2]']);
  });
});

describe('a group that was renamed', () => {
  it('keeps its VMs', async () => {
    const scene = await applied();
    const ids = [...scene.world.vms.keys()];
    expect(kinds(await scene.plan(RENAMED))).toEqual(['vm.www[1] update', 'vm.www[2] update']);
    expect(failuresOf(await scene.apply(RENAMED))).toEqual([]);
    expect([...scene.world.vms.keys()]).toEqual(ids);
    expect(Object.keys((await scene.state()).vms).sort()).toEqual(['vm.www[1]', 'vm.www[2]']);
    expect(kinds(await scene.plan(RENAMED))).toEqual(['vm.www[1] none', 'vm.www[2] none']);
  });

  it('can be destroyed at once', async () => {
    const scene = await applied();
    expect(failuresOf(await scene.destroy(RENAMED))).toEqual([]);
    expect(scene.world.vms.has(401) || scene.world.vms.has(402)).toBe(false);
    expect((await scene.state()).vms).toEqual({});
  });
});
