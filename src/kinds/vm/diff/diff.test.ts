import { describe, expect, it } from 'vitest';
import { Secret } from '../../../base/secret.ts';
import { appliedValues, type DesiredConfig, type DesiredField } from '../config/desired.ts';
import { type DesiredContext, desiredConfig } from '../config/desired-config.ts';
import { secretDigest } from '../config/secret-values.ts';
import { type VmFieldsInput, vmFieldsSchema } from '../fields/index.ts';
import { observedVm } from '../testing/server.ts';
import { diffVm, verifyVm } from './diff.ts';

const VALUES = new Map([
  ['boot', 'order=scsi0;net0'],
  ['cores', '2'],
  ['memory', '2048'],
  ['name', 'web'],
  ['net0', 'virtio=BC:24:11:00:00:01,bridge=vmbr0,tag=20'],
  ['scsi0', 'tank:vm-101-disk-0,size=32G'],
  ['tags', 'a;b'],
]);

function desiredOf(fields: Partial<VmFieldsInput>, context: DesiredContext = {}) {
  return desiredConfig(vmFieldsSchema.parse({ name: 'web', node: 'pve1', ...fields }), context);
}

/** The differences as lines: `memory: 2GiB → 8GiB (file, restart)`. */
function lines(fields: Partial<VmFieldsInput>, options: Parameters<typeof differencesOf>[1] = {}) {
  return differencesOf(fields, options).map(
    ({ path, before, after, by, effect }) =>
      `${path}: ${JSON.stringify(before)} → ${JSON.stringify(after)} (${by}, ${effect})`,
  );
}

function differencesOf(
  fields: Partial<VmFieldsInput>,
  options: { applied?: Record<string, unknown>; values?: Map<string, string>; running?: boolean },
) {
  const vm = observedVm(options.values ?? VALUES, { running: options.running ?? true });
  return diffVm(desiredOf(fields), vm, options.applied).differences;
}

