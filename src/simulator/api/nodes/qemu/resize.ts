/** PUT /nodes/{node}/qemu/{vmid}/resize: growing a disk. Everything but the syntax is checked inside the task. */
import { printSize } from '../../../../pve/wire/index.ts';
import type { Call, CallTo, Routes } from '../../../core/call.ts';
import type { Task } from '../../../core/tasks.ts';
import { dieFault, paramFault } from '../../../http/response.ts';
import { resizeVolume } from '../../../storage/resize.ts';
import { activateStorage } from '../../../storage/space.ts';
import { findVolume, parseVolumeName, splitVolid, storageConfig } from '../../../storage/volumes.ts';
import { checkLock, digestFault, draftOf, loadVm, saveConfig } from '../../../vm/config-file.ts';
import { type Drive, parseDrive, printDrive, withOptions } from '../../../vm/drive.ts';
import { withVmLock } from '../../../vm/locking.ts';
import type { Vm, Volume } from '../../../world/world.ts';

type ResizeCall = CallTo<'PUT /nodes/{node}/qemu/{vmid}/resize'>;

function resize(call: ResizeCall): string {
  const { vmid, skiplock } = call.params;
  if (skiplock && !call.caller.isRoot) {
    throw paramFault({ skiplock: 'Only root may use this option.' });
  }
  return call.fork('resize', String(vmid), (task) =>
    withVmLock(call.runtime, call.node, vmid, { task }, () => runResize(call, vmid, task)),
  );
}

async function runResize(call: ResizeCall, vmid: number, task: Task): Promise<void> {
  const vm = loadVm(call.runtime.world, call.node, vmid);
  const drive = checkedDrive(call, vm);
  const volume = activatedVolume(call, drive);
  const sizeBytes = newSizeBytes(call.params.size, volume.sizeBytes);
  // Rule [recorded resize]: only growing; the present size is fine and changes nothing.
  if (sizeBytes < volume.sizeBytes) throw dieFault('shrinking disks is not supported');
  if (sizeBytes === volume.sizeBytes) return;
  const running = vm.process !== undefined;
  const log = (line: string) => task.log(line);
  await resizeVolume(call.runtime, { node: call.node, volid: drive.file, sizeBytes, running, log });
  // Rule [source QS QemuServer/Blockdev.pm resize]: QEMU has no block node for the TPM state.
  if (running && drive.key === 'tpmstate0') throw dieFault(`no block node inserted for drive '${drive.key}'`);
  const draft = draftOf(vm.config);
  // Rule [source QS API2/Qemu.pm resize_vm]: the file says what was asked for, however the storage rounded it.
  draft.current.set(drive.key, printDrive(withOptions(drive, { size: printSize(sizeBytes) })));
  saveConfig(vm, draft);
}

/** Rule [source QS API2/Qemu.pm resize_vm]: digest, lock, disk, volume, CD-ROM, privilege — in this order. */
function checkedDrive(call: ResizeCall, vm: Vm): Drive {
  const { params, runtime } = call;
  const { digest, disk: key } = params;
  if (digest && digest !== vm.config.digest) throw digestFault(call.runtime.world);
  if (!params.skiplock) checkLock(vm);
  const value = vm.config.current.get(key);
  if (!value) throw dieFault(`disk '${key}' does not exist`);
  const drive = parseDrive(key, value);
  if (!drive) throw dieFault(`disk '${key}' has no associated volume`);
  // Rule [recorded resize]: an empty CD drive fails because `none` is no volume, before anybody asks what drive it is.
  const { storage, name } = splitVolid(drive.file);
  parseVolumeName(storageConfig(runtime.world, storage), name);
  if (drive.isCdrom) throw dieFault("you can't resize a cdrom");
  call.require(`/storage/${storage}`, ['Datastore.AllocateSpace']);
  return drive;
}

function activatedVolume(call: Call, drive: Drive): Volume {
  activateStorage(call.runtime.world, splitVolid(drive.file).storage, call.node);
  const volume = findVolume(call.runtime.world, call.node, drive.file);
  if (!volume) throw dieFault(`volume '${drive.file}' does not exist`);
  return volume;
}

const UNIT_BYTES: Readonly<Record<string, number>> = { K: 1024, M: 1024 ** 2, G: 1024 ** 3, T: 1024 ** 4 };

/** Rule [recorded resize]: `+` adds to the present size, fractions and binary units are fine, bytes without a unit. */
function newSizeBytes(asked: string, currentBytes: number): number {
  const [, plus, amount = '0', unit = ''] = /^(\+)?(\d+(?:\.\d+)?)([KMGT])?$/.exec(asked) ?? [];
  const bytes = Number(amount) * (UNIT_BYTES[unit] ?? 1);
  return Math.floor(plus === undefined ? bytes : currentBytes + bytes);
}

export const resizeRoutes: Routes = { 'PUT /nodes/{node}/qemu/{vmid}/resize': resize };
