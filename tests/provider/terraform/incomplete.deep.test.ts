/** A creation that fails is completed by the next apply: nothing is tainted, destroyed or made twice. */
import { afterEach, describe, expect, it } from 'vitest';
import { printOwnership } from '../../../src/kinds/vm/ownership.ts';
import type { FaultRuleInput } from '../../../src/simulator/index.ts';
import { data, output, SMALL, vm } from './support/hcl.ts';
import { HOSTS, ONE_HOST } from './support/hosts.ts';
import { problems, Scene, warnings } from './support/scene.ts';

const WEB = { ...SMALL, cpu: { cores: 4 }, disks: { scsi0: { size: '4GiB' } } };
const INCOMPLETE = [
  data('proxwright_vms', 'left', { incomplete: true }),
  output('left', 'data.proxwright_vms.left.vms[*].vmid'),
];

/** Where a creation can fail, after the VM has come into being. */
const FAILURES: readonly [where: string, rule: FaultRuleInput][] = [
  ['its configuration is refused', { kind: 'refuse', match: { method: 'PUT', path: 'config' } }],
  ['a disk is not grown', { kind: 'refuse', match: { method: 'PUT', path: 'resize' } }],
  ['it does not start', { kind: 'task-fail', match: { task: 'qmstart' }, percent: 0 }],
];

let scene: Scene;
afterEach(() => scene.close());

describe.each(HOSTS)('a creation under $name $version', (host) => {
  it.each(FAILURES)('is completed by the next apply after a failure because %s', async (_, rule) => {
    scene = await Scene.open({ host, faults: [rule] });
    await scene.write(vm('web', WEB));
    const failed = await scene.apply();
    expect(problems(failed)).toHaveLength(1);
    expect(scene.faults.strikes.length).toBeGreaterThan(0);
    const [left] = scene.ours();
    expect(warnings(failed).join()).toContain(`VM ${left?.vmid} on pve1 ("web") stays and is marked as incomplete`);
    expect(scene.configOf('web').get('description')).toContain('state=incomplete');
    expect([...(await scene.state()).keys()]).toEqual([]);

    scene.faults.stop();
    const planned = await scene.plan();
    expect([planned.code, warnings(planned).join()]).toEqual([
      2,
      expect.stringContaining('Apply completes it; it does not create another one'),
    ]);
    expect(problems(await scene.apply())).toEqual([]);
    expect(scene.ours()).toEqual([{ ...left, running: true }]);
    expect(scene.taskCount('qmclone')).toBe(1);
    expect(scene.configOf('web').get('cores')).toBe('4');
    expect(scene.configOf('web').get('description')).not.toContain('incomplete');
    expect([(await scene.plan()).code, scene.orphans()]).toEqual([0, []]);
  });
});

