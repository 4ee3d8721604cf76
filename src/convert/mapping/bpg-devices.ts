/** Devices that the VM resources of bpg/proxmox have in common. */
import type { AttributeRow, BlockRow, Row } from './rows.ts';

export const same = (...names: string[]): AttributeRow[] => names.map((from) => ({ from, to: from }));

/** The same names below another block. */
export const below = (to: string, ...names: string[]): AttributeRow[] =>
  names.map((from) => ({ from, to: `${to}.${from}` }));

export const CPU: readonly Row[] = [
  ...below('cpu', 'cores', 'sockets', 'type', 'flags', 'limit', 'units', 'numa', 'affinity'),
  { from: 'hotplugged', to: 'cpu.vcpus' },
  { from: 'vcpus', to: 'cpu.vcpus' },
  { from: 'architecture', to: 'extra.arch' },
];

export const DISK: readonly Row[] = [
  { from: 'datastore_id', to: 'storage' },
  { from: 'size', to: 'size', as: 'GiB' },
  { from: 'size_gb', to: 'size', as: 'GiB' },
  { from: 'file_format', to: 'format' },
  ...same('format', 'aio', 'backup', 'cache', 'replicate', 'serial', 'ssd', 'queues', 'import_from'),
  { from: 'file_id', to: 'import_from' },
  { from: 'iothread', to: 'io_thread' },
  { from: 'discard', to: 'discard', as: 'on' },
  {
    block: 'speed',
    rows: [
      { from: 'read', to: 'limits.read_mbps' },
      { from: 'read_burstable', to: 'limits.read_mbps_burst' },
      { from: 'write', to: 'limits.write_mbps' },
      { from: 'write_burstable', to: 'limits.write_mbps_burst' },
      { from: 'iops_read', to: 'limits.read_iops' },
      { from: 'iops_read_burstable', to: 'limits.read_iops_burst' },
      { from: 'iops_write', to: 'limits.write_iops' },
      { from: 'iops_write_burstable', to: 'limits.write_iops_burst' },
    ],
  },
  {
    from: 'path_in_datastore',
    cannot:
      'Proxwright neither attaches disks of another VM nor devices of the host. The VM keeps the disk if you leave its slot out.',
  },
  {
    from: 'file',
    cannot: 'Proxwright does not attach volumes that exist. The VM keeps the disk if you leave its slot out.',
  },
  { from: 'media', drop: 'Proxwright knows a CD drive by its `iso`.' },
];

export const NIC: readonly Row[] = [
  ...same('bridge', 'model', 'mtu', 'queues', 'firewall', 'link_down'),
  { from: 'vlan_id', to: 'vlan' },
  { from: 'tag', to: 'vlan' },
  { from: 'mac_address', to: 'mac' },
  { from: 'rate_limit', to: 'rate' },
  { from: 'disconnected', to: 'link_down' },
  { from: 'trunks', to: 'trunks', as: 'vlan-list' },
  { from: 'enabled', drop: 'A card that is configured is enabled.' },
];

export const PHYSICAL = {
  to: 'iso',
  why: 'It is the physical drive of the host, which Proxwright does not pass. The VM keeps the drive if you leave its slot out.',
};

export const CDROM: readonly Row[] = [
  { from: 'file_id', to: 'iso', as: 'iso' },
  { from: 'enabled', drop: 'A drive that is configured is enabled.' },
];

export const RNG: BlockRow = {
  block: 'rng',
  rows: [
    { from: 'source', to: 'rng' },
    { from: 'max_bytes', to: 'rng_limit.max_bytes' },
    { from: 'period', to: 'rng_limit.period', as: 'milliseconds' },
  ],
};

export const VGA: BlockRow = {
  block: 'vga',
  rows: [
    ...below('vga', 'type', 'clipboard'),
    { from: 'memory', to: 'vga.memory', as: 'MiB' },
    { from: 'enabled', drop: 'Set `vga = { type = "none" }` for a VM without a screen.' },
  ],
};

export const DESTROYED: readonly Row[] = [
  { from: 'purge_on_destroy', drop: 'Proxwright always removes a destroyed VM from backup jobs.' },
  {
    from: 'delete_unreferenced_disks_on_destroy',
    drop: 'Proxwright destroys the disks that the VM references, and no others.',
  },
];
