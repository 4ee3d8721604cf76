/** /nodes/{node}/{startall,stopall,suspendall,migrateall}: the guests of one node, as at boot and shutdown of the host. */
import type { Call, CallTo, Routes } from '../../core/call.ts';
import type { Task } from '../../core/tasks.ts';
import { dieFault, paramFault, permFault } from '../../http/response.ts';
import { splitList } from '../../schema/perl-text.ts';
import type { RawParams } from '../../schema/types.ts';
import type { Vm } from '../../world/world.ts';
import { configuredWorkers, refusalText, runBatches, selectGuests, startupOf } from '../guest-batches.ts';

export const allGuestsRoutes: Routes = {
  'POST /nodes/{node}/startall': startAll,
  'POST /nodes/{node}/stopall': stopAll,
  'POST /nodes/{node}/suspendall': suspendAll,
  'POST /nodes/{node}/migrateall': migrateAll,
};

interface NodeParams {
  readonly vms?: string;
  readonly 'max-workers'?: number;
}

/** Rule [source PM API2/Nodes.pm startall]: only guests with `onboot`, unless forced; 3 s between two starts. */
const START_DELAY_SECONDS = 3;
const MOST_WORKERS = 8;

function startAll(call: CallTo<'POST /nodes/{node}/startall'>): string {
  checkGuests(call, ['VM.PowerMgmt']);
  return call.fork('startall', '', async (task) => {
    const guests = guestsOf(call, { onlyOnBoot: !call.params.force });
    await runBatches(call, task, {
      guests,
      maxWorkers: workers(call),
      begin: async (vm) => {
        if (vm.process) return undefined;
        const upid = await begin(call, task, vm, `Starting VM ${vm.vmid}`, 'status/start', {});
        const { up } = startupOf(vm);
        if (up) task.log(`Waiting for ${up} seconds (startup delay)`);
        await task.sleep((up ?? START_DELAY_SECONDS) * 1000);
        return upid;
      },
      ended: async (vm, failure) => {
        if (failure !== undefined) task.log(`Starting VM ${vm.vmid} failed: ${failure}`);
      },
    });
  });
}

function stopAll(call: CallTo<'POST /nodes/{node}/stopall'>): string {
  checkGuests(call, ['VM.PowerMgmt']);
  const { timeout = 180, 'force-stop': forceStop = true } = call.params;
  return call.fork('stopall', '', (task) =>
    endGuests(call, task, (vm) => {
      if (!vm.process) return undefined;
      const seconds = startupOf(vm).down ?? timeout;
      const line = `Stopping VM ${vm.vmid} (timeout = ${seconds} seconds)`;
      return begin(call, task, vm, line, 'status/shutdown', { timeout: seconds, forceStop: forceStop ? 1 : 0 });
    }),
  );
}

/** Rule [source PM API2/Nodes.pm suspendall]: always to disk, where each guest's own check looks at the storage. */
function suspendAll(call: CallTo<'POST /nodes/{node}/suspendall'>): string {
  checkGuests(call, ['VM.PowerMgmt', 'VM.Config.Disk'], ['VM.PowerMgmt']);
  return call.fork('suspendall', '', (task) =>
    endGuests(call, task, (vm) => {
      if (vm.process) return begin(call, task, vm, `Suspending VM ${vm.vmid}`, 'status/suspend', { todisk: 1 });
      task.log(`VM ${vm.vmid} not running, skipping suspension`);
      return undefined;
    }),
  );
}

/** Guests with the highest order first, and of one order the highest id. */
async function endGuests(
  call: Call<NodeParams>,
  task: Task,
  end: (vm: Vm) => Promise<string | undefined> | undefined,
): Promise<void> {
  await runBatches(call, task, {
    guests: guestsOf(call).reverse(),
    reverse: true,
    maxWorkers: workers(call),
    begin: async (vm) => end(vm),
    ended: async () => {},
  });
}

