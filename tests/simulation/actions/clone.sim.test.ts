import { describe, expect, it } from 'vitest';
import { vmAddress } from '../../../src/base/address.ts';
import { settleCreation } from '../../../src/kinds/vm/actions/settle.ts';
import { findOwnership } from '../../../src/kinds/vm/ownership.ts';
import type { VmInputs } from '../../../src/kinds/vm/steps.ts';
import { Bench, CLONE, WEB } from './bench.ts';

const recordedOf = (bench: Bench) => bench.records.get(WEB)?.recorded;

describe('vm.clone', () => {
  it('creates the VM and records its identity', async () => {
    const bench = new Bench();
    await bench.run('vm.clone', CLONE);
    const uuid = /uuid=([^,]+)/.exec(bench.config('smbios1') ?? '')?.[1];
    expect(recordedOf(bench)).toMatchObject({ vmid: 101, node: 'pve1', name: 'web', phase: 'incomplete', uuid });
    expect(recordedOf(bench)?.macs.net0).toBe(/virtio=([^,]+)/.exec(bench.config('net0') ?? '')?.[1]);
    expect(bench.sent()).toEqual(['POST /nodes/pve1/qemu/9000/clone', 'GET /nodes/pve1/qemu/101/pending']);
  });

  it('marks the clone with a nonce below the notes of the template', async () => {
    const bench = new Bench();
    await bench.run('vm.clone', { ...CLONE, notes: 'Made by hand.' });
    const notes = bench.config('description') ?? '';
    expect(notes).toMatch(/^Made by hand\.\n\nproxwright: /);
    expect(findOwnership(notes)).toMatchObject({ address: 'vm.web', vmid: 101, nonce: recordedOf(bench)?.nonce });
  });

  it('records id and nonce before it sends anything', async () => {
    const bench = new Bench();
    bench.killAt = 3;
    await bench.mortally(() => bench.step('vm.clone', CLONE));
    expect(bench.writes()).toEqual([]);
    expect(recordedOf(bench)).toMatchObject({
      phase: 'creating',
      vmid: 101,
      nonce: expect.stringMatching(/^[0-9a-f]+$/),
    });
  });

  it('does nothing the second time', async () => {
    const bench = new Bench();
    await bench.run('vm.clone', CLONE);
    await bench.run('vm.clone', CLONE);
    expect(bench.tasks('qmclone')).toEqual(['OK']);
  });

  it('logs when it was submitted and when it completed', async () => {
    const bench = new Bench();
    await bench.run('vm.clone', CLONE);
    const messages = bench.logs.map(({ message }) => message).join('\n');
    expect(messages).toMatch(/vm\.web: clone submitted/);
    expect(messages).toMatch(/vm\.web: clone completed in/);
  });

  it('makes a linked clone without naming a storage', async () => {
    const bench = new Bench();
    await bench.run('vm.clone', { ...CLONE, mode: 'linked', storage: 'nfs' });
    expect(bench.config('scsi0')).toMatch(/^local-lvm:/);
  });

  it('looks for the end of a linked clone soon, and not for progress that it does not make', async () => {
    const clone = async (mode: 'full' | 'linked') => {
      const bench = new Bench();
      const startedAt = bench.clock.now();
      await bench.run('vm.clone', { ...CLONE, mode });
      return {
        ms: bench.clock.now() - startedAt,
        logs: bench.requests.filter(({ target }) => /\/log\b/.test(target)).length,
      };
    };
    const [linked, full] = [await clone('linked'), await clone('full')];
    expect(linked.logs).toBe(0);
    expect(full.logs).toBeGreaterThan(0);
    expect(linked.ms).toBeLessThan(1_000);
  });
});

describe('the id of a clone', () => {
  it('is the lowest free one of the range', async () => {
    const bench = new Bench();
    await bench.run('vm.create', { node: 'pve1', name: 'other', vmid: 101, desired: [] }, vmAddress('other'));
    await bench.run('vm.clone', { source: CLONE.source, name: 'web', mode: 'full', vmids: [101, 102, 103] });
    expect(recordedOf(bench)?.vmid).toBe(102);
  });

  it('is the next free one by default, and siblings never choose the same', async () => {
    const bench = new Bench();
    const addresses = [1, 2, 3, 4].map((number) => vmAddress('worker', number));
    const input = { source: CLONE.source, name: 'worker', mode: 'linked' } as const;
    await bench.clock.run(() => Promise.all(addresses.map((address) => bench.step('vm.clone', input, address))));
    const ids = addresses.map((address) => bench.records.get(address)?.recorded?.vmid);
    expect([...ids].sort()).toEqual([100, 101, 102, 103]);
    expect(bench.tasks('qmclone')).toEqual(['OK', 'OK', 'OK', 'OK']);
  });

  it('is refused when it was fixed and a stranger has it', async () => {
    const bench = new Bench([{ kind: 'stranger-id', at: 1 }]);
    const error = await bench.failure('vm.clone', CLONE);
    expect(error).toMatchObject({ code: 'VMID_TAKEN' });
    expect(error.diagnostic.detail).toContain('another-clients-101');
    expect(bench.config('name')).toBe('another-clients-101');
  });

  it('is another one when a stranger was faster and it was free to choose', async () => {
    const bench = new Bench([{ kind: 'stranger-id', at: 1 }]);
    await bench.run('vm.clone', { source: CLONE.source, name: 'web', mode: 'full', vmids: [101, 102] });
    expect(recordedOf(bench)?.vmid).toBe(102);
    expect(bench.config('name')).toBe('another-clients-101');
  });

  it('is refused when the range is used up', async () => {
    const bench = new Bench();
    const error = await bench.failure('vm.clone', {
      source: CLONE.source,
      name: 'web',
      mode: 'full',
      vmids: [9000, 9001],
    });
    expect(error.code).toBe('VMID_TAKEN');
  });
});

