/** DELETE /nodes/{node}/qemu/{vmid}. */
import { removeVmAccess } from '../../../access/user-config.ts';
import type { Call, CallTo, Routes } from '../../../core/call.ts';
import type { Task } from '../../../core/tasks.ts';
import { isHaResource } from '../../../ha/resources.ts';
import { wakeHa } from '../../../ha/rounds.ts';
import { removeHaResource } from '../../../ha/rules.ts';
import { dieFault, paramFault } from '../../../http/response.ts';
import { freeVolume } from '../../../storage/allocate.ts';
import { isBaseInUse, volidOf, volumesOf } from '../../../storage/volumes.ts';
import {
  checkLock,
  checkProtection,
  emptyDraft,
  isTemplate,
  loadVm,
  saveConfig,
} from '../../../vm/config/config-file.ts';
import { isUnusedKey } from '../../../vm/config/config-keys.ts';
import { withVmLock } from '../../../vm/config/locking.ts';
import { type Drive, drivesByBus, drivesOf, isPlainCdrom, makeDrive } from '../../../vm/disks/drive.ts';
import { errorText } from '../../../vm/error-text.ts';
import { volumeOwner } from '../../../vm/update/pending.ts';
import type { Vm, VmConfigFile } from '../../../world/world.ts';

type DestroyCall = CallTo<'DELETE /nodes/{node}/qemu/{vmid}'>;

function destroy(call: DestroyCall): string {
  const vmid = call.params.vmid;
  const skipLock = call.params.skiplock ?? false;
  if (skipLock && !call.caller.isRoot) throw paramFault({ skiplock: 'Only root may use this option.' });
  earlyChecks(call, vmid);
  return call.fork('qmdestroy', String(vmid), (task) =>
    withVmLock(call.runtime, call.node, vmid, { task }, async () => {
      const vm = earlyChecks(call, vmid);
      if (!skipLock) checkLock(vm, ['suspended']);
      await runDestroy(call, vm, task);
    }),
  );
}

/** Rule [recorded delete-refusals]: refused before a task exists. */
function earlyChecks(call: DestroyCall, vmid: number): Vm {
  const vm = loadVm(call.runtime.world, call.node, vmid);
  checkProtection(vm.config.current, `can't remove VM ${vmid}`);
  // Rule [recorded ha-resources]: the HA manager still manages it.
  if (isHaResource(call.runtime.world, vmid) && !call.params.purge) {
    throw dieFault(`unable to remove VM ${vmid} - used in HA resources and purge parameter not set.`);
  }
  if (vm.process) throw dieFault(`VM ${vmid} is running - destroy failed`);
  return vm;
}

/** How long the server works on it besides freeing volumes. */
const CLEAN_UP_MS = 40;

async function runDestroy(call: DestroyCall, vm: Vm, task: Task): Promise<void> {
  const { runtime } = call;
  refuseUsedBase(call, vm, task);
  await task.sleep(CLEAN_UP_MS);
  const freed = new Set<string>();
  for (const drive of referencedVolumes(vm.config)) {
    if (freed.has(drive.file) || !isOwned(call, vm.vmid, drive.file, task)) continue;
    freed.add(drive.file);
    await freeOrWarn(call, drive.file, task, `Could not remove disk '${drive.file}', check manually: `);
  }
  if (call.params['destroy-unreferenced-disks']) {
    for (const volid of volumesOfVm(call, vm.vmid)) await freeOrWarn(call, volid, task, '');
  }
  // Rule [source QS API2/Qemu.pm destroy_vm]: a zombie configuration holds the id until everything else is gone.
  saveConfig(vm, { ...emptyDraft(), current: new Map([['lock', 'destroyed']]) });
  await removeVmAccess(runtime, vm.vmid);
  if (call.params.purge) {
    task.log(`purging VM ${vm.vmid} from related configurations..`);
    // Rule [recorded ha-resources-and-rules]: purging removes the resource as well, also from its rules.
    if (removeHaResource(runtime.world, `vm:${vm.vmid}`, { purge: true })) {
      task.log(`NOTE: removed VM ${vm.vmid} from HA resource configuration.`);
      wakeHa(runtime);
    }
  }
  runtime.world.vms.delete(vm.vmid);
}

/**
 * Rule [source QS QemuServer.pm destroy_vm]: drives and saved state of the configuration, the saved states of all
 * snapshots, then pending drives. CDs and devices of the host are not removed.
 */
function referencedVolumes({ current, pending, snapshots }: VmConfigFile): Drive[] {
  const states = (section: ReadonlyMap<string, string>) => {
    const volid = section.get('vmstate');
    return volid === undefined ? [] : [makeDrive('vmstate', volid, new Map())];
  };
  const drives = [
    ...drivesByBus(current),
    ...states(current),
    ...drivesOf(current, { unused: true }).filter((drive) => isUnusedKey(drive.key)),
    ...[...snapshots.values()].flatMap(states),
    ...drivesByBus(pending, { unused: true }),
  ];
  return drives.filter((drive) => !isPlainCdrom(drive) && !drive.file.startsWith('/'));
}

function isOwned(call: Call, vmid: number, volid: string, task: Task): boolean {
  try {
    return volumeOwner(call.runtime, volid) === vmid;
  } catch (error) {
    task.warn(`failed to get path and owner of volume '${volid}': ${errorText(error)}`);
    return false;
  }
}

/** Rule [recorded delete-refusals]: a template whose base is in use stays as it is. */
function refuseUsedBase(call: Call, vm: Vm, task: Task): void {
  if (!isTemplate(vm.config.current)) return;
  for (const drive of drivesByBus(vm.config.current, { unused: true })) {
    if (drive.isCdrom || drive.file.startsWith('/')) continue;
    if (isUsedBase(call, drive, task)) throw dieFault(`base volume '${drive.file}' is still in use by linked cloned`);
  }
}

function isUsedBase(call: Call, drive: Drive, task: Task): boolean {
  try {
    return isBaseInUse(call.runtime.world, call.node, drive.file);
  } catch (error) {
    task.warn(`failed to check if volume '${drive.file}' is used by linked clones: ${errorText(error)}`);
    return false;
  }
}

function volumesOfVm(call: Call, vmid: number): string[] {
  const volids: string[] = [];
  for (const storage of call.runtime.world.storages.values()) {
    if (storage.disabled || !storage.content.has('images')) continue;
    for (const volume of volumesOf(storage, call.node).values()) {
      if (volume.content === 'images' && volume.vmid === vmid) volids.push(volidOf(volume));
    }
  }
  return volids;
}

async function freeOrWarn(call: Call, volid: string, task: Task, prefix: string): Promise<void> {
  try {
    await freeVolume(call.runtime, { node: call.node, volid, log: (line) => task.log(line) });
  } catch (error) {
    task.warn(`${prefix}${errorText(error)}`);
  }
}

export const destroyRoutes: Routes = { 'DELETE /nodes/{node}/qemu/{vmid}': destroy };
