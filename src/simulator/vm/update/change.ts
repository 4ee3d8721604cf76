/** One key to add or change: checked by its kind, completed, and put into [PENDING]. */
import { parseTags, printTags } from '../../../pve/wire/index.ts';
import { checkDevicePermission, checkFormerBridgeAccess } from '../../access/device-checks.ts';
import { checkDrivePermission, checkTagPermissions } from '../../access/vm-checks.ts';
import { checkVolumeAccess } from '../../access/volume-checks.ts';
import { dieFault } from '../../http/response.ts';
import type { Vm, World } from '../../world/world.ts';
import { draftOf, saveConfig } from '../config/config-file.ts';
import { isDriveKey, isNetKey } from '../config/config-keys.ts';
import type { ConfigDraft } from '../config/config-text.ts';
import { createDisks, type DiskJob } from '../disks/disks.ts';
import { bootOrderOf, isPlainCdrom, parseDrive, printBootOrder } from '../disks/drive.ts';
import { prohibitTpmVersionChange } from '../disks/drive-params.ts';
import { errorText } from '../error-text.ts';
import { assertClipboard, assertValidMachine, checkedMachine, hashedPassword, isWindows } from '../machine.ts';
import { registerUnused } from './pending.ts';
import type { Update } from './types.ts';

export async function stageChange(update: Update, vm: Vm, key: string, value: string | null): Promise<void> {
  update.modified.add(key);
  const draft = draftOf(vm.config);
  if (draft.pending.get(key) !== undefined && draft.pending.get(key) === value) return;
  // Rule [recorded json-vs-form-values]: JSON null arrives as an undefined value, which the type check at writing
  // refuses; only the description is not checked there and stays.
  if (value === null && key === 'description') return;
  if (value === null) throw dieFault(`unable to parse value of '${key}' - got undefined value`);
  if (isDriveKey(key)) await stageDrive(update, vm, draft, key, value);
  else stageValue(update, vm, draft, key, value);
  draft.pendingDeletes.delete(key);
  saveConfig(vm, draft);
}

function stageValue(update: Update, vm: Vm, draft: ConfigDraft, key: string, value: string): void {
  const { call } = update;
  const current = draft.current.get(key);
  if (/^serial\d+/.test(key)) {
    checkSerial(update, vm, key, current, value);
  } else if (key === 'tags') {
    checkTagPermissions(call, vm.vmid, current ?? '', value);
    draft.pending.set(key, printTags(uniqueTags(call.runtime.world, value)));
    return;
  } else if (key === 'cipassword') {
    // Rule [source QS API2/Qemu.pm $update_vm_api]: written at once, hashed unless it is a hash or the guest is Windows.
    const isKept = isWindows(draft.current.get('ostype')) || /^\$(?:[156]|2[ay])(\$.+){2}/.test(value);
    draft.current.set(key, isKept ? value : hashedPassword(call.runtime.random, value));
    return;
  } else if (key === 'vga') {
    assertClipboard(value);
  } else if (key === 'machine') {
    assertValidMachine(value);
  } else if (isNetKey(key)) {
    if (current) checkFormerBridgeAccess(call, key, current);
  } else {
    if (current) checkDevicePermission(call, vm.vmid, undefined, key, current);
    checkDevicePermission(call, vm.vmid, undefined, key, value);
  }
  draft.pending.set(key, value);
  if (key === 'ostype') pinMachine(update, draft, value);
  if (key === 'boot') stageBootOrder(update, draft, value);
}

function checkSerial({ call }: Update, vm: Vm, key: string, current: string | undefined, value: string): void {
  if ((current === undefined || current === 'socket') && value === 'socket') {
    call.require(`/vms/${vm.vmid}`, ['VM.Config.HWType']);
  } else if (!call.caller.isRoot) {
    throw dieFault(`only root can modify '${key}' config for real devices`);
  }
}

async function stageDrive(update: Update, vm: Vm, draft: ConfigDraft, key: string, value: string): Promise<void> {
  const { call, context, bootOrder } = update;
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
    task: update.task,
    config: draft.current,
    pending: draft.pending,
    defaultStorage: undefined,
    checkVolumeAccess: (volid) => checkVolumeAccess(call, vm.vmid, volid),
  };
  const { values } = await createDisks(job, new Map([[key, value]]));
  for (const [name, text] of values) draft.pending.set(name, text);
  // Rule [recorded disk-cdrom]: a new CD drive is appended to an existing boot order.
  const drive = parseDrive(key, value);
  if (bootOrder.length > 0 && drive && isPlainCdrom(drive) && !bootOrder.includes(key)) {
    bootOrder.push(key);
    draft.pending.set('boot', printBootOrder(bootOrder));
    update.modified.add('boot');
  }
}

/** Rule [source QS API2/Qemu.pm $update_vm_api]: not where `machine` itself is part of the request, or pending. */
function pinMachine(update: Update, draft: ConfigDraft, ostype: string): void {
  const { values, modified, context, call } = update;
  if ((values.get('machine') ?? undefined) !== undefined || draft.pending.has('machine') || modified.has('machine'))
    return;
  const { current } = draft;
  const input = { machine: current.get('machine'), ostype, arch: current.get('arch'), log: context.log };
  try {
    const pinned = checkedMachine(call.runtime.world, input);
    if (pinned) draft.pending.set('machine', pinned);
  } catch (error) {
    context.log(`automatic pinning of machine version failed - ${errorText(error)}`);
  }
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
  // Rule [source QS API2/Qemu.pm $update_vm_api]: the old setting goes with it.
  if (draft.current.has('bootdisk')) draft.pendingDeletes.set('bootdisk', false);
}

/** Rule [recorded tags-datacenter-style]: folded and sorted, unless `tag-style` says case-sensitive or ordering=config. */
export function uniqueTags(world: World, text: string): string[] {
  const style = world.datacenter.get('tag-style') ?? '';
  return parseTags(text, {
    caseSensitive: /(?:^|,)case-sensitive=(?:1|on|yes|true)/i.test(style),
    keepOrder: /(?:^|,)ordering=config/.test(style),
  });
}
