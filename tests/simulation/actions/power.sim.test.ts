import { describe, expect, it } from 'vitest';
import type { FaultRuleInput } from '../../../src/simulator/index.ts';
import { Bench, CLONE, desiredEntries, WEB } from './bench.ts';

const LOST = ['cut-before', 'cut-after', 'proxy-timeout'] as const;

async function ready(rules: readonly FaultRuleInput[] = [], source = 9000): Promise<Bench> {
  const bench = new Bench(rules);
  await bench.run('vm.clone', { ...CLONE, source: { node: 'pve1', vmid: source } });
  await bench.run('vm.verify', { desired: [], applied: {} });
  return bench;
}

async function running(rules: readonly FaultRuleInput[] = [], source = 9000): Promise<Bench> {
  const bench = await ready(rules, source);
  await bench.run('vm.start', {});
  // Long enough for the guest to react to the power button.
  await bench.clock.advance(120_000);
  bench.requests.length = 0;
  return bench;
}

async function recycle(bench: Bench): Promise<void> {
  const node = bench.pve.node('pve1');
  await bench.clock.run(async () => {
    await bench.pve.tasks.wait(await node.vm(101).status.stop());
    await bench.pve.tasks.wait(await node.vm(101).destroy());
    await bench.pve.tasks.wait(await node.vms.create({ vmid: 101, name: 'stranger', memory: 512 }));
  });
  bench.requests.length = 0;
}

describe('vm.start', () => {
  it('starts right after reading that the VM is still ours', async () => {
    const bench = await ready();
    bench.requests.length = 0;
    // Longer than a round trip since the VM was compared.
    await bench.clock.advance(250);
    await bench.run('vm.start', {});
    expect(bench.sent()).toEqual(['GET /nodes/pve1/qemu/101/pending', 'POST /nodes/pve1/qemu/101/status/start']);
    expect(bench.vm().process).toBeDefined();
  });

  it('does not read again what it has just compared', async () => {
    const bench = await ready();
    bench.requests.length = 0;
    await bench.clock.advance(249);
    await bench.run('vm.start', {});
    expect(bench.sent()).toEqual(['POST /nodes/pve1/qemu/101/status/start']);
  });

  it('refuses a VM that was not read back and compared', async () => {
    const bench = new Bench();
    await bench.run('vm.clone', CLONE);
    expect(await bench.failure('vm.start', {})).toMatchObject({ code: 'INVARIANT' });
    expect(bench.vm().process).toBeUndefined();
  });

  it('succeeds for a VM that is already running', async () => {
    const bench = await running();
    await bench.run('vm.start', {});
    expect(bench.vm().process).toBeDefined();
  });

  it('passes warnings on as warnings', async () => {
    const bench = await ready([{ kind: 'task-warn', match: { task: 'qmstart' }, message: 'old machine version' }]);
    await bench.run('vm.start', {});
    const warnings = bench.logs.filter(({ level }) => level === 'warn');
    expect(warnings.map(({ message }) => message).join()).toContain('old machine version');
  });

  it.each(LOST)('starts the VM once after %s', async (kind) => {
    const bench = await ready([{ kind, match: { path: 'start' }, at: 1 }]);
    await bench.run('vm.start', {});
    expect(bench.vm().process).toBeDefined();
    expect(bench.tasks('qmstart').filter((status) => status === 'OK')).toHaveLength(1);
  });

  it('is retried while another client holds the lock', async () => {
    const bench = await ready([{ kind: 'lock', match: { path: 'start' }, at: 1, for_ms: 12_000 }]);
    await bench.run('vm.start', {});
    expect(bench.vm().process).toBeDefined();
  });

  it('shows why it failed', async () => {
    const bench = await ready([{ kind: 'task-fail', match: { task: 'qmstart' }, percent: 0, message: 'no KVM here' }]);
    expect((await bench.failure('vm.start', {})).diagnostic.detail).toContain('no KVM here');
  });

  it('never starts a stranger', async () => {
    const bench = await ready();
    bench.context().observed.last = undefined;
    await recycle(bench);
    expect(await bench.failure('vm.start', {})).toMatchObject({ code: 'NOT_OURS' });
    expect(bench.vm().process).toBeUndefined();
  });
});

