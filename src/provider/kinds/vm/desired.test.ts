import { describe, expect, it } from 'vitest';
import { ProxwrightError } from '../../../base/errors.ts';
import { advice, setting } from '../../../base/hint.ts';
import { type CtyObject, UNKNOWN } from '../../cty/value.ts';
import { diagnosticAt, dottedOf, fullPathOf, pathOf } from '../../values/diagnostics.ts';
import { toFields } from '../../values/to-fields.ts';
import { parseFields } from './desired.ts';
import { VM_SHAPE, vmFieldAttributes } from './shape.ts';

const attributes = vmFieldAttributes();

function parse(object: CtyObject, exists = false) {
  return parseFields(toFields({ name: 'web', node: 'pve1', ...object }, VM_SHAPE), { attributes, exists });
}

const said = (object: CtyObject, exists = false) =>
  parse(object, exists).problems.map(({ path, detail }) => [path && dottedOf(path), detail.split('\n')[0]]);

const cloned = { clone: { template: 'debian' } };

describe('the host’s values as a VM', () => {
  it('become its fields', () => {
    const { fields, isWhole, problems } = parse({ ...cloned, memory: '1GiB', nics: { net0: { vlan: 0 } } });
    expect(problems).toEqual([]);
    expect(isWhole).toBe(true);
    expect(fields).toMatchObject({ memory: 1024 ** 3, nics: { net0: { vlan: false } }, guest: 'plain' });
  });

  it.each<[string, CtyObject, [string | undefined, string]]>([
    [
      'a size without a unit',
      { memory: '8' },
      ['memory', '"memory": "8" is not a size; write for example 8GiB or 512MiB.'],
    ],
    [
      'a VLAN out of range',
      { nics: { net0: { vlan: 4095 } } },
      ['nics.net0', '"nics.net0.vlan" must be at most 4094; it is 4095.'],
    ],
    [
      'a slot that does not exist',
      { disks: { nvme0: { size: '1GiB' } } },
      ['disks.nvme0', '"nvme0" is not allowed under "disks": a disk slot is ide0–3, sata0–5, scsi0–30 or virtio0–15.'],
    ],
    ['a wrong word', { bios: 'uefi' }, ['bios', '"bios" must be one of seabios, ovmf; it is "uefi".']],
    ['a device named twice', { boot: ['scsi0', 'scsi0'] }, ['boot.1', 'The boot order names "scsi0" twice.']],
    [
      'a bad tag, whose set has no places',
      { tags: ['a b'] },
      ['tags', expect.stringContaining('a tag has letters') as unknown as string],
    ],
    [
      'storage of a linked clone',
      { clone: { template: 'debian', mode: 'linked', storage: 'x' } },
      ['clone', 'A linked clone takes no "storage": it shares the template’s disks and stays on their storage.'],
    ],
    [
      'a gateway elsewhere',
      { nics: { net0: { ipv4: { address: '10.0.0.5/24', gateway: '10.1.0.1' } } } },
      ['nics.net0', 'The gateway "10.1.0.1" cannot work: it is outside the network 10.0.0.0/24.'],
    ],
    [
      'a raw key with a field',
      { extra: { memory: '1' } },
      ['extra.memory', '"memory" has its own field, so it cannot be set as a raw key.'],
    ],
    [
      'two sources of a device',
      { pci: { hostpci0: { mapping: 'a', device: '01:00' } } },
      ['pci.hostpci0', '"mapping" and "device" cannot be used together; "pci.hostpci0" has both.'],
    ],
    [
      'two places of a secret',
      { cloud_init: { password: { env: 'A', file: 'b' } } },
      ['cloud_init', expect.stringContaining('do not write the secret here') as unknown as string],
    ],
  ])('are refused at their attribute: %s', (_, object, problem) => {
    expect(said({ ...cloned, ...object })).toEqual([problem]);
  });

  it('report everything at once, also the same problem of two NICs', () => {
    const nic = { bridge: 'vmbr0', ipv4: { address: 'dhcp' } };
    expect(said({ nics: { net0: nic, net1: nic }, efi: { storage: 'tank' } }).map(([path]) => path)).toEqual([
      'nics.net0',
      'nics.net1',
      'efi',
    ]);
  });

  it('are not rejected because of unknown values', () => {
    expect(said({ efi: { storage: UNKNOWN }, clone: UNKNOWN, boot: ['scsi9'], vmid: UNKNOWN })).toEqual([]);
    expect(said({ ...cloned, efi: { storage: UNKNOWN }, bios: 'uefi' })).toHaveLength(1);
    expect(parse({ ...cloned, memory: UNKNOWN }).isWhole).toBe(false);
  });

  it('report less if the VM exists and has more than is declared', () => {
    const few = {
      boot: ['scsi0'],
      disks: { scsi1: { size: '1GiB' } },
      efi: { storage: 'tank' },
      cloud_init: { user: 'me' },
    };
    expect(said(few).length).toBeGreaterThan(3);
    expect(said(few, true)).toEqual([]);
    expect(parse(few, true).fields.clone).toBeUndefined();
    expect(said({ bios: 'seabios', efi: { storage: 'tank' } }, true)).toHaveLength(1);
  });

  it('keep the position of each field for the engine', () => {
    expect(parse({ ...cloned, nics: { net0: { vlan: 5 } } }).vm.positions['nics.net0.vlan']).toEqual({
      field: 'nics.net0.vlan',
    });
  });
});

