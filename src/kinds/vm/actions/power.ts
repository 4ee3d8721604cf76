/**
 * `vm.start`, `vm.stop`, `vm.restart` and `vm.ready`. Each wait has a time limit, and a VM that is already in the desired
 * power state is left alone.
 */

import { hasCode, invariant, isFamily, ProxwrightError } from '../../../base/errors.ts';
import { advice, setting } from '../../../base/hint.ts';
import { nodeCommand } from '../../../base/text/node-command.ts';
import { printDuration, upTo } from '../../../base/values/units.ts';
import { parseUpid, type TaskResult, type Upid } from '../../../pve/index.ts';
import { patiently } from '../../safety/rounds.ts';
import { follow, runningTasks, runTask } from '../../safety/tasks.ts';
import { vmName } from '../identity.ts';
import type { VmObserved } from '../observed.ts';
import { readyTarget } from '../ready/checks.ts';
import { waitUntilReady } from '../ready/wait.ts';
import type { ReadyInput, RestartInput, StartInput, StopInput } from '../steps.ts';
import type { VmAction, VmContext } from './context.ts';
import { changeEnded, forgetObserved, inRounds, knownVm, lastLook, look, sendToOurs } from './safety/look.ts';

/** Proxmox itself may add to a shutdown: it waits for the lock and pings the agent. */
const SHUTDOWN_MARGIN_MS = 30_000;
const POWER_POLL_MS = 2_000;
/** VMs that shut down at the same time share the list of their node. */
const SIGN_MS = 400;
/** A start follows the read that compared the VM directly; only the journal is written in between. */
const RECENT_MS = 250;

/** Succeeds if the VM is already running. Refuses to start a VM that was never read back and compared. */
export const startVm: VmAction<StartInput> = async (context, { mayBeUnderWay = false }) => {
  const { phase } = knownVm(context);
  invariant(phase === 'complete', `${context.address} has not been read back and compared, so it must not be started.`);
  await inRounds(context, 'start', async () => {
    const vm = await lastLook(context);
    const { node, vmid } = vm;
    if (mayBeUnderWay) await awaitEarlierStart(context, vm);
    await context.intend({ vmid, node, start: true, sentAt: context.clock.now() });
    context.progress('start');
    try {
      await powerTask(context, vm, {
        what: 'start',
        type: 'qmstart',
        timeoutMs: context.timeouts.startMs,
        reached: 'running',
        send: () =>
          sendToOurs(context, vm, (options) => context.pve.node(node).vm(vmid).status.start({}, options), {
            recentMs: RECENT_MS,
          }),
      });
      context.signs.started(vmid, bootLikeness(context));
    } catch (error) {
      if (!hasCode(error, 'ALREADY_RUNNING')) throw error;
      context.log.log('debug', `${context.address}: is already running`, { vmid });
    }
    forgetObserved(context);
    return 'done';
  });
};

/** Guests of one template on one node take equally long to boot, first boots and later ones counted apart. */
function bootLikeness(context: VmContext): string | undefined {
  const { node, source, addresses } = knownVm(context);
  const isFirst = Object.keys(addresses).length === 0;
  return source && `${node} ${source.vmid} ${isFirst ? 'first' : 'later'}`;
}

/** An earlier run may have left a start task running, for example when its login expired; a second one would fail. */
async function awaitEarlierStart(context: VmContext, { node, vmid }: VmObserved): Promise<void> {
  for (const upid of await runningTasks(context, { node, id: vmid, type: 'qmstart' })) {
    try {
      await follow(context, upid, { what: 'the start of an earlier run', timeoutMs: context.timeouts.startMs });
    } catch (error) {
      // The reason does not matter: the next attempt reports it.
      if (!(isFamily(error, 'busy') || hasCode(error, 'TASK_FAILED'))) throw error;
    }
  }
}

export const stopVm: VmAction<StopInput> = async (context, { how, asDeclared, forNow }) => {
  if (forNow) {
    const { power: _, ...lastApplied } = knownVm(context).lastApplied;
    await context.learn({ lastApplied });
  }
  await inRounds(context, how, async () => {
    const vm = await look(context);
    if (!(await isRunning(context, vm))) return 'done';
    await context.intend({ vmid: vm.vmid, node: vm.node, stop: how, sentAt: context.clock.now() });
    await switchOff(context, vm, how);
    return 'done';
  });
  if (!asDeclared) return;
  await context.learn({ lastApplied: { ...knownVm(context).lastApplied, power: 'stopped' }, ...changeEnded(context) });
};

