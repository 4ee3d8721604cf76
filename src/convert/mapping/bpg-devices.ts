/** Devices that the VM resources of bpg/proxmox have in common. */
import type { AttributeRow, BlockRow, Row } from './rows.ts';

export const same = (...names: string[]): AttributeRow[] => names.map((from) => ({ from, to: from }));

/** The same names below another block. */
export const below = (to: string, ...names: string[]): AttributeRow[] =>
  names.map((from) => ({ from, to: `${to}.${from}` }));

const cpu = (...own: readonly Row[]): readonly Row[] => [
  ...below('cpu', 'cores', 'sockets', 'type', 'flags', 'limit', 'units', 'numa', 'affinity'),
  ...own,
  { from: 'architecture', to: 'extra.arch' },
];

export const CPU = cpu({ from: 'hotplugged', to: 'cpu.vcpus' });
export const NEWER_CPU = cpu({ from: 'vcpus', to: 'cpu.vcpus' });

const DRIVE: readonly Row[] = [
  { from: 'datastore_id', to: 'storage' },
  ...same('aio', 'backup', 'cache', 'replicate', 'serial', 'ssd', 'import_from'),
  { from: 'iothread', to: 'io_thread' },
  { from: 'discard', to: 'discard', as: 'on' },
];

export const DISK: readonly Row[] = [
  ...DRIVE,
  { from: 'size', to: 'size', as: 'GiB' },
  { from: 'file_format', to: 'format' },
  { from: 'queues', to: 'queues' },
  { from: 'file_id', to: 'import_from' },
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
];

export const NEWER_DISK: readonly Row[] = [
  ...DRIVE,
  { from: 'size_gb', to: 'size', as: 'GiB' },
  { from: 'format', to: 'format' },
  {
    from: 'file',
    cannot: 'Proxwright does not attach volumes that exist. The VM keeps the disk if you leave its slot out.',
  },
  { from: 'media', drop: 'Proxwright knows a CD drive by its `iso`.' },
];

const CARD: readonly Row[] = [
  ...same('bridge', 'model', 'mtu', 'queues', 'firewall'),
  { from: 'mac_address', to: 'mac' },
  { from: 'rate_limit', to: 'rate' },
];

export const NIC: readonly Row[] = [
  ...CARD,
  { from: 'vlan_id', to: 'vlan' },
  { from: 'disconnected', to: 'link_down' },
  { from: 'trunks', to: 'trunks', as: 'vlan-list' },
  { from: 'enabled', drop: 'A card that is configured is enabled.' },
];

export const NEWER_NIC: readonly Row[] = [...CARD, ...same('link_down', 'trunks'), { from: 'tag', to: 'vlan' }];

export const PHYSICAL = {
  to: ['iso'],
  why: 'It is the physical drive of the host, which Proxwright does not pass. The VM keeps the drive if you leave its slot out.',
};

export const NEWER_CDROM: readonly Row[] = [{ from: 'file_id', to: 'iso', as: 'iso' }];

export const CDROM: readonly Row[] = [
  ...NEWER_CDROM,
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

export const NEWER_VGA: BlockRow = {
  block: 'vga',
  rows: [...below('vga', 'type', 'clipboard'), { from: 'memory', to: 'vga.memory', as: 'MiB' }],
};

export const VGA: BlockRow = {
  block: 'vga',
  rows: [...NEWER_VGA.rows, { from: 'enabled', drop: 'Set `vga = { type = "none" }` for a VM without a screen.' }],
};

export const DESTROYED: readonly Row[] = [
  { from: 'purge_on_destroy', drop: 'Proxwright always removes a destroyed VM from backup jobs.' },
  {
    from: 'delete_unreferenced_disks_on_destroy',
    drop: 'Proxwright destroys the disks that the VM references, and no others.',
  },
];
