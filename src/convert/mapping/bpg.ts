/** `proxmox_virtual_environment_vm` of bpg/proxmox, and its two resources with attributes instead of blocks. */
import {
  below,
  CDROM,
  CPU,
  DESTROYED,
  DISK,
  NEWER_CDROM,
  NEWER_CPU,
  NEWER_DISK,
  NEWER_NIC,
  NEWER_VGA,
  NIC,
  PHYSICAL,
  RNG,
  same,
  VGA,
} from './bpg-devices.ts';
import type { BlockRow, ReferenceRow, Row, SourceResource } from './rows.ts';

const IP_FAMILY = (family: 'ipv4' | 'ipv6'): BlockRow => ({
  block: family,
  rows: [
    { from: 'address', to: `${family}.address` },
    { from: 'gateway', to: `${family}.gateway` },
  ],
});

const INITIALIZATION: readonly Row[] = [
  { from: 'datastore_id', to: 'cloud_init.storage' },
  { from: 'interface', to: 'cloud_init.slot' },
  ...below('cloud_init', 'type', 'upgrade'),
  { from: 'file_format', drop: 'Proxmox chooses the format of the drive.' },
  {
    block: 'dns',
    rows: [
      { from: 'domain', to: 'cloud_init.dns.domain' },
      { from: 'servers', to: 'cloud_init.dns.servers' },
      { from: 'server', to: 'cloud_init.dns.servers', as: 'words' },
    ],
  },
  {
    block: 'ip_config',
    collection: { to: 'nics', key: { position: 'net' } },
    rows: [IP_FAMILY('ipv4'), IP_FAMILY('ipv6')],
  },
  {
    block: 'user_account',
    rows: [
      { from: 'username', to: 'cloud_init.user' },
      { from: 'keys', to: 'cloud_init.ssh_keys' },
      { from: 'password', to: 'cloud_init.password_wo', as: 'password' },
    ],
  },
  { from: 'user_data_file_id', to: 'cloud_init.user_data', as: 'snippet' },
  { from: 'network_data_file_id', to: 'cloud_init.network_data', as: 'snippet' },
  { from: 'meta_data_file_id', to: 'cloud_init.meta_data', as: 'snippet' },
  { from: 'vendor_data_file_id', to: 'cloud_init.snippets.vendor', as: 'snippet' },
];

const AGENT: readonly Row[] = [
  ...below('agent', 'enabled', 'trim', 'type'),
  { from: 'timeout', to: 'timeouts.ready' },
  {
    block: 'wait_for_ip',
    rows: [
      { from: 'ipv4', drop: 'Proxwright waits for the address of the first card.' },
      { from: 'ipv6', drop: 'Proxwright waits for the address of the first card.' },
      { from: 'disabled', drop: 'Proxwright waits for an address only at creation: `ready = { address = false }`.' },
    ],
  },
];

