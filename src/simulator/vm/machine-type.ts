/** The `machine` and `vga` keys: combinations Proxmox refuses, and the version it pins for Windows guests. */
import { formatOfKey, type PropertyFormat, PropertyValue, parseProperty, printProperty } from '../../pve/wire/index.ts';
import { dieFault } from '../http/response.ts';
import type { World } from '../world/world.ts';
import { isWindows } from './machine.ts';

const MACHINE_FORMAT = formatOfKey('machine') as PropertyFormat; // machine and vga are keys of every version
const VGA_FORMAT = formatOfKey('vga') as PropertyFormat;

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

export interface PinInput {
  readonly machine: string | undefined;
  readonly ostype: string | undefined;
  readonly arch: string | undefined;
  readonly log: (line: string) => void;
}

/**
 * Rule [recorded run-refusals]: creation, and switching the guest to Windows, pin the machine version where none is given.
 * Rule [source QS QemuServer/Machine.pm check_and_pin_machine_string]: whatever is there is checked and printed anew.
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

/** Rule [source QS QemuServer.pm assert_clipboard_config]. */
export function assertClipboard(vga: string | undefined): void {
  const parsed = parseProperty(VGA_FORMAT, vga ?? '');
  const type = parsed.ok ? parsed.value.get('type') : undefined;
  if (!parsed.ok || parsed.value.get('clipboard') !== 'vnc' || !type) return;
  if (!/^(?:std|cirrus|vmware|virtio|qxl)/.test(type)) {
    throw dieFault(`vga type ${type} is not compatible with VNC clipboard`);
  }
}
