/**
 * Changing a VM's configuration: PUT and POST …/config and …/unlink. Each key goes into [PENDING] and is written on its
 * own, so a failure half-way leaves the earlier keys behind: that is how the genuine server works. Mirrors `$update_vm_api`.
 */
import { shuffled } from '../../base/random.ts';
import { printTags } from '../../pve/wire/index.ts';
import {
  checkBridgeAccess,
  checkCpuModelAccess,
  checkDirPermission,
  checkDrivePermission,
  checkHostPciPermission,
  checkRngPermission,
  checkTagPermissions,
  checkUsbPermission,
  checkVolumeAccess,
} from '../access/vm-checks.ts';
import type { Call } from '../core/call.ts';
import type { Task } from '../core/tasks.ts';
import { dieFault, paramFault } from '../http/response.ts';
import type { Vm } from '../world/world.ts';
import { checkLock, checkProtection, draftOf, loadVm, saveConfig } from './config-file.ts';
import { isDriveKey, isNetKey, isUnusedKey } from './config-keys.ts';
import type { ConfigDraft } from './config-text.ts';
import { createDisks, type DiskJob } from './disks.ts';
import { parseDrive } from './drive.ts';
import { prohibitTpmVersionChange } from './drive-params.ts';
import { hotplugPending } from './hotplug.ts';
import { isWindows, memoryMiB, pinnedMachine } from './machine.ts';
import { type ApplyContext, applyPendingCold, cleanupPending, deallocate, registerUnused } from './pending.ts';
import { uniqueTags } from './tags.ts';

export interface UpdateRequest {
  readonly vmid: number;
  /** Keys to set; re-printed drives and NICs. */
  readonly values: ReadonlyMap<string, string | null>;
  readonly deletes: readonly string[];
  readonly reverts: readonly string[];
  readonly force: boolean;
  readonly digest: string | undefined;
  readonly skipLock: boolean;
  /** The request as the log shows it: `-cores 2 -delete net1`. */
  readonly summary: string;
}

/** One update in the making; `revert` turns into sets and deletes once the configuration is known. */
interface Update {
  readonly request: UpdateRequest;
  readonly values: Map<string, string | null>;
  readonly deletes: string[];
}

/** Checks that run before anything is locked or forked. */
export function earlyUpdateChecks(call: Call, request: UpdateRequest): void {
  checkAgainstConfig(call, { request, values: new Map(request.values), deletes: [] });
}

/** The update itself, under the configuration lock. */
export async function runUpdate(call: Call, request: UpdateRequest, task: Task | undefined): Promise<void> {
  const update: Update = { request, values: new Map(request.values), deletes: [...request.deletes] };
  const vm = checkAgainstConfig(call, update);
  task?.log(`update VM ${request.vmid}: ${request.summary}`);
  const context = applyContext(call, request.vmid, task);
  const bootOrder = bootOrderOf(vm.config.current.get('boot'));
  const modified = new Set<string>();

  for (const key of update.deletes) await stageDelete(call, context, vm, key, request.force, bootOrder, modified);
  for (const [key, value] of shuffled(call.runtime.random, [...update.values])) {
    await stageChange(call, context, vm, update, key, value, bootOrder, modified, task);
  }

  const draft = draftOf(vm.config);
  if (cleanupPending(draft)) saveConfig(vm, draft);
  if (vm.config.pending.size === 0 && vm.config.pendingDeletes.size === 0) return;
  const errors = vm.process
    ? await hotplugPending(context, vm, vm.process, modified)
    : await applyPendingCold(context, vm);
  if (Object.keys(errors).length > 0) throw paramFault(errors);
}

export function applyContext(call: Call, vmid: number, task: Task | undefined): ApplyContext {
  return {
    runtime: call.runtime,
    node: call.node,
    vmid,
    log: (line) => task?.log(line),
    requireSpace: (storageId) => call.require(`/storage/${storageId}`, ['Datastore.AllocateSpace']),
    requireDiskRight: () => call.require(`/vms/${vmid}`, ['VM.Config.Disk']),
  };
}

/** Rule [source QS API2/Qemu.pm $load_and_check_config]: digest, CPU model, lock, revert, balloon — in this order. */
function checkAgainstConfig(call: Call, update: Update): Vm {
  const { request, values } = update;
  const vm = loadVm(call.runtime.world, call.node, request.vmid);
  if (request.digest && request.digest !== vm.config.digest) {
    throw dieFault('checksum mismatch (file change by other user?)');
  }
  checkCpuModelAccess(call, textValues(values), vm.config.current);
  if (!request.skipLock) checkLock(vm);
  for (const key of request.reverts) {
    const current = vm.config.current.get(key);
    if (current !== undefined) values.set(key, current);
    else if (vm.config.pending.has(key)) update.deletes.push(key);
  }
  checkBalloon(vm, values);
  return vm;
}

