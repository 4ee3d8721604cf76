/** Values that Proxmox checks or completes: machine type, memory, SSH keys, CPU shares, passwords, MAC addresses. */
import { createHash } from 'node:crypto';
import { type Random, randomInteger } from '../../base/random.ts';
import {
  formatOfKey,
  PropertyValue,
  parseProperty,
  percentDecode,
  printProperty,
  requiredFormat,
} from '../../pve/wire/index.ts';
import type { Runtime } from '../core/runtime.ts';
import { dieFault } from '../http/response.ts';
import type { World } from '../world/world.ts';

const WINDOWS = /^(wxp|w2k|w2k3|w2k8|wvista|win\d+)$/;

export function isWindows(ostype: string | undefined): boolean {
  return ostype !== undefined && WINDOWS.test(ostype);
}

/** MiB of RAM a configuration gives. Rule [source QS QemuServer/Memory.pm get_current_memory]: 512 by default. */
export function memoryMiB(value: string | undefined): number {
  const format = formatOfKey('memory');
  const parsed = format && value !== undefined ? parseProperty(format, value) : undefined;
  return parsed?.ok ? Number(parsed.value.get('current') ?? 512) : 512;
}

/** Rule [source PC CGroup.pm clamp_cpu_shares]: with cgroup v2 a weight is between 1 and 10000. */
export function clampCpuUnits(value: string): string {
  return String(Math.min(10_000, Math.max(1, Number(value))));
}

/**
 * Rule [recorded cloudinit-keys]: the server runs ssh-keygen over each line of the decoded keys and refuses what it cannot
 * read. Rule [source PC Tools.pm validate_ssh_public_keys]: blank lines are passed over, so nothing at all is fine.
 */
export function assertSshKeys(encoded: string): void {
  const lines = percentDecode(encoded).split('\n');
  if (!lines.every((line) => /^\s*$/.test(line) || isPublicKey(line)))
    throw dieFault('SSH public key validation error');
}

const SALT_LETTERS = './0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/**
 * Rule [source PC Tools.pm encrypt_pw]: a salted SHA-256 crypt text, so the same password never looks the same twice.
 * Rule [assumed]: only its form is real; no simulated guest checks a password against it.
 */
export function hashedPassword(random: Random, password: string): string {
  const letters = (bytes: Iterable<number>) => [...bytes].map((byte) => SALT_LETTERS[byte % 64]).join('');
  const salt = letters(Array.from({ length: 8 }, () => randomInteger(random, 0, 63)));
  const digest = createHash('sha512').update(`${salt}${password}`).digest();
  return `$5$${salt}$${letters(digest.subarray(0, 43))}`;
}

/** Rule [observed 9.2.11]: ssh-keygen reads the whole key, so a truncated one is none. */
function isPublicKey(line: string): boolean {
  const match = /(?:^|\s)((?:ssh|ecdsa|sk)-[a-z0-9@.-]+) ([A-Za-z0-9+/]+={0,2})(?:\s|$)/.exec(line);
  if (!match) return false;
  const fields = wireFields(Buffer.from(match[2] ?? '', 'base64'));
  if (fields === undefined || fields[0]?.toString('latin1') !== match[1]) return false;
  return fields.length > 1 && (match[1] !== 'ssh-ed25519' || fields[1]?.length === ED25519_BYTES);
}

const ED25519_BYTES = 32;

/** The length-prefixed fields of a key; undefined if they do not fill it exactly. */
function wireFields(blob: Buffer): Buffer[] | undefined {
  const fields: Buffer[] = [];
  let offset = 0;
  while (offset < blob.length) {
    if (offset + 4 > blob.length) return undefined;
    const end = offset + 4 + blob.readUInt32BE(offset);
    if (end > blob.length) return undefined;
    fields.push(blob.subarray(offset + 4, end));
    offset = end;
  }
  return fields;
}

const MACHINE_FORMAT = requiredFormat('machine');
const VGA_FORMAT = requiredFormat('vga');

/** Rule [source QS QemuServer/Machine.pm PVE_MACHINE_VERSION]: Proxmox's own revision of a QEMU version, if it has one. */
const REVISIONS: Readonly<Record<string, number>> = { '4.1': 2, '9.2': 1, '10.0': 1, '11.0': 2 };

function parsedMachine(text: string | undefined): PropertyValue {
  const parsed = parseProperty(MACHINE_FORMAT, text ?? '');
  return parsed.ok ? parsed.value : new PropertyValue();
}

/** Rule [source QS QemuServer/Machine.pm assert_valid_machine_property]. */
export function assertValidMachine(text: string): void {
  assertValid(parsedMachine(text));
}

function assertValid(machine: PropertyValue): void {
  const addressBits = Number(machine.get('aw-bits') ?? 0);
  const iommu = machine.get('viommu');
  if (iommu === 'intel') {
    if (!machine.get('type')?.includes('q35')) {
      throw dieFault('to use Intel vIOMMU please set the machine type to q35');
    }
    if (addressBits !== 0 && addressBits !== 39 && addressBits !== 48) {
      throw dieFault('Intel vIOMMU supports only 39 or 48 bits as address width');
    }
  }
  if (addressBits !== 0 && !iommu) throw dieFault('cannot set aw-bits if no vIOMMU is configured');
}

interface PinInput {
  readonly machine: string | undefined;
  readonly ostype: string | undefined;
  readonly arch: string | undefined;
  readonly log: (line: string) => void;
}

/**
 * Rule [recorded run-refusals]: creation, and switching the guest to Windows, pin the machine version where none is given.
 * Rule [source QS QemuServer/Machine.pm check_and_pin_machine_string]: an existing value is checked and normalised.
 */
