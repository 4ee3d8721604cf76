/**
 * Reading before acting. An action reads the VM, acts if there is work, and reads again whenever the outcome is uncertain.
 * Every read checks that the VM is still ours.
 */
import { invariant, ProxwrightError } from '../../../../base/errors.ts';
import { type CallOptions, isNotFound } from '../../../../pve/index.ts';
import { inRounds as anyRounds, type RoundEnd } from '../../../safety/rounds.ts';
import { notOurs, sameVm, vmName } from '../../identity.ts';
import { observedOf, type VmObserved } from '../../observed.ts';
import type { VmRecord } from '../../record.ts';
import type { VmContext } from '../context.ts';
import { whileTaskLocks } from './locked.ts';

type KnownVm = VmRecord & { readonly uuid: string };

/** The record of a VM that has been read back once. If it is missing, the steps of the plan are in the wrong order. */
export function knownVm(context: VmContext): KnownVm {
  const recorded = context.recorded();
  invariant(recorded?.uuid !== undefined, `${context.address} has not been made yet.`);
  return { ...recorded, uuid: recorded.uuid };
}

/** The next change takes its own snapshot. */
export function changeEnded(context: VmContext): Pick<VmRecord, 'guardedBy'> {
  const { guardedBy = [] } = knownVm(context);
  return guardedBy.length > 0 ? { guardedBy: [] } : {};
}

/** One read of a VM's configuration; undefined if the node has no such VM. Does not ask whether the VM runs. */
async function readConfiguration(
  context: VmContext,
  node: string,
  vmid: number,
  options: CallOptions = { signal: context.signal },
): Promise<VmObserved | undefined> {
  try {
    const entries = await context.pve.node(node).vm(vmid).pending(options);
    return observedOf(node, vmid, entries, false);
  } catch (error) {
    if (isNotFound(error, 'guest')) return undefined;
    throw error;
  }
}

/** Finds the VM on any node, because another client may have migrated it. Undefined if no node has the id. */
export async function findVm(context: VmContext, node: string, vmid: number): Promise<VmObserved | undefined> {
  const there = await readConfiguration(context, node, vmid);
  if (there) return there;
  const { signal } = context;
  const resources = await context.pve.cluster.resources({ type: 'vm' }, { signal });
  const elsewhere = resources.find((resource) => resource.vmid === vmid && resource.node !== node)?.node;
  return elsewhere === undefined ? undefined : readConfiguration(context, elsewhere, vmid);
}

/** A fresh read of our VM, or undefined if it is gone. Refuses another VM under the same id. */
export async function lookIfThere(context: VmContext): Promise<VmObserved | undefined> {
  const known = knownVm(context);
  context.observed.last = undefined;
  context.observed.askedAt = context.clock.ticks();
  const vm = await findVm(context, known.node, known.vmid);
  if (!vm) return undefined;
  // While Proxmox destroys a VM, only the lock is left in its configuration: there is no uuid to compare.
  if (vm.lock === 'destroyed' && vm.uuid === undefined) return vm;
  if (!sameVm(known, vm)) {
    throw notOurs({ address: context.address, recorded: known, observed: vm, acted: context.observed.acted });
  }
  if (vm.node !== known.node) await context.learn({ node: vm.node });
  context.observed.last = vm;
  return vm;
}

/** A fresh read of our VM. */
export async function look(context: VmContext): Promise<VmObserved> {
  const vm = await lookIfThere(context);
  if (vm && vm.uuid !== undefined) return vm;
  const { vmid, node } = knownVm(context);
  throw new ProxwrightError({
    code: 'NOT_FOUND',
    detail: `${vmName({ vmid, node })} is gone: no node has it.`,
    where: { address: context.address },
    hint: 'Make a new plan: it will offer to create the VM again.',
  });
}

/** The last read of this run, or a fresh one. Only for writes that carry its digest, or that follow a read directly. */
export async function lastLook(context: VmContext): Promise<VmObserved> {
  return context.observed.last ?? look(context);
}

/**
 * Sends a request for which Proxmox accepts no digest, right after reading that the VM is still ours: everything else
 * was read and journaled before, and nothing happens between the two. If the id changes hands within this one round
 * trip, no client can notice. `send` must pass the options on; it does not retry, because the next attempt has to read
 * again. A request that destroys nothing may rely on a read that was sent at most `recentMs` ago, about one round trip.
 */
export function sendToOurs<T>(
  context: VmContext,
  { node, vmid }: Pick<VmObserved, 'node' | 'vmid'>,
  send: (options: CallOptions, observed: VmObserved) => Promise<T>,
  { recentMs = 0 }: { readonly recentMs?: number } = {},
): Promise<T> {
  const known = knownVm(context);
  return context.pve.inOneSlot(async (options) => {
    // Short, so that the time of the journaled intent is that of the request.
    const observed =
      recentLook(context, recentMs) ??
      (await readConfiguration(context, node, vmid, { ...options, timeoutMs: IDENTITY_MS, attempts: 1 }));
    if (!observed) throw goneMeanwhile(context, { node, vmid });
    if (!sameVm(known, observed)) {
      throw notOurs({ address: context.address, recorded: known, observed, acted: context.observed.acted });
    }
    context.observed.acted = true;
    return send({ ...options, attempts: 1 }, observed);
  }, context.signal);
}

const IDENTITY_MS = 15_000;

/** Counted from when the read was sent: a slow answer may be outdated when it arrives. */
function recentLook({ clock, observed: { last, askedAt } }: VmContext, recentMs: number): VmObserved | undefined {
  return askedAt !== undefined && clock.ticks() - askedAt < recentMs ? last : undefined;
}

/** The next round finds out where it is. */
function goneMeanwhile(context: VmContext, vm: Pick<VmObserved, 'node' | 'vmid'>): ProxwrightError {
  return new ProxwrightError({
    code: 'CONFIG_CHANGED',
    detail: `${vmName(vm)} is no longer there: it was removed or moved a moment ago.`,
    where: { address: context.address },
    hint: 'Make a new plan.',
  });
}

/** Call after a write: it has outdated every earlier read. */
export function forgetObserved(context: VmContext): void {
  context.observed.last = undefined;
}

/** The rounds of a VM wait for its lock only while a task holds it, and each failure outdates what was read. */
export function inRounds(context: VmContext, what: string, round: () => Promise<RoundEnd>): Promise<void> {
  return anyRounds(context, what, round, {
    whileBusy: (subject, work) => whileTaskLocks(context, subject, () => context.recorded(), work),
    afterFailure: () => forgetObserved(context),
  });
}
