import { describe, expect, it } from 'vitest';
import type { DesiredKey } from '../../../src/kinds/vm/config/desired.ts';
import type { FaultRuleInput } from '../../../src/simulator/index.ts';
import { Bench, CLONE, desiredEntries, NOTES, PASSWORD, WEB } from './bench.ts';

const GIB = 1024 ** 3;
const newDisk = (gib: number): DesiredKey => ({
  kind: 'disk',
  set: {},
  sizeBytes: gib * GIB,
  storage: 'local-lvm',
  format: undefined,
  create: `local-lvm:${gib}`,
});
const nic = (set: Record<string, string | undefined>): DesiredKey => ({ kind: 'property', set });

const DESIRED = desiredEntries({
  memory: '8192',
  cores: '4',
  net0: nic({ bridge: 'vmbr1', tag: '20' }),
  ipconfig0: 'ip=10.0.20.11/24,gw=10.0.20.1',
  description: NOTES,
});

async function cloned(rules: readonly FaultRuleInput[] = []): Promise<Bench> {
  const bench = new Bench(rules);
  await bench.run('vm.clone', CLONE);
  bench.requests.length = 0;
  return bench;
}

async function started(rules: readonly FaultRuleInput[] = []): Promise<Bench> {
  const bench = await cloned(rules);
  await bench.run('vm.verify', { desired: [], applied: {} });
  await bench.run('vm.start', {});
  bench.requests.length = 0;
  return bench;
}

describe('vm.configure', () => {
  it('sends everything that differs in one write, from the read that the clone ended with', async () => {
    const bench = await cloned();
    await bench.run('vm.configure', { desired: DESIRED });
    expect(bench.sent()).toEqual(['PUT /nodes/pve1/qemu/101/config']);
    expect(bench.config('memory')).toBe('8192');
    expect(bench.config('cores')).toBe('4');
  });

  it('keeps the MAC address and every unmanaged value', async () => {
    const bench = await cloned();
    const mac = /virtio=([^,]+)/.exec(bench.config('net0') ?? '')?.[1];
    await bench.run('vm.configure', { desired: DESIRED });
    expect(bench.config('net0')).toBe(`virtio=${mac},bridge=vmbr1,tag=20`);
    expect(bench.config('ciuser')).toBe('ubuntu');
  });

  it('replaces the nonce in the notes by the ownership line', async () => {
    const bench = await cloned();
    await bench.run('vm.configure', { desired: DESIRED });
    const uuid = bench.records.get(WEB)?.recorded?.uuid;
    expect(bench.config('description')).toBe(`proxwright: stack=lab address=vm.web vmid=101 uuid=${uuid}`);
  });

  it('sends nothing if everything is already as desired', async () => {
    const bench = await cloned();
    await bench.run('vm.configure', { desired: DESIRED });
    await bench.run('vm.configure', { desired: DESIRED });
    expect(bench.writes()).toEqual(['PUT /nodes/pve1/qemu/101/config']);
  });

  it('adds and removes disks as a task, with their volumes', async () => {
    const bench = await cloned();
    await bench.run('vm.configure', { desired: desiredEntries({ scsi1: newDisk(2) }) });
    expect(bench.tasks('qmconfig')).toEqual(['OK']);
    expect(bench.config('scsi1')).toContain('size=2G');
    await bench.run('vm.configure', { desired: desiredEntries({ scsi1: { kind: 'absent' } }) });
    expect(bench.config('scsi1')).toBeUndefined();
    expect(bench.config('unused0')).toBeUndefined();
  });

  it('sends a password if there is none or on request, and never logs it', async () => {
    const bench = await cloned();
    const desired = packedPassword();
    await bench.run('vm.configure', { desired });
    await bench.run('vm.configure', { desired });
    expect(bench.writes()).toHaveLength(1);
    await bench.run('vm.configure', { desired, secrets: ['cipassword'] });
    expect(bench.writes()).toHaveLength(2);
    expect(JSON.stringify([...bench.records.values(), bench.logs])).not.toContain(PASSWORD);
  });

  it('orders the boot devices in a second write when a CD drive is added', async () => {
    const bench = await cloned();
    const cdrom: DesiredKey = { kind: 'cdrom', set: {}, file: 'local:iso/debian-13.1.0-amd64-netinst.iso' };
    await bench.run('vm.configure', { desired: desiredEntries({ ide0: cdrom, boot: 'order=ide0;scsi0' }) });
    expect(bench.config('boot')).toBe('order=ide0;scsi0');
    expect(bench.writes()).toHaveLength(2);
  });
});

