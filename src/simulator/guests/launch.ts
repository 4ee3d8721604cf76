/**
 * Turns a configuration into a running QEMU process: checks what it needs, and chooses the guest that boots. The checks
 * run in the order of a real start, because a VM may have several problems and Proxmox reports only the first.
 */
import { formatOfKey, parseBootOrder, parseProperty, splitProperty } from '../../pve/wire/index.ts';
import type { Runtime } from '../core/runtime.ts';
import type { Task } from '../core/tasks.ts';
import { dieFault } from '../http/response.ts';
import { isHostDirectory } from '../storage/places.ts';
import { checkStorageEnabled, findVolume } from '../storage/volumes.ts';
import { defaultBootOrder, drivesByBus, drivesOf, parseDrive } from '../vm/disks/drive.ts';
import { assertMachineVersion } from '../vm/machine.ts';
import type { GuestProfile, MappingKind, PciDevice, SimNode, Vm, World } from '../world/world.ts';
import { emulationWarnings } from './emulation.ts';
import { assertBridges, failedScript } from './network-scripts.ts';
import { qemuRefusal } from './qemu-refusals.ts';
import { type Seed, seedOf } from './seed.ts';

type Config = ReadonlyMap<string, string>;

export function assertLaunchable(runtime: Runtime, vm: Vm, task: Task): void {
  const node = runtime.world.nodes.get(vm.node);
  if (!node) throw dieFault(`no such cluster node '${vm.node}'`);
  const config = vm.config.current;
  try {
    assertVolumesExist(runtime.world, vm);
    warnAboutEfiCertificates(vm, config, task);
    assertMachineVersion(runtime.world, node.name, config);
    assertKvm(node, config);
    assertMappedDevices(runtime.world, node, config);
    assertHostPorts(config);
    assertCpusAndMemory(node, config);
    assertBridges(node, config, (line) => task.warn(line));
    assertIommu(node, config);
    assertSharedDirectories(runtime.world, node, config);
  } catch (error) {
    // Rule [recorded mapping-pci]: cleaning up after the failure fails on the bad PCI device again and logs it.
    const pciProblem = firstPciProblem(runtime.world, node, config);
    if (pciProblem !== undefined) task.log(pciProblem);
    throw error;
  }
  const refusal =
    qemuRefusal(config, node.memoryBytes, runtime.world.version.qemu) ?? failedScript(node, vm.vmid, config);
  for (const line of refusal ?? (config.get('kvm') === '0' ? emulationWarnings(config) : [])) task.log(line);
  if (refusal) throw dieFault('start failed: QEMU exited with code 1');
}

/** Rule [assumed]: the firmware tries the boot devices in order and takes the first that holds an operating system. */
export function bootingGuest(world: World, vm: Vm): GuestProfile | undefined {
  const config = vm.config.current;
  const order = parseBootOrder(config.get('boot'));
  const devices = order?.kind === 'order' ? order.devices : legacyDevices(config);
  for (const key of devices) {
    const drive = parseDrive(key, config.get(key) ?? '');
    const guest = drive && findVolume(world, vm.node, drive.file)?.guest;
    if (guest) return guest;
  }
  return undefined;
}

/** Rule [source QS QemuServer/Drive.pm bootorder_from_legacy]: without an order the boot disk comes first, then CDs. */
function legacyDevices(config: Config): string[] {
  const bootDisk = config.get('bootdisk');
  return [...(bootDisk === undefined ? [] : [bootDisk]), ...defaultBootOrder(config)];
}

/** The data of a NoCloud disc in one of the CD drives; if there are several, the first on the buses counts. */
export function attachedSeed(world: World, vm: Vm): Seed | undefined {
  for (const drive of drivesByBus(vm.config.current)) {
    const disc = drive.isCdrom ? findVolume(world, vm.node, drive.file)?.disc : undefined;
    const seed = disc && seedOf(disc);
    if (seed) return seed;
  }
  return undefined;
}

/** Rule [recorded start-no-kvm]: every volume, CD images included, is checked before anything else. */
function assertVolumesExist(world: World, vm: Vm): void {
  for (const drive of drivesOf(vm.config.current)) {
    const storageId = storageOfFile(drive.file);
    if (storageId === undefined) continue;
    checkStorageEnabled(world, storageId, vm.node);
    if (!findVolume(world, vm.node, drive.file)) throw dieFault(`volume '${drive.file}' does not exist`);
  }
}

/** The storage of a volume id; undefined for `none`, `cdrom` and paths. */
export function storageOfFile(file: string): string | undefined {
  return /^([^/:]+):./.exec(file)?.[1];
}