export const BPG_VM_ROWS: readonly Row[] = [
  ...same('name', 'description', 'protection', 'on_boot', 'bios', 'tags', 'stop_on_destroy', 'acpi'),
  { from: 'node_name', to: 'node' },
  { from: 'vm_id', to: 'vmid', as: 'vmid' },
  { from: 'pool_id', to: 'pool' },
  { from: 'started', to: 'power', as: 'power' },
  { from: 'template', as: 'template-flag', doc: 'the resource `proxwright_template`' },
  { from: 'migrate', drop: 'A changed `node` always migrates the VM.' },
  { from: 'reboot_after_update', to: 'restart', as: 'restart' },
  { from: 'reboot', drop: 'Proxwright does not restart a VM after its creation.' },
  { from: 'boot_order', to: 'boot' },
  { from: 'scsi_hardware', to: 'scsi_controller' },
  { from: 'tablet_device', to: 'tablet' },
  { from: 'keyboard_layout', to: 'keyboard' },
  { from: 'kvm_arguments', to: 'args' },
  { from: 'hook_script_file_id', to: 'hook_script' },
  { from: 'machine', to: 'machine', as: 'machine' },
  { from: 'hotplug', to: 'hotplug', as: 'comma-list' },
  { from: 'timeout_clone', to: 'timeouts.clone', as: 'seconds' },
  { from: 'timeout_create', drop: '`timeouts.clone` is also the limit of a creation.' },
  { from: 'timeout_start_vm', to: 'timeouts.start', as: 'seconds' },
  { from: 'timeout_shutdown_vm', to: 'timeouts.shutdown', as: 'seconds' },
  { from: 'timeout_migrate', drop: 'A migration has the limits of the provider: `rollout.timeouts`.' },
  { from: 'timeout_move_disk', drop: 'It is `rollout.timeouts.disk_move` of the provider.' },
  { from: 'timeout_reboot', drop: 'A restart is a shutdown and a start, each with its own limit.' },
  { from: 'timeout_stop_vm', drop: 'Powering off has no separate limit.' },
  { block: 'operating_system', rows: [{ from: 'type', to: 'os_type' }] },
  {
    block: 'startup',
    rows: [
      { from: 'order', to: 'startup.order' },
      { from: 'up_delay', to: 'startup.up', as: 'seconds' },
      { from: 'down_delay', to: 'startup.down', as: 'seconds' },
    ],
  },
  { block: 'cpu', rows: CPU },
  {
    block: 'memory',
    rows: [
      { from: 'dedicated', to: 'memory', as: 'MiB' },
      { from: 'floating', to: 'balloon', as: 'balloon' },
      { from: 'hugepages', to: 'hugepages.size', as: 'hugepages' },
      { from: 'keep_hugepages', to: 'hugepages.keep' },
      {
        from: 'shared',
        cannot: 'A shared memory device has no field. Set it with `extra = { ivshmem = "size=…" }`.',
      },
    ],
  },
  {
    block: 'disk',
    collection: { to: 'disks', key: { attribute: 'interface' } },
    rows: DISK,
    defaults: { storage: '"local-lvm"', size: '"8GiB"' },
  },
  {
    block: 'cdrom',
    collection: { to: 'disks', key: { attribute: 'interface', byDefault: 'ide3' } },
    needs: PHYSICAL,
    rows: CDROM,
  },
  {
    block: 'network_device',
    collection: { to: 'nics', key: { position: 'net' } },
    rows: NIC,
    defaults: { bridge: '"vmbr0"' },
  },
  {
    block: 'clone',
    rows: [
      { from: 'vm_id', to: 'clone.template', as: 'text' },
      { from: 'full', to: 'clone.mode', as: 'clone-mode' },
      { from: 'datastore_id', to: 'clone.storage' },
      { from: 'node_name', drop: 'Proxwright finds the node of the template.' },
      { from: 'retries', drop: 'Proxwright retries locks within `timeouts.lock`: `rollout.retry`.' },
    ],
  },
  { block: 'initialization', rows: INITIALIZATION },
  { block: 'agent', rows: AGENT },
  {
    block: 'efi_disk',
    defaults: { 'efi.storage': '"local-lvm"', 'efi.type': '"2m"' },
    rows: [
      { from: 'datastore_id', to: 'efi.storage' },
      { from: 'type', to: 'efi.type' },
      { from: 'pre_enrolled_keys', to: 'efi.secure_boot' },
      { from: 'file_format', drop: 'Proxmox chooses the format of the EFI disk.' },
    ],
  },
  {
    block: 'tpm_state',
    defaults: { 'tpm.storage': '"local-lvm"', 'tpm.version': '"v2.0"' },
    rows: [
      { from: 'datastore_id', to: 'tpm.storage' },
      { from: 'version', to: 'tpm.version' },
    ],
  },
  {
    block: 'hostpci',
    collection: { to: 'pci', key: { attribute: 'device' } },
    rows: [
      { from: 'id', to: 'device' },
      ...same('mapping', 'mdev', 'pcie', 'rom_file'),
      { from: 'rombar', to: 'rom_bar' },
      { from: 'xvga', to: 'primary_gpu' },
    ],
  },
  {
    block: 'usb',
    collection: { to: 'usb', key: { position: 'usb' } },
    needs: {
      to: ['mapping', 'spice'],
      why: 'Only root@pam can pass a USB device or port of the host. Use a mapping: `usb = { usb0 = { mapping = … } }`.',
    },
    rows: [{ from: 'host', to: 'spice', as: 'usb-host' }, ...same('mapping', 'usb3')],
  },
  {
    block: 'serial_device',
    collection: {
      to: 'serial',
      key: { position: 'serial' },
      scalar: { attribute: 'device', byDefault: '"socket"' },
    },
    rows: [{ from: 'device', to: '' }],
  },
  VGA,
  RNG,
  {
    block: 'audio_device',
    rows: [
      ...below('audio', 'device', 'driver'),
      { from: 'enabled', drop: 'A sound card that is configured is enabled.' },
    ],
  },
  {
    block: 'watchdog',
    rows: [
      ...below('watchdog', 'model', 'action'),
      { from: 'enabled', drop: 'A watchdog that is configured is enabled.' },
    ],
  },
  {
    block: 'virtiofs',
    collection: { to: 'virtiofs', key: { position: 'virtiofs' } },
    rows: [
      ...same('mapping', 'cache', 'direct_io', 'expose_acl'),
      { from: 'expose_xattr', to: 'expose_xattr', includedIn: 'expose_acl' },
    ],
  },
  {
    block: 'numa',
    collection: { to: 'numa_nodes', key: { attribute: 'device' } },
    rows: [
      { from: 'cpus', to: 'cpus', as: 'semicolon-list' },
      { from: 'memory', to: 'memory', as: 'MiB' },
      { from: 'hostnodes', to: 'host_nodes', as: 'semicolon-list' },
      { from: 'policy', to: 'policy' },
    ],
  },
  {
    block: 'smbios',
    rows: [
      ...below('smbios', 'family', 'manufacturer', 'product', 'serial', 'sku', 'version'),
      { from: 'uuid', drop: 'The uuid is the identity of the VM; Proxwright keeps it.' },
    ],
  },
  {
    block: 'amd_sev',
    rows: below('amd_sev', 'type', 'allow_smt', 'kernel_hashes', 'no_debug', 'no_key_sharing'),
  },
  ...DESTROYED,
  { from: 'mac_addresses', drop: 'It follows from the cards: `nics.net0.mac`.' },
];

