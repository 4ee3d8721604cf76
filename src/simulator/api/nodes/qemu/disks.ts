/**
 * …/move_disk moves a disk to another storage, format or VM; …/resize makes a disk larger. Of a resize only the syntax is
 * checked before the task starts.
 */
import { printSize } from '../../../../pve/wire/index.ts';
import type { Call, CallTo, Routes } from '../../../core/call.ts';
import type { Task } from '../../../core/tasks.ts';
import { dieFault, paramFault } from '../../../http/response.ts';
import { freeVolume } from '../../../storage/allocate.ts';
import { resizeVolume } from '../../../storage/resize.ts';
import { activateStorage } from '../../../storage/space.ts';
import {
  checkStorageEnabled,
  findVolume,
  parseVolumeName,
  splitVolid,
  storageConfig,
} from '../../../storage/volumes.ts';
import { checkLock, digestFault, draftOf, isTemplate, loadVm, saveConfig } from '../../../vm/config/config-file.ts';
import { isUnusedKey } from '../../../vm/config/config-keys.ts';
import type { ConfigDraft } from '../../../vm/config/config-text.ts';
import { withVmLock } from '../../../vm/config/locking.ts';
import { cloneDisk } from '../../../vm/disks/clone-disk.ts';
import { type Drive, isPlainCdrom, parseDrive, printDrive, withOptions } from '../../../vm/disks/drive.ts';
import { checkedReassignment, type ReassignRequest, runReassignment } from '../../../vm/disks/reassign.ts';
import { addUnused, isInUse } from '../../../vm/update/pending.ts';
import type { Vm, Volume, VolumeFormat } from '../../../world/world.ts';
import { baseOf } from './template.ts';

type MoveCall = CallTo<'POST /nodes/{node}/qemu/{vmid}/move_disk'>;

interface MoveRequest {
  readonly vmid: number;
  readonly disk: string;
  readonly storage: string;
  readonly format: VolumeFormat | undefined;
  readonly deleteSource: boolean;
  readonly digest: string | undefined;
  readonly bwlimitKiB: number | undefined;
}

interface MovePlan {
  readonly vm: Vm;
  readonly drive: Drive;
  readonly oldStorage: string;
  readonly hasSnapshots: boolean;
}

/** Rule [recorded move-disk-reassign]: either a storage or a VM, and exactly one of them. */
function moveDisk(call: MoveCall): string {
  const { storage, 'target-vmid': targetVmid } = call.params;
  if (targetVmid && storage) throw bothParams("either set 'storage' or 'target-vmid', but not both");
  if (targetVmid) return reassign(call, targetVmid);
  if (storage) return moveToStorage(call, storage);
  throw bothParams("both 'storage' and 'target-vmid' missing, either needs to be set");
}

function bothParams(message: string): Error {
  return paramFault({ 'target-vmid': message, storage: message });
}

function reassign(call: MoveCall, targetVmid: number): string {
  const { params } = call;
  const { disk } = params;
  const request: ReassignRequest = {
    vmid: params.vmid,
    disk,
    targetVmid,
    targetDisk: params['target-disk'] ?? disk,
    digest: params.digest,
    targetDigest: params['target-digest'],
  };
  const { vmid, targetDisk } = request;
  if (!call.caller.isRoot) call.require(`/vms/${targetVmid}`, ['VM.Config.Disk']);
  if (vmid === targetVmid) throw paramFault({ 'target-vmid': 'must be different than source VMID to reassign disk' });
  const { drive } = checkedReassignment(call, request);
  call.require(`/storage/${splitVolid(drive.file).storage}`, ['Datastore.AllocateSpace']);
  return call.fork('qmmove', `${vmid}-${disk}>${targetVmid}-${targetDisk}`, (task) =>
    withVmLock(call.runtime, call.node, vmid, { task }, () =>
      withVmLock(call.runtime, call.node, targetVmid, { task }, () => runReassignment(call, request, task)),
    ),
  );
}

function moveToStorage(call: MoveCall, storage: string): string {
  const { params } = call;
  const request: MoveRequest = {
    vmid: params.vmid,
    disk: params.disk,
    storage,
    format: params.format,
    deleteSource: params.delete ?? false,
    digest: params.digest,
    bwlimitKiB: params.bwlimit || undefined,
  };
  call.require(`/storage/${storage}`, ['Datastore.AllocateSpace']);
  checkedMove(call, request);
  return call.fork('qmmove', String(request.vmid), (task) =>
    withVmLock(call.runtime, call.node, request.vmid, { task }, () => runMove(call, request, task)),
  );
}

/** Rule [source QS API2/Qemu.pm move_vm_disk $load_and_check_move]: before the fork and again under the lock. */
function checkedMove(call: Call, request: MoveRequest): MovePlan {
  const { world } = call.runtime;
  const { disk, storage, format } = request;
  const vm = loadVm(world, call.node, request.vmid);
  checkLock(vm);
  if (request.digest && request.digest !== vm.config.digest) {
    throw dieFault('detected modified configuration - file changed by other user? Try again.');
  }
  const value = vm.config.current.get(disk);
  if (!value) throw dieFault(`disk '${disk}' does not exist`);
  const drive = parseDrive(disk, value);
  if (!drive) throw dieFault(`disk '${disk}' has no associated volume`);
  if (isPlainCdrom(drive)) throw dieFault("you can't move a cdrom");
  const { storage: oldStorage, name } = splitVolid(drive.file);
  const oldFormat = parseVolumeName(storageConfig(world, oldStorage), name).format;
  if (oldStorage === storage && (!format || oldFormat === format)) {
    throw dieFault("you can't move to the same storage with same format");
  }
  if (!checkStorageEnabled(world, storage, call.node).content.has('images')) {
    throw paramFault({ storage: `storage '${storage}' does not support vm images` });
  }
  const hasSnapshots = isInUse(draftOf(vm.config), drive);
  if (hasSnapshots && request.deleteSource) {
    throw dieFault("you can't move a disk with snapshots and delete the source");
  }
  return { vm, drive, oldStorage, hasSnapshots };
}

