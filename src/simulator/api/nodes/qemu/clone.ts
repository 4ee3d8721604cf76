/** POST /nodes/{node}/qemu/{vmid}/clone. */
import { randomUuid } from '../../../../base/random.ts';
import { PropertyValue, parseProperty, printProperty, requiredFormat } from '../../../../pve/wire/index.ts';
import { addVmToPool } from '../../../access/user-config.ts';
import type { Call, CallTo, Routes } from '../../../core/call.ts';
import { type Task, TaskInterrupted, unlessKilled } from '../../../core/tasks.ts';
import { dieFault } from '../../../http/response.ts';
import { isFalse } from '../../../schema/perl-text.ts';
import { freeVolume } from '../../../storage/allocate.ts';
import { activateStorage } from '../../../storage/space.ts';
import { findVolume, splitVolid } from '../../../storage/volumes.ts';
import { type ClonePlan, type CloneRequest, loadAndCheck } from '../../../vm/clone-plan.ts';
import { assertVmExists, createVm, emptyDraft, saveConfig } from '../../../vm/config/config-file.ts';
import { parseConfig } from '../../../vm/config/config-text.ts';
import { withVmLock } from '../../../vm/config/locking.ts';
import { cloneDisk } from '../../../vm/disks/clone-disk.ts';
import { printDrive } from '../../../vm/disks/drive.ts';
import { cancelMirrors, type MirrorJobs } from '../../../vm/disks/mirror.ts';
import { errorText } from '../../../vm/error-text.ts';
import { isServerSince } from '../../../world/releases.ts';
import type { Vm } from '../../../world/world.ts';

type CloneCall = CallTo<'POST /nodes/{node}/qemu/{vmid}/clone'>;

