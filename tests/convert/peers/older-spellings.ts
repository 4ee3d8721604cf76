/**
 * Rows of the mapping that the releases of these tests do not have: spellings of earlier releases, which configurations still use.
 * No estate can have them, because the real provider would refuse it.
 */
export const OLDER: Readonly<Record<string, readonly string[]>> = {
  proxmox_virtual_environment_vm: ['initialization.dns.server', 'vga.enabled'],
  proxmox_vm_qemu: [
    'iso',
    'oncreate',
    'disks.bus.slot.disk.ssd',
    'disks.bus.slot.disk.aio',
    'disk.ssd',
    'disk.aio',
    'cloudinit_cdrom_storage',
    'guest_agent_ready_timeout',
  ],
};

/** Rows that no estate can show, and why. */
export const UNTRIED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  proxmox_virtual_environment_vm: {
    'disk.file_id': 'imports the image over SSH to the node',
    'smbios.sku': 'is accepted and never sent',
  },
  proxmox_virtual_environment_vm2: {
    template: 'such a VM has no disk that could hold a system',
    'clone.snapshot_name': 'needs a snapshot, which no resource makes',
    'disk.import_from': 'ends the provider with a nil pointer',
  },
  proxmox_vm_qemu: {
    'disk.disk_file': 'needs a device of the host',
    'disks.bus.slot.passthrough': 'needs a device of the host',
    'usb.host': 'refuses "spice", the only value that is translated',
    'disks.bus.slot.disk.wwn': 'is accepted and never sent',
  },
};