describe('vm.stop', () => {
  it.each(['shutdown', 'stop'] as const)('ends with a stopped VM by %s', async (how) => {
    const bench = await running();
    await bench.run('vm.stop', { how });
    expect(bench.vm().process).toBeUndefined();
  });

  it('leaves a stopped VM alone', async () => {
    const bench = await ready();
    bench.requests.length = 0;
    await bench.run('vm.stop', { how: 'shutdown' });
    expect(bench.writes()).toEqual([]);
  });

  it.each(LOST)('ends with a stopped VM after %s', async (kind) => {
    const bench = await running([{ kind, match: { path: 'shutdown' }, at: 1 }]);
    await bench.run('vm.stop', { how: 'shutdown' });
    expect(bench.vm().process).toBeUndefined();
  });

  it('reports that a guest which does not react is still running', async () => {
    const bench = await running();
    // A guest that has just begun to boot does not react to the button.
    await bench.clock.run(() => bench.pve.node('pve1').vm(101).status.reset());
    await bench.clock.advance(100);
    const vm = bench.vm();
    if (vm.process) vm.process.guestBootedAt = Number.POSITIVE_INFINITY;
    const error = await bench.failure('vm.stop', { how: 'shutdown' });
    expect(error).toMatchObject({ code: 'TASK_FAILED' });
    expect(error.diagnostic.detail).toContain('is still running');
    expect(bench.vm().process).toBeDefined();
  });

  it('never stops a stranger', async () => {
    const bench = await running();
    await recycle(bench);
    expect(await bench.failure('vm.stop', { how: 'stop' })).toMatchObject({ code: 'NOT_OURS' });
    expect(bench.writes()).toEqual([]);
  });
});

describe('vm.restart', () => {
  it('makes pending changes real', async () => {
    const bench = await running();
    const desired = desiredEntries({ cores: '4' });
    await bench.run('vm.configure', { desired });
    await bench.run('vm.verify', { desired, applied: {} });
    expect(bench.vm().config.pending.get('cores')).toBe('4');
    const before = bench.vm().process;
    await bench.run('vm.restart', { reasons: ['cores'] });
    expect(bench.config('cores')).toBe('4');
    expect(bench.vm().config.pending.size).toBe(0);
    expect(bench.vm().process).not.toBe(before);
  });

  it('leaves a VM alone that does not run', async () => {
    const bench = await ready();
    await bench.run('vm.restart', { reasons: [] });
    expect(bench.vm().process).toBeUndefined();
  });
});

