/**
 * Every key of a guest's configuration: the kind of its value, how many of it there may be, what its absence means, and
 * whether the server sets it; and the decoding of a whole configuration. Mirrors $confdesc of qemu-server,
 * src/PVE/QemuServer.pm.
 */

import { invariant, ProxwrightError } from '../../base/errors.ts';
import * as formats from './formats.ts';
import type { PropertyFormat } from './property-string.ts';
import { byCodeUnit, canonicalDecimal, fromWireBoolean, toWireBoolean } from './scalars.ts';

interface ConfigKeyBase {
  /** The whole key, or its part before the number when `count` is given. */
  readonly name: string;
  /** Keys `name0` to `name<count - 1>` exist. */
  readonly count?: number;
  /** What the server assumes if the key is absent; stated only where it is the same for every guest. */
  readonly default?: string;
  /** The server stores a larger number as this one. */
  readonly maximum?: number;
  /** The key is a device of the guest, so absent never equals present, whatever the defaults of its sub-keys. */
  readonly device?: true;
  /** The server sets it: `always` (never compared), or only if the request that creates the guest does not. */
  readonly generated?: 'always' | 'when-absent';
  /** Responses contain a mask instead of the value. */
  readonly secret?: true;
}

export type ConfigKey =
  | (ConfigKeyBase & {
      readonly kind:
        | 'boolean'
        | 'integer'
        | 'number'
        | 'string'
        | 'uuid'
        | 'description'
        | 'tags'
        | 'ssh-keys'
        | 'hotplug'
        | 'words'
        | 'set';
    })
  | (ConfigKeyBase & { readonly kind: 'property' | 'boot' | 'drive'; readonly format: PropertyFormat });

const switches = {
  off: ['autostart', 'freeze', 'keephugepages', 'numa', 'onboot', 'protection', 'tdf', 'template'],
  on: ['acpi', 'allow-ksm', 'ciupgrade', 'kvm', 'reboot', 'tablet'],
};

