/** /cluster/bulk-action: one task that starts, ends, suspends or migrates many guests through their own endpoints. */
import type { Call, CallTo, Routes } from '../../core/call.ts';
import type { Task } from '../../core/tasks.ts';
import { dieFault } from '../../http/response.ts';
import type { RawParams } from '../../schema/types.ts';
import { isPaused } from '../../vm/power/suspend.ts';
import type { Vm } from '../../world/world.ts';
import { configuredWorkers, refusalText, runBatches, selectGuests, startupOf } from '../guest-batches.ts';
import { indexOf } from '../indexes.ts';

export const bulkActionRoutes: Routes = {
  'GET /cluster/bulk-action': () => indexOf('name', ['guest']),
  'GET /cluster/bulk-action/guest': () => indexOf('name', ['start', 'shutdown', 'migrate', 'suspend']),
  'POST /cluster/bulk-action/guest/start': start,
  'POST /cluster/bulk-action/guest/shutdown': shutdown,
  'POST /cluster/bulk-action/guest/suspend': suspend,
  'POST /cluster/bulk-action/guest/migrate': migrate,
};

interface BulkParams {
  readonly vms?: readonly number[];
  readonly 'max-workers'?: number;
  readonly maxworkers?: number;
}

interface BulkAction {
  /** Of the worker: `bulk-start`. */
  readonly task: string;
  /** `Starting`: begins every line of the log. */
  readonly verb: string;
  /** Precedes the failed ids in the task's error. */
  readonly failure: string;
  readonly defaultWorkers: number;
  readonly reverse?: boolean;
  readonly withTemplates?: boolean;
  /** Follows "guests" in the first line: ` to pve2`. */
  readonly suffix?: string;
  /** The verb for a failed task, if it differs. */
  readonly failedVerb?: string;
  /** Why the guest is skipped. */
  skip(vm: Vm): string | undefined;
  /** The end of its path below the guest, and the parameters. */
  request(vm: Vm): { readonly path: string; readonly params: RawParams; readonly line: string };
  afterwards?(vm: Vm, task: Task): Promise<void>;
}

/** Rule [source PM API2/Cluster/BulkAction/Guest.pm start]: what is paused is resumed. */
function start(call: CallTo<'POST /cluster/bulk-action/guest/start'>): string {
  checkGuests(call, ['VM.PowerMgmt']);
  const { timeout } = call.params;
  return forkBulk(call, {
    task: 'bulk-start',
    verb: 'Starting',
    failure: 'Some guests failed to start:',
    defaultWorkers: 4,
    skip: (vm) => (vm.process && !isPaused(vm) ? `Skipping VM ${vm.vmid}, already running.` : undefined),
    request: (vm) => ({
      path: vm.process ? 'status/resume' : 'status/start',
      params: timeout === undefined || vm.process ? {} : { timeout },
      line: `Starting VM ${vm.vmid}`,
    }),
    afterwards: async (vm, task) => {
      const { up = 0 } = startupOf(vm);
      if (up === 0) return;
      task.log(`Waiting for ${up} seconds (startup delay)`);
      await task.sleep(up * 1000);
    },
  });
}

function shutdown(call: CallTo<'POST /cluster/bulk-action/guest/shutdown'>): string {
  checkGuests(call, ['VM.PowerMgmt']);
  const { timeout = 180, 'force-stop': forceStop } = call.params;
  const seconds = (vm: Vm) => startupOf(vm).down ?? timeout;
  return forkBulk(call, {
    task: 'bulk-shutdown',
    verb: 'Shutting down',
    failedVerb: 'Stopping',
    failure: 'Some guests failed to shutdown',
    defaultWorkers: 4,
    reverse: true,
    skip: (vm) => {
      if (!vm.process) return `Skipping VM ${vm.vmid}, not running.`;
      return isPaused(vm) && !forceStop ? `Skipping VM ${vm.vmid}, resume paused VM before shutdown.` : undefined;
    },
    request: (vm) => ({
      path: 'status/shutdown',
      params: { forceStop: (forceStop ?? true) ? 1 : 0, timeout: seconds(vm) },
      line: `Shutting down VM ${vm.vmid} (Timeout = ${seconds(vm)} seconds)`,
    }),
  });
}