describe('a clone whose answer was lost', () => {
  it.each(['cut-before', 'cut-after', 'proxy-timeout'] as const)('is made exactly once after %s', async (kind) => {
    const bench = new Bench([{ kind, match: { method: 'POST', path: 'clone' }, at: 1 }]);
    await bench.run('vm.clone', CLONE);
    expect(bench.tasks('qmclone')).toEqual(['OK']);
    expect(recordedOf(bench)).toMatchObject({ vmid: 101, phase: 'incomplete' });
  });

  it('is found among the clones of its siblings', async () => {
    const bench = new Bench([{ kind: 'cut-after', match: { method: 'POST', path: 'clone' }, every: 2 }]);
    const addresses = [1, 2, 3, 4, 5].map((number) => vmAddress('worker', number));
    await bench.clock.run(() =>
      Promise.all(addresses.map((address, i) => bench.step('vm.clone', { ...CLONE, vmid: 201 + i }, address))),
    );
    expect(bench.tasks('qmclone')).toEqual(['OK', 'OK', 'OK', 'OK', 'OK']);
  });

  it('is not taken for ours when a stranger has the id', async () => {
    const bench = new Bench([
      { kind: 'stranger-id', at: 1 },
      { kind: 'cut-before', match: { method: 'POST', path: 'clone' }, at: 1 },
    ]);
    expect(await bench.failure('vm.clone', CLONE)).toMatchObject({ code: 'VMID_TAKEN' });
    expect(recordedOf(bench)?.uuid).toBeUndefined();
  });
});

describe('a clone that meets a lock', () => {
  it('is retried if the lock is on the source', async () => {
    const bench = new Bench([{ kind: 'lock', match: { method: 'POST', path: 'clone' }, at: 1, for_ms: 2_000 }]);
    await bench.run('vm.clone', CLONE);
    expect(bench.tasks('qmclone')).toEqual([expect.stringContaining("can't lock file"), 'OK']);
    expect(bench.logs.some(({ message }) => message.includes('trying again in'))).toBe(true);
  });

  it('is retried if the task met a lock on the storage', async () => {
    const rule = {
      kind: 'storage-lock',
      storage: 'local-lvm',
      match: { path: 'clone' },
      at: 1,
      for_ms: 15_000,
    } as const;
    const bench = new Bench([rule]);
    await bench.run('vm.clone', CLONE);
    expect(bench.tasks('qmclone')).toEqual([expect.stringContaining('got timeout'), 'OK']);
  });

  it('is retried if the task met a lock on the list of users', async () => {
    const bench = new Bench([{ kind: 'users-lock', match: { path: 'clone' }, at: 1, for_ms: 40_000 }]);
    await bench.run('vm.clone', { ...CLONE, pool: 'lab' });
    expect(bench.tasks('qmclone').at(-1)).toBe('OK');
    expect(bench.tasks('qmclone').length).toBeGreaterThan(1);
    expect(bench.world.pools.get('lab')?.vms.has(101)).toBe(true);
  });
});

describe('a clone that fails', () => {
  it('shows the server’s words and leaves nothing', async () => {
    const bench = new Bench([{ kind: 'task-fail', match: { task: 'qmclone' }, percent: 50, message: 'disk on fire' }]);
    const error = await bench.failure('vm.clone', CLONE);
    expect(error.diagnostic.detail).toContain('disk on fire');
    expect(bench.world.vms.has(101)).toBe(false);
    expect(bench.tasks('qmclone')).toHaveLength(1);
  });

  it('waits for a daemon that is being restarted', async () => {
    const bench = new Bench([{ kind: 'daemon-down', match: { path: 'clone' }, at: 1, for_ms: 20_000 }]);
    await bench.run('vm.clone', CLONE);
    expect(bench.tasks('qmclone')).toEqual(['OK']);
  });
});

describe('a clone that is not waited for to its end', () => {
  const slow: VmInputs['vm.clone'] = { ...CLONE, storage: 'nfs' };

  it('continues on the server after a timeout, and the next run attaches to it', async () => {
    const bench = new Bench();
    bench.timeouts = { ...bench.timeouts, cloneMs: 3_000 };
    expect(await bench.failure('vm.clone', slow)).toMatchObject({ code: 'TASK_TIMEOUT' });
    expect(bench.tasks('qmclone')).toEqual(['runs']);
    bench.revive();
    bench.timeouts = { ...bench.timeouts, cloneMs: 600_000 };
    await bench.run('vm.clone', slow);
    expect(bench.tasks('qmclone')).toEqual(['OK']);
    expect(recordedOf(bench)).toMatchObject({ phase: 'incomplete', vmid: 101 });
  });

  it('continues on the server after the run was stopped, and the next run attaches to it', async () => {
    const bench = new Bench();
    const stopped = bench.clock.run(async () => {
      const cloning = bench.step('vm.clone', slow);
      await bench.clock.sleep(2_000);
      bench.abort.abort();
      await cloning;
    });
    await expect(stopped).rejects.toMatchObject({ code: 'CANCELED' });
    expect(await bench.clock.run(() => bench.takeUp())).toBe('made');
    expect(bench.tasks('qmclone')).toEqual(['OK']);
  });

  it('is found again by its record alone', async () => {
    const bench = new Bench();
    bench.timeouts = { ...bench.timeouts, cloneMs: 3_000 };
    await bench.failure('vm.clone', slow);
    bench.revive();
    bench.timeouts = { ...bench.timeouts, cloneMs: 600_000 };
    expect(await bench.clock.run(() => settleCreation(bench.context()))).toEqual({ outcome: 'made' });
  });
});
