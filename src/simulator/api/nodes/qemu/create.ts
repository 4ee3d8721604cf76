/** POST /nodes/{node}/qemu: creates a VM. */
import { randomUuid } from '../../../../base/random.ts';
import { printTags } from '../../../../pve/wire/index.ts';
import { checkVmPermission } from '../../../access/checks.ts';
import { checkBridgeAccess, checkCpuModelAccess, checkCreateDevicePermissions } from '../../../access/device-checks.ts';
import { addVmToPool, checkPoolExists } from '../../../access/user-config.ts';
import { checkTagPermissions, checkVmModifyPermissions, OLD_TAGS_OF_A_NEW_VM } from '../../../access/vm-checks.ts';
import { checkStorageAccess, checkVolumeAccess } from '../../../access/volume-checks.ts';
import type { Call, CallTo, Routes } from '../../../core/call.ts';
import { nowSeconds } from '../../../core/runtime.ts';
import { type Task, unlessKilled } from '../../../core/tasks.ts';
import { addHaResource, requestHaStart } from '../../../ha/requests.ts';
import { isHaManaged } from '../../../ha/resources.ts';
import { ApiFault, dieFault, paramFault, permFault } from '../../../http/response.ts';
import { isFalse } from '../../../schema/perl-text.ts';
import { findVolume } from '../../../storage/volumes.ts';
import { createVm, draftOf, emptyDraft, saveConfig, writtenConfig } from '../../../vm/config/config-file.ts';
import { isDriveKey, isNetKey } from '../../../vm/config/config-keys.ts';
import { withVmLock } from '../../../vm/config/locking.ts';
import { createDisks, type DiskJob, freeVolumes } from '../../../vm/disks/disks.ts';
import { defaultBootOrder, parseDrive, printBootOrder } from '../../../vm/disks/drive.ts';
import { checkDriveParams, resolveCdromAlias } from '../../../vm/disks/drive-params.ts';
import { errorText } from '../../../vm/error-text.ts';
import { assertClipboard, assertSshKeys, checkedMachine, clampCpuUnits, printNicWithMac } from '../../../vm/machine.ts';
import { startVm } from '../../../vm/power/power.ts';
import { uniqueTags } from '../../../vm/update/change.ts';
import { isServerSince } from '../../../world/releases.ts';
import type { Vm } from '../../../world/world.ts';
import { configValues } from './config.ts';

/** Parameters of the creation that are not configuration. */
const CONTROL = new Set([
  'node',
  'vmid',
  'archive',
  'bwlimit',
  'force',
  'pool',
  'start',
  'ha-managed',
  'storage',
  'unique',
  'live-restore',
  'import-working-storage',
]);

type CreateCall = CallTo<'POST /nodes/{node}/qemu'>;

interface Creation {
  readonly vmid: number;
  readonly pool: string | undefined;
  readonly storage: string | undefined;
  readonly values: Map<string, string>;
  /** Keys given as JSON null. */
  readonly nullKeys: readonly string[];
  readonly start: boolean;
  readonly isHaManaged: boolean;
}

async function create(call: CreateCall): Promise<string> {
  const creation = prepare(call);
  const { vmid } = creation;
  const prefix = `unable to create VM ${vmid} - `;
  await prefixErrors(prefix, () => reserveId(call, vmid));
  return call.fork('qmcreate', String(vmid), async (task) => {
    try {
      await withVmLock(call.runtime, call.node, vmid, { waitMs: 1000, task }, () => fill(call, creation, task, prefix));
    } catch (error) {
      unlessKilled(task);
      // Rule [recorded create-invalid-storage]: any failure removes the reserved configuration.
      call.runtime.world.vms.delete(vmid);
      throw error;
    }
    if (creation.isHaManaged) await addHaResource(call.runtime, vmid, creation.start, task);
    if (creation.start) await autostart(call, vmid, task);
  });
}

