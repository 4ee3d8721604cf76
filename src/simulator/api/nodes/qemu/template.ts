/** POST /nodes/{node}/qemu/{vmid}/template: turning a VM, or one of its disks, into something to clone from. */
import type { Call, CallTo, Routes } from '../../../core/call.ts';
import type { Task } from '../../../core/tasks.ts';
import { dieFault } from '../../../http/response.ts';
import { convertToBase } from '../../../storage/clone.ts';
import { hasFeature } from '../../../storage/features.ts';
import { checkLock, draftOf, isTemplate, loadVm, saveConfig } from '../../../vm/config-file.ts';
import { type Drive, printDrive, withOptions } from '../../../vm/drive.ts';
import { withVmLock } from '../../../vm/locking.ts';
import { orderedDrives } from '../../../vm/snapshot-steps.ts';
import type { Vm } from '../../../world/world.ts';

function convert(call: CallTo<'POST /nodes/{node}/qemu/{vmid}/template'>): string {
  const vmid = call.params.vmid;
  const disk = call.params.disk;
  loadAndCheck(call, vmid, disk);
  return call.fork('qmtemplate', String(vmid), (task) =>
    withVmLock(call.runtime, call.node, vmid, { task }, () => runConversion(call, vmid, disk, task)),
  );
}

/** Rule [recorded template-refusals]: refused before a task exists, and checked again under the lock. */
function loadAndCheck(call: Call, vmid: number, disk: string | undefined): Vm {
  const vm = loadVm(call.runtime.world, call.node, vmid);
  checkLock(vm);
  if (vm.config.snapshots.size > 0) throw dieFault('unable to create template, because VM contains snapshots');
  if (isTemplate(vm.config.current) && !disk) throw dieFault("you can't convert a template to a template");
  if (vm.process) throw dieFault("you can't convert a VM to template if VM is running");
  return vm;
}

async function runConversion(call: Call, vmid: number, disk: string | undefined, task: Task): Promise<void> {
  const vm = loadAndCheck(call, vmid, disk);
  const draft = draftOf(vm.config);
  // Rule [recorded template-refusals]: the flag is set even when only one disk, or one that does not exist, was named.
  draft.current.set('template', '1');
  saveConfig(vm, draft);
  for (const drive of orderedDrives(vm.config.current)) {
    if (disk !== undefined && drive.key !== disk) continue;
    const base = await baseOf(call, drive, task);
    if (!base) continue;
    // Rule [source QS QemuServer.pm template_create]: written disk by disk, so a failure leaves the earlier ones converted.
    const next = draftOf(vm.config);
    next.current.set(drive.key, printDrive(base));
    saveConfig(vm, next);
  }
}

/** The drive on its base volume; undefined where there is nothing to convert (CDs, storages without templates). */
export async function baseOf(call: Call, drive: Drive, task: Task): Promise<Drive | undefined> {
  if (drive.isCdrom || !hasFeature(call.runtime.world, call.node, 'template', drive.file)) return undefined;
  const log = (line: string) => task.log(line);
  return withOptions(drive, {}, await convertToBase(call.runtime, { node: call.node, volid: drive.file, log }));
}

export const templateRoutes: Routes = { 'POST /nodes/{node}/qemu/{vmid}/template': convert };