describe('a diagnostic of the engine', () => {
  it('points to the nearest attribute that the host can show, and names the rest', () => {
    const { diagnostic } = new ProxwrightError({
      code: 'NOT_FOUND',
      detail: 'There is no bridge vmbr9 on pve1.',
      hint: advice`Write ${setting('bridge', 'vmbr0')}.`,
      where: { address: 'vm.x', field: 'nics.net0.bridge', request: 'GET /nodes/pve1/network' },
    });
    expect(diagnosticAt(diagnostic, attributes)).toEqual({
      severity: 'error',
      code: 'NOT_FOUND',
      summary: 'Not found',
      detail:
        'There is no bridge vmbr9 on pve1.\n\nWrite bridge = "vmbr0".\n\nThe field is nics.net0.bridge.\n\nAt GET /nodes/pve1/network.\n\n[NOT_FOUND]',
      path: [
        { kind: 'attribute', name: 'nics' },
        { kind: 'key', key: 'net0' },
      ],
      about: { field: 'nics.net0.bridge', reason: 'There is no bridge vmbr9 on pve1. Write bridge = "vmbr0".' },
    });
  });

  it('without a field is about the whole resource', () => {
    const { diagnostic } = new ProxwrightError({ code: 'NOT_FOUND', detail: 'x.' });
    expect(diagnosticAt(diagnostic, attributes)).not.toHaveProperty('path');
  });
});

describe('the path of a field', () => {
  it.each([
    ['name', 'name', 'name'],
    ['cpu.cores', 'cpu', 'cpu.cores'],
    ['disks.scsi0.limits.read_mbps', 'disks.scsi0', 'disks.scsi0.limits.read_mbps'],
    ['boot.1', 'boot.1', 'boot.1'],
    ['tags.0', 'tags', 'tags'],
    ['extra.kvm', 'extra.kvm', 'extra.kvm'],
    ['cloud_init.ssh_keys.0', 'cloud_init', 'cloud_init.ssh_keys.0'],
    ['cpu.nothing', 'cpu', 'cpu'],
  ])('%s', (dotted, shown, whole) => {
    expect(dottedOf(pathOf(dotted, attributes) ?? [])).toBe(shown);
    expect(dottedOf(fullPathOf(dotted, attributes) ?? [])).toBe(whole);
  });

  it('is undefined if the schema does not have it', () => {
    expect(pathOf('', attributes)).toBeUndefined();
    expect(pathOf('toString', attributes)).toBeUndefined();
  });
});