/** Rule [source QS API2/Qemu.pm create_vm]: the synchronous checks, in the server's order. */
function prepare(call: CreateCall): Creation {
  const { params } = call;
  const { vmid, pool, storage, archive, start = false } = params;
  const isLive = params['live-restore'] ?? false;
  const given = configValues(call.texts, CONTROL);
  const nullKeys = [...given.keys()].filter((key) => given.get(key) === null && key !== 'description');
  const values = new Map([...given].filter((entry): entry is [string, string] => entry[1] !== null));
  const sshKeys = values.get('sshkeys');
  if (sshKeys !== undefined) assertSshKeys(sshKeys);
  const cpuUnits = values.get('cpuunits');
  if (cpuUnits !== undefined) values.set('cpuunits', clampCpuUnits(cpuUnits));
  if (pool !== undefined) checkPoolExists(call.runtime.world, pool);
  if (storage !== undefined) call.require(`/storage/${storage}`, ['Datastore.AllocateSpace']);
  const isHaManaged = params['ha-managed'] ?? false;
  if (isHaManaged) call.require('/', ['Sys.Console']);
  // Rule [source QS API2/Qemu.pm create_vm of 9.1.9]: before 9.2 starting it needs no separate privilege.
  if (start && isServerSince(call.runtime.world, '9.2')) checkVmPermission(call, vmid, pool, ['VM.PowerMgmt']);
  const mayAllocate =
    call.may(`/vms/${vmid}`, ['VM.Allocate']) || (pool !== undefined && call.may(`/pool/${pool}`, ['VM.Allocate']));
  if (!mayAllocate) throw permFault();
  if (archive !== undefined) refuseRestore(call, vmid, archive, values);
  if (values.size > 0) {
    resolveCdromAlias(values);
    checkStorageAccess(call, vmid, values, storage, params['import-working-storage']);
    checkVmModifyPermissions(call, vmid, pool, [...values.keys()]);
    checkCreateDevicePermissions(call, vmid, pool, values);
    checkBridgeAccess(call, values);
    checkCpuModelAccess(call, values, undefined);
    checkDriveParams(call.runtime.world, values);
    for (const [key, value] of values) if (isNetKey(key)) values.set(key, printNicWithMac(call.runtime, value));
  }
  refuseLiveImport(call, values);
  return { vmid, pool, storage, values, nullKeys, start: start && !isLive, isHaManaged };
}

/** Restoring a backup is not simulated; what Proxmox refuses before it starts is. */
function refuseRestore(call: Call, vmid: number, archive: string, values: ReadonlyMap<string, string>): never {
  for (const key of [...values.keys()].filter(isDriveKey).sort()) {
    throw paramFault({ [key]: "option conflicts with option 'archive'" });
  }
  // Rule [source QS API2/Qemu.pm create_vm]: a pipe is for the command line.
  if (archive === '-') throw dieFault('pipe requires cli environment');
  checkVolumeAccess(call, vmid, archive, 'backup');
  if (!findVolume(call.runtime.world, call.node, archive)) throw dieFault(`volume '${archive}' does not exist`);
  throw new ApiFault(501, 'Restoring a backup (POST /nodes/{node}/qemu with archive) is not simulated');
}

/** Starting a VM while its disks are still being imported is not simulated. */
function refuseLiveImport(call: CreateCall, values: ReadonlyMap<string, string>): void {
  const isImport = [...values].some(
    ([key, value]) => isDriveKey(key) && parseDrive(key, value)?.options.has('import-from'),
  );
  if (isImport && call.params['live-restore']) {
    throw new ApiFault(501, 'Live import (POST /nodes/{node}/qemu with live-restore) is not simulated');
  }
}

/** Rule [recorded create-duplicate]: the id is taken before the UPID is returned; 5 s for the lock. */
async function reserveId(call: Call, vmid: number): Promise<void> {
  await withVmLock(call.runtime, call.node, vmid, { waitMs: 5000 }, () => {
    const { vms, containers } = call.runtime.world;
    const existing = vms.get(vmid) ?? containers.get(vmid);
    if (existing) throw dieFault(`VM ${vmid} already exists on node '${existing.node}'`);
    const draft = emptyDraft();
    draft.current.set('lock', 'create');
    createVm(call.runtime, call.node, vmid, writtenConfig(draft));
  });
}

