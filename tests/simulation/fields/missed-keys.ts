/**
 * Keys and sub-keys of Proxmox that few tools can set, each with its field, two values for it, when a change takes effect in a
 * running VM, and what a token needs. Written down from Proxmox's source, not computed from the field rows:
 * qemu-server, src/PVE/QemuServer.pm (vmconfig_hotplug_pending, vmconfig_update_disk) and src/PVE/API2/Qemu.pm
 * ($check_vm_modify_config_perm).
 */
export interface MissedKey {
  /** Proxmox's key and sub-key: `cpu`, `hidden`. */
  readonly wire: readonly [key: string, part?: string];
  /** Field of the file: `cpu.hidden`. */
  readonly path: string;
  readonly values: readonly [first: unknown, then: unknown];
  /** What Proxmox makes of the second value. */
  readonly becomes?: unknown;
  readonly effect: 'live' | 'restart';
  /** `root`: no token may set it. */
  readonly needs: string;
}

type Pair = readonly [first: unknown, then: unknown];

const CPU = 'VM.Config.CPU';
const HARDWARE = 'VM.Config.HWType';
const OPTIONS = 'VM.Config.Options';
const DISK = 'VM.Config.Disk';
const CLOUD = 'VM.Config.Cloudinit';

function keys(
  key: string,
  owner: string,
  { effect = 'restart', needs }: { readonly effect?: MissedKey['effect']; readonly needs: string },
  fields: Readonly<Record<string, readonly [name: string, ...values: Pair]>>,
): MissedKey[] {
  return Object.entries(fields).map(([part, [name, ...values]]) => ({
    wire: [key, part],
    path: `${owner}.${name}`,
    values,
    effect,
    needs,
  }));
}

function key(name: string, path: string, values: Pair, needs: string, effect: MissedKey['effect'] = 'restart') {
  return { wire: [name], path, values, effect, needs } satisfies MissedKey;
}

const ON_OFF: Pair = [true, false];

/** The limits of a disk, for reads and writes together or apart. */
function limits(slot: string, direction: '' | 'read_' | 'write_'): MissedKey[] {
  const suffix = { '': '', read_: '_rd', write_: '_wr' }[direction];
  return keys(
    slot,
    `disks.${slot}.limits`,
    { effect: 'live', needs: DISK },
    {
      [`mbps${suffix}`]: [`${direction}mbps`, 10, 20.5],
      [`mbps${suffix}_max`]: [`${direction}mbps_burst`, 30, 40],
      [`bps${suffix}_max_length`]: [`${direction}mbps_burst_length`, '5s', '1m'],
      [`iops${suffix}`]: [`${direction}iops`, 100, 200],
      [`iops${suffix}_max`]: [`${direction}iops_burst`, 300, 400],
      [`iops${suffix}_max_length`]: [`${direction}iops_burst_length`, '2s', '3s'],
    },
  );
}

