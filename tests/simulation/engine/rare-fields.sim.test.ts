/**
 * Fields that few VMs need: what Proxmox would accept and never start, what an older release lacks and what only root may set
 * is refused by the plan, with the line; what stands beside a field survives, and raw keys of older files keep working.
 */
import { describe, expect, it } from 'vitest';
import { printPropertyOf, propertyOf } from '../../../src/kinds/vm/config/parts.ts';
import { parseToken, passwordCredentials } from '../../../src/pve/index.ts';
import { buildWorld, type WorldFile } from '../../../src/simulator/index.ts';
import { worldOf } from '../pve8/support/worlds.ts';
import { DRIFT_WORLD, driftWorld } from './support/drift-world.ts';
import { failuresOf } from './support/invariants.ts';
import { Scene } from './support/scene.ts';

const stack = (more: string) => `version: 1
stack: lab
vms:
  web:
    name: web
    node: pve1
    vmids: [401]
    guest: plain
    power: stopped
    clone: { template: ubuntu-24.04, storage: local-lvm }
    ${more.replaceAll('\n', '\n    ')}
`;
const LINE = 11;

const configOf = (scene: Scene) => scene.world.vms.get(401)?.config.current ?? new Map<string, string>();

describe('a shared directory', () => {
  it.each([
    ['virtiofs: { virtiofs0: { mapping: medai } }', 'There is no directory mapping "medai".', 'Did you mean "media"?'],
    ['virtiofs: { virtiofs0: { mapping: elsewhere } }', 'has no directory on pve1, only on pve2.', 'pvesh set'],
    ['extra: { virtiofs3: "dirid=nowhere,cache=never" }', 'There is no directory mapping "nowhere".', 'pvesh create'],
  ])('is refused at its line where Proxmox would never start the VM: %s', async (more, detail, hint) => {
    const dir = { ...DRIFT_WORLD.mappings?.dir, elsewhere: { map: ['node=pve2,path=/srv'] } };
    const file: WorldFile = { ...DRIFT_WORLD, mappings: { ...DRIFT_WORLD.mappings, dir } };
    const scene = new Scene({ world: ({ now }) => buildWorld(file, { now, file: 'directories' }) });
    expect(await scene.apply(stack(more))).toMatchObject({
      kind: 'refused',
      problems: [
        {
          code: 'MISSING_REFERENCE',
          where: { line: LINE },
          detail: expect.stringContaining(detail),
          hint: { text: expect.stringContaining(hint) },
        },
      ],
    });
    expect(scene.writes()).toEqual([]);
  });

  it('is not checked where the token may not see its mapping, and the plan says so', async () => {
    const secret = '11111111-0000-4000-8000-000000000001';
    const file: WorldFile = {
      ...DRIFT_WORLD,
      users: { ...DRIFT_WORLD.users, 'few@pve': { tokens: { few: { secret, privsep: false } } } },
      acl: [
        ...(DRIFT_WORLD.acl ?? []),
        ...['PVEVMAdmin', 'PVEDatastoreUser', 'PVESDNUser'].map((role) => ({ path: '/', role, user: 'few@pve' })),
      ],
    };
    const scene = new Scene({
      world: ({ now }) => buildWorld(file, { now, file: 'few' }),
      credentials: parseToken(`few@pve!few=${secret}`),
    });
    const end = await scene.plan(stack('virtiofs: { virtiofs0: { mapping: hidden } }'), { checkPrivileges: false });
    const warnings = end.kind === 'ended' ? end.plan.warnings : [];
    expect(warnings.map(({ code, detail }) => [code, detail])).toContainEqual([
      'NOT_CHECKED',
      'The directory mapping "hidden" could not be checked: the token needs Mapping.Use on /mapping/dir/hidden.',
    ]);
  });
});