async function runMove(call: Call, request: MoveRequest, task: Task): Promise<void> {
  const plan = checkedMove(call, request);
  const { drive, oldStorage } = plan;
  const log = (line: string) => task.log(line);
  log(`copying volume '${drive.file}' from current storage '${oldStorage}' to target storage '${request.storage}'`);
  // Rule [recorded start-missing-volumes]: a volume that cannot be activated fails the move before it is called one.
  if (!findVolume(call.runtime.world, call.node, drive.file)) throw dieFault(`volume '${drive.file}' does not exist`);
  const created: string[] = [];
  try {
    await copyAndSwitch(call, request, plan, task, created);
  } catch (error) {
    for (const volid of created) await freeOrLog(call, volid, log);
    throw dieFault(`storage migration failed: ${messageOf(error)}`);
  }
  if (!request.deleteSource) return;
  log(`removing source volume '${drive.file}' after successful copy`);
  // Rule [source QS API2/Qemu.pm move_vm_disk]: a source that cannot be removed does not fail the move.
  await freeOrLog(call, drive.file, log);
}

async function copyAndSwitch(
  call: Call,
  request: MoveRequest,
  plan: MovePlan,
  task: Task,
  created: string[],
): Promise<void> {
  const { vm, drive } = plan;
  const { disk, vmid, storage, format, bwlimitKiB } = request;
  if (plan.hasSnapshots) task.log('moving disk with snapshots, snapshots will not be moved!');
  // Rule [source QS QemuServer.pm clone_disk]: the TPM state is not QEMU's, so it cannot be mirrored.
  if (vm.process && disk === 'tpmstate0') throw dieFault('cannot move TPM state while VM is running');
  const moved = await cloneDisk(call.runtime, {
    node: call.node,
    source: { key: disk, drive },
    target: { vmid, key: disk, storage, format },
    full: true,
    bwlimitKiB,
    task,
    created,
  });
  const draft = draftOf(vm.config);
  draft.current.set(disk, printDrive(moved));
  if (!request.deleteSource) await keepSource(call, draft, drive, task);
  // Rule [source QS API2/Qemu.pm move_vm_disk]: a template's disk becomes a base volume on its new storage, too.
  const base = isTemplate(draft.current) ? await baseOf(call, moved, task) : undefined;
  if (base) draft.current.set(disk, printDrive(base));
  saveConfig(vm, draft);
}

/** Rule [recorded move-disk]: the source stays as `unusedN`; an old cloud-init image is removed. */
async function keepSource(call: Call, draft: ConfigDraft, source: Drive, task: Task): Promise<void> {
  const log = (line: string) => task.log(line);
  let key: string | undefined;
  if (source.isCloudInit) {
    log(`found unused cloudinit disk '${source.file}', removing it`);
    await freeVolume(call.runtime, { node: call.node, volid: source.file, log });
  } else {
    addUnused(draft, source.file);
    key = [...draft.current].find(([name, value]) => isUnusedKey(name) && value === source.file)?.[0];
  }
  // Rule [observed 9.2.11]: if nothing stays there is no key either, and Perl warns.
  if (key === undefined) {
    log(
      'Use of uninitialized value $unused_key in concatenation (.) or string at /usr/share/perl5/PVE/API2/Qemu.pm line 4960.',
    );
  }
  log(`adding source volume '${source.file}' as '${key ?? ''}' to config`);
}

async function freeOrLog(call: Call, volid: string, log: (line: string) => void): Promise<void> {
  try {
    await freeVolume(call.runtime, { node: call.node, volid, log });
  } catch (error) {
    log(messageOf(error));
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message.trimEnd() : String(error);
}

export const diskRoutes: Routes = {
  'POST /nodes/{node}/qemu/{vmid}/move_disk': moveDisk,
  'PUT /nodes/{node}/qemu/{vmid}/resize': resize,
};

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
  // Rule [recorded resize]: only growing; the present size succeeds and changes nothing.
  if (sizeBytes < volume.sizeBytes) throw dieFault('shrinking disks is not supported');
  if (sizeBytes === volume.sizeBytes) return;
  const running = vm.process !== undefined;
  const log = (line: string) => task.log(line);
  await resizeVolume(call.runtime, { node: call.node, volid: drive.file, sizeBytes, running, log });
  // Rule [source QS QemuServer/Blockdev.pm resize]: QEMU has no block node for the TPM state.
  if (running && drive.key === 'tpmstate0') throw dieFault(`no block node inserted for drive '${drive.key}'`);
  const draft = draftOf(vm.config);
  // Rule [source QS API2/Qemu.pm resize_vm]: the file has the requested size, whatever the storage rounded it to.
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
  // Rule [recorded resize]: an empty CD drive fails because `none` is no volume, before the kind of drive is checked.
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
