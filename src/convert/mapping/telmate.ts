/** `proxmox_vm_qemu` of Telmate/proxmox, in the spellings of its 3.0 candidates and of 2.9. */
import type { AttributeRow, BlockRow, Row, SourceResource } from './rows.ts';

const same = (...names: string[]): AttributeRow[] => names.map((from) => ({ from, to: from }));
const below = (to: string, ...names: string[]): AttributeRow[] => names.map((from) => ({ from, to: `${to}.${from}` }));

const flags = (...names: string[]): AttributeRow[] => names.map((from) => ({ from, to: from, as: 'flag' }));

const DISK_OPTIONS: readonly Row[] = [
  ...same('storage', 'cache', 'serial', 'format', 'wwn'),
  ...flags('backup', 'replicate', 'discard'),
  { from: 'size', to: 'size', as: 'size' },
  { from: 'iothread', to: 'io_thread', as: 'flag' },
  { from: 'emulatessd', to: 'ssd' },
  { from: 'ssd', to: 'ssd', as: 'number-flag' },
  { from: 'asyncio', to: 'aio' },
  { from: 'aio', to: 'aio' },
  { from: 'readonly', to: 'read_only' },
  { from: 'mbps_r_concurrent', to: 'limits.read_mbps' },
  { from: 'mbps_wr_concurrent', to: 'limits.write_mbps' },
  { from: 'mbps_r_burst', to: 'limits.read_mbps_burst' },
  { from: 'mbps_wr_burst', to: 'limits.write_mbps_burst' },
  { from: 'iops_r_concurrent', to: 'limits.read_iops' },
  { from: 'iops_wr_concurrent', to: 'limits.write_iops' },
  { from: 'iops_r_burst', to: 'limits.read_iops_burst' },
  { from: 'iops_wr_burst', to: 'limits.write_iops_burst' },
  { from: 'iops_r_burst_length', to: 'limits.read_iops_burst_length', as: 'seconds' },
  { from: 'iops_wr_burst_length', to: 'limits.write_iops_burst_length', as: 'seconds' },
];

const PASSTHROUGH =
  'Proxwright attaches no devices of the host as disks. The VM keeps the disk if you leave its slot out.';

const EMPTY_DRIVE = { to: 'iso', text: '"none"' };

const NO_DRIVE = 'The former provider creates no drive for an empty block.';

const CDROM: readonly Row[] = [
  { from: 'iso', to: 'iso', as: 'iso' },
  { from: 'passthrough', cannot: 'Proxwright does not pass the physical drive of the host.' },
];

const SLOTS = { to: 'disks', key: { attribute: 'slot', bus: 'type' } } as const;

/** A block `disk` is a disk unless its `type` says something else. */
const DRIVES: BlockRow['drives'] = {
  cdrom: {
    block: 'disk',
    collection: SLOTS,
    byDefault: EMPTY_DRIVE,
    rows: [...CDROM, { from: 'type', drop: 'The drive says it.' }],
  },
  cloudinit: {
    block: 'disk',
    rows: [
      { from: 'storage', to: 'cloud_init.storage' },
      { from: 'slot', to: 'cloud_init.slot' },
      { from: 'type', drop: 'The attribute says it.' },
    ],
  },
};

const DISK: readonly Row[] = [
  ...DISK_OPTIONS,
  { from: 'iso', to: 'iso', as: 'iso' },
  { from: 'type', as: 'same', drop: 'The slot says it.' },
  { from: 'disk_file', cannot: PASSTHROUGH },
  { from: 'passthrough', cannot: PASSTHROUGH },
];

/** `disks { scsi { scsi0 { disk { … } } } }`. */
function bus(name: string, count: number): BlockRow {
  return { block: name, rows: Array.from({ length: count }, (_, index) => slot(`${name}${index}`)) };
}

function slot(name: string): BlockRow {
  const collection = { to: 'disks', key: { attribute: '', byDefault: name } } as const;
  return {
    block: name,
    rows: [
      { block: 'disk', collection, rows: DISK_OPTIONS },
      { block: 'cdrom', collection, byDefault: EMPTY_DRIVE, rows: CDROM, dropEmpty: NO_DRIVE },
      {
        block: 'cloudinit',
        rows: [{ from: 'storage', to: 'cloud_init.storage' }],
        byDefault: { to: 'cloud_init.slot', text: `"${name}"` },
      },
      { block: 'passthrough', cannot: PASSTHROUGH, rows: [] },
      { from: 'ignore', drop: 'A slot that you leave out is left alone.' },
    ],
  };
}