function migrateAll(call: CallTo<'POST /nodes/{node}/migrateall'>): string {
  checkGuests(call, ['VM.Migrate']);
  const { world } = call.runtime;
  const { target, 'with-local-disks': withLocalDisks, 'max-workers': sent, maxworkers } = call.params;
  if (target === call.node) throw paramFault({ target: 'target is local node.' });
  if (!world.nodes.has(target)) throw dieFault(`no such cluster node '${target}'`);
  const maxWorkers = configuredWorkers(world, sent ?? maxworkers);
  if (maxWorkers === undefined) {
    throw dieFault("either 'max-workers' parameter or max_workers in datacenter.cfg must be set!");
  }
  return call.fork('migrateall', '', async (task) => {
    const guests = guestsOf(call, { withTemplates: true });
    if (guests.length === 0) return task.log('no virtual guests matched, nothing to do..');
    let started = 0;
    await runBatches(call, task, {
      guests,
      maxWorkers,
      begin: async (vm) => {
        const obstacles = await migrationObstacles(call, vm, target, withLocalDisks ?? false);
        if (obstacles.length > 0) {
          task.log(`Check VM ${vm.vmid}: skip VM ${vm.vmid} - precondition check failed:\n${obstacles.join('\n')}`);
          return undefined;
        }
        task.log(`Check VM ${vm.vmid}: precondition check passed`);
        const params = { target, online: vm.process ? 1 : 0, ...(withLocalDisks && { 'with-local-disks': 1 }) };
        const upid = await begin(call, task, vm, `Migrating VM ${vm.vmid}`, 'migrate', params);
        if (upid !== undefined) started++;
        return upid;
      },
      ended: async () => {},
    });
    if (started === 0) throw dieFault('no migrations worker started...');
    task.log(`All jobs finished, used ${started} workers in total.`);
  });
}

interface Preconditions {
  readonly local_disks: readonly { readonly volid: string }[];
  readonly local_resources: readonly string[];
  readonly not_allowed_nodes: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
}

/** Rule [source PM API2/Nodes.pm $create_migrate_worker]. */
async function migrationObstacles(call: Call, vm: Vm, target: string, withLocalDisks: boolean): Promise<string[]> {
  const path = `/nodes/${vm.node}/qemu/${vm.vmid}/migrate`;
  const found = (await call.request('GET', path, { target })) as Preconditions; // our own handler's answer
  const { unavailable_storages: storages = [], 'unavailable-resources': resources = [] } =
    found.not_allowed_nodes[target] ?? {};
  const disks = vm.process && !withLocalDisks ? found.local_disks.map(({ volid }) => volid) : [];
  const lists: [string, readonly string[]][] = [
    ['local disks', disks],
    ['local resources', found.local_resources],
    ['unavailable storages', storages],
    ['unavailable resources', resources],
  ];
  return lists.filter(([, names]) => names.length > 0).map(([what, names]) => `  Has ${what}: ${names.join(', ')}`);
}

/** Rule [source PM API2/Nodes.pm startall]: on everything, or on each of the guests that are named. */
function checkGuests(call: Call<NodeParams>, onAll: readonly string[], onEach: readonly string[] = onAll): void {
  if (call.may('/', onAll)) return;
  const vmids = splitList(call.params.vms ?? '');
  if (vmids.length === 0) throw permFault(`/, ${onAll.join(' && ')}`);
  for (const vmid of vmids) call.require(`/vms/${vmid}`, onEach);
}

function guestsOf(
  call: Call<NodeParams>,
  which: { readonly onlyOnBoot?: boolean; readonly withTemplates?: boolean } = {},
): Vm[] {
  const { vms } = call.params;
  const vmids = vms === undefined ? undefined : new Set(splitList(vms).map(Number));
  return selectGuests(call.runtime.world, { ...which, node: call.node, vmids });
}

/** Rule [source PM API2/Nodes.pm get_max_workers]: one processor is left to the host. */
function workers(call: Call<NodeParams>): number {
  const { world } = call.runtime;
  const cpus = world.nodes.get(call.node)?.cpus ?? 1;
  return configuredWorkers(world, call.params['max-workers']) ?? Math.min(Math.max(1, cpus - 1), MOST_WORKERS);
}

/** A guest that refuses is a line in the log; the others continue. */
async function begin(
  call: Call,
  task: Task,
  vm: Vm,
  line: string,
  path: string,
  params: RawParams,
): Promise<string | undefined> {
  task.log(line);
  try {
    return String(await call.request('POST', `/nodes/${vm.node}/qemu/${vm.vmid}/${path}`, params));
  } catch (error) {
    task.log(refusalText(error));
    return undefined;
  }
}
