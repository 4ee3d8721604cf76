/** `vm.destroy`: removes our VM with everything that belongs to it. Succeeds if the VM is already gone. */

import { isFamily, ProxwrightError } from '../../../../base/errors.ts';
import { advice, command, setting } from '../../../../base/hint.ts';
import { nodeCommand } from '../../../../base/text/node-command.ts';
import { fromWireBoolean } from '../../../../pve/index.ts';
import { isCreationUnfinished } from '../../../recorded.ts';
import type { RoundEnd } from '../../../safety/rounds.ts';
import { follow, runningTasks, runTask } from '../../../safety/tasks.ts';
import { drivesOf, volumesOf } from '../../config/disks.ts';
import { vmName } from '../../identity.ts';
import type { VmObserved } from '../../observed.ts';
import type { DestroyInput } from '../../steps.ts';
import type { VmAction, VmContext } from '../context.ts';
import { removeAllSeeds } from '../disks/seed.ts';
import { releaseFromHa } from '../ha.ts';
import { isRunning, switchOff } from '../power.ts';
import { LockWatch } from '../safety/locked.ts';
import { forgetObserved, inRounds, knownVm, lookIfThere, sendToOurs } from '../safety/look.ts';

const DESTROY_MS = 10 * 60_000;

export const destroyVm: VmAction<DestroyInput> = async (context, input) => {
  // The record is gone: an earlier run was interrupted right after removing it.
  if (context.recorded() === undefined) return;
  try {
    await removeVm(context, input);
  } catch (error) {
    if (!input.mayStayInUse || !(isFamily(error, 'api') && error.code === 'IN_USE')) throw error;
    await context.warn({ ...error.with({ where: { address: context.address } }).diagnostic, severity: 'warning' });
    return;
  }
  await removeAllSeeds(context);
  await context.forget();
};

async function removeVm(context: VmContext, input: DestroyInput): Promise<void> {
  await inRounds(context, 'destroy', async () => {
    const vm = await lookIfThere(context);
    if (!vm) return 'done';
    if (vm.lock === 'destroyed') return finishUnderWay(context, vm);
    refuseProtected(context, vm);
    const runs = await isRunning(context, vm);
    const { stop } = input;
    if (runs && stop === 'refuse') throw stillRunning(context, vm);
    await releaseFromHa(context, vm);
    if (runs && stop !== 'refuse') {
      // A run that dies before the deletion leaves a VM that it stopped: the next apply starts or replaces it.
      const { power: _, ...lastApplied } = knownVm(context).lastApplied;
      await context.intend({ vmid: vm.vmid, node: vm.node, stop, sentAt: context.clock.now() }, { lastApplied });
      await switchOff(context, vm, stop);
      // Time has passed since the last read.
      return 'again';
    }
    // Waiting for the other deletions takes time; the request itself reads the identity of the VM again.
    await context.deleting(() => remove(context, vm, input));
    return 'done';
  });
}

/**
 * With the disks of its configuration. Volumes that only carry its id are in no plan, so they stay, except after a
 * creation that never finished: leftovers of a failed clone are ours.
 */
async function remove(context: VmContext, vm: VmObserved, { without }: DestroyInput): Promise<void> {
  const { node, vmid } = vm;
  // A disk that changed hands and was not attached carries the id of its new VM.
  const isWhole = without !== undefined || !isCreationUnfinished(knownVm(context));
  const leftovers = !isWhole && { 'destroy-unreferenced-disks': true };
  await context.intend({ vmid, node, destroy: true, sentAt: context.clock.now() });
  context.progress('destroy');
  const result = await runTask(context, {
    what: 'destroy',
    node,
    vmid,
    type: 'qmdestroy',
    timeoutMs: DESTROY_MS,
    isOver: async () => (await lookIfThere(context)) === undefined,
    send: () =>
      sendToOurs(context, vm, (options, observed) => {
        refuseProtected(context, observed);
        if (without) refuseHolding(context, observed, without);
        return context.pve
          .node(node)
          .vm(vmid)
          .destroy({ purge: true, ...leftovers }, options);
      }),
  });
  if (result?.outcome === 'warnings') nameVolumes(context, vm);
  forgetObserved(context);
}

/** Proxmox removes the VM even if it could not remove a volume, which would then stay unnoticed. */
function nameVolumes(context: VmContext, vm: VmObserved): void {
  const volumes = drivesOf(vm.current).flatMap(({ kind, file }) =>
    kind === 'disk' || kind === 'cloud-init' ? [file] : [],
  );
  if (volumes.length === 0) return;
  context.log.log(
    'warn',
    `${context.address}: ${vmName(vm)} is gone, but Proxmox could not remove all of its volumes. On ${vm.node}, remove those that are left: ${volumes.map((volume) => nodeCommand('pvesm free', [volume])).join('; ')}`,
    { vmid: vm.vmid },
  );
}

/** Only the lock is left of its configuration: either our own destroy task is running, or one was interrupted. */
async function finishUnderWay(context: VmContext, vm: VmObserved): Promise<RoundEnd> {
  const { node, vmid } = vm;
  const [upid] = await runningTasks(context, { node, id: vmid, type: 'qmdestroy' });
  if (upid !== undefined) {
    await follow(context, upid, { what: 'destroy', timeoutMs: DESTROY_MS });
    return 'again';
  }
  const watch = new LockWatch(context);
  await watch.refuseStale({ node, vmid, lock: 'destroyed' }, { isOwnTask: true });
  if (await lookIfThere(context)) throw watch.stillLocked({ node, vmid, lock: 'destroyed' });
  return 'again';
}

/** Checked before anything is stopped: a VM that stays must not be shut down for nothing. */
function refuseProtected(context: VmContext, vm: VmObserved): void {
  if (fromWireBoolean(vm.current.get('protection') ?? '0') !== true) return;
  throw new ProxwrightError({
    code: 'PROTECTED',
    detail: `${vmName(vm)} is protected against removal. ${soFar(context)}`,
    where: { address: context.address },
    hint: advice`Set ${setting('protection', false)} in the stack and apply it, or on the node: ${nodeCommand('qm set', [vm.vmid], { protection: 0 })}`,
  });
}

/** Its disks would go with it, and the plan said that they stay. */
export function refuseHolding(context: VmContext, vm: VmObserved, slots: readonly string[] | 'all'): void {
  const held = [vm.current, vm.pending].flatMap((values) =>
    volumesOf(values, slots === 'all' ? undefined : new Set(slots)),
  );
  const [first] = held;
  if (!first) return;
  throw new ProxwrightError({
    code: 'DATA_KEPT',
    detail: `${vmName(vm)} still has ${first.slot} (${first.volume}), a disk that the stack keeps. It was not destroyed.`,
    where: { address: context.address },
    hint: advice`Make a new plan: ${command('plan')}. It shows what happens to the disk.`,
  });
}

/** Another client may have set protection, or started the VM again, after this run stopped it. */
function soFar(context: VmContext): string {
  return context.observed.acted
    ? 'It was not removed, but this run had already changed or stopped it.'
    : 'Nothing was changed.';
}

function stillRunning(context: VmContext, vm: VmObserved): ProxwrightError {
  return new ProxwrightError({
    code: 'ALREADY_RUNNING',
    detail: `${vmName(vm)} is running, and running VMs are not to be destroyed. ${soFar(context)}`,
    where: { address: context.address },
    hint: 'Shut it down first, or let the command shut it down.',
  });
}
