/**
 * The lock of a VM, and the task that holds it. Proxmox locks a VM for the time of an operation. A worker that was killed, or
 * a node that went down, leaves the lock behind; then waiting does not help, and only root on the node can remove it.
 */

import type { Where } from '../../base/diagnostics.ts';
import { ProxwrightError } from '../../base/errors.ts';
import { nodeCommand, removeRemains } from '../../base/text/node-command.ts';
import { isNotFound, type Pve, type Upid } from '../../pve/index.ts';
import { vmName } from './identity.ts';
import { isHalfMade, readVm, type VmObserved } from './observed.ts';

export interface LockedVm {
  readonly vmid: number;
  readonly node: string;
  readonly lock: string;
}

export interface LockTask {
  readonly type: string;
  readonly user: string;
  /** Seconds since 1970. */
  readonly starttime: number;
}

export type LockHolder =
  | { readonly kind: 'task'; readonly task: LockTask }
  /** No task of the node could hold it. */
  | { readonly kind: 'none' }
  /** The token sees only its own tasks of that node, and none of those could hold it. */
  | { readonly kind: 'hidden'; readonly principal: string };

export type HeldLock = LockedVm & { readonly holder: LockHolder };

interface LockDeps {
  readonly pve: Pve;
  readonly signal?: AbortSignal | undefined;
}

/** Looks at the running tasks of the node once. */
export async function lockHolder(deps: LockDeps, vm: LockedVm): Promise<LockHolder> {
  const { pve, signal } = deps;
  const listed = await pve.node(vm.node).tasks.list({ source: 'active', limit: 500 }, { signal });
  for (const task of listed) {
    const isRunning = (task.status ?? 'RUNNING') === 'RUNNING';
    if (isRunning && (await mayHold(deps, vm, task))) return { kind: 'task', task };
  }
  return (await seesAllTasks(deps, vm.node)) ? { kind: 'none' } : { kind: 'hidden', principal: pve.principal };
}

/** An open console is a task too. */
const CONSOLE = /^(vnc|spice|term)/;

async function mayHold(
  deps: LockDeps,
  { vmid, node, lock }: LockedVm,
  { id, type, upid }: { readonly id: string; readonly type: string; readonly upid: Upid },
): Promise<boolean> {
  if (id === String(vmid) && type !== 'qmclone') return !CONSOLE.test(type);
  // A backup of several VMs has no id.
  if (lock === 'backup') return type === 'vzdump' && id === '';
  if (lock !== 'clone' || type !== 'qmclone') return false;
  const { target, hasEnded } = await cloneTarget(deps, node, upid);
  return target === undefined ? !hasEnded : target === vmid;
}

/** Proxmox lists a clone task under its source; only the log names the new id, since Proxmox VE 9.2. */
export async function cloneTarget(
  { pve, signal }: LockDeps,
  node: string,
  upid: Upid,
): Promise<{ readonly target: number | undefined; readonly hasEnded: boolean }> {
  const { entries } = await pve.node(node).tasks.log(upid, { start: 0, limit: 10 }, { signal });
  const named = entries.map(({ t }) => /^creating a clone of VM \d+ with ID (\d+)$/.exec(t)?.[1]).find(Boolean);
  const hasEnded = entries.some(({ t }) => t.startsWith('TASK '));
  return { target: named === undefined ? undefined : Number(named), hasEnded };
}

async function seesAllTasks({ pve, signal }: LockDeps, node: string): Promise<boolean> {
  if (pve.principal === 'root@pam') return true;
  const path = `/nodes/${node}`;
  const granted = await pve.access.permissions({ path }, { signal });
  return granted[path]?.['Sys.Audit'] === true;
}

type MaybeLocked = Pick<VmObserved, 'vmid' | 'node' | 'lock'>;

/** Whether a VM is half made and stays so: Proxmox has not finished creating it, and no task works on it. */
export function isStuck(held: HeldLock | undefined): held is HeldLock {
  return held !== undefined && isHalfMade(held) && held.holder.kind !== 'task';
}

/** For a plan: which tasks hold the locks of these VMs. A lock that disappears meanwhile is left out. */
export async function observeLocks(deps: LockDeps, vms: Iterable<MaybeLocked>): Promise<Map<number, HeldLock>> {
  const locked = [...vms].flatMap(({ vmid, node, lock }) => (lock === undefined ? [] : [{ vmid, node, lock }]));
  const held = await Promise.all(
    locked.map(async (vm): Promise<HeldLock | undefined> => {
      const first = await lockHolder(deps, vm);
      if (first.kind === 'task') return { ...vm, holder: first };
      // The task may have ended between the two reads.
      if ((await currentLock(deps, vm)) !== vm.lock) return undefined;
      return { ...vm, holder: await lockHolder(deps, vm) };
    }),
  );
  return new Map(held.flatMap((each) => (each ? [[each.vmid, each] as const] : [])));
}

