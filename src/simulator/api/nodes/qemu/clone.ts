/** POST /nodes/{node}/qemu/{vmid}/clone. */
import { randomUuid } from '../../../../base/random.ts';
import {
  formatOfKey,
  type PropertyFormat,
  PropertyValue,
  parseProperty,
  printProperty,
} from '../../../../pve/wire/index.ts';
import { addVmToPool, checkPoolExists } from '../../../access/pools.ts';
import {
  checkBridgeAccess,
  checkCpuModelAccess,
  checkMappingAccess,
  checkStorageAccessClone,
} from '../../../access/vm-checks.ts';
import { type Call, flag, integer, type Routes, text } from '../../../core/call.ts';
import { type Task, TaskInterrupted } from '../../../core/tasks.ts';
import { dieFault, paramFault } from '../../../http/response.ts';
import { freeVolume } from '../../../storage/allocate.ts';
import { hasFeature } from '../../../storage/features.ts';
import { checkStorageEnabled } from '../../../storage/volumes.ts';
import { cloneDisk } from '../../../vm/clone-disk.ts';
import {
  assertVmExists,
  checkLock,
  createVm,
  emptyDraft,
  isTemplate,
  loadVm,
  saveConfig,
} from '../../../vm/config-file.ts';
import { isDriveKey, isNetKey, isUnusedKey } from '../../../vm/config-keys.ts';
import { parseConfig } from '../../../vm/config-text.ts';
import { type Drive, isPlainCdrom, parseDrive, printDrive } from '../../../vm/drive.ts';
import { withVmLock } from '../../../vm/locking.ts';
import { printNicWithNewMac } from '../../../vm/nic.ts';
import type { Vm, VolumeFormat } from '../../../world/world.ts';

