/**
 * Words of other tools for fields of a VM: of the two common Terraform providers (bpg, Telmate), and of Proxmox itself.
 * A hint tells the user the name that it has here.
 */
import { rowsOfKey } from '../../kinds/vm/fields/rows.ts';
import type { Path } from '../located.ts';

/** By the field that contains them, with `*` for a slot; '' is the VM itself. */
const WORDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '': {
    audio_device: 'audio',
    automatic_reboot: 'restart',
    boot_order: 'boot',
    bootdisk: 'boot',
    cdrom: 'disks.ide2.iso',
    cicustom: 'cloud_init.user_data',
    clone_id: 'clone.template',
    cpu_type: 'cpu.type',
    define_connection_info: 'ready',
    desc: 'description',
    disk: 'disks.scsi0',
    efi_disk: 'efi',
    efidisk: 'efi',
    full_clone: 'clone.mode',
    hagroup: 'ha.group',
    hastate: 'ha.state',
    hook_script_file_id: 'hook_script',
    hostpci: 'pci.hostpci0',
    initialization: 'cloud_init',
    keyboard_layout: 'keyboard',
    kvm_arguments: 'args',
    network: 'nics.net0',
    network_device: 'nics.net0',
    networks: 'nics.net0',
    node_name: 'node',
    onboot: 'on_boot',
    operating_system: 'os_type',
    pool_id: 'pool',
    power_state: 'power',
    qemu_os: 'os_type',
    reboot_after_update: 'restart',
    scsi_hardware: 'scsi_controller',
    serial_device: 'serial.serial0',
    source: 'clone.template',
    start_at_node_boot: 'on_boot',
    started: 'power',
    startup_shutdown: 'startup',
    tablet_device: 'tablet',
    target_node: 'node',
    target_nodes: 'node',
    tpm_state: 'tpm',
    vm_id: 'vmid',
    vm_state: 'power',
  },
  clone: {
    datastore_id: 'clone.storage',
    full: 'clone.mode',
    full_clone: 'clone.mode',
    id: 'clone.template',
    name: 'clone.template',
    vm_id: 'clone.template',
    vmid: 'clone.template',
  },
  cloud_init: {
    datastore_id: 'cloud_init.storage',
    interface: 'cloud_init.slot',
    ip_config: 'nics.net0.ipv4',
    keys: 'cloud_init.ssh_keys',
    meta_data_file_id: 'cloud_init.meta_data',
    network_data_file_id: 'cloud_init.network_data',
    sshkeys: 'cloud_init.ssh_keys',
    user_account: 'cloud_init.user',
    user_data_file_id: 'cloud_init.user_data',
    username: 'cloud_init.user',
  },
  'disks.*': {
    asyncio: 'disks.*.aio',
    datastore_id: 'disks.*.storage',
    emulatessd: 'disks.*.ssd',
    file_format: 'disks.*.format',
    file_id: 'disks.*.import_from',
    iothread: 'disks.*.io_thread',
    readonly: 'disks.*.read_only',
    speed: 'disks.*.limits',
    volume: 'disks.*.import_from',
  },
  'nics.*': {
    disconnected: 'nics.*.link_down',
    ip: 'nics.*.ipv4.address',
    mac_address: 'nics.*.mac',
    macaddr: 'nics.*.mac',
    rate_limit: 'nics.*.rate',
    tag: 'nics.*.vlan',
    vlan_id: 'nics.*.vlan',
  },
  efi: { datastore_id: 'efi.storage', pre_enrolled_keys: 'efi.secure_boot' },
  tpm: { datastore_id: 'tpm.storage' },
  cpu: { architecture: 'extra', hotplugged: 'cpu.vcpus', vcores: 'cpu.vcpus' },
  startup: {
    down_delay: 'startup.down',
    shutdown_timeout: 'startup.down',
    startup_delay: 'startup.up',
    up_delay: 'startup.up',
  },
  'pci.*': { id: 'pci.*.device', rombar: 'pci.*.rom_bar', xvga: 'pci.*.primary_gpu' },
};

/** The path of our field for a word of another tool: `nics.net0.vlan` for `vlan_id` in `nics.net0`. */
export function ownFieldFor(key: string, path: Path): string | undefined {
  const [block = '', slot] = path.map(String);
  const place = slot === undefined ? block : `${block}.*`;
  const words = WORDS[place];
  const found = words && Object.hasOwn(words, key) ? words[key] : undefined;
  if (found !== undefined) return found.replace('*', slot ?? '*');
  return path.length === 0 ? fieldOfProxmoxKey(key) : undefined;
}

/** `scsihw` is `scsi_controller`, and `net0` is below `nics`. */
function fieldOfProxmoxKey(key: string): string | undefined {
  const [row] = rowsOfKey(key);
  if (!row) return undefined;
  const [block = ''] = row.path.split('.*');
  // A property string holds several fields, which are below one name here.
  if (block === row.path) return row.part === undefined ? row.path : row.path.replace(/\.[^.]+$/, '');
  return /^ipconfig/.test(key) ? `nics.${key.replace('ipconfig', 'net')}.ipv4` : `${block}.${key}`;
}
