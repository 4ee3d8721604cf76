/** The plan of a clone: the checks before anything is copied, the new configuration, the drives to copy. */

import { checkBridgeAccess, checkCpuModelAccess, checkMappingAccess } from '../access/device-checks.ts';
import { checkPoolExists } from '../access/user-config.ts';
import { checkStorageAccessClone } from '../access/volume-checks.ts';
import type { Call } from '../core/call.ts';
import { dieFault, paramFault } from '../http/response.ts';
import { hasFeature } from '../storage/features.ts';
import { checkStorageEnabled } from '../storage/volumes.ts';
import { isServerSince } from '../world/releases.ts';
import type { VmConfigFile, VolumeFormat } from '../world/world.ts';
import { checkLock, isTemplate, loadVm } from './config/config-file.ts';
import { isDriveKey, isNetKey, isUnusedKey } from './config/config-keys.ts';
import { type Drive, isPlainCdrom, parseDrive } from './disks/drive.ts';
import { printNicWithNewMac } from './machine.ts';

export interface CloneRequest {
  readonly vmid: number;
  readonly newid: number;
  readonly pool: string | undefined;
  readonly snapshot: string | undefined;
  readonly storage: string | undefined;
  readonly format: VolumeFormat | undefined;
  readonly target: string | undefined;
  readonly full: boolean | undefined;
  readonly name: string | undefined;
  readonly description: string | undefined;
  readonly bwlimitKiB: number | undefined;
  readonly running: boolean;
}

export interface ClonePlan {
  readonly source: ReadonlyMap<string, string>;
  /** Copied together with the keys, unless a snapshot is cloned. */
  readonly sections: Pick<VmConfigFile, 'pending' | 'pendingDeletes' | 'cloudInit'>;
  /** The new configuration without its drives. */
  readonly config: Map<string, string>;
  readonly drives: readonly { readonly drive: Drive; readonly full: boolean }[];
}

/** Rule [source QS API2/Qemu.pm clone_vm $load_and_check]: run before the fork and again inside the locks. */
export function loadAndCheck(call: Call, request: CloneRequest): ClonePlan {
  const { world } = call.runtime;
  const { storage, target, snapshot, newid } = request;
  if (request.pool !== undefined) checkPoolExists(world, request.pool);
  if (target !== undefined && !world.nodes.has(target)) throw dieFault(`no such cluster node '${target}'`);
  if (storage !== undefined) {
    const config = checkStorageEnabled(world, storage, call.node);
    if (!config.content.has('images')) {
      throw paramFault({ storage: `storage '${storage}' does not support vm images` });
    }
    if (target !== undefined) {
      checkStorageEnabled(world, storage, target);
      if (!config.shared) throw dieFault(`can't clone to non-shared storage '${storage}'`);
    }
  }
  const vm = loadVm(world, call.node, request.vmid);
  checkLock(vm);
  if ((vm.process !== undefined) !== request.running) throw dieFault('unexpected state change');
  if (snapshot !== undefined && !vm.config.snapshots.has(snapshot)) {
    throw dieFault(`snapshot '${snapshot}' does not exist`);
  }
  const full = request.full ?? !isTemplate(vm.config.current);
  if (storage !== undefined && !full) throw dieFault("parameter 'storage' not allowed for linked clones");
  if (request.format !== undefined && !full) throw dieFault("parameter 'format' not allowed for linked clones");
  const snapshotSection = snapshot === undefined ? undefined : vm.config.snapshots.get(snapshot);
  const source = snapshotSection ?? vm.config.current;
  const shared = checkStorageAccessClone(call, source, storage);
  checkMappingAccess(call, source);
  checkBridgeAccess(call, source);
  // Rule [source QS API2/Qemu.pm clone_vm of 9.1.14]: before 9.2 the processor comes along unasked.
  if (isServerSince(world, '9.2')) checkCpuModelAccess(call, source, undefined);
  if (target !== undefined && !shared) throw dieFault(`can't clone VM to node '${target}' (VM uses local storage)`);
  if (world.vms.get(newid)?.node === call.node) {
    throw dieFault(`unable to create VM ${newid}: config file already exists`);
  }
  return { ...planOf(call, request, source, full), sections: snapshotSection ? NO_SECTIONS : vm.config };
}

const NO_SECTIONS: ClonePlan['sections'] = { pending: new Map(), pendingDeletes: new Map(), cloudInit: undefined };

const NOT_COPIED = new Set([
  'parent',
  'snaptime',
  'vmstate',
  'snapstate',
  'runningcpu',
  'runningmachine',
  'running-nets-host-mtu',
]);

function planOf(
  call: Call,
  request: CloneRequest,
  source: ReadonlyMap<string, string>,
  full: boolean,
): Omit<ClonePlan, 'sections'> {
  const config = new Map<string, string>([['lock', 'clone']]);
  const drives: { drive: Drive; full: boolean }[] = [];
  for (const key of [...source.keys()].sort()) {
    const value = source.get(key) ?? '';
    if (NOT_COPIED.has(key) || isUnusedKey(key)) continue;
    if (full && request.running && request.snapshot === undefined && key === 'tpmstate0') {
      throw dieFault('cannot clone TPM state while VM is running');
    }
    if (isNetKey(key)) {
      config.set(key, printNicWithNewMac(call.runtime, value));
    } else if (isDriveKey(key)) {
      const drive = parseDrive(key, value);
      if (!drive) throw dieFault(`unable to parse drive options for '${key}'`);
      if (isPlainCdrom(drive)) config.set(key, value);
      else drives.push(planDrive(call, request, drive, full));
    } else {
      config.set(key, value);
    }
  }
  return { source, config, drives };
}

/** Rule [source QS API2/Qemu.pm clone_vm]: cloud-init and TPM state are copied even in a linked clone. */
function planDrive(call: Call, request: CloneRequest, drive: Drive, full: boolean): { drive: Drive; full: boolean } {
  const copy = full || drive.isCloudInit || drive.key === 'tpmstate0';
  const options = { running: request.running, ...(request.snapshot !== undefined && { snapshot: request.snapshot }) };
  if (!hasFeature(call.runtime.world, call.node, copy ? 'copy' : 'clone', drive.file, options)) {
    const subject = `${request.snapshot === undefined ? '' : ' a snapshot of'} '${drive.file}' (${drive.key})`;
    throw dieFault(`${copy ? 'Full' : 'Linked'} clone feature is not supported for${subject}`);
  }
  return { drive, full: copy };
}
