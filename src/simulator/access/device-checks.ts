/**
 * Devices of the host that a VM is given: serial ports, USB and PCI devices, random numbers, directories, bridges, and
 * custom CPU models. Mirrors check_vm_create_{serial,usb,hostpci,dir}_perm, check_{usb,hostpci,rng,dir}_perm and
 * $check_cpu_model_access of qemu-server's src/PVE/API2/Qemu.pm, check_mapping_access and check_bridge_access of
 * src/PVE/QemuServer.pm, and check_vnet_access of pve-guest-common's src/PVE/GuestHelpers.pm.
 */
import { byCodeUnit, formatOfKey, PropertyValue, parseProperty } from '../../pve/wire/index.ts';
import type { Call } from '../core/call.ts';
import { dieFault, paramFault } from '../http/response.ts';
import { isServerSince } from '../world/releases.ts';
import { checkVmPermission } from './checks.ts';

type Config = ReadonlyMap<string, string>;

const DEVICE_KEY = /^((usb|hostpci|rng)\d+|virtiofs\d)$/;

/** Rule [source QS API2/Qemu.pm create_vm]: serial ports first, then USB, PCI, random numbers and directories. */
export function checkCreateDevicePermissions(call: Call, vmid: number, pool: string | undefined, config: Config): void {
  if (call.caller.isRoot) return;
  for (const [key, value] of matching(config, /^serial\d+$/)) {
    if (value !== 'socket') throw dieFault(`only root can set '${key}' config for real devices`);
    checkVmPermission(call, vmid, pool, ['VM.Config.HWType']);
  }
  for (const devices of [/^usb\d+$/, /^hostpci\d+$/, /^rng0$/, /^virtiofs\d$/]) {
    for (const [key, value] of matching(config, devices)) checkDevicePermission(call, vmid, pool, key, value);
  }
}

/**
 * The privileges for one device of the host: on the VM, and on the device. Rule [source QS API2/Qemu.pm
 * check_{usb,rng,dir}_perm]: the VM is checked first, then the device.
 */
export function checkDevicePermission(
  call: Call,
  vmid: number,
  pool: string | undefined,
  key: string,
  value: string,
): void {
  if (call.caller.isRoot || !DEVICE_KEY.test(key)) return;
  // Rule [source QS API2/Qemu.pm check_hostpci_perm]: unlike the others, the mapping is checked before the VM.
  const isPci = key.startsWith('hostpci');
  if (isPci) checkMappedDevice(call, key, value);
  checkVmPermission(call, vmid, pool, [key.startsWith('virtiofs') ? 'VM.Config.Disk' : 'VM.Config.HWType']);
  if (!isPci) checkMappedDevice(call, key, value);
  // Rule [source QS API2/Qemu.pm check_hostpci_perm of 9.2.5]: before 9.2.11 a user who may use a device may choose its firmware.
  if (isPci && propertyOf(key, value).get('romfile') !== undefined && isServerSince(call.runtime.world, '9.2.11')) {
    throw paramFault({ [key]: "only root@pam can set 'romfile' option" });
  }
}

/** Every mapped device of a whole configuration, as for a clone; privileges on the VM are not checked. */
export function checkMappingAccess(call: Call, config: Config): void {
  if (call.caller.isRoot) return;
  for (const [key, value] of config) if (DEVICE_KEY.test(key)) checkMappedDevice(call, key, value);
}

/** Rule [source QS QemuServer.pm check_mapping_access]: mapped devices need Mapping.Use, raw ones the real root. */
function checkMappedDevice(call: Call, key: string, value: string): void {
  const device = propertyOf(key, value);
  if (key.startsWith('rng')) {
    if (device.get('source') === '/dev/hwrng') call.require('/mapping/hwrng', ['Mapping.Use']);
    return;
  }
  if (key.startsWith('virtiofs')) {
    call.require(`/mapping/dir/${device.get('dirid') ?? ''}`, ['Mapping.Use']);
    return;
  }
  const isUsb = key.startsWith('usb');
  const host = device.get('host');
  if (host !== undefined) {
    if (isUsb && /^spice$/i.test(host)) return;
    // Rule [recorded mapping-pci]: the two kinds of devices have different messages for the same refusal.
    throw dieFault(`only root can set '${key}' config for ${isUsb ? 'real' : 'non-mapped'} devices`);
  }
  const mapping = device.get('mapping');
  if (mapping === undefined) throw dieFault("either 'host' or 'mapping' must be set.");
  call.require(`/mapping/${isUsb ? 'usb' : 'pci'}/${mapping}`, ['Mapping.Use']);
}