describe('the differences of a VM', () => {
  it('use the syntax of the file', () => {
    expect(
      lines({
        memory: '8GiB',
        balloon: false,
        tags: ['b', 'c'],
        nics: { net0: { vlan: false, firewall: true } },
        disks: { scsi0: { size: '100GiB', discard: true } },
        startup: { up: '2m' },
        boot: ['net0'],
      }),
    ).toEqual([
      'tags: ["a","b"] → ["b","c"] (file, live)',
      'memory: "2GiB" → "8GiB" (file, restart)',
      'balloon: null → false (file, restart)',
      'boot: ["scsi0","net0"] → ["net0"] (file, restart)',
      'startup.up: null → "2m" (file, live)',
      'disks.scsi0.size: "32GiB" → "100GiB" (file, live)',
      'disks.scsi0.discard: false → true (file, restart)',
      'nics.net0.vlan: 20 → false (file, live)',
      'nics.net0.firewall: false → true (file, live)',
    ]);
  });

  it('say who changed a value: the file, another client, or both', () => {
    const applied = { 'cpu.cores': 2 };
    expect(lines({ cpu: { cores: 4 } }, { applied })).toEqual(['cpu.cores: 2 → 4 (file, restart)']);
    expect(lines({ cpu: { cores: 4 } }, { applied: { 'cpu.cores': 4 } })).toEqual([
      'cpu.cores: 2 → 4 (others, restart)',
    ]);
    expect(lines({ cpu: { cores: 4 } }, { applied: { 'cpu.cores': 1 } })).toEqual(['cpu.cores: 2 → 4 (both, restart)']);
    expect(lines({ tags: ['c'] }, { applied: { tags: ['B', 'a'] } })).toEqual(['tags: ["a","b"] → ["c"] (file, live)']);
  });

  it('list a new device field by field, and one without fields by its slot', () => {
    expect(lines({ nics: { net1: { bridge: 'vmbr1' }, net2: {} } })).toEqual([
      'nics.net1.bridge: null → "vmbr1" (file, live)',
      'nics.net2: null → true (file, live)',
    ]);
  });

  it('show a device that will be removed, and nothing once it is gone', () => {
    const fields = { nics: { net0: { remove: true as const } } };
    expect(lines(fields)).toEqual([
      'nics.net0.remove: "virtio=BC:24:11:00:00:01,bridge=vmbr0,tag=20" → null (file, live)',
    ]);
    const gone = new Map([...VALUES].filter(([key]) => key !== 'net0'));
    expect(lines(fields, { values: gone })).toEqual([]);
  });

  it('refuse impossible changes, with the reason', () => {
    const disks = { scsi0: { size: '16GiB', storage: 'local' }, scsi1: { ssd: true } };
    const observed = differencesOf({ disks }, {});
    expect(observed.map(({ path, effect, reason }) => [path, effect, reason])).toEqual([
      ['disks.scsi0.storage', 'live', undefined],
      ['disks.scsi0.size', 'impossible', 'scsi0 already has 32GiB; disks can only grow.'],
      [
        'disks.scsi1.ssd',
        'impossible',
        'The VM has no scsi1, and a new one needs a storage and a size or import_from.',
      ],
    ]);
  });

  it('ignore a disk that another client grew, or that a storage rounded up', () => {
    const fields = { disks: { scsi0: { size: '16GiB' } } };
    expect(lines(fields, { applied: { 'disks.scsi0.size': '16GiB' } })).toEqual([]);
    const rounded = new Map([...VALUES, ['scsi0', 'tank:vm-101-disk-0,size=16388M']]);
    expect(lines(fields, { values: rounded })).toEqual([]);
  });

  it('refuse to create a disk again from another image', () => {
    const disks = { scsi0: { storage: 'tank', import_from: 'local:import/b.qcow2' } };
    const applied = { 'disks.scsi0.import_from': 'local:import/a.qcow2', 'disks.scsi0.storage': 'tank' };
    expect(lines({ disks }, { applied })).toEqual([
      'disks.scsi0.import_from: "local:import/a.qcow2" → "local:import/b.qcow2" (file, impossible)',
    ]);
    expect(lines({ disks }, { applied: {} })).toEqual([]);
  });

  it('name a cloud-init slot that is taken', () => {
    const values = new Map([...VALUES, ['ide2', 'none,media=cdrom']]);
    const [difference] = differencesOf({ cloud_init: { storage: 'tank' } }, { values });
    expect(difference).toMatchObject({ path: 'cloud_init.storage', effect: 'impossible' });
    const drive = new Map([...VALUES, ['sata3', 'tank:vm-101-cloudinit,media=cdrom']]);
    expect(lines({ cloud_init: { storage: 'local' } }, { values: drive })).toEqual([]);
  });

  it('drop a gateway together with the address it belonged to', () => {
    const values = new Map([...VALUES, ['ipconfig0', 'gw=10.0.0.1,ip=10.0.0.2/24']]);
    expect(lines({ nics: { net0: { ipv4: 'dhcp' } } }, { values })).toEqual([
      'nics.net0.ipv4.address: "10.0.0.2/24" → "dhcp" (file, live)',
      'nics.net0.ipv4.gateway: "10.0.0.1" → null (file, live)',
    ]);
  });
});