export function checkedMachine(world: World, { machine, ostype, arch, log }: PinInput): string | undefined {
  let value = parsedMachine(machine);
  const type = value.get('type') ?? (arch === 'aarch64' ? 'virt' : 'pc');
  if (/^(?:pc|q35|virt)$/.test(type) && isWindows(ostype)) {
    const pinned = `${PINNED_NAMES[type]}-${latestVersion(world)}`;
    value = value.with('type', pinned);
    log(`pinning machine type to '${pinned}' for Windows guest OS`);
  }
  assertValid(value);
  return printProperty(MACHINE_FORMAT, value) || undefined;
}

const PINNED_NAMES: Readonly<Record<string, string>> = { pc: 'pc-i440fx', q35: 'pc-q35', virt: 'virt' };

/** Rule [source QS QemuServer/Machine.pm latest_installed_machine_version]. */
function latestVersion(world: World): string {
  const version = world.version.qemu.split('.').slice(0, 2).join('.');
  const revision = REVISIONS[version];
  return revision === undefined ? version : `${version}+pve${revision}`;
}

/**
 * Rule [source QS QemuServer.pm config_to_command]: a machine version must not be newer than QEMU, its revision not newer
 * than what Proxmox knows of that version; a version without one counts as its revision 0.
 */
export function assertMachineVersion(world: World, node: string, config: ReadonlyMap<string, string>): void {
  const type = parsedMachine(config.get('machine')).get('type') ?? '';
  const match = /(?:^|-)(\d+)\.(\d+)(?:\.\d+)?(?:\+pve(\d+))?(?:\.pxe)?$/.exec(type);
  if (!match) return;
  const [major = 0, minor = 0, revision = 0] = match.slice(1).map((part) => Number(part ?? 0));
  const shown = /\+pve\d+(?:\.pxe)?$/.test(type) ? type : type.replace(/(\.pxe)?$/, '+pve0$1');
  const [ownMajor = 0, ownMinor = 0] = world.version.qemu.split('.').map(Number);
  if (major > ownMajor || (major === ownMajor && minor > ownMinor)) {
    throw dieFault(
      `Installed QEMU version '${world.version.qemu}' is too old to run machine type '${shown}', please upgrade node '${node}'`,
    );
  }
  const known = REVISIONS[`${major}.${minor}`] ?? 0;
  if (revision > known) {
    throw dieFault(
      `Installed qemu-server (max feature level for ${major}.${minor} is pve${known}) is too old to run machine type '${shown}', please upgrade node '${node}'`,
    );
  }
}

/** Rule [source QS QemuServer/Machine.pm is_machine_version_at_least]: a type without a version runs the newest that QEMU has. */
export function isMachineSince(
  world: World,
  machine: string | undefined,
  [major, minor]: readonly [number, number],
): boolean {
  const type = parsedMachine(machine).get('type') ?? '';
  const [, ...pinned] = /-(\d+)\.(\d+)/.exec(type) ?? [];
  const [ownMajor = 0, ownMinor = 0] = (pinned.length > 0 ? pinned : world.version.qemu.split('.')).map(Number);
  return ownMajor > major || (ownMajor === major && ownMinor >= minor);
}

export function clipboardOf(vga: string | undefined): string | undefined {
  const parsed = parseProperty(VGA_FORMAT, vga ?? '');
  return parsed.ok ? parsed.value.get('clipboard') : undefined;
}

/** Rule [source QS QemuServer.pm assert_clipboard_config]. */
export function assertClipboard(vga: string | undefined): void {
  const parsed = parseProperty(VGA_FORMAT, vga ?? '');
  const type = parsed.ok ? parsed.value.get('type') : undefined;
  if (!parsed.ok || parsed.value.get('clipboard') !== 'vnc' || !type) return;
  if (!/^(?:std|cirrus|vmware|virtio|qxl)/.test(type)) {
    throw dieFault(`vga type ${type} is not compatible with VNC clipboard`);
  }
}

const NIC_FORMAT = requiredFormat('net0');

export function parseNic(text: string): PropertyValue | undefined {
  const parsed = parseProperty(NIC_FORMAT, text);
  return parsed.ok ? parsed.value : undefined;
}

/** Rule [recorded config-put-post]: a NIC is re-printed on every write, and a missing MAC means a new one. */
export function printNicWithMac(runtime: Runtime, text: string): string {
  const nic = parseNic(text);
  if (!nic) return text;
  return printProperty(NIC_FORMAT, nic.get('macaddr') ? nic : nic.with('macaddr', randomMac(runtime)));
}

/** Rule [source QS API2/Qemu.pm clone_vm]: a clone gets new MAC addresses throughout. */
export function printNicWithNewMac(runtime: Runtime, text: string): string {
  const nic = parseNic(text);
  return nic ? printProperty(NIC_FORMAT, nic.with('macaddr', randomMac(runtime))) : text;
}

/** Rule [source PC Tools.pm random_ether_addr]: the datacenter's prefix (BC:24:11 by default), upper case. */
function randomMac(runtime: Runtime): string {
  const prefix = (runtime.world.datacenter.get('mac_prefix') ?? 'BC:24:11').toUpperCase();
  const address = Array.from({ length: 6 }, () => randomOctet(runtime.random))
    .join(':')
    .toUpperCase();
  // The prefix is laid over the text, so it may end within an octet or with a colon.
  return `${prefix}${address.slice(prefix.length)}`;
}

function randomOctet(random: Random): string {
  return randomInteger(random, 0, 255).toString(16).padStart(2, '0');
}