const packedPassword = () => [{ key: 'cipassword', desired: { kind: 'secret', digest: 'x' } }] as const;

describe('a configuration write that goes wrong', () => {
  const write = { method: 'PUT', path: 'config' } as const;
  const post = { method: 'POST', path: 'config' } as const;

  it.each(['cut-before', 'cut-after', 'proxy-timeout'] as const)(
    'is looked up after %s, then finished',
    async (kind) => {
      const bench = await cloned([{ kind, match: write, at: 1 }]);
      await bench.run('vm.configure', { desired: DESIRED });
      expect(bench.config('memory')).toBe('8192');
      expect(bench.sent().slice(0, 2)).toEqual(['PUT /nodes/pve1/qemu/101/config', 'GET /nodes/pve1/qemu/101/pending']);
    },
  );

  it.each(['cut-before', 'cut-after', 'proxy-timeout'] as const)(
    'never creates a disk twice after %s',
    async (kind) => {
      const bench = await cloned([{ kind, match: post, at: 1 }]);
      await bench.run('vm.configure', { desired: desiredEntries({ scsi1: newDisk(2), memory: '4096' }) });
      expect(bench.tasks('qmconfig')).toEqual(['OK']);
      expect(volumesOf(bench)).toHaveLength(3);
    },
  );

  it('is rebuilt if another client changed the VM meanwhile, and keeps that change', async () => {
    const edit = { kind: 'stranger-edit', set: { tags: 'theirs' }, match: write, at: 1 } as const;
    const bench = await cloned([edit]);
    await bench.run('vm.configure', { desired: DESIRED });
    expect(bench.config('tags')).toBe('theirs');
    expect(bench.config('memory')).toBe('8192');
  });

  it('ends with that error if another client keeps changing the VM', async () => {
    const bench = await cloned([
      { kind: 'stranger-edit', match: write },
      { kind: 'stranger-edit', match: write },
    ]);
    let count = 0;
    const send = bench.simulator.handle.bind(bench.simulator);
    bench.simulator.handle = (request) => {
      if (request.method === 'PUT') retag(bench, `t${count++}`);
      return send(request);
    };
    expect(await bench.failure('vm.configure', { desired: DESIRED })).toMatchObject({ code: 'CONFIG_CHANGED' });
  });

  it('is retried at a lock', async () => {
    const bench = await cloned([{ kind: 'lock', match: write, at: 1, for_ms: 12_000 }]);
    await bench.run('vm.configure', { desired: DESIRED });
    expect(bench.config('memory')).toBe('8192');
    expect(bench.logs.some(({ message }) => message.includes('configure vm.web: busy'))).toBe(true);
  });

  it('is retried at the lock of a backup until the backup is over', async () => {
    const bench = await cloned([{ kind: 'stranger-lock', match: write, at: 1, for_ms: 20_000 }]);
    await bench.run('vm.configure', { desired: DESIRED });
    expect(bench.config('memory')).toBe('8192');
  });

  it('is retried at a lock of the storage inside the task, and leaves one disk', async () => {
    const rule = { kind: 'storage-lock', storage: 'local-lvm', match: post, at: 1, for_ms: 12_000 } as const;
    const bench = await cloned([rule]);
    await bench.run('vm.configure', { desired: desiredEntries({ scsi1: newDisk(2), memory: '4096', cores: '3' }) });
    expect(bench.tasks('qmconfig')).toEqual([expect.stringContaining('got timeout'), 'OK']);
    expect(volumesOf(bench)).toHaveLength(3);
    expect(bench.vm().config.pending.size).toBe(0);
  });

  it('leaves nothing of ours pending, and no volume', async () => {
    const bench = await cloned();
    // A device that does not exist is refused half-way, after a random part of the other keys.
    const desired = desiredEntries({ scsi1: newDisk(2), memory: '4096', cores: '3', tags: 'a', boot: 'order=scsi9' });
    const error = await bench.failure('vm.configure', { desired });
    expect(error.diagnostic.detail).toContain("invalid bootorder: device 'scsi9' does not exist'");
    expect([...bench.vm().config.pending.keys()]).toEqual([]);
    expect(volumesOf(bench)).toHaveLength(2);
    expect(bench.config('memory')).toBe('2048');
  });

  it('takes back also what a lost answer left pending', async () => {
    const bench = await cloned([{ kind: 'cut-after', match: write, at: 1 }]);
    const desired = desiredEntries({ memory: '4096', cores: '3', sockets: '2', onboot: '1', boot: 'order=scsi9' });
    expect(await bench.failure('vm.configure', { desired })).toMatchObject({ code: 'PARAMETER_REJECTED' });
    expect([...bench.vm().config.pending.keys()]).toEqual([]);
    expect(bench.config('cores')).toBe('2');
  });

  it('takes back only what was not pending before', async () => {
    const bench = await started();
    await bench.run('vm.configure', { desired: desiredEntries({ memory: '4096' }) });
    expect(bench.vm().config.pending.get('memory')).toBe('4096');
    const error = await bench.failure('vm.configure', {
      desired: desiredEntries({ memory: '4096', cores: '3', sockets: '2', boot: 'order=scsi9' }),
    });
    expect(error.code).toBe('PARAMETER_REJECTED');
    expect(Object.fromEntries(bench.vm().config.pending)).toEqual({ memory: '4096' });
  });

  it('keeps its code when it says what was taken back', async () => {
    const bench = await started([{ kind: 'task-fail', match: { task: 'qmconfig' }, percent: 90, message: 'no luck' }]);
    const desired = desiredEntries({ scsi1: newDisk(2), memory: '4096', cores: '3', sockets: '2' });
    const error = await bench.failure('vm.configure', { desired });
    expect(error.diagnostic.detail).toContain('The pending changes it left were taken back');
    expect(error).toMatchObject({ code: 'TASK_FAILED', family: 'task', outcome: 'known' });
  });

  it('is not sent at all to a VM that took over the id', async () => {
    const bench = await cloned();
    await bench.clock.run(() => recycle(bench));
    bench.requests.length = 0;
    const error = await bench.failure('vm.configure', { desired: DESIRED });
    expect(error.code).toBe('NOT_OURS');
    expect(error.diagnostic.detail).toContain(bench.records.get(WEB)?.recorded?.uuid);
    expect(bench.config('memory')).toBe('512');
  });
});

