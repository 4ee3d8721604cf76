/**
 * …/template turns a VM, or one of its disks, into a template; …/feature says whether all disks of a VM can be
 * snapshotted, cloned or copied.
 */
import type { Call, CallTo, Routes } from '../../../core/call.ts';
import type { Task } from '../../../core/tasks.ts';
import { dieFault } from '../../../http/response.ts';
import { convertToBase } from '../../../storage/clone.ts';
import { hasFeature, type VolumeFeature } from '../../../storage/features.ts';
import { storageConfig } from '../../../storage/volumes.ts';
import { assertVmExists, checkLock, draftOf, isTemplate, loadVm, saveConfig } from '../../../vm/config/config-file.ts';
import { withVmLock } from '../../../vm/config/locking.ts';
import { type Drive, drivesOf, printDrive, withOptions } from '../../../vm/disks/drive.ts';
import { orderedDrives } from '../../../vm/snapshots/steps.ts';
import type { Vm, World } from '../../../world/world.ts';

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

export const templateRoutes: Routes = {
  'POST /nodes/{node}/qemu/{vmid}/template': convert,
  'GET /nodes/{node}/qemu/{vmid}/feature': getFeature,
};

function getFeature(call: CallTo<'GET /nodes/{node}/qemu/{vmid}/feature'>): { hasFeature: number; nodes: string[] } {
  const { world } = call.runtime;
  const vm = assertVmExists(world, call.node, call.params.vmid);
  const feature = call.params.feature as VolumeFeature; // the schema admits snapshot, clone and copy
  const snapshot = call.params.snapname || undefined;
  const config = snapshot === undefined ? vm.config.current : vm.config.snapshots.get(snapshot);
  if (!config) throw dieFault(`snapshot '${snapshot}' does not exist`);
  const nodes = sharedNodes(world, call.node, config);
  const running = vm.process !== undefined;
  const all = drivesOf(config)
    .filter((drive) => !drive.isCdrom)
    .every((drive) => hasFeature(world, call.node, feature, drive.file, { snapshot, running }));
  return { hasFeature: all ? 1 : 0, nodes };
}

/** Rule [source QS QemuServer.pm shared_nodes]: the nodes that reach all volumes, CD images included. */
function sharedNodes(world: World, node: string, config: ReadonlyMap<string, string>): string[] {
  let nodes = [...world.nodes.keys()];
  for (const drive of drivesOf(config)) {
    const id = /^([a-z][a-z0-9\-_.]*[a-z0-9]):./i.exec(drive.file)?.[1];
    if (id === undefined) continue;
    const storage = storageConfig(world, id);
    if (storage.disabled) return [];
    if (storage.nodes) nodes = nodes.filter((each) => storage.nodes?.has(each));
    else if (!storage.shared) nodes = nodes.filter((each) => each === node);
  }
  return nodes;
}
