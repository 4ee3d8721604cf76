/** Finding, reading and saving VM configurations, and the views of them that the API shows. */

import type { Runtime } from '../../core/runtime.ts';
import { type ApiFault, dieFault } from '../../http/response.ts';
import { isFalse } from '../../schema/perl-text.ts';
import { isServerSince } from '../../world/releases.ts';
import type { Vm, VmConfigFile, World } from '../../world/world.ts';
import { parseDrive } from '../disks/drive.ts';
import { isDriveKey, isUnusedKey, wireValue, writableValue } from './config-keys.ts';
import { type ConfigDraft, parseConfig, renderConfig } from './config-text.ts';

export { wireValue };

export function findVm(world: World, node: string, vmid: number): Vm | undefined {
  const vm = world.vms.get(vmid);
  return vm?.node === node ? vm : undefined;
}

/** Rule [recorded unknown-vm]: reading a configuration that is not on this node. */
export function loadVm(world: World, node: string, vmid: number): Vm {
  const vm = findVm(world, node, vmid);
  if (!vm) throw dieFault(`Configuration file 'nodes/${node}/qemu-server/${vmid}.conf' does not exist`);
  return vm;
}

/** Rule [recorded unknown-vm]: handlers that look at the process first use other words. */
export function assertVmExists(world: World, node: string, vmid: number): Vm {
  const vm = findVm(world, node, vmid);
  if (!vm) throw dieFault(`unable to find configuration file for VM ${vmid} on node '${node}'`);
  return vm;
}

/** Rule [source GC AbstractConfig.pm check_lock]. */
export function checkLock(vm: Vm, tolerated: readonly string[] = []): void {
  const lock = vm.config.current.get('lock');
  if (lock !== undefined && !tolerated.includes(lock)) throw dieFault(`VM is locked (${lock})`);
}

export function isTemplate(config: ReadonlyMap<string, string>): boolean {
  return config.get('template') === '1';
}

/** Rule [source GC AbstractConfig.pm check_protection]. */
export function checkProtection(config: ReadonlyMap<string, string>, message: string): void {
  if (config.get('protection') === '1') throw dieFault(`${message} - protection mode enabled`);
}

export function draftOf(config: VmConfigFile): ConfigDraft {
  return {
    current: new Map(config.current),
    pending: new Map(config.pending),
    pendingDeletes: new Map(config.pendingDeletes),
    snapshots: new Map([...config.snapshots].map(([name, section]) => [name, new Map(section)])),
    cloudInit: config.cloudInit && new Map(config.cloudInit),
  };
}

export function emptyDraft(): ConfigDraft {
  return {
    current: new Map(),
    pending: new Map(),
    pendingDeletes: new Map(),
    snapshots: new Map(),
    cloudInit: undefined,
  };
}

/** Writes the draft and re-reads it into the VM, as every reader of the real file would see it. */
export function saveConfig(vm: Vm, draft: ConfigDraft): void {
  vm.config = writtenConfig(draft);
}

export function writtenConfig(draft: ConfigDraft): VmConfigFile {
  renameSmp(draft.current);
  for (const section of [draft.current, draft.pending, ...draft.snapshots.values()]) normaliseSection(section);
  dropReattachedUnused(draft);
  if (draft.cloudInit && !cloudInitDriveKey(draft.current)) draft.cloudInit = undefined;
  return parseConfig(renderConfig(draft));
}

/** Creates the file of a new VM; the caller has made sure that the id is free. */
export function createVm(runtime: Runtime, node: string, vmid: number, config: VmConfigFile): Vm {
  const vm: Vm = { vmid, node, config, process: undefined };
  runtime.world.vms.set(vmid, vm);
  return vm;
}

/**
 * Rule [source GC AbstractConfig.pm load_current_config]: pending values merged in, pending deletes removed — unless the
 * value is false in Perl's eyes (`0` or empty), which stays.
 */
export function effectiveConfig(vm: Vm): Map<string, string> {
  const merged = new Map([...vm.config.current, ...vm.config.pending]);
  for (const key of vm.config.pendingDeletes.keys()) {
    if (!isFalse(merged.get(key))) merged.delete(key);
  }
  return merged;
}

/** Where the cloud-init drive is attached, if anywhere but at `except`. */
export function cloudInitDriveKey(config: ReadonlyMap<string, string>, except?: string): string | undefined {
  for (const [key, value] of config) {
    if (key === except || !isDriveKey(key)) continue;
    if (parseDrive(key, value)?.isCloudInit) return key;
  }
  return undefined;
}

/** Rule [source QS QemuServer.pm write_vm_config]: the old `smp` becomes `sockets`, unless they are given, and drops `cores`. */
function renameSmp(current: Map<string, string>): void {
  const smp = current.get('smp');
  if (isFalse(smp)) return;
  current.delete('smp');
  if (smp === undefined || !isFalse(current.get('sockets'))) return;
  current.set('sockets', smp);
  current.delete('cores');
}

function normaliseSection(section: Map<string, string>): void {
  for (const [key, value] of section) section.set(key, writableValue(key, value));
}

/** Rule [source QS QemuServer.pm write_vm_config]: a volume that is attached again leaves its `unusedN`. */
function dropReattachedUnused(draft: ConfigDraft): void {
  const used = new Set<string>();
  for (const section of [draft.current, draft.pending]) {
    for (const [key, value] of section) {
      if (!isDriveKey(key) || isUnusedKey(key)) continue;
      const drive = parseDrive(key, value);
      if (drive) used.add(drive.file);
    }
  }
  for (const [key, value] of draft.current) {
    if (isUnusedKey(key) && used.has(value)) draft.current.delete(key);
  }
}

/** Rule [source QS API2/Qemu.pm $update_vm_api of 8.1.4]: spelled with one letter more before 8.3. */
export function digestFault(world: World): ApiFault {
  const word = isServerSince(world, '8.3') ? 'mismatch' : 'missmatch';
  return dieFault(`checksum ${word} (file change by other user?)`);
}