/** What any token with the privileges may set. */
export const MISSED_BY_TOKENS: readonly MissedKey[] = [
  ...keys(
    'smbios1',
    'smbios',
    { needs: HARDWARE },
    {
      serial: ['serial', 'S, 1', 'S = 2'],
      manufacturer: ['manufacturer', 'ACME', 'Größe'],
      product: ['product', 'One', 'Two'],
      version: ['version', '1', '2'],
      sku: ['sku', 'a', 'b'],
      family: ['family', 'x', 'y'],
    },
  ),
  ...keys(
    'cpu',
    'cpu',
    { needs: CPU },
    {
      hidden: ['hidden', ...ON_OFF],
      'hv-vendor-id': ['hv_vendor_id', 'proxmox', 'Other1'],
      'phys-bits': ['phys_bits', 40, 'host'],
      'guest-phys-bits': ['guest_phys_bits', 39, 48],
      level: ['level', 30, 20],
    },
  ),
  ...keys(
    'scsi0',
    'disks.scsi0',
    { effect: 'live', needs: DISK },
    {
      detect_zeroes: ['detect_zeroes', false, true],
      wwn: ['wwn', '0x500a0b1c2d3e4f50', '0x500a0b1c2d3e4f51'],
      rerror: ['read_error', 'report', 'stop'],
      werror: ['write_error', 'enospc', 'report'],
      shared: ['shared', ...ON_OFF],
      snapshot: ['snapshot', ...ON_OFF],
    },
  ),
  ...keys('scsi2', 'disks.scsi2', { needs: DISK }, { queues: ['queues', 2, 4] }),
  ...limits('scsi0', ''),
  ...limits('scsi1', 'read_'),
  ...limits('scsi1', 'write_'),
  ...keys(
    'machine',
    'machine_options',
    { needs: HARDWARE },
    {
      viommu: ['viommu', 'intel', 'virtio'],
      'aw-bits': ['address_bits', 39, 48],
      'enable-s3': ['s3', ...ON_OFF],
      'enable-s4': ['s4', ...ON_OFF],
    },
  ),
  {
    wire: ['efidisk0', 'ms-cert'],
    path: 'efi.ms_cert',
    values: ['2011', '2023'],
    becomes: '2023k',
    effect: 'restart',
    needs: DISK,
  },
  ...keys('vga', 'vga', { needs: HARDWARE }, { clipboard: ['clipboard', undefined, 'vnc'] }),
  ...keys(
    'hostpci0',
    'pci.hostpci0',
    { needs: HARDWARE },
    {
      'legacy-igd': ['legacy_igd', false, true],
      'vendor-id': ['vendor_id', '0x10de', '0x10df'],
      'device-id': ['device_id', '0x2204', '0x2205'],
      'sub-vendor-id': ['sub_vendor_id', '0x1458', '0x1459'],
      'sub-device-id': ['sub_device_id', '0x403b', '0x403c'],
    },
  ),
  { wire: ['rng0', 'source'], path: 'rng', values: ['/dev/hwrng', '/dev/urandom'], effect: 'restart', needs: HARDWARE },
  ...keys(
    'rng0',
    'rng_limit',
    { needs: HARDWARE },
    {
      max_bytes: ['max_bytes', 512, 0],
      period: ['period', '250ms', '2s'],
    },
  ),
  // With the default of `hotplug` a card is replaced while the VM runs.
  ...keys(
    'net1',
    'nics.net1',
    { effect: 'live', needs: 'VM.Config.Network' },
    { model: ['model', 'vmxnet3', 'pcnet'] },
  ),
  ...keys(
    'numa0',
    'numa_nodes.numa0',
    { needs: CPU },
    {
      cpus: ['cpus', ['0'], ['0-1']],
      memory: ['memory', '1GiB', '2GiB'],
      hostnodes: ['host_nodes', ['0'], ['0-1']],
      policy: ['policy', 'bind', 'interleave'],
    },
  ),
  ...keys(
    'watchdog',
    'watchdog',
    { needs: HARDWARE },
    {
      model: ['model', 'ib700', 'i6300esb'],
      action: ['action', 'reset', 'poweroff'],
    },
  ),
  ...keys(
    'audio0',
    'audio',
    { needs: HARDWARE },
    {
      device: ['device', 'AC97', 'intel-hda'],
      driver: ['driver', 'none', 'spice'],
    },
  ),
  key('localtime', 'local_time', ON_OFF, OPTIONS),
  key('keyboard', 'keyboard', ['de', 'en-us'], OPTIONS),
  key('tdf', 'time_drift_fix', ON_OFF, OPTIONS),
  key('allow-ksm', 'allow_ksm', [false, true], 'VM.Config.Memory'),
  key('migrate_downtime', 'migration.max_downtime', ['1500ms', '2s'], OPTIONS, 'live'),
  key('migrate_speed', 'migration.speed_mbps', [250, 0], OPTIONS, 'live'),
  key('acpi', 'acpi', [false, true], HARDWARE),
  key('kvm', 'kvm', [false, true], HARDWARE),
  ...keys(
    'cicustom',
    'cloud_init.snippets',
    { effect: 'live', needs: CLOUD },
    {
      user: ['user', 'local:snippets/user.yaml', 'local:snippets/other.yaml'],
      network: ['network', 'local:snippets/user.yaml', 'local:snippets/other.yaml'],
      meta: ['meta', 'local:snippets/user.yaml', 'local:snippets/other.yaml'],
      vendor: ['vendor', 'local:snippets/user.yaml', 'local:snippets/other.yaml'],
    },
  ),
  ...keys(
    'virtiofs0',
    'virtiofs.virtiofs0',
    { needs: 'Mapping.Use' },
    {
      dirid: ['mapping', 'media', 'backup'],
      cache: ['cache', 'always', 'never'],
      'direct-io': ['direct_io', ...ON_OFF],
      'expose-xattr': ['expose_xattr', ...ON_OFF],
      'expose-acl': ['expose_acl', ...ON_OFF],
    },
  ),
];

/** What only root@pam with its password may set. */
export const MISSED_BY_ROOT: readonly MissedKey[] = [
  key('affinity', 'cpu.affinity', ['0', '0,2-3'], 'root'),
  key('args', 'args', ['-no-reboot', '-name a'], 'root'),
  key('hookscript', 'hook_script', ['local:snippets/user.yaml', 'local:snippets/other.yaml'], 'root', 'live'),
  key('hugepages', 'hugepages.size', ['2MiB', '1GiB'], 'root'),
  key('keephugepages', 'hugepages.keep', ON_OFF, 'root'),
  ...keys(
    'amd-sev',
    'amd_sev',
    { needs: 'root' },
    {
      type: ['type', 'std', 'snp'],
      'no-debug': ['no_debug', ...ON_OFF],
      'no-key-sharing': ['no_key_sharing', ...ON_OFF],
      'kernel-hashes': ['kernel_hashes', ...ON_OFF],
      'allow-smt': ['allow_smt', false, true],
    },
  ),
  ...keys(
    'spice_enhancements',
    'spice',
    { needs: 'root' },
    {
      foldersharing: ['folder_sharing', ...ON_OFF],
      videostreaming: ['video_streaming', 'filter', 'all'],
    },
  ),
  ...keys('hostpci0', 'pci.hostpci0', { needs: 'root' }, { romfile: ['rom_file', 'vbios.bin', 'other.bin'] }),
];

/** What goes with no AMD processor. */
export const MISSED_ON_INTEL: readonly MissedKey[] = [
  ...keys(
    'intel-tdx',
    'intel_tdx',
    { needs: 'root' },
    {
      attestation: ['attestation', false, true],
      'vsock-cid': ['vsock_cid', 7, 8],
      'vsock-port': ['vsock_port', 5000, 5001],
    },
  ),
];
