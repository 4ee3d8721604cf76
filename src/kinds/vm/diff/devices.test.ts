/** Differences of disks, drives and other devices: what is made, moved, grown or refused, and when that takes effect. */
import { describe, expect, it } from 'vitest';
import type { DesiredConfig, DesiredField, DesiredKey } from '../config/desired.ts';
import { desiredConfig } from '../config/desired-config.ts';
import { type VmFieldsInput, vmFieldsSchema } from '../fields/index.ts';
import { observedVm } from '../testing/server.ts';
import { diffVm, verifyVm } from './diff.ts';

const VALUES = new Map([
  ['boot', 'order=scsi0'],
  ['name', 'web'],
  ['net0', 'virtio=BC:24:11:00:00:01,bridge=vmbr0'],
  ['scsi0', 'tank:vm-101-disk-0,size=32G'],
]);

interface Options {
  readonly applied?: Record<string, unknown>;
  readonly more?: Record<string, string>;
  readonly pending?: Record<string, string>;
  readonly running?: boolean;
}

const vmOf = ({ more = {}, pending = {}, running = true }: Options) =>
  observedVm(new Map([...VALUES, ...Object.entries(more)]), { running, pending: new Map(Object.entries(pending)) });
const desiredOf = (fields: Partial<VmFieldsInput>) =>
  desiredConfig(vmFieldsSchema.parse({ name: 'web', node: 'pve1', ...fields }), {});

/** `path: before → after (effect)`, with the reason of an impossible change in place of its effect. */
function lines(desired: Partial<VmFieldsInput> | DesiredConfig, options: Options = {}): string[] {
  const config = desired instanceof Map ? (desired as DesiredConfig) : desiredOf(desired as Partial<VmFieldsInput>);
  return diffVm(config, vmOf(options), options.applied).differences.map(
    ({ path, before, after, effect, reason }) =>
      `${path}: ${JSON.stringify(before)} → ${JSON.stringify(after)} (${reason ?? effect})`,
  );
}

/** One key with one field, for combinations that no field of a VM has. */
const single = (key: string, desired: DesiredKey, field: Partial<DesiredField>): DesiredConfig =>
  new Map([[key, { key, desired, fields: [{ path: key, value: 'new', words: 'raw', parts: [], ...field }] }]]);

describe('a limit of a disk', () => {
  it('that another one excludes goes with it, and is listed as a change', () => {
    const more = { scsi0: 'tank:vm-101-disk-0,iops=300,iops_max=400,size=32G' };
    const disks = { scsi0: { limits: { read_iops: 100, write_iops: 200 } } };
    const applied = { name: 'web', 'disks.scsi0.limits.iops': 300 };
    expect(lines({ disks }, { more, applied })).toEqual([
      'disks.scsi0.limits.read_iops: null → 100 (live)',
      'disks.scsi0.limits.write_iops: null → 200 (live)',
      'disks.scsi0.limits.iops: 300 → null (live)',
      'disks.scsi0.limits.iops_burst: 400 → null (live)',
    ]);
    expect(diffVm(desiredOf({ disks }), vmOf({ more }), applied).unmanaged).toEqual([]);
  });
});

describe('a new device', () => {
  it('of a running VM takes effect as its slot allows', () => {
    const disk = { storage: 'tank', size: '8GiB' };
    expect(lines({ disks: { scsi1: disk, sata1: disk } })).toEqual([
      'disks.scsi1.size: null → "8GiB" (live)',
      'disks.scsi1.storage: null → "tank" (live)',
      'disks.sata1.size: null → "8GiB" (restart)',
      'disks.sata1.storage: null → "tank" (restart)',
    ]);
    expect(lines({ cloud_init: { storage: 'tank' } })).toEqual(['cloud_init.storage: null → "tank" (restart)']);
  });

  it('without fields is named by its slot', () => {
    expect(lines({ disks: { scsi1: {} } })).toEqual([
      'disks.scsi1: null → true (The VM has no scsi1, and a new one needs a storage and a size or import_from.)',
    ]);
    const pci: DesiredConfig = new Map([
      ['hostpci0', { key: 'hostpci0', desired: { kind: 'property', set: {} }, fields: [] }],
    ]);
    expect(diffVm(pci, vmOf({}), undefined).differences).toMatchObject([{ path: 'hostpci0', before: null }]);
  });

  it('is created from its image again if it is gone, whatever was recorded for it', () => {
    const disks = { scsi1: { storage: 'tank', import_from: 'local:import/b.qcow2' } };
    const applied = { 'disks.scsi1.import_from': 'local:import/a.qcow2', 'disks.scsi1.storage': 'tank' };
    expect(lines({ disks }, { applied })).toEqual([
      'disks.scsi1.storage: null → "tank" (live)',
      'disks.scsi1.import_from: null → "local:import/b.qcow2" (live)',
    ]);
  });
});

