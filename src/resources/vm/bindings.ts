/**
 * Where each field of the table lives in Proxmox's configuration, and in which words it is written. Fields with a life of
 * their own (volumes, notes, secrets, addresses by keyword) are handled where they are collected.
 */
import type { WordKind } from './words.ts';

export interface Binding {
  /** Below its owner: the VM, or one slot. */
  readonly path: string;
  /** Proxmox's key; in a slot, the slot's own. */
  readonly key?: string;
  /** Sub-key of a property string. */
  readonly part?: string;
  readonly words: WordKind;
  /** Sub-keys that exclude this one. */
  readonly excludes?: readonly string[];
}

export const VM_BINDINGS: readonly Binding[] = [
  { path: 'name', key: 'name', words: 'text' },
  { path: 'tags', key: 'tags', words: 'tags' },
  { path: 'cpu.cores', key: 'cores', words: 'number' },
  { path: 'cpu.sockets', key: 'sockets', words: 'number' },
  { path: 'cpu.vcpus', key: 'vcpus', words: 'number' },
  { path: 'cpu.type', key: 'cpu', part: 'cputype', words: 'text' },
  { path: 'cpu.flags', key: 'cpu', part: 'flags', words: 'list' },
  { path: 'cpu.limit', key: 'cpulimit', words: 'number' },
  { path: 'cpu.units', key: 'cpuunits', words: 'number' },
  { path: 'cpu.numa', key: 'numa', words: 'boolean' },
  { path: 'memory', key: 'memory', part: 'current', words: 'mebibytes' },
  { path: 'balloon', key: 'balloon', words: 'balloon' },
  { path: 'boot', key: 'boot', words: 'boot' },
  { path: 'bios', key: 'bios', words: 'text' },
  { path: 'machine', key: 'machine', part: 'type', words: 'text' },
  { path: 'os_type', key: 'ostype', words: 'text' },
  { path: 'scsi_controller', key: 'scsihw', words: 'text' },
  { path: 'hotplug', key: 'hotplug', words: 'hotplug' },
  { path: 'cloud_init.user', key: 'ciuser', words: 'text' },
  { path: 'cloud_init.ssh_keys', key: 'sshkeys', words: 'ssh-keys' },
  { path: 'cloud_init.dns.servers', key: 'nameserver', words: 'blank-list' },
  { path: 'cloud_init.dns.domain', key: 'searchdomain', words: 'text' },
  { path: 'cloud_init.upgrade', key: 'ciupgrade', words: 'boolean' },
  { path: 'cloud_init.type', key: 'citype', words: 'text' },
  { path: 'vga.type', key: 'vga', part: 'type', words: 'text' },
  { path: 'vga.memory', key: 'vga', part: 'memory', words: 'mebibytes' },
  { path: 'rng', key: 'rng0', part: 'source', words: 'text' },
  { path: 'tablet', key: 'tablet', words: 'boolean' },
  { path: 'agent.enabled', key: 'agent', part: 'enabled', words: 'boolean' },
  { path: 'agent.trim', key: 'agent', part: 'fstrim_cloned_disks', words: 'boolean' },
  { path: 'agent.freeze', key: 'agent', part: 'freeze-fs', words: 'boolean' },
  { path: 'agent.type', key: 'agent', part: 'type', words: 'text' },
  { path: 'on_boot', key: 'onboot', words: 'boolean' },
  { path: 'startup.order', key: 'startup', part: 'order', words: 'number' },
  { path: 'startup.up', key: 'startup', part: 'up', words: 'seconds' },
  { path: 'startup.down', key: 'startup', part: 'down', words: 'seconds' },
  { path: 'protection', key: 'protection', words: 'boolean' },
];

/** Options of a disk or CD drive. */
export const DRIVE_BINDINGS: readonly Binding[] = [
  { path: 'cache', part: 'cache', words: 'text' },
  { path: 'aio', part: 'aio', words: 'text' },
  { path: 'discard', part: 'discard', words: 'discard' },
  { path: 'ssd', part: 'ssd', words: 'boolean' },
  { path: 'io_thread', part: 'iothread', words: 'boolean' },
  { path: 'read_only', part: 'ro', words: 'boolean' },
  { path: 'backup', part: 'backup', words: 'boolean' },
  { path: 'replicate', part: 'replicate', words: 'boolean' },
  { path: 'serial', part: 'serial', words: 'text' },
  { path: 'limits.read_mbps', part: 'mbps_rd', words: 'number' },
  { path: 'limits.write_mbps', part: 'mbps_wr', words: 'number' },
  { path: 'limits.read_iops', part: 'iops_rd', words: 'number' },
  { path: 'limits.write_iops', part: 'iops_wr', words: 'number' },
];

export const EFI_BINDINGS: readonly Binding[] = [
  { path: 'type', part: 'efitype', words: 'text' },
  { path: 'secure_boot', part: 'pre-enrolled-keys', words: 'boolean' },
];

export const TPM_BINDINGS: readonly Binding[] = [{ path: 'version', part: 'version', words: 'text' }];

export const NIC_BINDINGS: readonly Binding[] = [
  { path: 'model', part: 'model', words: 'text' },
  { path: 'mac', part: 'macaddr', words: 'text' },
  { path: 'bridge', part: 'bridge', words: 'text' },
  { path: 'vlan', part: 'tag', words: 'number-or-false' },
  { path: 'trunks', part: 'trunks', words: 'number-list' },
  { path: 'firewall', part: 'firewall', words: 'boolean' },
  { path: 'rate', part: 'rate', words: 'limit' },
  { path: 'mtu', part: 'mtu', words: 'number' },
  { path: 'queues', part: 'queues', words: 'number' },
  { path: 'link_down', part: 'link_down', words: 'boolean' },
];

export const PCI_BINDINGS: readonly Binding[] = [
  { path: 'mapping', part: 'mapping', words: 'text', excludes: ['host'] },
  { path: 'pcie', part: 'pcie', words: 'boolean' },
  { path: 'primary_gpu', part: 'x-vga', words: 'boolean' },
  { path: 'rom_bar', part: 'rombar', words: 'boolean' },
  { path: 'mdev', part: 'mdev', words: 'text' },
];

export const USB_BINDINGS: readonly Binding[] = [
  { path: 'mapping', part: 'mapping', words: 'text', excludes: ['host'] },
  { path: 'spice', part: 'host', words: 'spice', excludes: ['mapping'] },
  { path: 'usb3', part: 'usb3', words: 'boolean' },
];

const SLOT_KEYS =
  /^((ide|sata|scsi|virtio|net|ipconfig|hostpci|usb|serial)\d+|efidisk0|tpmstate0|description|cipassword)$/;

/** Whether a key has a field of its own, so that `extra` must not name it. */
export function isModelledKey(key: string): boolean {
  return SLOT_KEYS.test(key) || VM_BINDINGS.some((binding) => binding.key === key);
}