describe('a field of a newer release', () => {
  it.each([
    ['8.4', 'allow_ksm: false', 'does not have "allow_ksm": it came with 9.1.'],
    ['8.3', 'virtiofs: { virtiofs0: { mapping: media } }', '"virtiofs.virtiofs0.mapping": it came with 8.4.'],
    [
      '8.4',
      'machine_options: { viommu: virtio, address_bits: 48 }',
      '"machine_options.address_bits": it came with 9.1.',
    ],
    ['8.0', 'extra: { amd-sev: type=std }', 'does not have "extra.amd-sev": it came with 8.3.'],
  ])('is refused on %s at its line: %s', async (version, more, detail) => {
    const scene = new Scene({ world: worldOf(version, DRIFT_WORLD) });
    expect(await scene.apply(stack(more))).toMatchObject({
      kind: 'refused',
      problems: [{ code: 'BAD_VALUE', where: { line: LINE }, detail: expect.stringContaining(detail) }],
    });
    expect(scene.writes()).toEqual([]);
  });

  it('is accepted where the release has it', async () => {
    const scene = new Scene({ world: worldOf('8.4', DRIFT_WORLD) });
    expect(failuresOf(await scene.apply(stack('virtiofs: { virtiofs0: { mapping: media } }')))).toEqual([]);
    expect(configOf(scene).get('virtiofs0')).toBe('media');
  });
});

describe('a value that does not fit what the template has', () => {
  it.each([
    ['vga: { clipboard: vnc }', 'Proxmox would refuse "vga.clipboard": the VM has the graphics card serial0.'],
    ['machine_options: { viommu: intel }', 'the IOMMU of Intel needs q35, and the VM has the machine type pc.'],
    ['rng_limit: { max_bytes: 64 }', 'the VM has no random number generator'],
  ])('is refused at its line: %s', async (more, detail) => {
    const scene = new Scene({ world: driftWorld });
    expect(await scene.apply(stack(more))).toMatchObject({
      kind: 'refused',
      problems: [{ code: 'BAD_VALUE', where: { line: LINE }, detail: expect.stringContaining(detail) }],
    });
    expect(scene.writes()).toEqual([]);
  });
});

describe('what only root may set', () => {
  const CASES = [
    'args: -no-reboot',
    'hook_script: "local:snippets/user.yaml"',
    'cpu: { affinity: 0-1 }',
    'hugepages: { keep: true }',
    'spice: { folder_sharing: true }',
    'pci: { hostpci0: { mapping: gpu, rom_file: vbios.bin } }',
  ];

  it.each(CASES)('is refused for a token at its line: %s', async (more) => {
    const scene = new Scene({ world: driftWorld });
    expect(await scene.apply(stack(more))).toMatchObject({
      kind: 'refused',
      problems: [{ code: 'ROOT_ONLY', where: { line: LINE } }],
    });
    expect(scene.writes()).toEqual([]);
  });

  it.each(CASES)('is written by root@pam, and the next plan is empty: %s', async (more) => {
    const credentials = passwordCredentials({ username: 'root@pam', password: 'proxwright' });
    const scene = new Scene({ world: driftWorld, credentials });
    expect(failuresOf(await scene.apply(stack(more)))).toEqual([]);
    expect(await scene.plan(stack(more))).toMatchObject({ kind: 'ended', plan: { steps: [] } });
  });
});

