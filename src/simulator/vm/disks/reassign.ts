/** Gives a disk of one VM to another one on the same node: the volume is renamed, nothing is copied. */
import { parseBootOrder } from '../../../pve/wire/index.ts';
import { checkStorageAccess } from '../../access/volume-checks.ts';
import type { Call } from '../../core/call.ts';
import type { Task } from '../../core/tasks.ts';
import { dieFault } from '../../http/response.ts';
import { hasFeature } from '../../storage/features.ts';
import { renameVolume } from '../../storage/resize.ts';
import type { Vm } from '../../world/world.ts';
import { checkLock, draftOf, isTemplate, loadVm, saveConfig } from '../config/config-file.ts';
import { isUnusedKey } from '../config/config-keys.ts';
import type { MutableSection } from '../config/config-text.ts';
import { isInUse } from '../update/pending.ts';
import { earlyUpdateChecks, runUpdate, type UpdateRequest } from '../update/update.ts';
import { type Drive, isPlainCdrom, parseDrive, printBootOrder, printDrive, withOptions } from './drive.ts';

export interface ReassignRequest {
  readonly vmid: number;
  readonly disk: string;
  readonly targetVmid: number;
  readonly targetDisk: string;
  readonly digest: string | undefined;
  readonly targetDigest: string | undefined;
}

export interface Reassignment {
  readonly source: Vm;
  readonly target: Vm;
  /** The disk as the target's slot will see it, still on its old volume. */
  readonly drive: Drive;
}

/** Rule [source QS API2/Qemu.pm move_vm_disk $load_and_check_reassign_configs]: before the fork and under both locks. */
export function checkedReassignment(call: Call, request: ReassignRequest): Reassignment {
  const { disk, vmid, targetVmid, targetDisk } = request;
  const { source, target } = loadBoth(call, request);
  const value = source.config.current.get(disk);
  if (value === undefined) throw dieFault(`Disk '${disk}' for VM '${vmid}' does not exist`);
  if (target.config.current.get(targetDisk)) {
    throw dieFault(`Target disk key '${targetDisk}' is already in use for VM '${targetVmid}'`);
  }
  const drive = parseDrive(disk, value);
  if (!drive) throw dieFault('failed to parse source disk - ');
  checkVolume(call, source, drive);
  const targetDrive = parseDrive(targetDisk, isUnusedKey(targetDisk) ? drive.file : value);
  if (!targetDrive) throw dieFault('failed to parse source disk for target disk format - ');
  return { source, target, drive: targetDrive };
}

function loadBoth(call: Call, request: ReassignRequest): { readonly source: Vm; readonly target: Vm } {
  const { world } = call.runtime;
  const { vmid, targetVmid } = request;
  const [sourceNode, targetNode] = [world.vms.get(vmid)?.node, world.vms.get(targetVmid)?.node];
  if (sourceNode === undefined) throw dieFault(`could not find VM ${vmid}`);
  if (targetNode === undefined) throw dieFault(`could not find target VM ${targetVmid}`);
  if (sourceNode !== targetNode) {
    throw dieFault(`Both VMs need to be on the same node (${sourceNode} != ${targetNode})`);
  }
  const source = loadVm(world, call.node, vmid);
  checkLock(source);
  const target = loadVm(world, call.node, targetVmid);
  checkLock(target);
  if (isTemplate(source.config.current) || isTemplate(target.config.current)) {
    throw dieFault("Can't move disks from or to template VMs");
  }
  assertUnmodified(source, request.digest);
  assertUnmodified(target, request.targetDigest);
  return { source, target };
}

function assertUnmodified(vm: Vm, digest: string | undefined): void {
  if (!digest || digest === vm.config.digest) return;
  throw dieFault(`VM ${vm.vmid}: detected modified configuration - file changed by other user? Try again.`);
}

function checkVolume(call: Call, source: Vm, drive: Drive): void {
  const { world } = call.runtime;
  if (isPlainCdrom(drive)) throw dieFault("CD drive contents can't be moved to another VM");
  if (drive.file.startsWith('/') || !drive.file.includes(':')) {
    throw dieFault(`Volume '${drive.file}' not managed by PVE`);
  }
  if (isInUse(draftOf(source.config), drive)) throw dieFault("Can't move disk used by a snapshot to another VM");
  if (!hasFeature(world, call.node, 'rename', drive.file)) {
    throw dieFault('Storage does not support moving of this disk to another VM');
  }
  if (source.process && !isUnusedKey(drive.key)) {
    throw dieFault('Cannot move disk to another VM while the source VM is running - detach first');
  }
}

/** Rule [recorded move-disk-reassign]: rename, take it from the source, then an ordinary update of the target. */
export async function runReassignment(call: Call, request: ReassignRequest, task: Task): Promise<void> {
  const { source, target, drive } = checkedReassignment(call, request);
  const { disk, vmid, targetVmid, targetDisk } = request;
  const log = (line: string) => task.log(line);
  log(`reassign disk '${disk}' from VM '${vmid}' as '${targetDisk}' to VM '${targetVmid}'`);
  const volid = await renameVolume(call.runtime, { node: call.node, volid: drive.file, targetVmid, log });
  const given = draftOf(source.config);
  leaveBootOrder(given.current, disk, log);
  given.current.delete(disk);
  log(`removing disk '${disk}' from VM '${vmid}' config`);
  saveConfig(source, given);

  const value = printDrive(withOptions(drive, {}, volid));
  if (isUnusedKey(targetDisk)) {
    const taken = draftOf(target.config);
    taken.current.set(targetDisk, value);
    return saveConfig(target, taken);
  }
  const update = updateOf(request, value);
  checkStorageAccess(call, targetVmid, new Map([[targetDisk, value]]), undefined);
  earlyUpdateChecks(call, update);
  await runUpdate(call, update, task);
}

/** Rule [source QS API2/Qemu.pm move_vm_disk]: the boot order is rewritten only if the disk was in it. */
function leaveBootOrder(config: MutableSection, disk: string, log: (line: string) => void): void {
  const order = parseBootOrder(config.get('boot'));
  if (order?.kind !== 'order' || !order.devices.includes(disk)) return;
  log(`removing disk '${disk}' from boot order config`);
  config.set('boot', printBootOrder(order.devices.filter((device) => device !== disk)));
}

function updateOf(request: ReassignRequest, value: string): UpdateRequest {
  const { targetVmid, targetDisk, targetDigest } = request;
  return {
    vmid: targetVmid,
    values: new Map([[targetDisk, value]]),
    deletes: [],
    reverts: [],
    force: false,
    digest: targetDigest,
    skipLock: false,
    summary: `-${targetDisk} ${value}`,
  };
}