/** Rule [source QS QemuServer.pm check_efi_vars]: only with OVMF, and only for disks with enrolled keys. */
function warnAboutEfiCertificates(vm: Vm, config: Config, task: Task): void {
  const disk = parseDrive('efidisk0', config.get('efidisk0') ?? '');
  if (config.get('bios') !== 'ovmf' || !disk) return;
  if (disk.options.get('pre-enrolled-keys') !== '1' || disk.options.get('ms-cert') === '2023k') return;
  task.warn(
    "EFI disk without 'ms-cert=2023k' option, suggesting that not all UEFI 2023\ncertificates from Microsoft are enrolled yet.",
  );
  task.log('The UEFI 2011 certificates expire in June 2026! The new certificates are required');
  task.log('for secure boot update for Windows and common Linux distributions.');
  task.log("Use 'Disk Action > Enroll Updated Certificates' in the UI or, while the VM is");
  task.log(`shut down, run 'qm enroll-efi-keys ${vm.vmid}' to enroll the new certificates.`);
  task.log('');
  task.log('For Windows with BitLocker, run the following command inside Powershell:');
  task.log('  manage-bde -protectors -disable <drive>');
  task.log("for each drive with BitLocker (for example, <drive> could be 'C:').");
  task.log('This is required for each drive with BitLocker before proceeding with enrollment.');
  task.log('Otherwise, you will be prompted for the BitLocker recovery key on the next boot.');
}

/** Rule [recorded start-no-kvm]. */
function assertKvm(node: SimNode, config: Config): void {
  if (config.get('kvm') === '0' || node.kvm) return;
  throw dieFault(
    'KVM virtualisation configured, but not available. Either disable in VM configuration or enable in BIOS.',
  );
}

/** Rule [source QS QemuServer.pm config_to_command]: a device of the host behind a serial or parallel port must be there. */
function assertHostPorts(config: Config): void {
  for (const kind of ['serial', 'parallel']) {
    const isThere = (value: string | undefined) => value === undefined || value === 'socket';
    // Rule [assumed]: simulated hosts have neither kind of port.
    if (![0, 1, 2, 3].every((index) => isThere(config.get(`${kind}${index}`)))) {
      throw dieFault(`no such ${kind} device`);
    }
  }
}

function assertMappedDevices(world: World, node: SimNode, config: Config): void {
  const pciProblem = firstPciProblem(world, node, config);
  if (pciProblem !== undefined) throw dieFault(pciProblem);
  for (const [key, value] of config) {
    if (!/^usb\d+$/.test(key)) continue;
    const mapping = splitProperty(value).find((part) => part.key === 'mapping')?.value;
    // Rule [source QS QemuServer/USB.pm parse_usb_device].
    const [entry] = mapping === undefined ? [] : mappingsOnNode(world, 'usb', mapping, node.name);
    if (mapping !== undefined && !entry) throw dieFault(`USB device mapping not found for '${mapping}'`);
    if (entry) throw dieFault(`USB Mapping invalid (hardware probably changed): ${missingUsbDevice(entry)}\n`);
  }
}

/** Rule [source GC Mapping/USB.pm assert_valid]; Rule [assumed]: no USB device is plugged into a simulated host. */
export function missingUsbDevice(entry: ReadonlyMap<string, string>): string {
  return `usb device '${entry.get('path') ?? entry.get('id') ?? ''}' not found`;
}

/** Rule [source QS QemuServer/PCI.pm parse_hostpci]: mapping first, then the device itself. */
function firstPciProblem(world: World, node: SimNode, config: Config): string | undefined {
  for (const [key, value] of config) {
    if (!/^hostpci\d+$/.test(key)) continue;
    const parts = splitProperty(value);
    const mapping = parts.find((part) => part.key === 'mapping')?.value;
    if (mapping !== undefined) {
      const entries = mappingsOnNode(world, 'pci', mapping, node.name);
      if (entries.length === 0) return `PCI device mapping not found for '${mapping}'`;
      for (const entry of entries) {
        const problem = pciMappingProblem(node, mapping, entry, world.mappings.pci.get(mapping)?.options);
        if (problem !== undefined) return `PCI device mapping invalid (hardware probably changed): ${problem}`;
      }
    } else {
      const host = parts.find((part) => part.key === undefined || part.key === 'host')?.value ?? '';
      for (const id of host.split(';')) {
        if (!node.pciDevices.some((device) => isSamePciDevice(device.id, id))) return `no PCI device found for '${id}'`;
      }
    }
  }
  return undefined;
}

/** A device may be written with or without its domain and its function. */
function isSamePciDevice(full: string, written: string): boolean {
  const withDomain = /^[0-9a-f]{4}:[0-9a-f]{2}:/i.test(written) ? written : `0000:${written}`;
  return full === withDomain || full.startsWith(`${withDomain}.`);
}

export function mappingsOnNode(world: World, kind: MappingKind, id: string, node: string): Map<string, string>[] {
  return (world.mappings[kind].get(id)?.map ?? []).map(mappingEntry).filter((entry) => entry.get('node') === node);
}

