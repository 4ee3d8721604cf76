/**
 * How a whole stack is carried out: many VMs on one node, the pause between creations, readiness in turn, siblings of a
 * failure, Ctrl-C, two runs at once, an id that was recycled.
 */
import { describe, expect, it } from 'vitest';
import { recycle } from './support/battery.ts';
import { beforehand, codesOf, complaintsAfter, complaintsAfterDestroy, failuresOf } from './support/invariants.ts';
import { Scene } from './support/scene.ts';
import { FIVE_VMS } from './support/stacks.ts';

function group(count: number, rollout: string, more = ''): string {
  return `
version: 1
stack: lab
vms:
  web:
    count: ${count}
    name: web-\${number}
    node: pve1
    vmids: 501-599
    clone: { template: ubuntu-24.04, mode: full }
    memory: 4GiB
    ${more}
rollout: { ${rollout} }
`;
}

describe('fifty VMs on one node', () => {
  it('are made without a failure while locks are in use everywhere', { timeout: 120_000 }, async () => {
    const scene = new Scene({
      faults: [
        { kind: 'lock', every: 19, for_ms: 12_000 },
        { kind: 'storage-lock', storage: 'local-lvm', every: 11, for_ms: 8_000 },
        { kind: 'users-lock', every: 13, for_ms: 5_000 },
      ],
    });
    const before = beforehand(scene);
    const stack = group(50, 'readiness: parallel, limits: { vms: 50 }', 'disks: { scsi0: { size: 5GiB } }');
    expect(failuresOf(await scene.apply(stack))).toEqual([]);
    expect(scene.faults.strikes.length).toBeGreaterThan(20);
    // The limits keep us from causing lock timeouts; other clients still hold locks, and we retry.
    expect(scene.logs.filter((line) => line.includes('busy, trying again')).length).toBeGreaterThan(5);
    scene.faults.stop();
    await scene.clock.advance(60_000);
    expect(await complaintsAfter(scene, stack, before)).toEqual([]);
    expect(scene.tasks('qmclone').filter((status) => status === 'OK')).toHaveLength(50);
  });
});

describe('creations', () => {
  it('begin at least the stagger apart', async () => {
    const scene = new Scene();
    await scene.apply(group(4, 'stagger: 30s'));
    const starts = [...scene.world.tasks.values()]
      .filter(({ type }) => type === 'qmclone')
      .map((task) => task.startedAt);
    const pauses = starts.slice(1).map((start, index) => start - (starts[index] ?? 0));
    expect(starts).toHaveLength(4);
    for (const pause of pauses) expect(pause).toBeGreaterThanOrEqual(30_000);
  });
});

describe('a destroy of many running VMs', () => {
  it('shuts all of them down at once, and deletes a few at a time', async () => {
    const scene = new Scene();
    const stack = group(12, 'readiness: parallel, limits: { vms: 3, destroys: 2 }', 'guest: cloud-init');
    expect(failuresOf(await scene.apply(stack))).toEqual([]);
    expect(failuresOf(await scene.destroy(stack, { running: 'shutdown' }))).toEqual([]);
    const during = (type: string) => {
      const tasks = [...scene.world.tasks.values()].filter((task) => task.type === type);
      const started = tasks.map(({ startedAt }) => startedAt);
      return Math.max(
        ...started.map((at) => tasks.filter((t) => t.startedAt <= at && (t.endedAt ?? at + 1) > at).length),
      );
    };
    expect(during('qmshutdown')).toBe(12);
    expect(during('qmdestroy')).toBe(2);
  });
});

describe('sequential readiness', () => {
  it('waits for one VM after the other, while creations continue', async () => {
    const scene = new Scene();
    const end = await scene.apply(
      group(3, 'readiness: sequential, limits: { clones_per_node: 1 }', 'guest: cloud-init'),
    );
    expect(failuresOf(end)).toEqual([]);
    const firstPing = new Map<string, number>();
    const lastPing = new Map<string, number>();
    for (const [index, request] of scene.requests.entries()) {
      const vmid = /qemu\/(\d+)\/agent\//.exec(request.target)?.[1];
      if (vmid === undefined) continue;
      if (!firstPing.has(vmid)) firstPing.set(vmid, index);
      lastPing.set(vmid, index);
    }
    expect([...firstPing.keys()]).toEqual(['501', '502', '503']);
    expect(firstPing.get('502')).toBeGreaterThan(lastPing.get('501') ?? Number.NaN);
    expect(firstPing.get('503')).toBeGreaterThan(lastPing.get('502') ?? Number.NaN);
    const clones = scene.requests.flatMap(({ target }, index) => (target.endsWith('/clone') ? [index] : []));
    expect(clones).toHaveLength(3);
    expect(clones.at(-1)).toBeLessThan(lastPing.get('501') ?? Number.NaN);
  });
});

describe('the failure of one VM', () => {
  const failing = { kind: 'task-fail', match: { task: 'qmclone' }, at: 1, percent: 50 } as const;

  it('leaves its siblings alone if the stack says continue', async () => {
    const scene = new Scene({ faults: [failing] });
    const end = await scene.apply(group(4, 'on_failure: continue, limits: { vms: 1 }'));
    const outcomes = end.kind === 'ended' ? [...(end.result?.outcomes.values() ?? [])] : [];
    expect(outcomes.sort()).toEqual(['done', 'done', 'done', 'failed']);
    expect(codesOf(end)).toEqual(['TASK_FAILED']);
  });

  it('starts no further VM if the stack says stop', async () => {
    const scene = new Scene({ faults: [failing] });
    const before = beforehand(scene);
    const stack = group(4, 'on_failure: stop, limits: { vms: 1 }');
    const end = await scene.apply(stack);
    const outcomes = end.kind === 'ended' ? [...(end.result?.outcomes.values() ?? [])] : [];
    expect(outcomes.sort()).toEqual(['failed', 'skipped', 'skipped', 'skipped']);
    expect(await complaintsAfter(scene, stack, before)).toEqual([]);
  });
});