describe('vm.resize', () => {
  it('grows to an absolute size', async () => {
    const bench = await cloned();
    await bench.run('vm.resize', { slot: 'scsi0', sizeBytes: 100 * GIB });
    expect(bench.config('scsi0')).toContain('size=100G');
    expect(bench.sent()).toEqual(['PUT /nodes/pve1/qemu/101/resize']);
  });

  it('does nothing where the disk is as large already, or larger', async () => {
    const bench = await cloned();
    await bench.run('vm.resize', { slot: 'scsi0', sizeBytes: 1 * GIB });
    expect(bench.writes()).toEqual([]);
  });

  it.each(['cut-before', 'cut-after', 'proxy-timeout'] as const)(
    'ends with the desired size after %s',
    async (kind) => {
      const bench = await cloned([{ kind, match: { path: 'resize' }, at: 1 }]);
      await bench.run('vm.resize', { slot: 'scsi0', sizeBytes: 100 * GIB });
      expect(bench.config('scsi0')).toContain('size=100G');
      expect(bench.tasks('resize')).toEqual(['OK']);
    },
  );

  it('is rebuilt when another client changed the VM meanwhile', async () => {
    const bench = await cloned([{ kind: 'stranger-edit', match: { path: 'resize' }, at: 1 }]);
    await bench.run('vm.resize', { slot: 'scsi0', sizeBytes: 100 * GIB });
    expect(bench.tasks('resize')).toEqual([expect.stringContaining('checksum mismatch'), 'OK']);
  });

  it('is retried while another client holds the lock', async () => {
    const bench = await cloned([{ kind: 'lock', match: { path: 'resize' }, at: 1, for_ms: 12_000 }]);
    await bench.run('vm.resize', { slot: 'scsi0', sizeBytes: 100 * GIB });
    expect(bench.config('scsi0')).toContain('size=100G');
  });

  it('names a disk that does not exist', async () => {
    const bench = await cloned();
    const error = await bench.failure('vm.resize', { slot: 'scsi7', sizeBytes: GIB });
    expect(error).toMatchObject({ code: 'NOT_FOUND' });
    expect(error.diagnostic.detail).toContain('scsi7');
  });
});