/** Shuts the VM down and starts it, so that pending changes take effect. A VM that does not shut down is left running. */
export const restartVm: VmAction<RestartInput> = async (context, { reasons }) => {
  const vm = await patiently(context, () => look(context));
  if (!(await patiently(context, () => isRunning(context, vm)))) {
    context.log.log('debug', `${context.address}: is stopped, so there is nothing to restart`, { vmid: vm.vmid });
    return;
  }
  context.log.log('debug', `${context.address}: restart for ${reasons.join(', ')}`, { vmid: vm.vmid });
  await stopVm(context, { how: 'shutdown' });
  await startVm(context, {});
  const after = await patiently(context, () => look(context));
  const pending = [...after.pending.keys(), ...after.pendingDeletes];
  if (pending.length === 0) return;
  throw new ProxwrightError({
    code: 'CONFIG_CHANGED',
    detail: `${vmName(after)} was restarted and still has pending changes: ${pending.join(', ')}.`,
    where: { address: context.address },
    hint: 'The log of its start task says why they could not be applied.',
  });
};

export async function isRunning(context: VmContext, { node, vmid }: VmObserved): Promise<boolean> {
  const { status } = await context.pve.node(node).vm(vmid).status.current({ signal: context.signal });
  return status === 'running';
}

export async function switchOff(context: VmContext, vm: VmObserved, how: StopInput['how']): Promise<void> {
  const { node, vmid } = vm;
  const { shutdownMs } = context.timeouts;
  const { status } = context.pve.node(node).vm(vmid);
  context.progress(how);
  const since = context.clock.ticks();
  try {
    await powerTask(context, vm, {
      what: how,
      type: how === 'shutdown' ? 'qmshutdown' : 'qmstop',
      timeoutMs: shutdownMs + SHUTDOWN_MARGIN_MS,
      reached: 'stopped',
      isOver: async () => !(await isRunning(context, vm)),
      mayBeOver: async () => !(await context.signs.isRunning(node, vmid, SIGN_MS)),
      send: () =>
        sendToOurs(context, vm, (options) =>
          how === 'shutdown'
            ? status.shutdown({ timeout: Math.max(1, Math.ceil(shutdownMs / 1000)) }, options)
            : status.stop({}, options),
        ),
    });
  } catch (error) {
    throw how === 'shutdown' && isFamily(error, 'task')
      ? stubborn(context, vm, error, context.clock.ticks() - since)
      : error;
  }
  forgetObserved(context);
}

interface PowerRequest {
  readonly what: string;
  readonly type: string;
  readonly timeoutMs: number;
  readonly reached: 'running' | 'stopped';
  readonly isOver?: () => Promise<boolean>;
  readonly mayBeOver?: () => Promise<boolean>;
  readonly send: () => Promise<Upid>;
}

async function powerTask(context: VmContext, vm: VmObserved, request: PowerRequest): Promise<void> {
  const result = await runTask(context, { ...request, node: vm.node, vmid: vm.vmid });
  if (isOnlyFiled(result)) await untilPower(context, vm, request);
}

/** For a VM under HA, the task only files a request, which the HA manager executes later. */
export function isOnlyFiled(result: TaskResult | undefined): boolean {
  return result !== undefined && parseUpid(result.upid)?.type.startsWith('ha') === true;
}

async function untilPower(context: VmContext, vm: VmObserved, request: PowerRequest): Promise<void> {
  const deadline = context.clock.ticks() + request.timeoutMs;
  context.progress(upTo(`waiting for the HA manager: ${request.what}`, request.timeoutMs));
  while ((await isRunning(context, vm)) !== (request.reached === 'running')) {
    if (context.clock.ticks() >= deadline) {
      throw new ProxwrightError({
        code: 'TASK_TIMEOUT',
        detail: `${vmName(vm)} is managed by HA and was not ${request.reached} after ${printDuration(request.timeoutMs)}.`,
        where: { address: context.address },
        hint: `Check the HA status of the cluster: ${nodeCommand('ha-manager status', [])}`,
      });
    }
    await context.clock.sleep(POWER_POLL_MS, context.signal);
  }
}

function stubborn(context: VmContext, vm: VmObserved, error: ProxwrightError, tookMs: number): ProxwrightError {
  const { shutdownMs } = context.timeouts;
  // The task may also fail long before its time is up.
  const within = tookMs < shutdownMs ? '' : ` within ${printDuration(shutdownMs)}`;
  return error.with({
    detail: `${vmName(vm)} did not shut down${within} and is still running.\n${error.diagnostic.detail}`,
    where: { address: context.address },
    hint: advice`Shut the guest down from inside, allow more time (${setting('rollout.timeouts.shutdown')}), or stop it hard: ${nodeCommand('qm stop', [vm.vmid])}`,
  });
}

export const awaitReady: VmAction<ReadyInput> = async (context, { checks, nics }) => {
  const vm = knownVm(context);
  const target = readyTarget(context.address, { nics }, vm);
  const { addresses } = await waitUntilReady(context, target, checks);
  const { lastApplied } = knownVm(context);
  await context.learn({ addresses, lastApplied: { ...lastApplied, power: 'running' }, ...changeEnded(context) });
};