describe('Ctrl-C', () => {
  it.each([500, 1_500, 3_000, 6_000])('stops cleanly after %i ms, and the next run resumes', async (afterMs) => {
    const scene = new Scene();
    const before = beforehand(scene);
    const end = await scene.together(async () => {
      const run = scene.apply(FIVE_VMS);
      await scene.clock.sleep(afterMs);
      scene.abort.abort(new Error('stopped by the user'));
      return run;
    });
    const outcomes = end.kind === 'ended' ? [...(end.result?.outcomes.values() ?? [])] : [];
    expect(outcomes).toContain('canceled');
    expect(outcomes.filter((outcome) => outcome !== 'canceled' && outcome !== 'done')).toEqual([]);
    expect(codesOf(end).filter((code) => code !== 'CANCELED')).toEqual([]);
    expect(await scene.isLockLeft()).toBe(false);
    scene.abort = new AbortController();
    expect(await complaintsAfter(scene, FIVE_VMS, before)).toEqual([]);
    expect(scene.tasks('qmclone')).toEqual(['OK', 'OK', 'OK', 'OK', 'OK']);
    expect(await complaintsAfterDestroy(scene, FIVE_VMS, before)).toEqual([]);
  });

  it('leaves a VM that the next plan waits for, and says why', async () => {
    const scene = new Scene();
    const one = group(1, 'readiness: parallel', 'guest: cloud-init');
    const end = await scene.together(async () => {
      const run = scene.apply(one);
      while (!scene.tasks('qmstart').includes('OK')) await scene.clock.sleep(100);
      scene.abort.abort(new Error('stopped by the user'));
      return run;
    });
    expect(end.kind === 'ended' && [...(end.result?.outcomes.values() ?? [])]).toEqual(['canceled']);
    scene.abort = new AbortController();
    const next = await scene.plan(one);
    const changes = next.kind === 'ended' ? next.plan.changes : [];
    expect(changes).toMatchObject([
      { kind: 'update', reason: 'An earlier run ended while it started or stopped the VM.' },
    ]);
    expect(failuresOf(await scene.apply(one))).toEqual([]);
    expect(scene.tasks('qmstart')).toEqual(['OK']);
  });
});

describe('a second run on the same stack', () => {
  it('is refused while the first lives, and says who it is', async () => {
    const scene = new Scene();
    const [first, second] = await scene.together(async () => {
      const running = scene.apply(FIVE_VMS);
      await scene.clock.sleep(1_000);
      return [await scene.apply(FIVE_VMS), await running];
    });
    expect(codesOf(first)).toEqual(['STATE_LOCKED']);
    expect(failuresOf(first)[0]).toContain('tester');
    expect(failuresOf(second)).toEqual([]);
  });
});

describe('a uuid that differs only in case', () => {
  it('is that of our VM for plan, actions and destroy', async () => {
    const scene = new Scene();
    expect(failuresOf(await scene.apply(FIVE_VMS))).toEqual([]);
    const vm = scene.world.vms.get(402);
    const smbios = (vm?.config.current.get('smbios1') ?? '').replace(/(?<=uuid=)[^,]+/, (uuid) => uuid.toUpperCase());
    expect(smbios).toMatch(/uuid=[0-9A-F-]{36}/);
    if (vm) vm.config = { ...vm.config, current: new Map([...vm.config.current, ['smbios1', smbios]]) };
    expect(failuresOf(await scene.apply(FIVE_VMS.replace('4GiB', '6GiB')))).toEqual([]);
    expect(failuresOf(await scene.destroy(FIVE_VMS))).toEqual([]);
    expect(scene.world.vms.has(402)).toBe(false);
  });
});

describe('an id that was recycled', () => {
  it('is refused by name by apply and by destroy, and the stranger is not touched', async () => {
    const scene = new Scene();
    expect(failuresOf(await scene.apply(FIVE_VMS))).toEqual([]);
    recycle(scene, 402);
    const stranger = scene.world.vms.get(402)?.config;
    for (const end of [await scene.apply(FIVE_VMS.replace('4GiB', '6GiB')), await scene.destroy(FIVE_VMS)]) {
      expect(codesOf(end)).toEqual(['NOT_OURS']);
      expect(failuresOf(end)[0]).toContain('402');
      expect(failuresOf(end)[0]).toContain('vm.web[2]');
    }
    expect(scene.world.vms.get(402)?.config).toBe(stranger);
  });

  it('is noticed also between the plan and the act', async () => {
    const scene = new Scene();
    expect(failuresOf(await scene.apply(FIVE_VMS))).toEqual([]);
    await scene.clock.advance(60_000);
    const original = scene.onRequest;
    scene.onRequest = (line) => {
      // The first write of the run is about to be sent to some VM: by then all have been planned.
      if (line.startsWith('PUT') && scene.world.vms.get(404)?.config.current.get('name') !== 'recycled')
        recycle(scene, 404);
    };
    const end = await scene.apply(FIVE_VMS.replace('size: 10GiB', 'size: 14GiB'));
    scene.onRequest = original;
    const problem = end.kind === 'ended' ? [...(end.result?.problems.values() ?? [])] : [];
    expect(problem.map(({ code }) => code)).toEqual(['NOT_OURS']);
    expect(scene.world.vms.get(404)?.config.current.get('name')).toBe('recycled');
    expect(scene.world.vms.get(404)?.config.current.get('scsi0')).toContain('size=10G');
  });
});