describe('vm.verify', () => {
  it('records a VM that is as desired as complete, with the applied values', async () => {
    const bench = await cloned();
    await bench.run('vm.configure', { desired: DESIRED });
    await bench.run('vm.verify', { desired: DESIRED, applied: { memory: '8GiB' } });
    expect(bench.records.get(WEB)?.recorded).toMatchObject({ phase: 'complete', lastApplied: { memory: '8GiB' } });
  });

  it('lists what is not as desired, and does not declare the VM complete', async () => {
    const bench = await cloned();
    await bench.run('vm.configure', { desired: DESIRED });
    retag(bench, 'x', { memory: '2048' });
    const error = await bench.failure('vm.verify', { desired: DESIRED, applied: {} });
    expect(error.diagnostic.detail).toContain('memory: observed 2048, desired 8192');
    expect(bench.records.get(WEB)?.recorded?.phase).toBe('incomplete');
  });
});

describe('the whole way of a cloned VM', () => {
  it('takes eight requests, polls aside', async () => {
    const bench = new Bench();
    await bench.run('vm.clone', { source: CLONE.source, name: 'web', mode: 'full' });
    await bench.run('vm.configure', { desired: DESIRED });
    await bench.run('vm.resize', { slot: 'scsi0', sizeBytes: 100 * GIB });
    await bench.run('vm.verify', { desired: DESIRED, applied: {} });
    await bench.run('vm.start', {});
    expect(bench.sent()).toHaveLength(8);
    expect(bench.vm(100).process).toBeDefined();
  });
});

function volumesOf(bench: Bench): string[] {
  return [...bench.world.storages.values()].flatMap((storage) =>
    [...storage.volumes.values()].flatMap((volumes) =>
      [...volumes.values()].filter((volume) => volume.vmid === 101).map((volume) => volume.name),
    ),
  );
}

/** Another client writes to the file itself. */
function retag(bench: Bench, tags: string, more: Record<string, string> = {}): void {
  const vm = bench.vm();
  const current = new Map([...vm.config.current, ['tags', tags] as const, ...Object.entries(more)]);
  vm.config = { ...vm.config, current, digest: `${tags}-${vm.config.digest}` };
}

/** The VM is removed and another one made under its id, behind our back. */
async function recycle(bench: Bench): Promise<void> {
  const node = bench.pve.node('pve1');
  await bench.pve.tasks.wait(await node.vm(101).destroy());
  await bench.pve.tasks.wait(await node.vms.create({ vmid: 101, name: 'stranger', memory: 512 }));
}
