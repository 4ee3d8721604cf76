/** DELETE /nodes/{node}/qemu/{vmid}. */
import { removeVmAccess } from '../../../access/pools.ts';
import { type Call, flag, integer, type Routes } from '../../../core/call.ts';
import type { Task } from '../../../core/tasks.ts';
import { dieFault, paramFault } from '../../../http/response.ts';
import { freeVolume } from '../../../storage/allocate.ts';
import { findVolume, isBaseInUse, splitVolid, volidOf, volumesOf } from '../../../storage/volumes.ts';
import { checkLock, checkProtection, emptyDraft, isTemplate, loadVm, saveConfig } from '../../../vm/config-file.ts';
import { type Drive, drivesOf, isPlainCdrom } from '../../../vm/drive.ts';
import { withVmLock } from '../../../vm/locking.ts';
import { ownsVolume } from '../../../vm/pending.ts';
import type { Vm } from '../../../world/world.ts';

function destroy(call: Call): string {
  const vmid = integer(call.params, 'vmid') ?? 0;
  const skipLock = flag(call.params, 'skiplock') ?? false;
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
function earlyChecks(call: Call, vmid: number): Vm {
  const vm = loadVm(call.runtime.world, call.node, vmid);
  checkProtection(vm.config.current, `can't remove VM ${vmid}`);
  if (vm.process) throw dieFault(`VM ${vmid} is running - destroy failed`);
  return vm;
}

/** How long the server works on it besides freeing volumes. */
const CLEAN_UP_MS = 40;

async function runDestroy(call: Call, vm: Vm, task: Task): Promise<void> {
  const { runtime } = call;
  refuseUsedBase(call, vm);
  await task.sleep(CLEAN_UP_MS);
  const freed = new Set<string>();
  const sections = [vm.config.current, vm.config.pending];
  for (const drive of sections.flatMap((section) => drivesOf(section, { unused: true }))) {
    if (isPlainCdrom(drive) || freed.has(drive.file) || !ownsVolume({ runtime, vmid: vm.vmid }, drive.file)) continue;
    freed.add(drive.file);
    await freeOrWarn(call, drive.file, task, `Could not remove disk '${drive.file}', check manually: `);
  }
  if (flag(call.params, 'destroy-unreferenced-disks')) {
    for (const volid of volumesOfVm(call, vm.vmid)) await freeOrWarn(call, volid, task, '');
  }
  // Rule [source QS API2/Qemu.pm destroy_vm]: a zombie configuration holds the id until everything else is gone.
  saveConfig(vm, { ...emptyDraft(), current: new Map([['lock', 'destroyed']]) });
  await removeVmAccess(runtime, vm.vmid);
  if (flag(call.params, 'purge')) task.log(`purging VM ${vm.vmid} from related configurations..`);
  runtime.world.vms.delete(vm.vmid);
}

/** Rule [recorded delete-refusals]: a template whose base is still used stays as it is. */
function refuseUsedBase(call: Call, vm: Vm): void {
  if (!isTemplate(vm.config.current)) return;
  for (const drive of drivesOf(vm.config.current, { unused: true })) {
    if (!drive.isCdrom && isUsedBase(call, drive)) {
      throw dieFault(`base volume '${drive.file}' is still in use by linked cloned`);
    }
  }
}

function isUsedBase(call: Call, drive: Drive): boolean {
  const volume = findVolume(call.runtime.world, call.node, drive.file);
  return volume !== undefined && isBaseInUse(call.runtime.world, call.node, drive.file);
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
  if (!call.runtime.world.storages.has(splitVolid(volid).storage)) return;
  try {
    await freeVolume(call.runtime, { node: call.node, volid, log: (line) => task.log(line) });
  } catch (error) {
    task.warn(`${prefix}${error instanceof Error ? error.message.trimEnd() : String(error)}`);
  }
}

export const destroyRoutes: Routes = { 'DELETE /nodes/{node}/qemu/{vmid}': destroy };