describe('vm.destroy', () => {
  const deletes = (bench: Bench) =>
    bench.requests.filter(({ method }) => method === 'DELETE').map(({ target }) => target.split('?')[1]);

  it('removes a stopped VM with its disks, and no volume that only carries its id', async () => {
    const bench = await ready();
    await bench.run('vm.verify', { desired: [], applied: { memory: '2GiB' } });
    bench.requests.length = 0;
    const volumes = [...(bench.world.storages.get('local-lvm')?.volumes.values() ?? [])][0];
    const [disk] = [...(volumes?.values() ?? [])].filter(({ vmid }) => vmid === 101);
    if (!disk) throw new Error('The VM has no disk.');
    volumes?.set('vm-101-disk-9', { ...disk, name: 'vm-101-disk-9' });
    await bench.run('vm.destroy', { stop: 'refuse' });
    expect(bench.world.vms.has(101)).toBe(false);
    expect(deletes(bench)).toEqual(['purge=1']);
    expect([...(volumes?.values() ?? [])].filter(({ vmid }) => vmid === 101)).toMatchObject([
      { name: 'vm-101-disk-9' },
    ]);
  });

  it('removes what is left of a creation that never finished, wherever it is', async () => {
    const bench = new Bench();
    await bench.run('vm.clone', { ...CLONE, source: { node: 'pve1', vmid: 9000 } });
    bench.requests.length = 0;
    await bench.run('vm.destroy', { stop: 'refuse' });
    expect(deletes(bench)).toEqual(['purge=1&destroy-unreferenced-disks=1']);
  });

  it('succeeds for a VM that is gone', async () => {
    const bench = await ready();
    await bench.run('vm.destroy', { stop: 'refuse' });
    await bench.run('vm.destroy', { stop: 'refuse' });
    expect(bench.tasks('qmdestroy')).toEqual(['OK']);
  });

  it.each(['shutdown', 'stop'] as const)('ends a running VM first, by %s', async (stop) => {
    const bench = await running();
    await bench.run('vm.destroy', { stop });
    expect(bench.world.vms.has(101)).toBe(false);
  });

  it('refuses a running VM on request', async () => {
    const bench = await running();
    expect(await bench.failure('vm.destroy', { stop: 'refuse' })).toMatchObject({ code: 'ALREADY_RUNNING' });
    expect(bench.vm().process).toBeDefined();
  });

  it('honours protection before it stops anything', async () => {
    const bench = await running();
    await bench.run('vm.configure', { desired: desiredEntries({ protection: '1' }) });
    const error = await bench.failure('vm.destroy', { stop: 'stop' });
    expect(error).toMatchObject({ code: 'PROTECTED' });
    expect(error.diagnostic.hint?.text).toContain('protection: false');
    expect(bench.vm().process).toBeDefined();
  });

  it.each(LOST)('destroys the VM once after %s', async (kind) => {
    const bench = await ready([{ kind, match: { method: 'DELETE' }, at: 1 }]);
    await bench.run('vm.destroy', { stop: 'stop' });
    expect(bench.world.vms.has(101)).toBe(false);
    expect(bench.tasks('qmdestroy')).toEqual(['OK']);
  });

  it('is retried while another client holds the lock', async () => {
    const bench = await ready([{ kind: 'lock', match: { method: 'DELETE' }, at: 1, for_ms: 15_000 }]);
    await bench.run('vm.destroy', { stop: 'stop' });
    expect(bench.world.vms.has(101)).toBe(false);
  });

  it('names the command for what only root can repair', async () => {
    const bench = await ready([{ kind: 'users-lock', match: { method: 'DELETE' }, at: 1, for_ms: 60_000 }]);
    const error = await bench.failure('vm.destroy', { stop: 'stop' });
    expect(error).toMatchObject({ code: 'STALE_LOCK' });
    expect(error.diagnostic.hint?.text).toContain('qm unlock 101 && qm destroy 101');
  });

  it('never destroys a stranger', async () => {
    const bench = await running();
    await recycle(bench);
    const error = await bench.failure('vm.destroy', { stop: 'stop' });
    expect(error).toMatchObject({ code: 'NOT_OURS' });
    expect(error.diagnostic.detail).toContain('"stranger"');
    // The bench has made and started the VM that had the id before.
    expect(error.diagnostic.detail).not.toContain('Nothing was changed');
    expect(bench.config('name')).toBe('stranger');
  });
});

describe('vm.migrate', () => {
  it('moves the VM and records its node', async () => {
    const bench = await ready();
    await bench.run('vm.migrate', { target: 'pve2' });
    expect(bench.vm().node).toBe('pve2');
    expect(bench.records.get(WEB)?.recorded?.node).toBe('pve2');
  });

  it('does nothing if another client has moved it', async () => {
    const bench = await ready();
    await bench.clock.run(async () => {
      const migration = await bench.pve.node('pve1').vm(101).migrate({ target: 'pve2', 'with-local-disks': true });
      await bench.pve.tasks.wait(migration);
    });
    bench.requests.length = 0;
    await bench.run('vm.migrate', { target: 'pve2' });
    expect(bench.writes()).toEqual([]);
    expect(bench.records.get(WEB)?.recorded?.node).toBe('pve2');
  });

  it.each(LOST)('moves the VM once after %s', async (kind) => {
    const bench = await ready([{ kind, match: { path: 'migrate' }, at: 1 }]);
    await bench.run('vm.migrate', { target: 'pve2' });
    expect(bench.vm().node).toBe('pve2');
    expect(bench.tasks('qmigrate')).toEqual(['OK']);
  });
});
