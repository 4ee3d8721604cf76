/** POST /nodes/{node}/qemu/{vmid}/template: turning a VM, or one of its disks, into something to clone from. */
import { type Call, integer, type Routes, text } from '../../../core/call.ts';
import type { Task } from '../../../core/tasks.ts';
import { dieFault } from '../../../http/response.ts';
import { checkLock, draftOf, isTemplate, loadVm, saveConfig } from '../../../vm/config-file.ts';
import { withVmLock } from '../../../vm/locking.ts';
import { createTemplate } from '../../../vm/template.ts';
import type { Vm } from '../../../world/world.ts';

function convert(call: Call): string {
  const vmid = integer(call.params, 'vmid') ?? 0;
  const disk = text(call.params, 'disk');
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
  await createTemplate(call.runtime, vm, { only: disk, log: (line) => task.log(line) });
}

export const templateRoutes: Routes = { 'POST /nodes/{node}/qemu/{vmid}/template': convert };
