import { describe, expect, it } from 'vitest';
import { Secret } from '../../../base/secret.ts';
import { vmFieldsSchema } from '../fields/index.ts';
import { seedPlace, seedSlot } from './seed-place.ts';

const fieldsOf = (more: object = {}) =>
  vmFieldsSchema.parse({
    name: 'web',
    node: 'pve1',
    cloud_init: { storage: 'local', user_data: { text: 'told' } },
    ...more,
  });

const told = (text: string) => new Map([['cloud_init.user_data', { value: new Secret(text), digest: `d ${text}` }]]);
const UUID = '11111111-0000-4000-8000-000000000001';
const MAC = 'virtio=BC:24:11:00:00:01,bridge=vmbr0';
const base = (values: Record<string, string> = {}) => new Map(Object.entries(values));

describe('the slot of custom cloud-init files', () => {
  it.each([
    ['the first that is free', {}, {}, 'ide2'],
    ['not one that the VM uses', { ide2: 'local:iso/x.iso,media=cdrom' }, {}, 'ide0'],
    ['not one that the file uses for something else', {}, { disks: { ide2: { iso: 'local:iso/x.iso' } } }, 'ide0'],
    ['that of Proxmox’s own drive', { ide0: 'tank:vm-1-cloudinit,media=cdrom' }, {}, 'ide0'],
    [
      'that of the previous documents',
      { ide0: 'tank:vm-1-cloudinit,media=cdrom', sata3: 'local:iso/proxwright-web-0123.iso,media=cdrom' },
      {},
      'sata3',
    ],
    [
      'not that of the previous documents, if the file gives it to another medium',
      { ide2: 'local:iso/proxwright-web-0123.iso,media=cdrom' },
      { disks: { ide2: { iso: 'local:iso/x.iso' } } },
      'ide0',
    ],
  ])('is %s', (_, values, more, slot) => {
    expect(seedSlot(fieldsOf(more), base(values))).toBe(slot);
  });

  it('is the one that the file names, whatever occupies it', () => {
    const fields = fieldsOf({ cloud_init: { storage: 'local', slot: 'sata1', user_data: { text: 'told' } } });
    expect(seedSlot(fields, base({ ide2: 'tank:vm-1-cloudinit,media=cdrom' }))).toBe('sata1');
  });
});

describe('the place of custom cloud-init files', () => {
  it('is undefined if there are none', () => {
    const fields = fieldsOf({ cloud_init: { storage: 'tank' } });
    expect(seedPlace({ fields, secrets: new Map(), base: base(), uuid: UUID })).toBeUndefined();
  });

  it('displaces Proxmox’s drive in another slot, and takes its slot if allowed', () => {
    const drive = { ide2: 'tank:vm-1-cloudinit,media=cdrom' };
    const named = fieldsOf({ cloud_init: { storage: 'local', slot: 'ide0', user_data: { text: 'told' } } });
    expect(seedPlace({ fields: named, secrets: told('a'), base: base(drive), uuid: UUID })).toMatchObject({
      slot: 'ide0',
      displaced: 'ide2',
    });
    const free = seedPlace({ fields: fieldsOf(), secrets: told('a'), base: base(drive), uuid: UUID });
    expect(free?.slot).toBe('ide2');
    expect(free).not.toHaveProperty('displaced');
  });

  const withCard = (mac?: string) =>
    fieldsOf({ nics: { net0: { bridge: 'vmbr0', ipv4: { address: '10.0.0.5/24' }, ...(mac && { mac }) } } });
  const fileOf = (subject: Partial<Parameters<typeof seedPlace>[0]>) =>
    seedPlace({ fields: withCard(), secrets: told('a'), base: base({ net0: MAC }), uuid: UUID, ...subject })?.file;
  const COMING = 'local:iso/proxwright-web-to-come.iso';

  it('is computed exactly for an existing VM', () => {
    expect(fileOf({})).toMatch(/^local:iso\/proxwright-web-[0-9a-f]{16}\.iso$/);
    expect(fileOf({})).toBe(fileOf({}));
  });

  it.each([
    ['the VM does not exist', { uuid: undefined }],
    ['its card has no MAC address yet', { base: base() }],
    ['the document was not read', { secrets: new Map() }],
  ])('is only announced while %s', (_, subject) => {
    expect(fileOf(subject)).toBe(COMING);
  });

  it('is known if the file sets the MAC address', () => {
    expect(fileOf({ fields: withCard('BC:24:11:00:00:02'), base: base() })).not.toBe(COMING);
  });

  it('is another file for another document, VM or card', () => {
    const files = [
      fileOf({}),
      fileOf({ secrets: told('b') }),
      fileOf({ uuid: UUID.replace('1', '2') }),
      fileOf({ base: base({ net0: MAC.replace('01,', '03,') }) }),
    ];
    expect(new Set(files).size).toBe(files.length);
  });

  it('is the recorded volume when a custom file cannot be read', () => {
    const recordedVolume = 'local:iso/proxwright-web-0123456789abcdef.iso';
    expect(fileOf({ secrets: new Map(), recordedVolume })).toBe(recordedVolume);
    expect(fileOf({ recordedVolume })).not.toBe(recordedVolume);
  });

  it('has a digest of the documents, and of nothing that is known only once the VM exists', () => {
    const digestOf = (subject: object) =>
      seedPlace({ fields: withCard(), secrets: told('a'), base: base(), uuid: undefined, ...subject })?.digest;
    expect(digestOf({ uuid: UUID, base: base({ net0: MAC }) })).toBe(digestOf({}));
    expect(digestOf({ secrets: told('b') })).not.toBe(digestOf({}));
    expect(digestOf({ fields: fieldsOf() })).toBe(digestOf({}));
  });
});