export const CONFIG_KEYS: readonly ConfigKey[] = [
  ...switches.off.map((name) => ({ name, kind: 'boolean', default: '0' }) as const),
  ...switches.on.map((name) => ({ name, kind: 'boolean', default: '1' }) as const),
  // No default: on for Windows guests, off for others.
  { name: 'localtime', kind: 'boolean' },

  // No default: without it the balloon may take all of `memory`, while 0 switches it off.
  { name: 'balloon', kind: 'integer' },
  { name: 'cores', kind: 'integer', default: '1' },
  { name: 'cpulimit', kind: 'number', default: '0' },
  // Both numbers are for cgroup v2, the only version in Proxmox VE 9.
  { name: 'cpuunits', kind: 'integer', default: '100', maximum: 10_000 },
  { name: 'migrate_downtime', kind: 'number', default: '0.1' },
  { name: 'migrate_speed', kind: 'integer', default: '0' },
  { name: 'shares', kind: 'integer', default: '1000' },
  { name: 'smp', kind: 'integer', default: '1' },
  { name: 'snaptime', kind: 'integer', generated: 'always' },
  { name: 'sockets', kind: 'integer', default: '1' },
  { name: 'vcpus', kind: 'integer', default: '0' },

  { name: 'arch', kind: 'string' },
  { name: 'args', kind: 'string' },
  { name: 'bios', kind: 'string', default: 'seabios' },
  { name: 'bootdisk', kind: 'string' },
  { name: 'cipassword', kind: 'string', secret: true },
  { name: 'citype', kind: 'string' },
  { name: 'ciuser', kind: 'string' },
  { name: 'digest', kind: 'string', generated: 'always' },
  { name: 'hookscript', kind: 'string' },
  { name: 'hugepages', kind: 'string' },
  { name: 'keyboard', kind: 'string' },
  { name: 'lock', kind: 'string', generated: 'always' },
  { name: 'name', kind: 'string' },
  { name: 'ostype', kind: 'string', default: 'other' },
  { name: 'parallel', kind: 'string', count: 3, device: true },
  { name: 'parent', kind: 'string', generated: 'always' },
  { name: 'running-nets-host-mtu', kind: 'string', generated: 'always' },
  { name: 'runningcpu', kind: 'string', generated: 'always' },
  { name: 'runningmachine', kind: 'string', generated: 'always' },
  { name: 'scsihw', kind: 'string', default: 'lsi' },
  { name: 'serial', kind: 'string', count: 4, device: true },
  { name: 'startdate', kind: 'string', default: 'now' },
  { name: 'vmgenid', kind: 'uuid', generated: 'when-absent' },
  { name: 'vmstate', kind: 'string', generated: 'always' },
  { name: 'vmstatestorage', kind: 'string' },

  { name: 'affinity', kind: 'set' },
  { name: 'description', kind: 'description' },
  { name: 'hotplug', kind: 'hotplug', default: 'network,disk,usb' },
  // Split only at blanks, when the cloud-init drive is written: with commas the guest gets one invalid address.
  { name: 'nameserver', kind: 'words' },
  { name: 'searchdomain', kind: 'words' },
  { name: 'sshkeys', kind: 'ssh-keys' },
  { name: 'tags', kind: 'tags' },

  { name: 'cdrom', kind: 'drive', format: formats.IDE_FORMAT, device: true },
  { name: 'efidisk0', kind: 'drive', format: formats.EFIDISK_FORMAT, device: true },
  { name: 'ide', kind: 'drive', format: formats.IDE_FORMAT, count: 4, device: true },
  { name: 'sata', kind: 'drive', format: formats.SATA_FORMAT, count: 6, device: true },
  { name: 'scsi', kind: 'drive', format: formats.SCSI_FORMAT, count: 31, device: true },
  { name: 'tpmstate0', kind: 'drive', format: formats.TPMSTATE_FORMAT, device: true },
  { name: 'virtio', kind: 'drive', format: formats.VIRTIO_FORMAT, count: 16, device: true },
  { name: 'unused', kind: 'property', format: formats.UNUSED_FORMAT, count: 256, generated: 'always' },

  { name: 'audio0', kind: 'property', format: formats.AUDIO_FORMAT, device: true },
  { name: 'hostpci', kind: 'property', format: formats.HOSTPCI_FORMAT, count: 16, device: true },
  { name: 'ivshmem', kind: 'property', format: formats.IVSHMEM_FORMAT, device: true },
  { name: 'net', kind: 'property', format: formats.NET_FORMAT, count: 32, device: true },
  { name: 'numa', kind: 'property', format: formats.NUMA_FORMAT, count: 8, device: true },
  { name: 'rng0', kind: 'property', format: formats.RNG_FORMAT, device: true },
  { name: 'usb', kind: 'property', format: formats.USB_FORMAT, count: 14, device: true },
  { name: 'virtiofs', kind: 'property', format: formats.VIRTIOFS_FORMAT, count: 10, device: true },
  { name: 'watchdog', kind: 'property', format: formats.WATCHDOG_FORMAT, device: true },

  { name: 'agent', kind: 'property', format: formats.AGENT_FORMAT },
  { name: 'amd-sev', kind: 'property', format: formats.AMD_SEV_FORMAT, device: true },
  { name: 'boot', kind: 'boot', format: formats.BOOT_FORMAT, generated: 'when-absent' },
  { name: 'cicustom', kind: 'property', format: formats.CICUSTOM_FORMAT },
  { name: 'cpu', kind: 'property', format: formats.CPU_FORMAT },
  { name: 'intel-tdx', kind: 'property', format: formats.INTEL_TDX_FORMAT, device: true },
  { name: 'ipconfig', kind: 'property', format: formats.IPCONFIG_FORMAT, count: 32 },
  // Windows guests get a version pinned at creation.
  { name: 'machine', kind: 'property', format: formats.MACHINE_FORMAT, generated: 'when-absent' },
  { name: 'memory', kind: 'property', format: formats.MEMORY_FORMAT },
  { name: 'meta', kind: 'property', format: formats.META_FORMAT, generated: 'always' },
  { name: 'smbios1', kind: 'property', format: formats.SMBIOS1_FORMAT, generated: 'when-absent' },
  { name: 'spice_enhancements', kind: 'property', format: formats.SPICE_ENHANCEMENTS_FORMAT },
  { name: 'startup', kind: 'property', format: formats.STARTUP_FORMAT },
  { name: 'vga', kind: 'property', format: formats.VGA_FORMAT },
];

