import { describe, expect, it } from 'vitest';
import type { DesiredKey } from '../../../src/kinds/vm/config/desired.ts';
import { findOwnership } from '../../../src/kinds/vm/ownership.ts';
import { Bench, desiredEntries, NOTES, PASSWORD, WEB } from './bench.ts';

const DISK: DesiredKey = {
  kind: 'disk',
  set: { ssd: '1' },
  sizeBytes: undefined,
  storage: 'local-lvm',
  format: undefined,
  create: 'local-lvm:0,import-from=local:import/ubuntu-24.04-server-cloudimg-amd64.qcow2',
};
const INPUT = {
  node: 'pve1',
  name: 'web',
  vmid: 101,
  desired: [
    ...desiredEntries({
      memory: '4096',
      scsi0: DISK,
      ide2: { kind: 'cloud-init-drive', storage: 'local-lvm' },
      net0: { kind: 'property', set: { bridge: 'vmbr0' }, base: 'virtio' },
      boot: 'order=scsi0',
      scsihw: 'virtio-scsi-single',
      description: NOTES,
    }),
    { key: 'cipassword', desired: { kind: 'secret', digest: 'x' } } as const,
  ],
};

describe('vm.create', () => {
  it('makes a VM out of an image, with everything in one request', async () => {
    const bench = new Bench();
    await bench.run('vm.create', INPUT);
    expect(bench.sent()).toEqual(['POST /nodes/pve1/qemu', 'GET /nodes/pve1/qemu/101/pending']);
    expect(bench.config('memory')).toBe('4096');
    expect(bench.config('scsi0')).toMatch(/^local-lvm:vm-101-disk-0,.*ssd=1/);
    expect(bench.vm().process).toBeUndefined();
    const memory = bench.records.get(WEB)?.recorded;
    expect(memory).toMatchObject({ phase: 'incomplete', uuid: expect.any(String), vmid: 101 });
    expect(findOwnership(bench.config('description') ?? '')?.nonce).toBe(memory?.nonce);
    expect(JSON.stringify([...bench.records.values(), bench.logs])).not.toContain(PASSWORD);
  });

  it('is as desired after one more write of its notes', async () => {
    const bench = new Bench();
    await bench.run('vm.create', INPUT);
    await bench.run('vm.configure', { desired: INPUT.desired });
    await bench.run('vm.verify', { desired: INPUT.desired, applied: {} });
    expect(bench.writes()).toEqual(['POST /nodes/pve1/qemu', 'PUT /nodes/pve1/qemu/101/config']);
    expect(bench.records.get(WEB)?.recorded?.phase).toBe('complete');
  });

  it.each(['cut-before', 'cut-after', 'proxy-timeout'] as const)('creates exactly one VM after %s', async (kind) => {
    const bench = new Bench([{ kind, match: { method: 'POST', path: '/nodes/*/qemu' }, at: 1 }]);
    await bench.run('vm.create', INPUT);
    expect(bench.tasks('qmcreate')).toEqual(['OK']);
    expect(bench.records.get(WEB)?.recorded?.uuid).toBeDefined();
  });

  it('is refused when a stranger has the id', async () => {
    const bench = new Bench([{ kind: 'stranger-id', at: 1 }]);
    expect(await bench.failure('vm.create', INPUT)).toMatchObject({ code: 'VMID_TAKEN' });
    expect(bench.config('name')).toBe('another-clients-101');
  });

  it('takes another id when a stranger was faster and it was free to choose', async () => {
    const bench = new Bench([{ kind: 'stranger-id', at: 1 }]);
    const { vmid: _fixed, ...free } = INPUT;
    await bench.run('vm.create', { ...free, vmids: [101, 102] });
    expect(bench.records.get(WEB)?.recorded?.vmid).toBe(102);
  });

  it('is tried again while the storage is locked', async () => {
    const rule = {
      kind: 'storage-lock',
      storage: 'local-lvm',
      match: { method: 'POST', path: '/nodes/*/qemu' },
    } as const;
    const bench = new Bench([{ ...rule, at: 1, for_ms: 15_000 }]);
    await bench.run('vm.create', INPUT);
    expect(bench.tasks('qmcreate')).toEqual([expect.stringContaining('got timeout'), 'OK']);
  });
});