/**
 * Rule [source QS QemuServer.pm check_bridge_access]: all NICs in order of their keys; without a bridge there is
 * nothing to check.
 */
export function checkBridgeAccess(call: Call, config: Config): void {
  if (call.caller.isRoot) return;
  for (const [key, value] of matching(config, /^net\d+$/)) {
    const nic = propertyOf(key, value);
    const bridge = nic.get('bridge');
    if (bridge !== undefined) checkVnetAccess(call, bridge, nic.get('tag'), nic.get('trunks'));
  }
}

/** Rule [source QS API2/Qemu.pm $update_vm_api of 8.0.6]: before 8.1 the old bridge of a NIC is not checked. */
export function checkFormerBridgeAccess(call: Call, key: string, nic: string): void {
  if (isServerSince(call.runtime.world, '8.1')) checkBridgeAccess(call, new Map([[key, nic]]));
}

/**
 * Rule [recorded perm-life-minus-one-a]: with a tag or trunks the VLANs are checked instead of the bridge itself.
 * Bridges of the host belong to the zone `localnetwork`; other zones are not simulated.
 */
function checkVnetAccess(call: Call, bridge: string, tag: string | undefined, trunks: string | undefined): void {
  const path = `/sdn/zones/localnetwork/${bridge}`;
  const hasTag = tag !== undefined && tag !== '0';
  if (hasTag) call.require(`${path}/${tag}`, ['SDN.Use']);
  for (const vlan of vlansOf(trunks ?? '')) call.require(`${path}/${vlan}`, ['SDN.Use']);
  if (!hasTag && !trunks) call.require(path, ['SDN.Use']);
}

/** `2;10-12` → 10, 11, 12, 2: sorted as texts. */
function vlansOf(trunks: string): string[] {
  const vlans = new Set<string>();
  for (const trunk of trunks.split(';').filter(Boolean)) {
    const [first = '', last = first] = trunk.split('-');
    vlans.add(first);
    for (let vlan = Number(first) + 1; vlan <= Number(last); vlan++) vlans.add(String(vlan));
  }
  return [...vlans].sort(byCodeUnit);
}

/** Rule [source QS API2/Qemu.pm check_cpu_model_access]: only a change to another custom model is checked. */
export function checkCpuModelAccess(call: Call, config: Config, existing: Config | undefined): void {
  const cpu = config.get('cpu');
  const model = cpu && propertyOf('cpu', cpu).get('cputype');
  if (!model) return;
  const existingCpu = existing?.get('cpu');
  if (existingCpu && propertyOf('cpu', existingCpu).get('cputype') === model) return;
  if (!model.startsWith('custom-')) return;
  // Rule [source QS API2/Qemu.pm $check_cpu_model_access of 9.1.12]: before 9.2 models have no ACL paths.
  if (!isServerSince(call.runtime.world, '9.2')) call.require('/nodes', ['Sys.Audit']);
  else call.require(`/mapping/cpu/${model.slice('custom-'.length)}`, ['Mapping.Use']);
}

function matching(config: Config, pattern: RegExp): (readonly [string, string])[] {
  return [...config].filter(([key]) => pattern.test(key)).sort(([a], [b]) => byCodeUnit(a, b));
}

/** The values were validated on arrival, so an unreadable one counts as empty. */
function propertyOf(key: string, value: string): PropertyValue {
  const format = formatOfKey(key);
  const parsed = format && parseProperty(format, value);
  return parsed?.ok ? parsed.value : new PropertyValue();
}