describe.each(ONE_HOST)('an unfinished change under $name $version', (host) => {
  it('is nothing if the clone itself fails, and the next apply starts over', async () => {
    scene = await Scene.open({ host, faults: [{ kind: 'task-fail', match: { task: 'qmclone' }, percent: 50 }] });
    await scene.write(vm('web', WEB));
    expect(problems(await scene.apply())).toHaveLength(1);
    scene.faults.stop();
    expect(problems(await scene.apply())).toEqual([]);
    expect([(await scene.plan()).code, scene.ours().length, scene.orphans()]).toEqual([0, 1, []]);
  });

  it('is listed when its block is gone, and completed when the block is back', async () => {
    scene = await Scene.open({ host, faults: [{ kind: 'refuse', match: { method: 'PUT', path: 'config' } }] });
    await scene.write(vm('web', WEB));
    expect(problems(await scene.apply())).toHaveLength(1);
    scene.faults.stop();
    await scene.write(...INCOMPLETE);
    expect(problems(await scene.apply())).toEqual([]);
    const [left] = scene.ours();
    expect(await scene.outputs()).toEqual({ left: [left?.vmid] });
    await scene.write(vm('web', WEB), ...INCOMPLETE);
    expect(problems(await scene.apply())).toEqual([]);
    expect(problems(await scene.apply())).toEqual([]);
    expect(await scene.outputs()).toEqual({ left: [] });
    expect(scene.ours().map(({ vmid }) => vmid)).toEqual([left?.vmid]);
  });

  it('is not guessed at where two have the same name', async () => {
    scene = await Scene.open({ host });
    for (const vmid of [501, 502]) {
      const pve1 = scene.outside.node('pve1');
      const line = printOwnership({
        stack: 'terraform/root@pam!admin',
        address: 'vm.web',
        vmid,
        nonce: `nonce-${vmid}`,
        incomplete: true,
      });
      await scene.outside.tasks.wait(
        await pve1.vm(9000).clone({ newid: vmid, name: 'web', full: true, description: line }),
      );
    }
    await scene.write(vm('web', WEB));
    const planned = await scene.plan();
    expect(problems(planned)).toEqual([
      expect.stringContaining('Earlier runs left several incomplete VMs called "web": 501 on pve1, 502 on pve1.'),
    ]);
    expect(problems(await scene.apply())).toHaveLength(1);
    expect(scene.ours().length).toBe(2);
    await scene.write(vm('web', { ...WEB, vmid: 502 }));
    expect(problems(await scene.apply())).toEqual([]);
    expect((await scene.plan()).code).toBe(0);
    expect(scene.ours().map(({ vmid, running }) => [vmid, running])).toEqual([
      [501, false],
      [502, true],
    ]);
  });

  it('is never the VM of another owner, and a complete VM that the state has lost is not created twice', async () => {
    scene = await Scene.open({ host });
    const pve1 = scene.outside.node('pve1');
    await scene.outside.tasks.wait(await pve1.vm(9000).clone({ newid: 500, name: 'web', full: true }));
    await scene.write(vm('web', WEB));
    expect(problems(await scene.apply())).toEqual([]);
    expect(scene.ours().length).toBe(2);
    expect(scene.world.vms.get(500)?.process).toBeUndefined();

    const { vmid } = (await scene.state()).get('proxwright_vm.web') ?? {};
    expect((await scene.run(['state', 'rm', 'proxwright_vm.web'])).code).toBe(0);
    const lost = await scene.plan();
    expect(problems(lost)).toEqual([expect.stringContaining('A VM of this name is not in the state')]);
    expect(JSON.stringify(lost.diagnostics)).toContain('terraform import ADDRESS NODE/VMID');
    expect((await scene.run(['import', '-input=false', 'proxwright_vm.web', `pve1/${vmid}`])).code).toBe(0);
    // A VM does not record what it was cloned from: the state gets it, and nothing is sent.
    expect(await scene.changes()).toMatchObject([{ actions: ['update'], changed: ['clone'] }]);
    scene.requests.length = 0;
    expect(problems(await scene.apply())).toEqual([]);
    expect(scene.requests.filter((line) => !line.startsWith('GET'))).toEqual([]);
    expect((await scene.plan()).code).toBe(0);
  });

  it('is kept when a wait of this VM ends before its time, and completed when it may last longer', async () => {
    scene = await Scene.open({ host, faults: [{ kind: 'agent-silent', match: {}, at: 1, for_ms: 3_000_000 }] });
    const guest = { ...WEB, guest: 'cloud-init', ready: { agent: true } };
    await scene.write(vm('web', { ...guest, timeouts: { ready: '20s' } }));
    const failed = await scene.apply();
    expect(problems(failed).join()).toMatch(/ready|agent|20 ?s/i);
    const [left] = scene.ours();
    expect(left?.running).toBe(true);
    scene.faults.stop();
    await scene.write(vm('web', { ...WEB, ready: { agent: false }, timeouts: { ready: '1h' } }));
    expect(problems(await scene.apply())).toEqual([]);
    expect([scene.ours(), (await scene.plan()).code]).toEqual([[left], 0]);
  });

  it('does not lose a change that fails: the next plan shows the rest', async () => {
    scene = await Scene.open({
      host,
      faults: [{ kind: 'refuse', match: { method: 'PUT', path: 'resize' }, at: 2, times: 99 }],
    });
    await scene.write(vm('web', { ...WEB, vmid: 410 }));
    expect(problems(await scene.apply())).toEqual([]);
    await scene.write(vm('web', { ...WEB, vmid: 410, tags: ['new'], disks: { scsi0: { size: '5GiB' } } }));
    expect(problems(await scene.apply())).toHaveLength(1);
    expect((await scene.state()).get('proxwright_vm.web')).toMatchObject({
      vmid: 410,
      disks: { scsi0: { size: '4GiB' } },
    });
    scene.faults.stop();
    expect(await scene.changes()).toMatchObject([{ actions: ['update'] }]);
    expect(problems(await scene.apply())).toEqual([]);
    expect((await scene.plan()).code).toBe(0);
    expect(scene.configOf('web').get('scsi0')).toContain('size=5G');
  });
});
