/**
 * Templates of every shape that the field table knows, each with or without a cloud-init drive, an agent, EFI variables, a
 * TPM and a second disk, and stacks that clone them: with every kind of cloud-init data, and with the devices either left
 * to the template or stated in the file. Whatever a clone brings along, a run that dies before it was configured must be
 * resumed like one that has just begun.
 */
import type { Instant } from '../../../../src/base/clock.ts';
import { buildWorld, type World, type WorldFile } from '../../../../src/simulator/index.ts';
import { LAB_WORLD } from '../../engine/support/lab-world.ts';

const PARTS = ['drive', 'agent', 'efi', 'tpm', 'second'] as const;
type Part = (typeof PARTS)[number];

/** Devices that a file can state: one that the template has is compared, one that it has not is made. */
const STATED = ['efi', 'tpm', 'second'] as const;

export const CLOUD_INIT = {
  none: '',
  drive: 'cloud_init: { storage: local-lvm, user: admin, password: { env: GUEST_PASSWORD } }',
  'user data': 'cloud_init: { storage: local, user_data: { text: "#cloud-config" } }',
  'all documents':
    'cloud_init: { storage: local, user: admin, user_data: { text: "#cloud-config" }, network_data: { text: "version: 2" } }',
  'another slot': 'cloud_init: { storage: local, slot: sata3, user_data: { text: "#cloud-config" } }',
} as const;

export interface Shape {
  /** What the template has. */
  readonly has: ReadonlySet<Part>;
  /** What the file states. */
  readonly states: ReadonlySet<Part>;
  readonly cloudInit: keyof typeof CLOUD_INIT;
}

function subsets<Item>(items: readonly Item[]): Item[][] {
  return Array.from({ length: 2 ** items.length }, (_, set) => items.filter((_item, index) => set & (2 ** index)));
}

export const SHAPES: readonly Shape[] = subsets<Part>(PARTS).flatMap((has) =>
  subsets<Part>(STATED).flatMap((states) =>
    Object.keys(CLOUD_INIT).map(
      (cloudInit): Shape => ({
        has: new Set(has),
        states: new Set(states),
        cloudInit: cloudInit as Shape['cloudInit'], // a key of that object
      }),
    ),
  ),
);

export function nameOf({ has, states, cloudInit }: Shape): string {
  const list = (parts: ReadonlySet<Part>) => [...parts].join(', ') || 'nothing';
  return `template with ${list(has)}; file with ${list(states)}; cloud-init ${cloudInit}`;
}

const vmidOf = (has: ReadonlySet<Part>) =>
  9100 + PARTS.reduce((sum, part, index) => sum + (has.has(part) ? 2 ** index : 0), 0);

function volumesOf(vmid: number, has: ReadonlySet<Part>) {
  const volume = (name: string, size: string) => ({ name, node: 'pve1', size, used: size, data: size });
  return [
    volume(`base-${vmid}-disk-0`, '1G'),
    ...(has.has('drive') ? [volume(`vm-${vmid}-cloudinit`, '4M')] : []),
    ...(has.has('efi') ? [volume(`base-${vmid}-disk-1`, '4M')] : []),
    ...(has.has('tpm') ? [volume(`base-${vmid}-disk-2`, '4M')] : []),
    ...(has.has('second') ? [volume(`base-${vmid}-disk-3`, '1G')] : []),
  ];
}