function suspend(call: CallTo<'POST /cluster/bulk-action/guest/suspend'>): string {
  checkGuests(call, ['VM.PowerMgmt']);
  const { 'to-disk': toDisk = false, statestorage } = call.params;
  if (toDisk) {
    checkGuests(call, ['VM.Config.Disk']);
    if (statestorage !== undefined) call.require(`/storage/${statestorage}`, ['Datastore.AllocateSpace']);
  }
  return forkBulk(call, {
    task: 'bulk-suspend',
    verb: 'Suspending',
    failedVerb: 'Stopping',
    failure: 'Some guests failed to suspend',
    defaultWorkers: 4,
    reverse: true,
    skip: (vm) => (vm.process ? undefined : `Skipping VM ${vm.vmid}, not running.`),
    request: (vm) => ({
      path: 'status/suspend',
      params: { todisk: toDisk ? 1 : 0, ...(toDisk && statestorage !== undefined && { statestorage }) },
      line: `Suspending VM ${vm.vmid}`,
    }),
  });
}

function migrate(call: CallTo<'POST /cluster/bulk-action/guest/migrate'>): string {
  checkGuests(call, ['VM.Migrate']);
  const { target, online, 'with-local-disks': withLocalDisks } = call.params;
  return forkBulk(call, {
    task: 'bulk-migrate',
    verb: 'Migrating',
    suffix: ` to ${target}`,
    failure: 'Some guests failed to migrate',
    defaultWorkers: 1,
    withTemplates: true,
    skip: (vm) => (vm.node === target ? `VM ${vm.vmid} already on ${target}, skipping.` : undefined),
    request: (vm) => ({
      path: 'migrate',
      params: {
        target,
        ...(online !== undefined && { online: online ? 1 : 0 }),
        ...(withLocalDisks !== undefined && { 'with-local-disks': withLocalDisks ? 1 : 0 }),
      },
      line: `Migrating VM ${vm.vmid}`,
    }),
  });
}

/** Rule [recorded bulk-action-guests]: on each of the guests that are named; without names on everything. */
function checkGuests(call: Call<BulkParams>, privileges: readonly string[]): void {
  const vmids = call.params.vms ?? [];
  for (const vmid of vmids) call.require(`/vms/${vmid}`, privileges);
  if (vmids.length === 0) call.require('/', privileges);
}

function forkBulk(call: Call<BulkParams>, action: BulkAction): string {
  const { world } = call.runtime;
  const { vms, 'max-workers': maxWorkers, maxworkers } = call.params;
  const { verb, suffix = '' } = action;
  return call.fork(action.task, '', async (task) => {
    const guests = selectGuests(world, { ...action, vmids: vms && new Set(vms) });
    task.log(vms ? `${verb} guests${suffix}: ${vms.join(', ')}` : `${verb} all guests${suffix}`);
    const failed: number[] = [];
    await runBatches(call, task, {
      guests,
      reverse: action.reverse ?? false,
      maxWorkers: configuredWorkers(world, maxWorkers ?? maxworkers) ?? action.defaultWorkers,
      begin: async (vm) => {
        const reason = action.skip(vm);
        if (reason !== undefined) {
          task.warn(reason);
          return undefined;
        }
        const { path, params, line } = action.request(vm);
        task.log(line);
        try {
          return String(await call.request('POST', `/nodes/${vm.node}/qemu/${vm.vmid}/${path}`, params));
        } catch (error) {
          task.warn(refusalText(error));
          failed.push(vm.vmid);
          return undefined;
        }
      },
      ended: async (vm, failure) => {
        if (failure === undefined) return action.afterwards?.(vm, task);
        task.warn(`${action.failedVerb ?? verb} VM ${vm.vmid} failed: ${failure}`);
        failed.push(vm.vmid);
      },
    });
    if (failed.length > 0) throw dieFault(`${action.failure} ${failed.join(', ')}`);
  });
}