const SINGLE = new Map(CONFIG_KEYS.filter((each) => each.count === undefined).map((each) => [each.name, each]));
const NUMBERED = new Map(CONFIG_KEYS.filter((each) => each.count !== undefined).map((each) => [each.name, each]));

/** The entry of a concrete key such as `scsi3`; `undefined` for unknown keys and for numbers out of range. */
export function describeConfigKey(key: string): ConfigKey | undefined {
  const single = SINGLE.get(key);
  if (single) return single;
  const match = /^(.*?)(0|[1-9]\d*)$/.exec(key);
  const numbered = NUMBERED.get(match?.[1] ?? '');
  return numbered && Number(match?.[2]) < (numbered.count ?? 0) ? numbered : undefined;
}

/** Of a key that is known to have a format. */
export function requiredFormat(key: string): PropertyFormat {
  const format = formatOfKey(key);
  invariant(format, `${key} has no format.`);
  return format;
}

export function formatOfKey(key: string): PropertyFormat | undefined {
  const described = describeConfigKey(key);
  return described && 'format' in described ? described.format : undefined;
}

/** All concrete keys: `acpi`, …, `net0`, `net1`, … */
export function allConfigKeys(): string[] {
  return CONFIG_KEYS.flatMap(({ name, count }) =>
    count === undefined ? [name] : Array.from({ length: count }, (_, index) => `${name}${index}`),
  );
}

/** A value in a request or in a response; `undefined` = the key is absent. */
export type ConfigScalar = string | number | boolean | undefined;

/** The value as text; booleans as 0 and 1. */
export function textOf(value: ConfigScalar): string | undefined {
  return value === undefined ? undefined : typeof value === 'boolean' ? toWireBoolean(value) : String(value);
}

export interface VmConfig {
  /** Hash of the stored file. With it, Proxmox rejects a change if another client changed the file in between. */
  readonly digest: string | undefined;
  /** Every other key, including unknown ones, in alphabetical order. Property strings are unchanged. */
  readonly values: ReadonlyMap<string, string>;
}

/** Reads the JSON object of a response, which has a random order and mixes numbers and text. */
export function decodeConfig(raw: unknown): VmConfig {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) throw malformed('it is not an object');
  const values = new Map<string, string>();
  for (const [key, value] of Object.entries(raw).sort(([a], [b]) => byCodeUnit(a, b))) {
    if (value === null || value === undefined) continue;
    if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') {
      throw malformed(`${key} is neither text nor a number`);
    }
    values.set(key, normalText(key, textOf(value) ?? ''));
  }
  const digest = values.get('digest');
  values.delete('digest');
  return { digest, values };
}

function normalText(key: string, text: string): string {
  const kind = describeConfigKey(key)?.kind;
  if (kind === 'description') return text;
  // The server returns one blank for a value that was emptied.
  if (text.trim() === '') return '';
  if (kind === 'boolean') {
    const truth = fromWireBoolean(text);
    return truth === undefined ? text : toWireBoolean(truth);
  }
  return kind === 'integer' || kind === 'number' ? canonicalDecimal(text) : text;
}

function malformed(reason: string): ProxwrightError {
  return new ProxwrightError({ code: 'BAD_ANSWER', detail: `A guest's configuration cannot be read: ${reason}.` });
}