async function fill(call: Call, creation: Creation, task: Task, prefix: string): Promise<void> {
  const { runtime, node } = call;
  const { vmid, pool } = creation;
  const vm = runtime.world.vms.get(vmid);
  if (!vm) throw dieFault(`Configuration file 'nodes/${node}/qemu-server/${vmid}.conf' does not exist`);
  const config = new Map(creation.values);
  config.set('meta', `creation-qemu=${runtime.world.version.qemu},ctime=${nowSeconds(runtime)}`);
  const job: DiskJob = {
    runtime,
    node,
    vmid,
    task,
    config: creation.values,
    pending: new Map(),
    defaultStorage: creation.storage,
    checkVolumeAccess: (volid) => checkVolumeAccess(call, vmid, volid),
  };
  const volumes: string[] = [];
  try {
    const created = await createDisks(job, creation.values);
    volumes.push(...created.volumes);
    for (const [key, value] of created.values) config.set(key, value);
    completeAndWrite(call, creation, vm, config, task);
  } catch (error) {
    unlessKilled(task);
    await freeVolumes(job, volumes);
    throw prefixed(prefix, error);
  }
  // Rule [source QS API2/Qemu.pm create_vm]: the pool comes after the configuration; its failure leaves volumes behind.
  if (pool !== undefined) await addVmToPool(runtime, vmid, pool);
}

/** Rule [recorded create-minimal]: what the server adds. */
function completeAndWrite(call: Call, creation: Creation, vm: Vm, config: Map<string, string>, task: Task): void {
  const { runtime } = call;
  if (isFalse(config.get('boot'))) config.set('boot', printBootOrder(defaultBootOrder(config)));
  assertClipboard(config.get('vga'));
  if (!config.get('smbios1')) config.set('smbios1', `uuid=${randomUuid(runtime.random)}`);
  const generation = config.get('vmgenid');
  if ((generation === undefined || generation === '1') && config.get('arch') !== 'aarch64') {
    config.set('vmgenid', randomUuid(runtime.random));
  }
  const machine = checkedMachine(runtime.world, {
    machine: config.get('machine'),
    ostype: config.get('ostype'),
    arch: config.get('arch'),
    log: (line) => task.log(line),
  });
  if (machine) config.set('machine', machine);
  const tags = config.get('tags');
  // Rule [source QS API2/Qemu.pm create_vm of 9.1.19]: before 9.2.5 tags are not checked, before 9.2.4 they stay as written.
  if (tags !== undefined && isServerSince(runtime.world, '9.2.5')) {
    checkTagPermissions(call, vm.vmid, OLD_TAGS_OF_A_NEW_VM, tags);
  }
  if (tags !== undefined && isServerSince(runtime.world, '9.2.4')) {
    config.set('tags', printTags(uniqueTags(runtime.world, tags)));
  }
  // Rule [source QS QemuServer.pm write_vm_config]: a JSON null is noticed when the file is written.
  const [missing] = creation.nullKeys;
  if (missing !== undefined) throw dieFault(`unable to parse value of '${missing}' - got undefined value`);
  const draft = draftOf(vm.config);
  draft.current = config;
  saveConfig(vm, draft);
}

/** Starting another worker takes a worker a moment. */
const NESTED_FORK_MS = 40;

/**
 * Rule [source QS API2/Qemu.pm create_vm]: the start is a separate task, which the creation does not wait for.
 * Rule [recorded create-start-template-flags]: so the creation is OK whatever the result of the start.
 */
async function autostart(call: Call, vmid: number, task: Task): Promise<void> {
  task.log('Execute autostart');
  const { runtime, node } = call;
  const isManaged = isHaManaged(runtime.world, vmid);
  const act = isManaged ? requestHaStart : startVm;
  call.fork(isManaged ? 'hastart' : 'qmstart', String(vmid), (start) => act(runtime, { node, vmid, task: start }));
  await task.sleep(NESTED_FORK_MS);
}

async function prefixErrors(prefix: string, work: () => Promise<void> | void): Promise<void> {
  try {
    await work();
  } catch (error) {
    throw prefixed(prefix, error);
  }
}

/** A die inside `eval` becomes text again: the exception's class and status are lost. */
function prefixed(prefix: string, error: unknown): Error {
  return dieFault(`${prefix}${errorText(error)}`);
}

export const createRoutes: Routes = { 'POST /nodes/{node}/qemu': create };
