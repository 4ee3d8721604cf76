/** What the bulk actions of the cluster and of a node share: which guests, in which order, how many at once. */
import type { Call } from '../core/call.ts';
import type { Task } from '../core/tasks.ts';
import { isHaManaged } from '../ha/resources.ts';
import { ApiFault } from '../http/response.ts';
import { isTemplate } from '../vm/config/config-file.ts';
import type { Vm, World } from '../world/world.ts';

export interface GuestFilter {
  /** Undefined means every node. */
  readonly node?: string;
  /** Undefined means every guest, except those that HA manages. */
  readonly vmids: ReadonlySet<number> | undefined;
  readonly onlyOnBoot?: boolean;
  readonly withTemplates?: boolean;
}

/** Rule [source PM API2/Nodes.pm get_filtered_vmlist, get_start_stop_list]: by id; ids that do not exist are passed over. */
export function selectGuests(world: World, { node, vmids, onlyOnBoot, withTemplates }: GuestFilter): Vm[] {
  return [...world.vms.values()]
    .filter((vm) => (node === undefined || vm.node === node) && (vmids === undefined || vmids.has(vm.vmid)))
    .filter((vm) => withTemplates || !isTemplate(vm.config.current))
    .filter((vm) => vmids !== undefined || !isHaManaged(world, vm.vmid))
    .filter((vm) => !onlyOnBoot || vm.config.current.get('onboot') === '1')
    .sort((a, b) => a.vmid - b.vmid);
}

interface Startup {
  readonly order: number;
  /** Seconds to wait after the start. */
  readonly up: number | undefined;
  /** Seconds for the shutdown. */
  readonly down: number | undefined;
}

/** Rule [source PC JSONSchema.pm pve_parse_startup_order]: a bare number is the order; none comes last. */
export function startupOf(vm: Vm): Startup {
  const parts = new Map<string, number>();
  for (const part of (vm.config.current.get('startup') ?? '').split(/[,;\s]+/)) {
    const [, key = 'order', value] = /^(?:(order|up|down)=)?(\d+)$/.exec(part) ?? [];
    if (value !== undefined) parts.set(key, Number(value));
  }
  return { order: parts.get('order') ?? Number.MAX_SAFE_INTEGER, up: parts.get('up'), down: parts.get('down') };
}

/** Guests of the same order, one batch after the other; `reverse` for everything that ends guests. */
function batchesOf(guests: readonly Vm[], reverse: boolean): Vm[][] {
  const batches = new Map<number, Vm[]>();
  for (const vm of guests) {
    const { order } = startupOf(vm);
    batches.set(order, [...(batches.get(order) ?? []), vm]);
  }
  return [...batches].sort(([a], [b]) => (reverse ? b - a : a - b)).map(([, batch]) => batch);
}

export interface BatchWork {
  readonly guests: readonly Vm[];
  readonly reverse?: boolean;
  readonly maxWorkers: number;
  /** Starts the guest's own task and returns its UPID; undefined if there is nothing to wait for. */
  begin(vm: Vm): Promise<string | undefined>;
  /** Called at the end of each task; `failure` is its exit status unless it succeeded. */
  ended(vm: Vm, failure: string | undefined): Promise<void>;
}

/** Rule [source PM API2/Cluster/BulkAction/Guest.pm handle_task_foreach_guest]: looks once a second; batches do not overlap. */
export async function runBatches(call: Call, task: Task, work: BatchWork): Promise<void> {
  for (const batch of batchesOf(work.guests, work.reverse ?? false)) {
    const running = new Map<string, Vm>();
    const reap = async () => {
      for (const [upid, vm] of running) {
        const record = call.runtime.world.tasks.get(upid);
        if (record && record.exitStatus === undefined) continue;
        running.delete(upid);
        await work.ended(vm, failureOf(record?.exitStatus));
      }
    };
    for (const vm of batch) {
      while (running.size >= work.maxWorkers) {
        await reap();
        await task.sleep(1000);
      }
      const upid = await work.begin(vm);
      if (upid !== undefined) running.set(upid, vm);
    }
    while (running.size > 0) {
      await task.sleep(1000);
      await reap();
    }
  }
}

function failureOf(status: string | undefined): string | undefined {
  if (status === undefined) return 'could not query task status';
  return status === 'OK' || status.startsWith('WARNINGS') ? undefined : status;
}

/** Rule [source PM API2/Cluster/BulkAction/Guest.pm get_max_workers]: the parameter, then the datacenter's limit. */
export function configuredWorkers(world: World, sent: number | undefined): number | undefined {
  const limit = Number(world.datacenter.get('max_workers') ?? 0);
  return sent || limit || undefined;
}

/** Rule [source API Client LWP.pm]: a refusal is its status and its text. */
export function refusalText(error: unknown): string {
  if (!(error instanceof ApiFault)) return error instanceof Error ? error.message : String(error);
  const complaints = Object.entries(error.errors ?? {}).map(([name, text]) => `${name}: ${text}`);
  return [`${error.status} ${error.message.trimEnd()}`, ...complaints].join('\n');
}
