/**
 * Looking before acting: is this VM still the one we made? An id can be recycled, so identity is id and uuid, and it is
 * checked on the read that the next act rests on.
 */
import { invariant } from '../../../base/assert.ts';
import { ProxwrightError } from '../../../base/errors.ts';
import { isNotFound } from '../../../pve/index.ts';
import type { ActionContext } from '../../action.ts';
import type { VmMemory } from '../memory.ts';
import type { VmObserved } from '../observed.ts';
import { observedOf } from '../read.ts';

export type KnownVm = VmMemory & { readonly uuid: string };

/** The memory of a VM that has been read back once; anything else here is a plan in the wrong order. */
export function knownVm(context: ActionContext): KnownVm {
  const memory = context.memory();
  invariant(memory?.uuid !== undefined, `${context.address} has not been made yet.`);
  return { ...memory, uuid: memory.uuid };
}

/** `101 on pve1`. */
export function vmName({ vmid, node }: { readonly vmid: number; readonly node: string }): string {
  return `VM ${vmid} on ${node}`;
}

/** One read of a VM's configuration; undefined where that node has no such VM. Whether it runs is not asked. */
export async function readConfiguration(
  context: ActionContext,
  node: string,
  vmid: number,
): Promise<VmObserved | undefined> {
  try {
    const entries = await context.pve.node(node).vm(vmid).pending({ signal: context.signal });
    return observedOf(node, vmid, entries, false);
  } catch (error) {
    if (isNotFound(error, 'guest')) return undefined;
    throw error;
  }
}

/** Wherever the VM is now: somebody may have migrated it. Undefined where no node has the id. */
export async function findVm(context: ActionContext, node: string, vmid: number): Promise<VmObserved | undefined> {
  const there = await readConfiguration(context, node, vmid);
  if (there) return there;
  const { signal } = context;
  const resources = await context.pve.cluster.resources({ type: 'vm' }, { signal });
  const elsewhere = resources.find((resource) => resource.vmid === vmid && resource.node !== node)?.node;
  return elsewhere === undefined ? undefined : readConfiguration(context, elsewhere, vmid);
}

/** A fresh read of our VM, or undefined where it is gone. Refuses a stranger under its id. */
export async function lookIfThere(context: ActionContext): Promise<VmObserved | undefined> {
  const known = knownVm(context);
  context.sight.last = undefined;
  const vm = await findVm(context, known.node, known.vmid);
  if (!vm) return undefined;
  // While it is being destroyed nothing but the lock is left of a configuration, so there is no uuid to compare.
  if (vm.lock === 'destroyed' && vm.uuid === undefined) return vm;
  assertOurs(context, vm, known);
  if (vm.node !== known.node) await context.learn({ node: vm.node });
  context.sight.last = vm;
  return vm;
}

/** A fresh read of our VM. */
export async function look(context: ActionContext): Promise<VmObserved> {
  const vm = await lookIfThere(context);
  if (vm && vm.uuid !== undefined) return vm;
  const { vmid, node } = knownVm(context);
  throw new ProxwrightError({
    code: 'NOT_FOUND',
    detail: `${vmName({ vmid, node })} is gone: no node has it any more.`,
    where: { address: context.address },
    hint: 'Make a new plan: it will offer to create the VM again.',
  });
}

/** The last read of this run, or a fresh one. Only for acts that carry its digest, or that follow a read at once. */
export async function lastLook(context: ActionContext): Promise<VmObserved> {
  return context.sight.last ?? look(context);
}

/** What we did has outdated every earlier read. */
export function forgetSight(context: ActionContext): void {
  context.sight.last = undefined;
}

function assertOurs(context: ActionContext, vm: VmObserved, known: KnownVm): void {
  if (vm.uuid?.toLowerCase() === known.uuid.toLowerCase()) return;
  const name = vm.current.get('name');
  throw new ProxwrightError({
    code: 'NOT_OURS',
    detail:
      `${vmName(vm)}${name === undefined ? '' : ` ("${name}")`} has the uuid ${vm.uuid ?? '(none)'}, but ` +
      `${context.address} was made with ${known.uuid}: the id belongs to another VM now. Nothing was touched.`,
    where: { address: context.address },
    hint: 'If it is the same VM, restored from a backup: proxwright import --accept-identity. Otherwise: proxwright state recover',
  });
}