const ORDER = 'Proxwright lists the cards of the VM and no loopback, so positions differ.';

const BPG_REFERENCES: readonly ReferenceRow[] = [
  { from: 'id', to: 'vmid' },
  { from: 'vm_id', to: 'vmid' },
  { from: 'ipv4_addresses[1][0]', to: 'primary_address' },
  { from: 'ipv4_addresses[#][#]', to: 'addresses["net#-1"][#]' },
  { from: 'ipv6_addresses[#][#]', to: 'addresses["net#-1"][#]', review: ORDER },
  { from: 'ipv4_addresses[#]', to: 'addresses["net#-1"]', review: ORDER },
  { from: 'ipv6_addresses[#]', to: 'addresses["net#-1"]', review: ORDER },
  { from: 'ipv4_addresses', to: 'addresses', isMap: true, review: ORDER },
  { from: 'ipv6_addresses', to: 'addresses', isMap: true, review: ORDER },
  { from: 'mac_addresses[#]', to: 'macs["net#"]', review: ORDER },
  { from: 'mac_addresses', to: 'macs', isMap: true, review: ORDER },
  { from: 'network_device[#].mac_address', to: 'macs["net#"]' },
  { from: 'network_interface_names' },
  { from: 'started', to: 'power', review: 'It is "running" or "stopped".' },
];

export const BPG_VM: SourceResource = {
  provider: 'bpg',
  types: ['proxmox_virtual_environment_vm'],
  to: 'proxwright_vm',
  vmidFrom: ['vm_id', 'id'],
  passwordFrom: ['initialization', 0, 'user_account', 0, 'password'],
  rows: BPG_VM_ROWS,
  references: BPG_REFERENCES,
};

const TIMEOUTS: BlockRow = {
  block: 'timeouts',
  rows: [
    { from: 'create', to: 'timeouts.clone' },
    { from: 'read', drop: 'Reading has no separate limit.' },
    { from: 'update', drop: 'Each wait of an update has its own limit.' },
    { from: 'delete', to: 'timeouts.shutdown' },
  ],
};

/** `proxmox_virtual_environment_vm2`, `proxmox_virtual_environment_cloned_vm`, and their shorter names. */
export const BPG_VM2: SourceResource = {
  provider: 'bpg',
  types: [
    'proxmox_virtual_environment_vm2',
    'proxmox_virtual_environment_cloned_vm',
    'proxmox_vm',
    'proxmox_cloned_vm',
  ],
  to: 'proxwright_vm',
  vmidFrom: ['id'],
  rows: [
    ...same('name', 'description', 'tags', 'stop_on_destroy'),
    { from: 'id', to: 'vmid' },
    { from: 'node_name', to: 'node' },
    { from: 'started', to: 'power', as: 'power' },
    { from: 'template', as: 'template-flag', doc: 'the resource `proxwright_template`' },
    {
      block: 'clone',
      rows: [
        { from: 'source_vm_id', to: 'clone.template', as: 'text' },
        { from: 'full', to: 'clone.mode', as: 'clone-mode' },
        { from: 'target_datastore', to: 'clone.storage' },
        { from: 'target_format', to: 'clone.format' },
        { from: 'pool_id', to: 'pool' },
        { from: 'source_node_name', drop: 'Proxwright finds the node of the template.' },
        { from: 'retries', drop: 'Proxwright retries locks within `timeouts.lock`: `rollout.retry`.' },
        { from: 'snapshot_name', cannot: 'Proxwright clones templates, not snapshots of them.' },
        { from: 'bandwidth_limit', cannot: 'A limit for clones is an option of the storage or the datacenter.' },
      ],
    },
    { block: 'cpu', rows: NEWER_CPU },
    {
      block: 'memory',
      rows: [
        { from: 'size', to: 'memory', as: 'MiB' },
        { from: 'balloon', to: 'balloon', as: 'balloon' },
        { from: 'hugepages', to: 'hugepages.size', as: 'hugepages' },
        { from: 'keep_hugepages', to: 'hugepages.keep' },
        { from: 'shares', to: 'extra.shares', as: 'text' },
      ],
    },
    { block: 'disk', collection: { to: 'disks', key: { attribute: '' } }, rows: NEWER_DISK },
    { block: 'cdrom', collection: { to: 'disks', key: { attribute: '' } }, needs: PHYSICAL, rows: NEWER_CDROM },
    { block: 'network', collection: { to: 'nics', key: { attribute: '' } }, rows: NEWER_NIC },
    NEWER_VGA,
    RNG,
    TIMEOUTS,
    {
      block: 'delete',
      rows: [
        { from: 'disk', cannot: 'Write the slots that are to go: `disks = { scsi2 = { remove = true } }`.' },
        { from: 'network', cannot: 'Write the slots that are to go: `nics = { net1 = { remove = true } }`.' },
      ],
    },
    ...DESTROYED,
  ],
  references: [{ from: 'id', to: 'vmid' }],
};