/** The entry of a mapping for one node. */
export function mappingEntry(text: string): Map<string, string> {
  return new Map(splitProperty(text).map((part) => [part.key ?? '', part.value]));
}

/** Rule [source QS QemuServer/Virtiofs.pm assert_virtiofs_config, GC Mapping/Dir.pm find_on_current_node, assert_valid]. */
function assertSharedDirectories(world: World, node: SimNode, config: Config): void {
  for (const [key, value] of config) {
    if (!/^virtiofs\d+$/.test(key)) continue;
    const parts = splitProperty(value);
    const id = parts.find((part) => part.key === undefined || part.key === 'dirid')?.value ?? '';
    if (!world.mappings.dir.has(id)) throw dieFault(`Directory ID ${id} does not exist.`);
    const [entry, ...others] = mappingsOnNode(world, 'dir', id, node.name);
    if (!entry) throw dieFault(`No directory mapping for node ${node.name}.`);
    if (others.length > 0) throw dieFault(`More than than one directory mapping for node ${node.name}.`);
    const showsAcl = parts.some((part) => part.key === 'expose-acl' && /^(?:1|yes|on|true)$/i.test(part.value));
    if (showsAcl && /^(?:w|win)/.test(config.get('ostype') ?? '')) {
      throw dieFault(
        'Please disable ACLs for virtiofs on Windows VMs, otherwise the virtiofs shared directory cannot be mounted.',
      );
    }
    const path = entry.get('path') ?? '';
    if (!isHostDirectory(world, node.name, path)) {
      throw dieFault(`directory mapping invalid: Path ${path} does not exist\n`);
    }
  }
}

function assertCpusAndMemory(node: SimNode, config: Config): void {
  const cpus = Number(config.get('sockets') ?? 1) * Number(config.get('cores') ?? 1);
  // Rule [source QS QemuServer.pm config_to_command]: more virtual than physical CPUs are refused.
  if (cpus > node.cpus) throw dieFault(`MAX ${node.cpus} vcpus allowed per VM on this node`);
  const hotplug = config.get('hotplug') ?? '';
  if (hotplug.includes('memory') && config.get('numa') !== '1') {
    throw dieFault('NUMA needs to be enabled for memory hotplug');
  }
}

/** Rule [source QS QemuServer/PCI.pm prepare_pci_device]: the last obstacle for a device that is handed to the guest. */
function assertIommu(node: SimNode, config: Config): void {
  const usesPci = [...config.keys()].some((key) => /^hostpci\d+$/.test(key));
  if (usesPci && node.pciDevices.every((device) => device.iommuGroup < 0)) {
    throw dieFault('cannot prepare PCI pass-through, IOMMU not present');
  }
}

/** Rule [source QS QemuServer/Memory.pm get_current_memory]: 512 MiB by default. */
export function memoryBytes(config: Config): number {
  const format = formatOfKey('memory');
  const text = config.get('memory');
  const parsed = format && text !== undefined ? parseProperty(format, text) : undefined;
  const mebibytes = parsed?.ok ? Number(parsed.value.get('current') ?? text) : Number(text ?? 512);
  return (Number.isFinite(mebibytes) ? mebibytes : 512) * 1024 * 1024;
}

/** Rule [source GC Mapping/PCI.pm assert_valid]: properties are compared in alphabetical order; the first one that differs. */
export function pciMappingProblem(
  node: SimNode,
  name: string,
  entry: ReadonlyMap<string, string>,
  options: ReadonlyMap<string, string> | undefined,
): string | undefined {
  for (const [index, written] of (entry.get('path') ?? '').split(';').entries()) {
    const path = /\.[a-f0-9]/i.test(written) ? written : `${written}.0`;
    const device = node.pciDevices.find((candidate) => candidate.id === path);
    if (!device) return `pci device '${path}' not found`;
    for (const [property, expected] of expectedProperties(device)) {
      if (property === 'iommugroup' && index > 0) continue;
      const configured = property === 'mdev' ? (options?.get('mdev') ?? '0') : entry.get(property);
      if (expected === undefined && configured === undefined) continue;
      if (expected === undefined) return `unexpected property '${property}' configured for device '${path}'`;
      if (configured === undefined) return `missing expected property '${property}' for device '${path}'`;
      const [requested, given] = [expected, configured].map((text) => text.replaceAll('0x', ''));
      if (requested !== given) return `'${property}' does not match for '${name}' (${requested} != ${given})`;
    }
  }
  return undefined;
}

/** Rule [observed 9.2.11]: a device of a host without IOMMU has no group, so none may be configured either. */
function expectedProperties(device: PciDevice): (readonly [string, string | undefined])[] {
  return [
    ['id', `${device.vendor}:${device.device}`],
    ['iommugroup', device.iommuGroup < 0 ? undefined : String(device.iommuGroup)],
    ['mdev', '0'],
    ['subsystem-id', `${device.subsystemVendor}:${device.subsystemDevice}`],
  ];
}