/** Undefined if the VM is not locked, or not on this node any more. */
export async function currentLock(
  { pve, signal }: LockDeps,
  { node, vmid }: Omit<LockedVm, 'lock'>,
): Promise<string | undefined> {
  try {
    return (await readVm(pve, node, vmid, { running: false, signal })).lock;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** `the task vzdump of root@pam, running since 2026-01-05 10:00:00 UTC`. */
export function taskName({ type, user, starttime }: LockTask): string {
  const since = new Date(starttime * 1000)
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, ' UTC');
  return `the task ${type} of ${user}, running since ${since}`;
}

interface StaleLock {
  readonly vm: LockedVm;
  readonly holder: Exclude<LockHolder, { readonly kind: 'task' }>;
  readonly where: Where;
  /** `twice within 10 s`. */
  readonly checked?: string;
}

/** No task explains the lock: says what was checked, and the commands for root on the node. */
export function staleLock({ vm, holder, where, checked = 'twice' }: StaleLock): ProxwrightError {
  const { node, lock } = vm;
  const who = holder.kind === 'none' ? 'No task' : `No task of ${holder.principal}`;
  const limit =
    holder.kind === 'none'
      ? ''
      : ` It sees only its own tasks: Sys.Audit on /nodes/${node} would show those of other clients.`;
  return new ProxwrightError({
    code: 'STALE_LOCK',
    where,
    detail:
      lock === 'suspended'
        ? `${vmName(vm)} is hibernated (lock: suspended), and Proxmox refuses changes until it is resumed.`
        : `${vmName(vm)} is locked (${lock})${STATES[lock] ?? ''}. ${who} on ${node} works on it, checked ${checked}.${limit}`,
    hint: unlockHint({ ...vm, holder }),
  });
}

const HALF_MADE = ': Proxmox has not finished creating it, and it is not usable';

/** What a lock says about a VM that no task works on. */
const STATES: Readonly<Record<string, string>> = {
  clone: HALF_MADE,
  create: HALF_MADE,
  destroyed: ': a destroy was interrupted after it removed the disks, and only an empty configuration is left',
  rollback: ': a rollback was interrupted, and its disks may be only partly rolled back',
  migrate: ': a migration was interrupted',
};

/** The commands for root on the node, by what is left of the VM; empty while a task works on it. */
export function unlockHint({ vmid, node, lock, holder }: HeldLock): string {
  if (holder.kind === 'task') return '';
  const isCertain = holder.kind === 'none';
  const unlock = nodeCommand('qm unlock', [vmid]);
  const first = isCertain
    ? `As root on ${node}`
    : `If the task list of ${node} shows no task for it either, as root there`;
  if (lock === 'suspended') {
    return `Resume it on ${node}: ${nodeCommand('qm resume', [vmid])}. To discard the saved memory instead: ${unlock}. Then run the command again.`;
  }
  if (isHalfMade({ lock }) || lock === 'destroyed') {
    return `${first}, remove what is left of it: ${removeRemains(vmid)}. Then run the command again.`;
  }
  return `${first}, remove the lock: ${unlock}. Then run the command again.`;
}

/** Why a VM cannot be taken over or completed: Proxmox has not finished creating it. Undefined if it has. */
export async function halfMadeRefusal(
  deps: LockDeps,
  vm: MaybeLocked,
  where: Where,
): Promise<ProxwrightError | undefined> {
  const [held] = isHalfMade(vm) ? (await observeLocks(deps, [vm])).values() : [];
  return held && halfMadeError(held, where);
}

/** Never advises to import or recover it: its disks are incomplete. */
export function halfMadeError(held: HeldLock, where: Where): ProxwrightError {
  const { holder } = held;
  if (holder.kind !== 'task') return staleLock({ vm: held, holder, where });
  return new ProxwrightError({
    code: 'GUEST_LOCKED',
    where,
    detail: halfMadeText(held),
    hint: 'Wait until the task has ended, then run the command again.',
  });
}

export function halfMadeText(held: HeldLock): string {
  const { holder, lock } = held;
  const by = holder.kind === 'task' ? ` by ${taskName(holder.task)}` : '';
  return `${vmName(held)} is locked (${lock})${by}${HALF_MADE}.`;
}