function clone(call: CloneCall): string {
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

function readRequest(call: CloneCall): CloneRequest {
  const { params, node } = call;
  const { vmid, target } = params;
  return {
    vmid,
    newid: params.newid,
    pool: params.pool,
    snapshot: params.snapname || undefined,
    storage: params.storage || undefined,
    format: params.format,
    target: target === node || target === 'localhost' ? undefined : target,
    full: params.full,
    name: params.name,
    description: params.description,
    bwlimitKiB: params.bwlimit || undefined,
    running: assertVmExists(call.runtime.world, node, vmid).process !== undefined,
  };
}

async function runClone(call: Call, request: CloneRequest, task: Task): Promise<void> {
  const plan = loadAndCheck(call, request);
  const { runtime, node } = call;
  const { newid, vmid } = request;
  task.record.target = newid;
  // Rule [source QS API2/Qemu.pm clone_vm of 9.1.5]: before 9.2 the log does not name the VMs.
  if (isServerSince(runtime.world, '9.2')) task.log(`creating a clone of VM ${vmid} with ID ${newid}`);
  completeConfig(call, request, plan);
  // Rule [source PC File.pm file_set_contents]: an id in use on another node is noticed only when the file is renamed.
  if (runtime.world.vms.has(newid) || runtime.world.containers.has(newid)) {
    throw dieFault(`close (rename) atomic file '/etc/pve/nodes/${node}/qemu-server/${newid}.conf' failed: File exists`);
  }
  // Rule [recorded clone-full-during]: at first the target has only a comment and a lock.
  const vm = createVm(runtime, node, newid, parseConfig('# qmclone temporary file\nlock: clone\n'));
  const created: string[] = [];
  const jobs: MirrorJobs = new Set();
  try {
    await copyDrives({ call, request, plan, vm, task, created, jobs });
  } catch (error) {
    unlessKilled(task);
    await cancelMirrors(runtime, jobs, (line) => task.log(line));
    await cleanUp(call, newid, created, task);
    throw dieFault(`clone failed: ${errorText(error)}`);
  }
}

interface CopyJob {
  readonly call: Call;
  readonly request: CloneRequest;
  readonly plan: ClonePlan;
  readonly vm: Vm;
  readonly task: Task;
  readonly created: string[];
  readonly jobs: MirrorJobs;
}

/** Time that the server spends besides copying: writing files, firewall, IPAM. */
const OVERHEAD_MS = 30;

async function copyDrives({ call, request, plan, vm, task, created, jobs }: CopyJob): Promise<void> {
  const { runtime, node } = call;
  const { config, drives, sections } = plan;
  await task.sleep(OVERHEAD_MS);
  activateVolumes(call, drives);
  for (const [index, { drive, full }] of drives.entries()) {
    const copied = await cloneDisk(runtime, {
      node,
      source: {
        key: drive.key,
        drive,
        snapshot: drive.isCloudInit ? undefined : request.snapshot,
        vmid: request.vmid,
      },
      target: { vmid: request.newid, key: drive.key, storage: request.storage, format: request.format },
      full,
      bwlimitKiB: request.bwlimitKiB,
      task,
      created,
      mirror: { jobs, completion: index < drives.length - 1 ? 'skip' : 'complete' },
    });
    config.set(drive.key, printDrive(copied));
    writeTarget(vm, config, sections);
    if (task.signal.aborted) throw new TaskInterrupted();
  }
  config.delete('lock');
  writeTarget(vm, config, { ...sections, ...discardPending(sections, task) });
  await task.sleep(OVERHEAD_MS);
  if (request.target !== undefined) vm.node = request.target;
  // Rule [source QS API2/Qemu.pm clone_vm]: membership of a pool comes last.
  if (request.pool !== undefined) await addVmToPool(runtime, vm.vmid, request.pool);
}

/**
 * Rule [source QS API2/Qemu.pm clone_vm]: all volumes are checked before the first is copied; cloud-init needs none.
 */
function activateVolumes(call: Call, drives: ClonePlan['drives']): void {
  const { world } = call.runtime;
  for (const { drive } of drives) {
    if (drive.isCloudInit || drive.file.startsWith('/')) continue;
    activateStorage(world, splitVolid(drive.file).storage, call.node);
    if (!findVolume(world, call.node, drive.file)) throw dieFault(`volume '${drive.file}' does not exist`);
  }
}

/** Rule [source QS API2/Qemu.pm clone_vm]: pending changes are copied along while the disks are, and dropped at the end. */
function discardPending(sections: ClonePlan['sections'], task: Task): Partial<ClonePlan['sections']> {
  const keys = [...sections.pending.keys(), ...(sections.pendingDeletes.size > 0 ? ['delete'] : [])];
  if (keys.length > 0) task.log(`found pending changes for '${keys.join(',')}', discarding for clone`);
  return { pending: new Map(), pendingDeletes: new Map() };
}

function writeTarget(vm: Vm, config: ReadonlyMap<string, string>, sections: ClonePlan['sections']): void {
  saveConfig(vm, {
    ...emptyDraft(),
    current: new Map(config),
    pending: new Map(sections.pending),
    pendingDeletes: new Map(sections.pendingDeletes),
    cloudInit: sections.cloudInit && new Map(sections.cloudInit),
  });
}

/** Rule [recorded clone-no-space]: volumes and configuration of a failed clone are removed, after a second of rest. */
async function cleanUp(call: Call, newid: number, created: readonly string[], task: Task): Promise<void> {
  await call.runtime.clock.sleep(1000);
  for (const volid of created) {
    try {
      await freeVolume(call.runtime, { node: call.node, volid, log: (line) => task.log(line) });
    } catch (error) {
      task.log(errorText(error));
    }
  }
  call.runtime.world.vms.delete(newid);
}

/** Rule [recorded clone-linked]: new uuid and generation id, never a template, always a name. */
function completeConfig(call: Call, request: CloneRequest, plan: ClonePlan): void {
  const { config, source } = plan;
  const { random } = call.runtime;
  const format = requiredFormat('smbios1');
  const smbios = parseProperty(format, config.get('smbios1') ?? '');
  const value = smbios.ok ? smbios.value : new PropertyValue();
  config.set('smbios1', printProperty(format, value.with('uuid', randomUuid(random))));
  const generation = config.get('vmgenid');
  if (generation && generation !== '0') config.set('vmgenid', randomUuid(random));
  config.delete('template');
  config.set('name', request.name || `Copy-of-VM-${source.get('name') ?? request.vmid}`);
  if (!isFalse(request.description)) config.set('description', request.description ?? '');
}

export const cloneRoutes: Routes = { 'POST /nodes/{node}/qemu/{vmid}/clone': clone };
