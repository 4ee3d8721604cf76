/** The cluster of a generated VM, and the templates that the tests of this folder use. */

/** What a generated VM may use. */
export interface VmSite {
  readonly node: string;
  /** The template's configuration; empty for a VM made from nothing. */
  readonly values: ReadonlyMap<string, string>;
  readonly template: string | undefined;
  /** Where new disks may go; formats only where a storage offers a choice. */
  readonly storages: readonly { readonly id: string; readonly formats: readonly ('raw' | 'qcow2' | 'vmdk')[] }[];
  readonly isos: readonly string[];
  /** Volumes of content `import`, smaller than 32 GiB. */
  readonly imports: readonly string[];
  /** Of these, those that fit into a TPM state. */
  readonly tpmStates: readonly string[];
  readonly bridges: readonly { readonly name: string; readonly vlanAware: boolean }[];
  readonly pciMappings: readonly string[];
  readonly usbMappings: readonly string[];
  readonly dirMappings: readonly string[];
  /** Files for cloud-init and hooks that the node has. */
  readonly snippets: readonly string[];
  /** Whether the VM is written by root@pam itself, who may set more than any token. */
  readonly asRoot: boolean;
}

/** A template as people have them: disks on two buses, cards with and without VLAN, a CD drive, sub-keys we do not model. */
export const RICH_TEMPLATE: VmSite = {
  node: 'pve1',
  template: 'debian-13',
  values: new Map([
    ['agent', 'enabled=1,freeze-fs-on-backup=0'],
    ['boot', 'order=scsi0;net0'],
    ['cores', '2'],
    ['audio0', 'device=AC97'],
    ['cpu', 'x86-64-v2-AES,hidden=1'],
    [
      'description',
      'Made by hand.\n\nproxwright: stack=old address=vm.base vmid=9000 uuid=00000000-0000-0000-0000-000000000000',
    ],
    ['ide2', 'local:iso/debian.iso,media=cdrom,size=374M'],
    ['ipconfig0', 'ip=10.9.9.9/24,gw=10.9.9.1,ip6=auto'],
    ['memory', '2048'],
    ['meta', 'creation-qemu=10.0.2,ctime=1700000000'],
    ['name', 'debian-13'],
    ['net0', 'virtio=BC:24:11:00:00:01,bridge=vmbr0,firewall=0,host-tunnel=1'],
    ['net1', 'e1000=bc:24:11:00:00:02,bridge=vmbr1,tag=5,trunks=10;20'],
    ['ostype', 'l26'],
    ['scsi0', 'local:101/vm-101-disk-0.qcow2,discard=on,iothread=1,mbps_rd=7,scsiblock=0,size=3G,werror=report'],
    ['scsi1', 'tank:vm-101-disk-1,backup=0,size=8G'],
    ['scsihw', 'virtio-scsi-single'],
    ['smbios1', 'family=plain,uuid=11111111-2222-4333-8444-555555555555'],
    ['startup', 'order=3'],
    ['tags', 'linux;base'],
    ['vga', 'qxl,clipboard=vnc'],
    ['virtio2', 'tank:vm-101-disk-2,size=512M'],
    ['vmgenid', '99999999-2222-4333-8444-555555555555'],
  ]),
  storages: [
    { id: 'local', formats: ['raw', 'qcow2'] },
    { id: 'tank', formats: ['raw'] },
  ],
  isos: ['local:iso/debian.iso', 'local:iso/talos.iso'],
  imports: ['local:import/noble.qcow2'],
  tpmStates: ['local:import/tpm.raw'],
  bridges: [
    { name: 'vmbr0', vlanAware: false },
    { name: 'vmbr1', vlanAware: true },
  ],
  pciMappings: ['gpu'],
  usbMappings: ['stick'],
  dirMappings: ['media', 'backup'],
  snippets: ['local:snippets/user.yaml', 'local:snippets/other.yaml'],
  asRoot: true,
};

/** A VM made from nothing. */
export const NO_TEMPLATE: VmSite = { ...RICH_TEMPLATE, template: undefined, values: new Map() };

/** A template with a cloud-init drive, EFI variables and TPM state. */
export const CLOUD_TEMPLATE: VmSite = {
  ...RICH_TEMPLATE,
  values: new Map([
    ['bios', 'ovmf'],
    ['boot', 'order=scsi0'],
    ['efidisk0', 'tank:vm-101-disk-3,efitype=4m,ms-cert=2023k,pre-enrolled-keys=1,size=4M'],
    ['ide0', 'tank:vm-101-cloudinit,media=cdrom,size=4M'],
    ['machine', 'pc-q35-10.0+pve1'],
    ['net0', 'virtio=BC:24:11:00:00:01,bridge=vmbr0'],
    ['scsi0', 'tank:base-9000-disk-0/vm-101-disk-0,size=20G'],
    ['smbios1', 'uuid=11111111-2222-4333-8444-555555555555'],
    ['tpmstate0', 'tank:vm-101-disk-4,size=4M,version=v2.0'],
  ]),
};