/** Rule [recorded config-memory-balloon-cpu]: an update compares balloon and memory, a create does not. */
function checkBalloon(vm: Vm, values: ReadonlyMap<string, string | null>): void {
  if (!values.get('memory') && (values.get('balloon') ?? undefined) === undefined) return;
  const { current, pending } = vm.config;
  const memory = memoryMiB(values.get('memory') ?? pending.get('memory') ?? current.get('memory'));
  const balloon = Number(values.get('balloon') ?? pending.get('balloon') ?? current.get('balloon') ?? 0);
  if (balloon > memory) throw dieFault('balloon value too large (must be smaller than assigned memory)');
}

async function stageDelete(
  call: Call,
  context: ApplyContext,
  vm: Vm,
  key: string,
  force: boolean,
  bootOrder: string[],
  modified: Set<string>,
): Promise<void> {
  const draft = draftOf(vm.config);
  const current = draft.current.get(key);
  const value = current ?? draft.pending.get(key);
  if (value === undefined) return;
  modified.add(key);
  const wasPending = draft.pending.delete(key);
  // Rule [recorded disk-cdrom]: a deleted device leaves the boot order by itself.
  if (bootOrder.includes(key)) {
    bootOrder.splice(bootOrder.indexOf(key), 1);
    draft.pending.set('boot', printBootOrder(bootOrder));
    modified.add('boot');
  }
  if (isUnusedKey(key)) {
    const drive = parseDrive(key, value);
    checkProtection(draft.current, `can't remove unused disk '${drive?.file ?? ''}'`);
    context.requireDiskRight();
    if (!drive || !(await deallocate(context, draft, drive, false))) return;
    draft.current.delete(key);
    return saveConfig(vm, draft);
  }
  if (key === 'tags') {
    checkTagPermissions(call, vm.vmid, value, '');
    draft.current.delete(key);
    return saveConfig(vm, draft);
  }
  await checkDelete(call, context, vm, draft, key, value, wasPending);
  draft.pendingDeletes.set(key, force);
  saveConfig(vm, draft);
}

async function checkDelete(
  call: Call,
  context: ApplyContext,
  vm: Vm,
  draft: ConfigDraft,
  key: string,
  value: string,
  wasPending: boolean,
): Promise<void> {
  if (isDriveKey(key)) {
    checkProtection(draft.current, `can't remove drive '${key}'`);
    checkDrivePermission(call, vm.vmid, key, value);
    const drive = wasPending ? parseDrive(key, value) : undefined;
    if (drive) await registerUnused(context, draft, drive);
  } else if (/^serial\d+$/.test(key)) {
    if (value === 'socket') call.require(`/vms/${vm.vmid}`, ['VM.Config.HWType']);
    else if (!call.caller.isRoot) throw dieFault(`only root can delete '${key}' config for real devices`);
  } else if (isNetKey(key)) {
    const nic = draft.current.get(key);
    if (nic !== undefined) checkBridgeAccess(call, new Map([[key, nic]]));
  } else {
    checkDevice(call, vm.vmid, key, value);
  }
}

function checkDevice(call: Call, vmid: number, key: string, value: string): void {
  if (/^usb\d+$/.test(key)) checkUsbPermission(call, vmid, undefined, key, value);
  else if (/^hostpci\d+$/.test(key)) checkHostPciPermission(call, vmid, undefined, key, value);
  else if (/^rng\d+$/.test(key)) checkRngPermission(call, vmid, undefined, key, value);
  else if (/^virtiofs\d$/.test(key)) checkDirPermission(call, vmid, undefined, key, value);
}