describe('EFI variables', () => {
  const efi = (more: string) => stack(`bios: ovmf\nefi: { storage: local-lvm, ${more} }`);
  const efiOf = (scene: Scene) => propertyOf('efidisk0', configOf(scene).get('efidisk0'));

  it.each(['2023', '2023w', '2023k'])('get the certificates of %s by a change of their mark', async (mark) => {
    const scene = new Scene({ world: driftWorld });
    const text = efi(`secure_boot: true, ms_cert: "${mark}"`);
    expect(failuresOf(await scene.apply(text))).toEqual([]);
    const logs = [...scene.world.tasks.values()].flatMap(({ log }) => log);
    // Proxmox believes a mark that comes with a new volume.
    expect(logs.filter((line) => line.includes('enrolling Microsoft UEFI CA 2023'))).toHaveLength(1);
    expect(efiOf(scene).get('ms-cert')).toBe('2023k');
    expect(await scene.plan(text)).toMatchObject({ kind: 'ended', plan: { steps: [] } });
  });

  it.each(['2011', '2023', '2023w', '2023k'])(
    'may have more than %s: new firmware brings all of them',
    async (mark) => {
      const scene = new Scene({ world: driftWorld });
      await scene.apply(efi('secure_boot: true'));
      const vm = scene.world.vms.get(401);
      const marked = printPropertyOf('efidisk0', efiOf(scene).with('ms-cert', '2023k'));
      if (vm) vm.config = { ...vm.config, current: new Map([...vm.config.current, ['efidisk0', marked]]) };
      const text = efi(`secure_boot: true, ms_cert: "${mark}"`);
      expect(await scene.apply(text)).toMatchObject({ kind: 'ended' });
      expect(scene.writes()).toEqual([]);
      expect(await scene.plan(text)).toMatchObject({ kind: 'ended', plan: { steps: [] } });
    },
  );

  it('keep their mark where the file says nothing of it', async () => {
    const scene = new Scene({ world: driftWorld });
    await scene.apply(efi('secure_boot: true, ms_cert: 2023k'));
    const text = efi('secure_boot: true');
    expect(failuresOf(await scene.apply(text))).toEqual([]);
    expect(efiOf(scene).get('ms-cert')).toBe('2023k');
    expect(await scene.plan(text)).toMatchObject({ kind: 'ended', plan: { steps: [] } });
  });

  it.each([
    ['9.2', 'ms_cert: 2023k', 'Proxmox would drop "efi.ms_cert": the EFI variables have no secure boot keys'],
    ['9.1', 'secure_boot: true, ms_cert: 2023k', 'does not have the value "2023k" of "efi.ms_cert": it came with 9.2.'],
    ['9.0', 'secure_boot: true, ms_cert: "2023"', 'does not have "efi.ms_cert": it came with 9.1.'],
  ])('get no certificates where Proxmox would not add them: %s, %s', async (version, more, detail) => {
    const scene = new Scene({ world: worldOf(version, DRIFT_WORLD) });
    expect(await scene.apply(efi(more))).toMatchObject({
      kind: 'refused',
      problems: [{ code: 'BAD_VALUE', where: { line: LINE + 1 }, detail: expect.stringContaining(detail) }],
    });
    expect(scene.writes()).toEqual([]);
  });

  it('are copied from those of another VM', async () => {
    const scene = new Scene({ world: driftWorld });
    await scene.apply(efi('secure_boot: true'));
    const source = efiOf(scene).get('file');
    const both = efi('secure_boot: true').concat(`  copy:
    name: copy
    node: pve1
    vmids: [402]
    guest: plain
    power: stopped
    clone: { template: ubuntu-24.04, storage: local-lvm }
    bios: ovmf
    efi: { storage: local-lvm, secure_boot: true, import_from: "${source}" }
    tpm: { storage: local-lvm, version: v2.0 }
`);
    expect(failuresOf(await scene.apply(both))).toEqual([]);
    const copied = scene.world.vms.get(402)?.config.current.get('efidisk0') ?? '';
    expect(copied).toMatch(/^local-lvm:vm-402-disk-\d,.*pre-enrolled-keys=1/);
    expect(await scene.plan(both)).toMatchObject({ kind: 'ended', plan: { steps: [] } });
  });
});