function template(vmid: number, has: ReadonlySet<Part>): NonNullable<WorldFile['vms']>[string] {
  const on = (part: Part, values: Record<string, string>) => (has.has(part) ? values : {});
  const digits = String(vmid).padStart(12, '0');
  return {
    node: 'pve1',
    config: {
      name: `shape-${vmid}`,
      template: 1,
      memory: '512',
      cores: 1,
      ostype: 'l26',
      scsihw: 'virtio-scsi-single',
      boot: 'order=scsi0',
      net0: `virtio=BC:24:11:99:${digits.slice(-4, -2)}:${digits.slice(-2)},bridge=vmbr0`,
      scsi0: `local-lvm:base-${vmid}-disk-0,size=1G`,
      smbios1: `uuid=5e0c4a77-7886-477f-ad9d-${digits}`,
      ...on('drive', { ide2: `local-lvm:vm-${vmid}-cloudinit,media=cdrom` }),
      ...on('agent', { agent: 'enabled=1' }),
      ...on('efi', { bios: 'ovmf', efidisk0: `local-lvm:base-${vmid}-disk-1,efitype=4m,size=4M` }),
      ...on('tpm', { tpmstate0: `local-lvm:base-${vmid}-disk-2,size=4M,version=v2.0` }),
      ...on('second', { scsi1: `local-lvm:base-${vmid}-disk-3,size=1G` }),
    },
  };
}

const TEMPLATES = subsets<Part>(PARTS).map((parts) => ({ vmid: vmidOf(new Set(parts)), has: new Set(parts) }));

export function shapesWorld({ now }: { readonly now: Instant }): World {
  const { storages = {}, vms = {} } = LAB_WORLD;
  const thin = storages['local-lvm'] ?? {};
  return buildWorld(
    {
      ...LAB_WORLD,
      storages: {
        ...storages,
        'local-lvm': {
          ...thin,
          volumes: [...(thin.volumes ?? []), ...TEMPLATES.flatMap(({ vmid, has }) => volumesOf(vmid, has))],
        },
      },
      vms: { ...vms, ...Object.fromEntries(TEMPLATES.map(({ vmid, has }) => [vmid, template(vmid, has)])) },
    },
    { now, file: 'shapes' },
  );
}

export function stackOf({ has, states, cloudInit }: Shape): string {
  const line = (part: Part, text: string) => (states.has(part) ? [text] : []);
  return `
version: 1
stack: lab
vms:
  one:
    name: one
    node: pve1
    vmids: 401-402
    guest: plain
    clone: { template: shape-${vmidOf(has)}, mode: full }
    memory: 1GiB
    nics: { net0: { bridge: vmbr0, ipv4: dhcp } }
    disks: { scsi0: { size: 2GiB }${states.has('second') ? ', scsi1: { storage: local-lvm, size: 2GiB }' : ''} }
${[
  ...line('efi', 'bios: ovmf'),
  ...line('efi', 'efi: { storage: local-lvm }'),
  ...line('tpm', 'tpm: { storage: local-lvm }'),
  CLOUD_INIT[cloudInit],
]
  .map((each) => `    ${each}`)
  .join('\n')}
`;
}

/** The same VM as Terraform would have it. */
export function configOf({ has, states, cloudInit }: Shape): Record<string, unknown> {
  const on = (part: Part, values: Record<string, unknown>) => (states.has(part) ? values : {});
  return {
    name: 'one',
    node: 'pve1',
    guest: 'plain',
    clone: { template: `shape-${vmidOf(has)}` },
    memory: '1GiB',
    nics: { net0: { bridge: 'vmbr0', ipv4: { address: 'dhcp' } } },
    disks: { scsi0: { size: '2GiB' }, ...on('second', { scsi1: { storage: 'local-lvm', size: '2GiB' } }) },
    ...on('efi', { bios: 'ovmf', efi: { storage: 'local-lvm' } }),
    ...on('tpm', { tpm: { storage: 'local-lvm' } }),
    ...TERRAFORM_CLOUD_INIT[cloudInit],
  };
}

const USER_DATA = { storage: 'local', user_data: { text: '#cloud-config' } };

const TERRAFORM_CLOUD_INIT: Readonly<Record<Shape['cloudInit'], Record<string, unknown>>> = {
  none: {},
  drive: { cloud_init: { storage: 'local-lvm', user: 'admin', password: { env: 'GUEST_PASSWORD' } } },
  'user data': { cloud_init: USER_DATA },
  'all documents': { cloud_init: { ...USER_DATA, user: 'admin', network_data: { text: 'version: 2' } } },
  'another slot': { cloud_init: { ...USER_DATA, slot: 'sata3' } },
};