interface CloneRequest {
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

interface ClonePlan {
  readonly source: ReadonlyMap<string, string>;
  /** The new configuration without its drives. */
  readonly config: Map<string, string>;
  readonly drives: readonly { readonly drive: Drive; readonly full: boolean }[];
}

function clone(call: Call): string {
  const request = readRequest(call);
  loadAndCheck(call, request);
  const { vmid, newid, running } = request;
  return call.fork('qmclone', String(vmid), (task) =>
    // Rule [recorded clone-busy-config]: the source is locked too — shared while it is stopped —, both with 1 s of patience.
    withVmLock(call.runtime, call.node, vmid, { mode: running ? 'exclusive' : 'shared', waitMs: 1000, task }, () =>
      withVmLock(call.runtime, call.node, newid, { waitMs: 1000, task }, () => runClone(call, request, task)),
    ),
  );
}

function readRequest(call: Call): CloneRequest {
  const { params, node } = call;
  const vmid = integer(params, 'vmid') ?? 0;
  const target = text(params, 'target');
  return {
    vmid,
    newid: integer(params, 'newid') ?? 0,
    pool: text(params, 'pool'),
    snapshot: text(params, 'snapname') || undefined,
    storage: text(params, 'storage') || undefined,
    format: text(params, 'format') as VolumeFormat | undefined, // the schema admits raw, qcow2 and vmdk
    target: target === node || target === 'localhost' ? undefined : target,
    full: flag(params, 'full'),
    name: text(params, 'name'),
    description: text(params, 'description'),
    bwlimitKiB: integer(params, 'bwlimit') || undefined,
    running: assertVmExists(call.runtime.world, node, vmid).process !== undefined,
  };
}

/** Rule [source QS API2/Qemu.pm clone_vm $load_and_check]: run before the fork and again inside the locks. */
function loadAndCheck(call: Call, request: CloneRequest): ClonePlan {
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
  const source = (snapshot === undefined ? undefined : vm.config.snapshots.get(snapshot)) ?? vm.config.current;
  const shared = checkStorageAccessClone(call, source, storage);
  checkMappingAccess(call, source);
  checkBridgeAccess(call, source);
  checkCpuModelAccess(call, source, undefined);
  if (target !== undefined && !shared) throw dieFault(`can't clone VM to node '${target}' (VM uses local storage)`);
  if (world.vms.get(newid)?.node === call.node) {
    throw dieFault(`unable to create VM ${newid}: config file already exists`);
  }
  return planOf(call, request, source, full);
}

const NOT_COPIED = new Set([
  'parent',
  'snaptime',
  'vmstate',
  'snapstate',
  'runningcpu',
  'runningmachine',
  'running-nets-host-mtu',
]);

function planOf(call: Call, request: CloneRequest, source: ReadonlyMap<string, string>, full: boolean): ClonePlan {
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

async function runClone(call: Call, request: CloneRequest, task: Task): Promise<void> {
  const plan = loadAndCheck(call, request);
  const { runtime, node } = call;
  const { newid, vmid } = request;
  task.log(`creating a clone of VM ${vmid} with ID ${newid}`);
  completeConfig(call, request, plan);
  // Rule [source PC File.pm file_set_contents]: an id in use on another node shows only when the file is renamed.
  if (runtime.world.vms.has(newid)) {
    throw dieFault(`close (rename) atomic file '/etc/pve/nodes/${node}/qemu-server/${newid}.conf' failed: File exists`);
  }
  // Rule [recorded clone-full-during]: at first the target is only a comment and a lock.
  const vm = createVm(runtime, node, newid, parseConfig('# qmclone temporary file\nlock: clone\n'));
  const created: string[] = [];
  try {
    await copyDrives(call, request, plan, vm, task, created);
  } catch (error) {
    await cleanUp(call, newid, created, task);
    throw dieFault(`clone failed: ${error instanceof Error ? error.message.trimEnd() : String(error)}`);
  }
}

/** Time the server spends around the copies: writing files, firewall, IPAM. */
const OVERHEAD_MS = 30;

async function copyDrives(
  call: Call,
  request: CloneRequest,
  plan: ClonePlan,
  vm: Vm,
  task: Task,
  created: string[],
): Promise<void> {
  const { runtime, node } = call;
  await task.sleep(OVERHEAD_MS);
  for (const { drive, full } of plan.drives) {
    const copied = await cloneDisk(runtime, {
      node,
      source: { key: drive.key, drive, snapshot: drive.isCloudInit ? undefined : request.snapshot },
      target: { vmid: request.newid, key: drive.key, storage: request.storage, format: request.format },
      full,
      bwlimitKiB: request.bwlimitKiB,
      task,
      created,
    });
    plan.config.set(drive.key, printDrive(copied));
    writeTarget(vm, plan.config);
    if (task.signal.aborted) throw new TaskInterrupted();
  }
  plan.config.delete('lock');
  writeTarget(vm, plan.config);
  await task.sleep(OVERHEAD_MS);
  if (request.target !== undefined) vm.node = request.target;
  // Rule [source QS API2/Qemu.pm clone_vm]: membership of a pool comes last.
  if (request.pool !== undefined) await addVmToPool(runtime, vm.vmid, request.pool);
}

function writeTarget(vm: Vm, config: ReadonlyMap<string, string>): void {
  saveConfig(vm, { ...emptyDraft(), current: new Map(config) });
}

/** Rule [recorded clone-no-space]: volumes and configuration of a failed clone are removed, after a second of rest. */
async function cleanUp(call: Call, newid: number, created: readonly string[], task: Task): Promise<void> {
  await call.runtime.clock.sleep(1000);
  for (const volid of created) {
    try {
      await freeVolume(call.runtime, { node: call.node, volid, log: (line) => task.log(line) });
    } catch (error) {
      task.log(error instanceof Error ? error.message : String(error));
    }
  }
  call.runtime.world.vms.delete(newid);
}

/** Rule [recorded clone-linked]: new uuid and generation id, never a template, a name in any case. */
function completeConfig(call: Call, request: CloneRequest, plan: ClonePlan): void {
  const { config, source } = plan;
  const { random } = call.runtime;
  const format = formatOfKey('smbios1') as PropertyFormat; // smbios1 is a key of every version
  const smbios = parseProperty(format, config.get('smbios1') ?? '');
  const value = smbios.ok ? smbios.value : new PropertyValue();
  config.set('smbios1', printProperty(format, value.with('uuid', randomUuid(random))));
  const generation = config.get('vmgenid');
  if (generation && generation !== '0') config.set('vmgenid', randomUuid(random));
  config.delete('template');
  config.set('name', request.name || `Copy-of-VM-${source.get('name') ?? request.vmid}`);
  if (request.description) config.set('description', request.description);
}

export const cloneRoutes: Routes = { 'POST /nodes/{node}/qemu/{vmid}/clone': clone };