async function stageChange(
  call: Call,
  context: ApplyContext,
  vm: Vm,
  update: Update,
  key: string,
  value: string | null,
  bootOrder: string[],
  modified: Set<string>,
  task: Task | undefined,
): Promise<void> {
  modified.add(key);
  const draft = draftOf(vm.config);
  if (draft.pending.get(key) !== undefined && draft.pending.get(key) === value) return;
  // Rule [recorded json-vs-form-values]: JSON null arrives as an undefined value, which the type check at writing refuses;
  // only the description is not checked there and simply stays.
  if (value === null && key === 'description') return;
  if (value === null) throw dieFault(`unable to parse value of '${key}' - got undefined value`);
  const current = draft.current.get(key);
  if (isDriveKey(key)) {
    await stageDrive(call, context, vm, draft, key, value, bootOrder, modified, task);
  } else if (/^serial\d+/.test(key)) {
    if ((current === undefined || current === 'socket') && value === 'socket') {
      call.require(`/vms/${vm.vmid}`, ['VM.Config.HWType']);
    } else if (!call.caller.isRoot) {
      throw dieFault(`only root can modify '${key}' config for real devices`);
    }
    draft.pending.set(key, value);
  } else if (key === 'tags') {
    checkTagPermissions(call, vm.vmid, current ?? '', value);
    draft.pending.set(key, printTags(uniqueTags(call.runtime.world, value)));
  } else if (key === 'cipassword') {
    // Rule [source QS API2/Qemu.pm $update_vm_api]: written at once, hashed unless it is a hash or the guest is Windows.
    draft.current.set(
      key,
      isWindows(current) || /^\$(?:[156]|2[ay])(\$.+){2}/.test(value) ? value : `$5$simulated$${value.length}`,
    );
  } else {
    if (current !== undefined) {
      if (isNetKey(key)) checkBridgeAccess(call, new Map([[key, current]]));
      else checkDevice(call, vm.vmid, key, current);
    }
    checkDevice(call, vm.vmid, key, value);
    draft.pending.set(key, value);
    if (key === 'ostype') pinMachine(call, update, draft, value, modified);
    if (key === 'boot') stageBootOrder(update, draft, value);
  }
  draft.pendingDeletes.delete(key);
  saveConfig(vm, draft);
}

async function stageDrive(
  call: Call,
  context: ApplyContext,
  vm: Vm,
  draft: ConfigDraft,
  key: string,
  value: string,
  bootOrder: string[],
  modified: Set<string>,
  task: Task | undefined,
): Promise<void> {
  const current = draft.current.get(key);
  if (current !== undefined) {
    checkDrivePermission(call, vm.vmid, key, current);
    if (key === 'tpmstate0') prohibitTpmVersionChange(current, value);
  }
  checkDrivePermission(call, vm.vmid, key, value);
  const pending = draft.pending.get(key);
  const replaced = pending === undefined ? undefined : parseDrive(key, pending);
  if (replaced) await registerUnused(context, draft, replaced);
  const job: DiskJob = {
    runtime: call.runtime,
    node: call.node,
    vmid: vm.vmid,
    task,
    config: draft.current,
    pending: draft.pending,
    defaultStorage: undefined,
    checkVolumeAccess: (volid) => checkVolumeAccess(call, vm.vmid, volid),
  };
  const { values } = await createDisks(job, new Map([[key, value]]));
  for (const [name, text] of values) draft.pending.set(name, text);
  // Rule [recorded disk-cdrom]: a new CD drive is appended to an existing boot order.
  const drive = parseDrive(key, value);
  if (bootOrder.length > 0 && drive?.isCdrom && !drive.isCloudInit && !bootOrder.includes(key)) {
    bootOrder.push(key);
    draft.pending.set('boot', printBootOrder(bootOrder));
    modified.add('boot');
  }
}

function pinMachine(
  call: Call,
  update: Update,
  draft: ConfigDraft,
  ostype: string,
  modified: ReadonlySet<string>,
): void {
  if (update.values.get('machine') || draft.pending.has('machine') || modified.has('machine')) return;
  const pinned = pinnedMachine(call.runtime.world, draft.current.get('machine'), ostype);
  if (pinned) draft.pending.set('machine', pinned);
}

/** Rule [recorded disk-cdrom]: unlike a create, an update refuses a boot order naming a device that will not be there. */
function stageBootOrder(update: Update, draft: ConfigDraft, value: string): void {
  const devices = bootOrderOf(value);
  if (devices.length === 0) return;
  for (const device of devices) {
    const exists = draft.current.get(device) || draft.pending.get(device) || update.values.get(device);
    if (!exists || update.deletes.includes(device)) {
      throw dieFault(`invalid bootorder: device '${device}' does not exist'`);
    }
  }
  draft.pending.set('boot', printBootOrder(devices));
  if (draft.current.has('bootdisk')) draft.pendingDeletes.set('bootdisk', false);
}

function bootOrderOf(boot: string | undefined): string[] {
  const order = /(?:^|,)order=([^,]*)/.exec(boot ?? '')?.[1] ?? '';
  return order.split(';').filter(Boolean);
}

export function printBootOrder(devices: readonly string[]): string {
  return devices.length === 0 ? '' : `order=${devices.join(';')}`;
}

function textValues(values: ReadonlyMap<string, string | null>): Map<string, string> {
  return new Map([...values].filter((entry): entry is [string, string] => entry[1] !== null));
}