describe('a secret', () => {
  const secret = new Secret('correct horse');
  const digest = secretDigest('salt', secret);
  const context = { secrets: new Map([['cloud_init.password', { value: secret, digest }]]) };
  const desired = desiredOf({ cloud_init: { password: { env: 'P' } } }, context);
  const set = new Map([...VALUES, ['cipassword', '**********']]);

  it('is compared by its digest, and never shown', () => {
    expect(digest).not.toBe(secretDigest('pepper', secret));
    expect(diffVm(desired, observedVm(set), { 'cloud_init.password': digest }).differences).toEqual([]);
    const { differences } = diffVm(desired, observedVm(set), { 'cloud_init.password': 'scrypt:older' });
    expect(differences).toEqual([
      {
        path: 'cloud_init.password',
        key: 'cipassword',
        before: '•••',
        after: '•••',
        by: 'file',
        effect: 'live',
        secret: true,
      },
    ]);
    expect(JSON.stringify([...desired, differences, appliedValues(desired)])).not.toContain('correct horse');
  });

  it('is a difference if no digest of it is recorded', () => {
    expect(diffVm(desired, observedVm(set), undefined).differences).toMatchObject([{ by: 'file', before: '•••' }]);
  });

  it('takes effect as its key does, because its present value is not known', () => {
    const field: DesiredField = { path: 'args', value: digest, words: 'secret', parts: [] };
    const args: DesiredConfig = new Map([
      ['args', { key: 'args', desired: { kind: 'secret', value: secret, digest }, fields: [field] }],
    ]);
    const vm = observedVm(new Map([...VALUES, ['args', '-x']]), { running: true });
    expect(diffVm(args, vm, undefined).differences).toMatchObject([{ path: 'args', effect: 'restart', secret: true }]);
  });

  it('is what a sensitive variable decides: masked, and changed by the file', () => {
    const sensitive = desiredOf(
      { description: 'new' },
      { sensitive: ['description'], secrets: new Map([['description', { value: new Secret('new'), digest: 'd2' }]]) },
    );
    const vm = observedVm(new Map([...VALUES, ['description', 'old']]));
    expect(diffVm(sensitive, vm, { description: 'd1' }).differences).toMatchObject([
      { path: 'description', before: '•••', after: '•••', by: 'file', secret: true },
    ]);
    expect(differencesOf({ memory: '8GiB' }, {})[0]).not.toHaveProperty('secret');
  });

  it('is a difference when another client removed it', () => {
    const { differences } = diffVm(desired, observedVm(VALUES), { 'cloud_init.password': digest });
    expect(differences).toMatchObject([{ before: null, by: 'others' }]);
    expect(verifyVm(desired, observedVm(VALUES))).toHaveLength(1);
    expect(verifyVm(desired, observedVm(set))).toEqual([]);
  });
});

describe('a change that waits for a restart', () => {
  it('is no longer a difference, and is listed', () => {
    const vm = observedVm(VALUES, {
      running: true,
      pending: new Map([['memory', '8192']]),
      pendingDeletes: new Set(['net0']),
    });
    const diff = diffVm(desiredOf({ memory: '8GiB', nics: { net0: { remove: true } } }), vm, undefined);
    expect(diff).toMatchObject({ differences: [], restartPending: ['memory', 'nics.net0.remove'] });
    expect(diffVm(desiredOf({ memory: '2GiB' }), vm, undefined).differences).toMatchObject([{ before: '8GiB' }]);
  });

  it('does not hide that its disk has grown since', () => {
    const vm = observedVm(
      new Map([
        ['name', 'web'],
        ['scsi0', 'tank:vm-101-disk-0,size=40G'],
      ]),
      {
        running: true,
        pending: new Map([['scsi0', 'tank:vm-101-disk-0,size=32G,ssd=1']]),
      },
    );
    const diff = diffVm(desiredOf({ disks: { scsi0: { size: '40GiB', ssd: true } } }), vm, undefined);
    expect(diff).toMatchObject({ differences: [], restartPending: ['disks.scsi0.ssd'] });
  });

  it('includes growing a disk that is not plugged in yet', () => {
    const vm = observedVm(VALUES, { running: true, pending: new Map([['sata1', 'tank:vm-101-disk-1,size=1G']]) });
    const disks = { sata1: { storage: 'tank', size: '8GiB', import_from: 'local:import/a.qcow2' } };
    const diff = diffVm(desiredOf({ disks }), vm, undefined);
    expect(diff.differences).toEqual([]);
    expect(diff.restartPending).toContain('disks.sata1.size');
  });
});

describe('a field that was removed from the file', () => {
  it('is unmanaged from now on, and reported once', () => {
    const applied = { name: 'web', memory: '2GiB', 'disks.scsi1.size': '1GiB', 'disks.scsi2.remove': true };
    const fields = { disks: { scsi1: { remove: true as const } } };
    expect(diffVm(desiredOf(fields), observedVm(VALUES), applied)).toMatchObject({
      differences: [],
      unmanaged: ['memory'],
    });
  });
});

