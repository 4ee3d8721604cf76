/**
 * Changing a VM's configuration: PUT and POST …/config and …/unlink. Each key goes into [PENDING] and is written on its
 * own, so a failure halfway leaves the earlier keys behind, as in the real server. Mirrors `$update_vm_api`.
 */
import { shuffled } from '../../../base/random.ts';
import { checkCpuModelAccess, checkDevicePermission, checkFormerBridgeAccess } from '../../access/device-checks.ts';
import { checkDrivePermission, checkTagPermissions } from '../../access/vm-checks.ts';
import type { Call } from '../../core/call.ts';
import type { Task } from '../../core/tasks.ts';
import { dieFault, paramFault } from '../../http/response.ts';
import type { Vm } from '../../world/world.ts';
import { checkLock, checkProtection, digestFault, draftOf, loadVm, saveConfig } from '../config/config-file.ts';
import { isDriveKey, isNetKey, isUnusedKey } from '../config/config-keys.ts';
import type { ConfigDraft } from '../config/config-text.ts';
import { bootOrderOf, makeDrive, parseDrive, printBootOrder } from '../disks/drive.ts';
import { memoryMiB } from '../machine.ts';
import { stageChange } from './change.ts';
import { hotplugPending } from './hotplug.ts';
import { type ApplyContext, applyPendingCold, cleanupPending, deallocate, registerUnused } from './pending.ts';
import type { Update, UpdateRequest } from './types.ts';

export type { UpdateRequest } from './types.ts';

/** Checks that run before anything is locked or forked. */
export function earlyUpdateChecks(call: Call, request: UpdateRequest): void {
  checkAgainstConfig(newUpdate(call, request, undefined), false);
}

/** The update itself, under the configuration lock. */
export async function runUpdate(call: Call, request: UpdateRequest, task: Task | undefined): Promise<void> {
  const update = newUpdate(call, request, task);
  const vm = checkAgainstConfig(update, true);
  task?.log(`update VM ${request.vmid}: ${request.summary}`);
  update.bootOrder = bootOrderOf(vm.config.current.get('boot'));

  for (const key of update.deletes) await stageDelete(update, vm, key);
  for (const [key, value] of shuffled(call.runtime.random, [...update.values])) {
    await stageChange(update, vm, key, value);
  }

  const draft = draftOf(vm.config);
  if (cleanupPending(draft)) saveConfig(vm, draft);
  if (vm.config.pending.size === 0 && vm.config.pendingDeletes.size === 0) return;
  const errors = vm.process
    ? await hotplugPending(update.context, vm, vm.process, update.modified)
    : await applyPendingCold(update.context, vm);
  if (Object.keys(errors).length > 0) throw paramFault(errors);
}

function newUpdate(call: Call, request: UpdateRequest, task: Task | undefined): Update {
  return {
    call,
    request,
    values: new Map(request.values),
    deletes: [...request.deletes],
    task,
    context: applyContext(call, request.vmid, task),
    bootOrder: [],
    modified: new Set(),
  };
}

function applyContext(call: Call, vmid: number, task: Task | undefined): ApplyContext {
  return {
    runtime: call.runtime,
    node: call.node,
    vmid,
    log: (line) => task?.log(line),
    warn: (text) => task?.warn(text),
    requireSpace: (storageId) => call.require(`/storage/${storageId}`, ['Datastore.AllocateSpace']),
    requireDiskRight: () => call.require(`/vms/${vmid}`, ['VM.Config.Disk']),
  };
}

/** Rule [source QS API2/Qemu.pm $load_and_check_config]: digest, CPU model, lock, revert, balloon — in this order. */
function checkAgainstConfig(update: Update, isFinal: boolean): Vm {
  const { call, request, values } = update;
  const vm = loadVm(call.runtime.world, call.node, request.vmid);
  if (request.digest && request.digest !== vm.config.digest) {
    throw digestFault(call.runtime.world);
  }
  checkCpuModelAccess(call, textValues(values), vm.config.current);
  const dropsState = request.deletes.includes('vmstate');
  if (!request.skipLock) checkLock(vm, dropsState ? ['suspended'] : []);
  if (dropsState && isFinal) deleteSavedState(vm, update.deletes);
  for (const key of request.reverts) {
    const current = vm.config.current.get(key);
    if (current !== undefined) values.set(key, current);
    else if (vm.config.pending.has(key)) update.deletes.push(key);
  }
  checkBalloon(vm, values);
  return vm;
}