const PCI_OPTIONS: readonly Row[] = [
  { from: 'rombar', to: 'rom_bar' },
  ...same('pcie', 'primary_gpu', 'mdev', 'device_id', 'vendor_id', 'sub_device_id', 'sub_vendor_id'),
];

const PCI: readonly Row[] = [{ from: 'mapping_id', to: 'mapping' }, { from: 'raw_id', to: 'device' }, ...PCI_OPTIONS];

const ONLY_MAPPED = 'Only root@pam can pass a USB device or port of the host. Use a mapping.';
const USB3: Row = { from: 'usb3', to: 'usb3' };
const BY_MAPPING: readonly Row[] = [{ from: 'mapping_id', to: 'mapping' }, USB3];

const USB: readonly Row[] = [
  ...BY_MAPPING,
  { from: 'device_id', cannot: ONLY_MAPPED },
  { from: 'port_id', cannot: ONLY_MAPPED },
  { from: 'host', to: 'spice', as: 'usb-host' },
];

/** At least one of these must identify the device. */
const USB_NEEDS = { to: ['mapping', 'spice'], why: ONLY_MAPPED };

const USB_BY: readonly Way[] = [
  { block: 'mapping', rows: BY_MAPPING },
  { block: 'spice', rows: [USB3], byDefault: { to: 'spice', text: 'true' } },
  { block: 'device', rows: [], cannot: ONLY_MAPPED },
  { block: 'port', rows: [], cannot: ONLY_MAPPED },
];

const PCI_BY: readonly Way[] = [
  { block: 'mapping', rows: [{ from: 'mapping_id', to: 'mapping' }, ...PCI_OPTIONS] },
  { block: 'raw', rows: [{ from: 'raw_id', to: 'device' }, ...PCI_OPTIONS] },
];

/** The way by which a device is named. */
type Way = Pick<BlockRow, 'block' | 'rows' | 'byDefault' | 'cannot'>;

/** `pcis { pci0 { mapping { … } } }`: a block for each slot, and in it one for the way. */
function numbered(block: string, to: 'pci' | 'usb', count: number, ways: readonly Way[]): BlockRow {
  const slots = Array.from({ length: count }, (_, index): BlockRow => {
    const collection = { to, key: { attribute: '', byDefault: `${to === 'pci' ? 'hostpci' : to}${index}` } };
    return { block: `${to}${index}`, rows: ways.map((way) => ({ ...way, collection })) };
  });
  return { block, rows: slots };
}

/** In Proxmox's spelling; one name of Telmate has a typo. */
const CPU_FLAGS = [
  ...['aes', 'amd-no-ssb', 'amd-ssbd', 'hv-evmcs', 'hv-tlbflush', 'ibpb', 'md-clear', 'pcid', 'spec-ctrl', 'ssbd'],
  'virt-ssbd',
];

const cpuFlag = (flag: string, from = flag.replaceAll('-', '_')): AttributeRow => ({
  from,
  to: `cpu.flags.${flag}`,
  as: 'cpu-flag',
  doc: `\`cpu.flags\`, a list such as \`["+aes", "-pcid"]\``,
});

const WAIT = 'Proxwright waits for conditions, never for a fixed time.';
const CONNECTION = 'Write a `connection` block with `host = self.primary_address`.';