describe('a disk that exists and is not plugged in yet', () => {
  const pending = { sata1: 'tank:vm-101-disk-1,size=1G' };
  const disks = { sata1: { storage: 'tank', size: '8GiB' } };

  it('grows after the restart, and is listed once for each field', () => {
    const diff = diffVm(desiredOf({ disks }), vmOf({ pending }), undefined);
    expect(diff.differences).toEqual([]);
    expect(diff.restartPending).toEqual(['disks.sata1.size', 'disks.sata1.storage']);
  });

  it('grows now if the VM is stopped', () => {
    const diff = diffVm(desiredOf({ disks }), vmOf({ pending, running: false }), undefined);
    expect(diff.differences).toMatchObject([{ path: 'disks.sata1.size', effect: 'live' }]);
    expect(diff.restartPending).toEqual([]);
  });

  it('differs in everything but its size', () => {
    expect(lines({ disks: { sata1: { ssd: true } } }, { pending })).toEqual(['disks.sata1.ssd: null → true (restart)']);
    const net1 = { net1: 'virtio=BC:24:11:00:00:02,bridge=vmbr9' };
    expect(lines({ nics: { net1: { bridge: 'vmbr1' } } }, { pending: net1 })).toEqual([
      'nics.net1.bridge: "vmbr9" → "vmbr1" (live)',
    ]);
  });
});

describe('a size that is not that of a disk', () => {
  it('is a sub-key like any other', () => {
    const memory = single('ivshmem', { kind: 'property', set: { size: '1' } }, { parts: ['size'], value: 1 });
    const applied = { ivshmem: 512 };
    const size = `size=${2 ** 30}`;
    for (const options of [{ pending: { ivshmem: size } }, { more: { ivshmem: size } }]) {
      const { differences, restartPending } = diffVm(memory, vmOf(options), applied);
      expect(differences).toMatchObject([{ path: 'ivshmem', before: String(2 ** 30), after: 1, effect: 'live' }]);
      expect(restartPending).toEqual([]);
    }
  });
});

describe('a drive that moves', () => {
  const tpm = { tpmstate0: 'tank:vm-101-disk-4,size=4M,version=v2.0' };

  it('is one difference, although its storage is recorded too', () => {
    const applied = { 'disks.scsi0.storage': 'tank' };
    expect(lines({ disks: { scsi0: { storage: 'local' } } }, { applied })).toEqual([
      'disks.scsi0.storage: "tank" → "local" (live)',
    ]);
    expect(lines({ cloud_init: { storage: 'local' } }, { applied: { 'cloud_init.storage': 'tank' } })).toEqual([
      'cloud_init.storage: null → "local" (restart)',
    ]);
  });

  it('waits for a restart if it holds the TPM state of a running VM', () => {
    expect(lines({ tpm: { storage: 'local' } }, { more: tpm })).toEqual(['tpm.storage: "tank" → "local" (restart)']);
    expect(lines({ tpm: { storage: 'local' } }, { more: tpm, running: false })).toEqual([
      'tpm.storage: "tank" → "local" (live)',
    ]);
  });

  it('to another format moves in the same way', () => {
    const desired: DesiredKey = {
      kind: 'disk',
      set: {},
      sizeBytes: undefined,
      storage: undefined,
      format: 'raw',
      create: undefined,
    };
    const format = single('tpmstate0', desired, { parts: ['format'], value: 'raw' });
    const more = { tpmstate0: 'local:101/vm-101-disk-4.qcow2,size=4M' };
    expect(lines(format, { more })).toEqual(['tpmstate0: "qcow2" → "raw" (restart)']);
    expect(lines(format, { more, running: false })).toEqual(['tpmstate0: "qcow2" → "raw" (live)']);
  });

  it('is not one whose option changes', () => {
    const more = { tpmstate0: 'tank:vm-101-disk-4,size=4M,version=v1.2' };
    expect(lines({ tpm: { storage: 'tank', version: 'v2.0' } }, { more })).toEqual([
      'tpm.version: "v1.2" → "v2.0" (tpmstate0 cannot be changed after it has been created.)',
    ]);
  });
});

describe('a slot that another drive occupies', () => {
  it('is refused, and the message names that drive', () => {
    expect(lines({ disks: { scsi0: { iso: 'local:iso/a.iso' } } })).toEqual([
      expect.stringContaining('(scsi0 is a disk and cannot become a CD drive; use another slot, or remove it first.)'),
    ]);
  });

  it('is still refused when a removed disk is verified under protection', () => {
    const vm = vmOf({ more: { scsi1: 'tank:vm-101-disk-1,size=1G', protection: '1' } });
    expect(verifyVm(desiredOf({ disks: { scsi1: { remove: true } } }), vm)).toMatchObject([{ effect: 'impossible' }]);
  });
});