describe('SMBIOS texts', () => {
  const texts = 'smbios: { serial: "S, 1", manufacturer: "Größe = 2" }';

  it.each([
    ['a clone', stack(texts)],
    [
      'a VM made from nothing',
      stack(texts).replace(/clone: .*/, 'disks: { scsi0: { storage: local-lvm, size: 1GiB } }'),
    ],
  ])('reach %s beside the uuid that Proxmox generated', async (_, text) => {
    const scene = new Scene({ world: driftWorld });
    expect(failuresOf(await scene.apply(text))).toEqual([]);
    const smbios = propertyOf('smbios1', configOf(scene).get('smbios1'));
    expect(smbios.get('uuid')).toMatch(/^[0-9a-f-]{36}$/);
    expect(Buffer.from(smbios.get('manufacturer') ?? '', 'base64').toString()).toBe('Größe = 2');
    expect(await scene.plan(text)).toMatchObject({ kind: 'ended', plan: { steps: [] } });
  });

  it('are converted together where another client wrote some of them plain', async () => {
    const scene = new Scene({ world: driftWorld });
    await scene.apply(stack('smbios: { serial: A1 }'));
    const vm = scene.world.vms.get(401);
    const uuid = propertyOf('smbios1', configOf(scene).get('smbios1')).get('uuid');
    if (vm)
      vm.config = {
        ...vm.config,
        current: new Map([...vm.config.current, ['smbios1', `family=F1,serial=A1,uuid=${uuid}`]]),
      };
    // The same meaning is no difference.
    expect(await scene.plan(stack('smbios: { serial: A1 }'))).toMatchObject({ plan: { steps: [] } });
    expect(failuresOf(await scene.apply(stack('smbios: { serial: A2 }')))).toEqual([]);
    expect(configOf(scene).get('smbios1')).toBe(`base64=1,family=RjE=,serial=QTI=,uuid=${uuid}`);
  });
});

/** One value of each key that `extra` takes; src/spec/rules/raw-keys.test.ts has the whole list. */
const RAW: readonly (readonly [key: string, value: string | number])[] = [
  ['autostart', 1],
  ['freeze', 1],
  ['reboot', 0],
  ['shares', 500],
  ['arch', 'x86_64'],
  ['bootdisk', 'scsi0'],
  ['startdate', '2026-01-02'],
  ['vmstatestorage', 'local'],
];

describe('a raw key without a field', () => {
  it.each(RAW)('is written once, and then the plan is empty: %s: %s', async (key, value) => {
    const credentials = passwordCredentials({ username: 'root@pam', password: 'proxwright' });
    const scene = new Scene({ world: driftWorld, credentials });
    const written = stack(`extra: { ${key}: ${JSON.stringify(value)} }`);
    expect(failuresOf(await scene.apply(written))).toEqual([]);
    expect(configOf(scene).get(key)).toBe(String(value));
    expect(await scene.plan(written)).toMatchObject({ kind: 'ended', plan: { steps: [] } });
  });
});

describe('a raw key whose field came later', () => {
  it('keeps working, and moves to its field without a write and without becoming unmanaged', async () => {
    const scene = new Scene({ world: driftWorld });
    expect(failuresOf(await scene.apply(stack('extra: { watchdog: "i6300esb,action=reset" }')))).toEqual([]);
    expect(configOf(scene).get('watchdog')).toBe('i6300esb,action=reset');
    const moved = stack('watchdog: { action: reset }');
    expect(await scene.apply(moved)).toMatchObject({ kind: 'ended', plan: { changes: [{ unmanaged: [] }] } });
    expect(scene.writes()).toEqual([]);
    expect(await scene.plan(moved)).toMatchObject({ kind: 'ended', plan: { steps: [] } });
  });
});

it('keeps sub-keys without a field when a field beside them changes', async () => {
  const scene = new Scene({ world: driftWorld });
  const sized = (more: string) => stack(`disks: { scsi0: { ${more} } }\ncpu: { type: host }`);
  await scene.apply(sized('backup: true'));
  const vm = scene.world.vms.get(401);
  const before = configOf(scene);
  if (vm) {
    const current = new Map(before);
    current.set('scsi0', `${before.get('scsi0')},scsiblock=0`);
    current.set('net0', `${before.get('net0')},host-tunnel=1`);
    vm.config = { ...vm.config, current };
  }
  expect(failuresOf(await scene.apply(sized('backup: true, write_error: stop')))).toEqual([]);
  expect(configOf(scene).get('scsi0')).toMatch(/scsiblock=0.*werror=stop/);
});