export const TELMATE_VM: SourceResource = {
  provider: 'telmate',
  types: ['proxmox_vm_qemu'],
  to: 'proxwright_vm',
  vmidFrom: ['vmid', 'id'],
  passwordFrom: ['cipassword'],
  rows: [
    ...same('name', 'description', 'bios', 'protection', 'tablet', 'pool', 'args', 'kvm'),
    { from: 'vmid', to: 'vmid', as: 'vmid' },
    { from: 'desc', to: 'description' },
    { from: 'machine', to: 'machine', as: 'machine' },
    { from: 'target_node', to: 'node' },
    { from: 'target_nodes', to: 'node', as: 'one-node' },
    { from: 'clone', to: 'clone.template' },
    { from: 'clone_id', to: 'clone.template', as: 'text' },
    { from: 'full_clone', to: 'clone.mode', as: 'clone-mode' },
    { from: 'boot', to: 'boot', as: 'boot-order' },
    { from: 'bootdisk', to: 'boot', as: 'boot-disk' },
    { from: 'pxe', drop: '`boot` says it.' },
    { from: 'iso', cannot: 'Write a CD drive: `disks = { ide2 = { iso = … } }`.' },
    { from: 'agent', to: 'agent.enabled', as: 'number-flag' },
    { from: 'qemu_os', to: 'os_type' },
    { from: 'os_type', to: 'guest', as: 'guest' },
    { from: 'onboot', to: 'on_boot' },
    { from: 'start_at_node_boot', to: 'on_boot' },
    { from: 'oncreate', to: 'power', as: 'power' },
    { from: 'vm_state', to: 'power' },
    { from: 'power_state', to: 'power' },
    { from: 'startup', cannot: 'Write its parts: `startup = { order = 1, up = "30s", down = "60s" }`.' },
    {
      block: 'startup_shutdown',
      rows: [
        { from: 'order', to: 'startup.order' },
        { from: 'startup_delay', to: 'startup.up', as: 'seconds' },
        { from: 'shutdown_timeout', to: 'startup.down', as: 'seconds' },
      ],
    },
    { from: 'memory', to: 'memory', as: 'MiB' },
    { from: 'balloon', to: 'balloon', as: 'balloon' },
    ...below('cpu', 'cores', 'sockets', 'numa', 'vcpus'),
    { from: 'cpu_type', to: 'cpu.type' },
    {
      block: 'cpu',
      text: 'cpu.type',
      rows: [
        ...below('cpu', 'cores', 'sockets', 'type', 'limit', 'units', 'numa', 'affinity'),
        { from: 'vcores', to: 'cpu.vcpus' },
        { block: 'flags', rows: [...CPU_FLAGS.map((flag) => cpuFlag(flag)), cpuFlag('pdpe1gb', 'pbpe1gb')] },
      ],
    },
    { from: 'hotplug', to: 'hotplug', as: 'comma-list' },
    { from: 'scsihw', to: 'scsi_controller' },
    { from: 'tags', to: 'tags', as: 'tag-list' },
    { from: 'hastate', to: 'ha.state', as: 'ha-state' },
    { from: 'hagroup', to: 'ha.group', as: 'not-empty' },
    {
      block: 'network',
      collection: { to: 'nics', key: { attribute: 'id', prefix: 'net' } },
      rows: [
        ...same('model', 'bridge', 'firewall', 'mtu', 'rate', 'queues', 'link_down'),
        { from: 'macaddr', to: 'mac' },
        { from: 'tag', to: 'vlan', as: 'vlan' },
      ],
    },
    {
      block: 'disks',
      doc: '`disks { scsi { scsi0 { disk { … } } } }`',
      rows: [bus('ide', 4), bus('sata', 6), bus('scsi', 31), bus('virtio', 16)],
    },
    { block: 'disk', collection: SLOTS, drives: DRIVES, rows: DISK },
    {
      block: 'efidisk',
      rows: [
        { from: 'storage', to: 'efi.storage' },
        { from: 'efitype', to: 'efi.type' },
        { from: 'pre_enrolled_keys', to: 'efi.secure_boot' },
        { from: 'format', drop: 'Proxmox chooses the format of the EFI disk.' },
      ],
    },
    { block: 'tpm_state', rows: below('tpm', 'storage', 'version') },
    { block: 'pci', collection: { to: 'pci', key: { attribute: 'id', prefix: 'hostpci' } }, rows: PCI },
    {
      block: 'hostpci',
      collection: { to: 'pci', key: { position: 'hostpci' } },
      rows: [
        { from: 'host', to: 'device' },
        { from: 'pcie', to: 'pcie', as: 'number-flag' },
        { from: 'rombar', to: 'rom_bar', as: 'number-flag' },
      ],
    },
    numbered('pcis', 'pci', 16, PCI_BY),
    { block: 'usb', collection: { to: 'usb', key: { attribute: 'id', prefix: 'usb' } }, needs: USB_NEEDS, rows: USB },
    numbered('usbs', 'usb', 5, USB_BY),
    {
      block: 'serial',
      collection: {
        to: 'serial',
        key: { attribute: 'id', prefix: 'serial' },
        scalar: { attribute: 'type', byDefault: '"socket"' },
      },
      rows: [{ from: 'type', to: '' }],
    },
    {
      block: 'vga',
      rows: [
        { from: 'type', to: 'vga.type' },
        { from: 'memory', to: 'vga.memory', as: 'MiB' },
      ],
    },
    {
      block: 'rng',
      rows: [
        { from: 'source', to: 'rng' },
        { from: 'limit', to: 'rng_limit.max_bytes' },
        { from: 'period', to: 'rng_limit.period', as: 'milliseconds' },
      ],
    },
    {
      block: 'smbios',
      rows: [
        ...below('smbios', 'family', 'manufacturer', 'product', 'serial', 'sku', 'version'),
        { from: 'uuid', drop: 'The uuid is the identity of the VM; Proxwright keeps it.' },
      ],
    },
    { from: 'ciuser', to: 'cloud_init.user' },
    { from: 'cipassword', to: 'cloud_init.password_wo', as: 'password' },
    { from: 'ciupgrade', to: 'cloud_init.upgrade' },
    { from: 'sshkeys', to: 'cloud_init.ssh_keys', as: 'lines' },
    { from: 'nameserver', to: 'cloud_init.dns.servers', as: 'words' },
    { from: 'searchdomain', to: 'cloud_init.dns.domain' },
    { from: 'cicustom', to: 'cloud_init.snippets', as: 'cicustom' },
    { from: 'cloudinit_cdrom_storage', to: 'cloud_init.storage' },
    ...Array.from(
      { length: 16 },
      (_, index): AttributeRow => ({
        from: `ipconfig${index}`,
        to: `nics.net${index}`,
        as: 'ipconfig',
      }),
    ),
    { from: 'automatic_reboot', to: 'restart', as: 'restart' },
    { from: 'automatic_reboot_severity', drop: 'A plan shows which attributes wait for a restart: `restart_pending`.' },
    { from: 'agent_timeout', to: 'timeouts.ready', as: 'seconds' },
    { from: 'skip_ipv4', drop: 'Proxwright waits for an address of any family, and only at creation.' },
    { from: 'skip_ipv6', drop: 'Proxwright waits for an address of any family, and only at creation.' },
    { from: 'clone_wait', drop: WAIT },
    { from: 'additional_wait', drop: WAIT },
    { from: 'ci_wait', drop: WAIT },
    {
      from: 'force_create',
      drop: 'Proxwright refuses an id that is taken, and never takes a VM that it did not create.',
    },
    { from: 'force_recreate_on_change_of', cannot: 'Use `lifecycle { replace_triggered_by = [ … ] }`.' },
    { from: 'define_connection_info', drop: CONNECTION },
    { from: 'ssh_user', drop: CONNECTION },
    { from: 'ssh_private_key', drop: CONNECTION },
    { from: 'ssh_forward_ip', drop: CONNECTION },
    { from: 'os_network_config', cannot: 'Use cloud-init: `cloud_init = { network_data = { file = … } }`.' },
    { from: 'guest_agent_ready_timeout', to: 'timeouts.ready', as: 'seconds' },
    {
      block: 'timeouts',
      rows: [
        { from: 'create', to: 'timeouts.clone' },
        { from: 'delete', to: 'timeouts.shutdown' },
        ...['read', 'update', 'default'].map((from) => ({ from, drop: 'Each wait has its own limit.' })),
      ],
    },
  ],
  references: [
    { from: 'id', to: 'vmid' },
    { from: 'default_ipv4_address', to: 'primary_address' },
    { from: 'ssh_host', to: 'primary_address' },
    { from: 'default_ipv6_address', to: 'addresses["net0"]', review: 'It is a list of all addresses of the card.' },
    { from: 'target_node', to: 'node' },
    { from: 'current_node', to: 'current_node' },
    { from: 'reboot_required', to: 'restart_pending', review: 'It is a list of attributes.' },
    { from: 'network[#].macaddr', to: 'macs["net#"]' },
    { from: 'ssh_port' },
  ],
};
