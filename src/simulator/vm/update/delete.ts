/** One key of `delete`: refused, done immediately, or added to the pending deletions. */
import { checkDevicePermission, checkFormerBridgeAccess } from '../../access/device-checks.ts';
import { checkDrivePermission, checkTagPermissions } from '../../access/vm-checks.ts';
import { dieFault } from '../../http/response.ts';
import type { Vm } from '../../world/world.ts';
import { checkProtection, draftOf, saveConfig } from '../config/config-file.ts';
import { isDriveKey, isNetKey, isUnusedKey } from '../config/config-keys.ts';
import type { ConfigDraft } from '../config/config-text.ts';
import { makeDrive, parseDrive, printBootOrder } from '../disks/drive.ts';
import { deallocate, registerUnused } from './pending.ts';
import type { Update } from './types.ts';

export async function stageDelete(update: Update, vm: Vm, key: string): Promise<void> {
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
