/** A cluster with one of everything a VM can refer to, and templates with many or few settings. */
import type { Instant } from '../../../../src/base/clock.ts';
import type { ResolvedStack } from '../../../../src/kinds/stack.ts';
import type { VmFields } from '../../../../src/kinds/vm/fields/index.ts';
import type { VmSite } from '../../../../src/kinds/vm/testing/vm-site.ts';
import { buildWorld, type World, type WorldFile } from '../../../../src/simulator/index.ts';
import { LAB_WORLD } from './lab-world.ts';
import { resolved } from './scene.ts';
import { FIVE_VMS } from './stacks.ts';

const RICH = 9002;
const RICH_CONFIG = {
  agent: 'enabled=1,freeze-fs-on-backup=0',
  boot: 'order=scsi0;net0',
  cores: '2',
  cpu: 'x86-64-v2-AES,hidden=1',
  description: 'Made by hand.',
  ide2: 'local:iso/debian-13.1.0-amd64-netinst.iso,media=cdrom,size=784M',
  ipconfig0: 'ip=10.9.9.9/24,gw=10.9.9.1,ip6=auto',
  memory: '2048',
  name: 'rich',
  net0: 'virtio=BC:24:11:00:90:01,bridge=vmbr0,firewall=0',
  net1: 'e1000=BC:24:11:00:90:02,bridge=vmbr1,tag=5,trunks=10;20',
  ostype: 'l26',
  scsi0: `nfs:${RICH}/base-${RICH}-disk-0.qcow2,discard=on,iothread=1,size=3G,werror=report`,
  scsi1: `local-lvm:base-${RICH}-disk-1,backup=0,size=1G`,
  scsihw: 'virtio-scsi-single',
  smbios1: 'uuid=5e0c4a77-7886-477f-ad9d-000000009002',
  startup: 'order=3',
  tags: 'base;linux',
  template: '1',
  vga: 'qxl',
  vmgenid: '60bdcd00-1150-4902-9bfa-000000009002',
};

const SNIPPETS = ['snippets/user.yaml', 'snippets/other.yaml'];

const TPM_STATE = 'import/tpm.raw';

const { storages = {}, vms = {}, mappings = {} } = LAB_WORLD;

export const DRIFT_WORLD: WorldFile = {
  ...LAB_WORLD,
  storages: {
    ...storages,
    local: {
      ...storages.local,
      volumes: [
        ...(storages.local?.volumes ?? []),
        ...SNIPPETS.map((name) => ({ name, node: 'pve1', size: '1K', used: '1K', data: '1K' })),
        { name: TPM_STATE, node: 'pve1', size: '4M', used: '4M', data: '4M' },
      ],
    },
    nfs: {
      ...storages.nfs,
      volumes: [
        ...(storages.nfs?.volumes ?? []),
        { name: `${RICH}/base-${RICH}-disk-0.qcow2`, size: '3G', used: '10M', data: '10M' },
      ],
    },
    'local-lvm': {
      ...storages['local-lvm'],
      volumes: [
        ...(storages['local-lvm']?.volumes ?? []),
        { name: `base-${RICH}-disk-1`, node: 'pve1', size: '1G', used: '10M', data: '10M' },
      ],
    },
  },
  vms: { ...vms, [RICH]: { node: 'pve1', config: RICH_CONFIG } },
  mappings: {
    pci: {
      ...mappings.pci,
      // With all its functions.
      card: { map: ['id=10de:2204,iommugroup=14,node=pve1,path=0000:01:00,subsystem-id=1458:403b'] },
    },
    usb: { stick: { map: ['id=1234:5678,node=pve1'] } },
    dir: { media: { map: ['node=pve1,path=/mnt'] }, backup: { map: ['node=pve1,path=/var/lib/vz'] } },
  },
};

export function driftWorld({ now }: { readonly now: Instant }): World {
  return buildWorld(DRIFT_WORLD, { now, file: 'drift' });
}

const SITE: Omit<VmSite, 'template' | 'values'> = {
  node: 'pve1',
  storages: [
    { id: 'nfs', formats: ['raw', 'qcow2'] },
    { id: 'local-lvm', formats: ['raw'] },
  ],
  isos: ['local:iso/debian-13.1.0-amd64-netinst.iso', 'nfs:iso/talos-v1.12.4-metal-amd64.iso'],
  imports: ['local:import/ubuntu-24.04-server-cloudimg-amd64.qcow2'],
  tpmStates: [`local:${TPM_STATE}`],
  bridges: [
    { name: 'vmbr0', vlanAware: false },
    { name: 'vmbr1', vlanAware: true },
  ],
  pciMappings: ['gpu'],
  usbMappings: ['stick'],
  dirMappings: ['media', 'backup'],
  snippets: SNIPPETS.map((name) => `local:${name}`),
  asRoot: false,
};

const valuesOf = (vmid: number) =>
  new Map([...(driftWorld({ now: 0 }).vms.get(vmid)?.config.current ?? [])].filter(([key]) => key !== 'template'));

export const VM_SITES: readonly VmSite[] = [
  { ...SITE, template: 'rich', values: valuesOf(RICH) },
  { ...SITE, template: 'ubuntu-24.04', values: valuesOf(9000) },
  { ...SITE, template: undefined, values: new Map() },
];

/** A stack of one VM with these fields. */
export function stackOf(fields: VmFields): ResolvedStack {
  const { rollout } = resolved(FIVE_VMS);
  const address = 'vm.web' as ResolvedStack['vms'][number]['address'];
  return {
    name: 'lab',
    connection: {},
    images: [],
    templates: [],
    vms: [{ address, group: 'web', number: 1, fields, vmids: [401, 402], after: [], formerly: [], positions: {} }],
    rollout,
    outputs: {},
  };
}