/** Rule [source QS API2/Qemu.pm $load_and_check_config]: with the saved state go its lock and its companions. */
function deleteSavedState(vm: Vm, deletes: string[]): void {
  const { current } = vm.config;
  if (current.get('lock') === 'suspended') deletes.push('lock');
  for (const key of ['runningmachine', 'runningcpu', 'running-nets-host-mtu']) {
    if (current.has(key)) deletes.push(key);
  }
}

/** Rule [recorded config-memory-balloon-cpu]: an update compares balloon and memory, a create does not. */
function checkBalloon(vm: Vm, values: ReadonlyMap<string, string | null>): void {
  if (!values.get('memory') && (values.get('balloon') ?? undefined) === undefined) return;
  const { current, pending } = vm.config;
  const memory = memoryMiB(values.get('memory') ?? pending.get('memory') ?? current.get('memory'));
  // A pending balloon of 0 counts as none, because Perl takes it for false.
  const known = Number(pending.get('balloon') ?? 0) || Number(current.get('balloon') ?? 0);
  const balloon = Number(values.get('balloon') ?? known);
  if (balloon > memory) throw dieFault('balloon value too large (must be smaller than assigned memory)');
}

function textValues(values: ReadonlyMap<string, string | null>): Map<string, string> {
  return new Map([...values].filter((entry): entry is [string, string] => entry[1] !== null));
}

/** One key of `delete`: refused, done immediately, or added to the pending deletions. */
async function stageDelete(update: Update, vm: Vm, key: string): Promise<void> {
  const { call, context, request } = update;
  const draft = draftOf(vm.config);
  const value = draft.current.get(key) ?? draft.pending.get(key);
  if (value === undefined) {
    // Rule [source QS API2/Qemu.pm $update_vm_api]: a missing key is a line in the log, not an error.
    context.log(`cannot delete '${key}' - not set in current configuration!`);
    update.modified.delete(key);
    return;
  }
  update.modified.add(key);
  const wasPending = draft.pending.delete(key);
  // Rule [recorded disk-cdrom]: a deleted device leaves the boot order by itself.
  if (update.bootOrder.includes(key)) {
    update.bootOrder = update.bootOrder.filter((device) => device !== key);
    draft.pending.set('boot', printBootOrder(update.bootOrder));
    update.modified.add('boot');
  }
  if (isUnusedKey(key) || key === 'vmstate') return deleteVolume(update, vm, draft, key, value);
  if (key === 'tags') {
    checkTagPermissions(call, vm.vmid, value, '');
    draft.current.delete(key);
    return saveConfig(vm, draft);
  }
  await checkDelete(update, vm, draft, key, value, wasPending);
  draft.pendingDeletes.set(key, request.force);
  saveConfig(vm, draft);
}

/** Rule [source QS API2/Qemu.pm $update_vm_api]: unused disks and saved states are destroyed at once. */
async function deleteVolume(
  { context }: Update,
  vm: Vm,
  draft: ConfigDraft,
  key: string,
  value: string,
): Promise<void> {
  const isState = key === 'vmstate';
  const drive = isState ? makeDrive(key, value, new Map()) : parseDrive(key, value);
  checkProtection(
    draft.current,
    isState ? `can't remove vmstate '${value}'` : `can't remove unused disk '${drive?.file}'`,
  );
  if (!isState) context.requireDiskRight();
  if (!drive || !(await deallocate(context, draft, drive, isState))) return;
  draft.current.delete(key);
  saveConfig(vm, draft);
}

async function checkDelete(
  { call, context }: Update,
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
    if (nic !== undefined) checkFormerBridgeAccess(call, key, nic);
  } else {
    checkDevicePermission(call, vm.vmid, undefined, key, value);
  }
}