describe('a disk that is removed', () => {
  const values = new Map([...VALUES, ['scsi1', 'tank:vm-101-disk-1,size=1G'], ['protection', '1']]);
  const disks = { scsi1: { remove: true as const } };

  it('is refused while protection is on, unless the file switches it off', () => {
    expect(differencesOf({ disks }, { values })).toMatchObject([
      { effect: 'impossible', reason: 'Protection is on, so scsi1 cannot be removed.' },
    ]);
    expect(differencesOf({ disks, protection: true }, { values })).toMatchObject([{ effect: 'impossible' }]);
    expect(differencesOf({ disks, protection: false }, { values })).toMatchObject([
      { path: 'protection', effect: 'live' },
      { path: 'disks.scsi1.remove', effect: 'live' },
    ]);
  });
});

describe('the storage of the cloud-init drive', () => {
  const values = new Map([...VALUES, ['ide2', 'tank:vm-101-cloudinit,media=cdrom']]);
  const fields = { cloud_init: { storage: 'local' } };
  const applied = { 'cloud_init.storage': 'tank' };

  it('differs only if the file changed it since the last apply', () => {
    expect(lines(fields, { values, applied })).toEqual(['cloud_init.storage: "tank" → "local" (file, restart)']);
    expect(lines(fields, { values, applied, running: false })).toEqual([
      'cloud_init.storage: "tank" → "local" (file, live)',
    ]);
    expect(lines(fields, { values, applied: { 'cloud_init.storage': 'local' } })).toEqual([]);
    expect(lines({ cloud_init: { storage: 'tank' } }, { values, applied: { 'cloud_init.storage': 'x' } })).toEqual([]);
    expect(lines(fields, { values, applied: {} })).toEqual([]);
  });

  it('is refused if another drive occupies the slot', () => {
    const taken = new Map([...VALUES, ['ide2', 'none,media=cdrom']]);
    expect(differencesOf(fields, { values: taken })).toMatchObject([
      { reason: 'ide2 is taken, so the cloud-init drive cannot be created there; choose another cloud_init.slot.' },
    ]);
  });
});

describe('cloud-init files in one volume', () => {
  const file = (path: string, value: string): DesiredField => ({
    path,
    value,
    words: 'raw',
    parts: ['file'],
    inCloudInitFile: true,
  });
  const desired: DesiredConfig = new Map([
    [
      'ide2',
      {
        key: 'ide2',
        desired: { kind: 'cdrom', set: {}, file: 'local:iso/new.iso', seed: true },
        fields: [file('cloud_init.user_data', 'u2'), file('cloud_init.meta_data', 'm1')],
      },
    ],
  ]);
  const vm = observedVm(new Map([...VALUES, ['ide2', 'local:iso/old.iso,media=cdrom']]));
  const differences = (recorded: Record<string, unknown> | undefined) =>
    diffVm(desired, vm, recorded).differences.map(({ path, before, after }) => [path, before, after]);

  it('differ by the recorded values', () => {
    expect(differences({ 'cloud_init.user_data': 'u1', 'cloud_init.meta_data': 'm1' })).toEqual([
      ['cloud_init.user_data', 'u1', 'u2'],
    ]);
    expect(differences(undefined)).toEqual([
      ['cloud_init.user_data', null, 'u2'],
      ['cloud_init.meta_data', null, 'm1'],
    ]);
  });

  it('show no recorded digest of a secret one', () => {
    const password = { ...file('cloud_init.password', 'd2'), words: 'secret' as const };
    const secret: DesiredConfig = new Map([
      ['ide2', { key: 'ide2', desired: { kind: 'cdrom', set: {}, file: 'local:iso/new.iso' }, fields: [password] }],
    ]);
    const [difference] = diffVm(secret, vm, { 'cloud_init.password': 'd1' }).differences;
    expect(difference).toMatchObject({ path: 'cloud_init.password', after: '•••' });
    expect(difference?.before).not.toBe('d1');
  });

  it('are one difference if only the volume differs', () => {
    expect(differences({ 'cloud_init.user_data': 'u2', 'cloud_init.meta_data': 'm1' })).toEqual([
      ['cloud_init.user_data', 'u2', 'u2'],
    ]);
  });
});

describe('a value that is pending', () => {
  it('takes effect immediately if the running VM has the desired one', () => {
    const vm = observedVm(VALUES, { running: true, pending: new Map([['memory', '8192']]) });
    expect(diffVm(desiredOf({ memory: '2GiB' }), vm, undefined).differences).toMatchObject([{ effect: 'live' }]);
    const cores = observedVm(VALUES, { running: true, pending: new Map([['cores', '4']]) });
    expect(diffVm(desiredOf({ cpu: { cores: 2 } }), cores, undefined).differences).toMatchObject([{ effect: 'live' }]);
    expect(diffVm(desiredOf({ memory: '4GiB' }), vm, undefined)).toMatchObject({
      differences: [{ path: 'memory', effect: 'restart' }],
      restartPending: [],
    });
  });

  it('is verified, except the size of a disk that is not plugged in yet', () => {
    const disks = { sata1: { storage: 'tank', size: '8GiB' } };
    const pending = new Map([['sata1', 'tank:vm-101-disk-1,size=1G']]);
    expect(verifyVm(desiredOf({ disks }), observedVm(VALUES, { running: true, pending }))).toEqual([]);
    const plugged = observedVm(new Map([...VALUES, ...pending]), { running: true });
    expect(verifyVm(desiredOf({ disks, memory: '4GiB' }), plugged)).toMatchObject([
      { path: 'memory', before: '2GiB', after: '4GiB' },
      { path: 'disks.sata1.size', effect: 'live' },
    ]);
  });
});

describe('a recorded value', () => {
  it('means the same in other case, order and space', () => {
    const values = new Map([...VALUES, ['name', 'WEB']]);
    expect(lines({ name: 'db' }, { values, applied: { name: ' web ' } })).toEqual(['name: "WEB" → "db" (file, live)']);
    expect(lines({ name: 'db' }, { values, applied: { name: 'other' } })).toEqual(['name: "WEB" → "db" (both, live)']);
    expect(lines({ tags: ['c'] }, { applied: { tags: ['x'] } })).toEqual(['tags: ["a","b"] → ["c"] (both, live)']);
  });

  it('of a field that left the file is reported unless it was null or a removal', () => {
    const applied = { 'cpu.cores': 2, memory: null, 'nics.net3.remove': true };
    expect(diffVm(desiredOf({}), observedVm(VALUES), applied).unmanaged).toEqual(['cpu.cores']);
    expect(diffVm(desiredOf({}), observedVm(VALUES), undefined).unmanaged).toEqual([]);
  });

  it('of another disk than the one that is removed is reported', () => {
    const applied = { 'disks.scsi0.size': '32GiB', 'disks.scsi1.size': '1GiB' };
    const desired = desiredOf({ disks: { scsi1: { remove: true } } });
    expect(diffVm(desired, observedVm(VALUES), applied).unmanaged).toEqual(['disks.scsi0.size']);
  });

  it('of a raw key is reported unless a field now sets that key', () => {
    const applied = { 'extra.cores': '2', 'extra.reboot': '0' };
    expect(diffVm(desiredOf({ cpu: { cores: 2 } }), observedVm(VALUES), applied).unmanaged).toEqual(['extra.reboot']);
  });

  it('of a disk made from another image is named in the refusal', () => {
    const disks = { scsi0: { storage: 'tank', import_from: 'local:import/b.qcow2' } };
    const applied = { 'disks.scsi0.import_from': 'local:import/a.qcow2' };
    expect(differencesOf({ disks }, { applied })).toMatchObject([
      { reason: 'scsi0 has been made from local:import/a.qcow2 and is not made again.' },
    ]);
  });
});
