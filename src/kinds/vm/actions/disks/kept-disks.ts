/**
 * Kept disks while their VM is replaced. `vm.hold` makes the VM that holds them meanwhile, `vm.give-disk` hands a disk of the old
 * VM to it, `vm.take-disk` hands it to the new VM, and `vm.unhold` removes the holder. Proxmox renames the volume and copies
 * nothing. Every request carries the digests of both VMs as they were read and found to be ours, so one that arrives late, after
 * either VM has changed, is refused.
 */
import { keptAddress } from '../../../../base/address.ts';
import { patiently } from '../../../safety/rounds.ts';
import { runTask } from '../../../safety/tasks.ts';
import { parseDrive } from '../../config/disks.ts';
import { isProtected } from '../../diff/effects.ts';
import { holderConfig, lostDisk } from '../../holder.ts';
import { vmName } from '../../identity.ts';
import type { VmObserved } from '../../observed.ts';
import type { HandOverInput, HoldInput, UnholdInput } from '../../steps.ts';
import { configure } from '../configure.ts';
import type { VmAction, VmContext } from '../context.ts';
import { destroyVm, refuseHolding } from '../life/destroy.ts';
import { createVm } from '../life/make.ts';
import { forgetObserved, inRounds, knownVm, look, lookIfThere } from '../safety/look.ts';

/** A context for the VM that holds the disks of the step's VM. */
export function besideHolder(context: VmContext): VmContext {
  return context.beside(keptAddress(context.address));
}

export const holdDisks: VmAction<HoldInput> = async (context, { node, name, pool, of, planned }) => {
  const holder = besideHolder(context);
  await forgetIfGone(context, holder);
  const desired = holderConfig(of);
  const choice = { ...(pool !== undefined && { pool }), ...(planned !== undefined && { planned }) };
  await createVm(holder, { node, name, ...choice, desired });
  const { holds } = knownVm(holder);
  if (!holds) await holder.learn({ holds: { name: of, volumes: {} } });
  // Its ownership line gets the uuid, which is known only now; a reused holder may have lost its protection.
  await configure(holder, { desired });
};

/** A holder that another client removed while it was empty is made again. */
async function forgetIfGone(context: VmContext, holder: VmContext): Promise<void> {
  if (holder.recorded()?.uuid === undefined || (await patiently(holder, () => lookIfThere(holder)))) return;
  const { vmid, node, holds } = knownVm(holder);
  const vm = await patiently(context, () => look(context));
  const [lost] = Object.entries(holds?.volumes ?? {}).filter(([slot]) => !hasDrive(vm, slot));
  if (lost) throw lostDisk({ holder: holder.address, vmid, node, slot: lost[0], volume: lost[1], isHolderGone: true });
  await holder.forget();
}

export const giveDisk: VmAction<HandOverInput> = (context, { slot }) => {
  const holder = besideHolder(context);
  return handOver(context, slot, { from: context, to: holder, holder });
};

export const takeDisk: VmAction<HandOverInput> = (context, { slot }) => {
  const holder = besideHolder(context);
  return handOver(context, slot, { from: holder, to: context, holder });
};

interface Parties {
  readonly from: VmContext;
  readonly to: VmContext;
  readonly holder: VmContext;
}

function handOver(context: VmContext, slot: string, parties: Parties): Promise<void> {
  const { from, to, holder } = parties;
  return inRounds(context, `hand over ${slot} of`, async () => {
    const target = await look(to);
    if (hasDrive(target, slot)) return 'done';
    const source = await look(from);
    if (!source.current.has(slot)) {
      const { vmid, node, holds } = knownVm(holder);
      const volume = holds?.volumes[slot] ?? slot;
      return { stuck: lostDisk({ holder: holder.address, vmid, node, slot, volume, isHolderGone: false }) };
    }
    if (source.pending.has(slot) || source.pendingDeletes.has(slot)) await revert(from, source, slot);
    else await send(context, slot, { source, target, ...parties });
    return 'again';
  });
}

function hasDrive({ current, pending }: VmObserved, slot: string): boolean {
  return current.has(slot) || pending.has(slot);
}

/** A pending change concerns a drive that leaves the VM. */
async function revert(from: VmContext, { node, vmid, digest }: VmObserved, slot: string): Promise<void> {
  await from.pve.node(node).vm(vmid).config.put({ revert: slot, digest }, { signal: from.signal });
  forgetObserved(from);
}

async function send(
  context: VmContext,
  slot: string,
  { from, to, holder, source, target }: Parties & { readonly source: VmObserved; readonly target: VmObserved },
): Promise<void> {
  const { node, vmid } = source;
  const volume = parseDrive(slot, source.current.get(slot) ?? '').file;
  const { holds } = knownVm(holder);
  await holder.learn({ holds: { name: holds?.name ?? '', volumes: { ...holds?.volumes, [slot]: volume } } });
  const filedAs = `${vmid}-${slot}>${target.vmid}-${slot}`;
  const intent = { vmid, node, slot, volume, to: target.vmid, task: filedAs, sentAt: context.clock.now() };
  await context.intend(intent, { phase: 'incomplete' });
  context.progress(`hand ${slot} over to ${vmName(target)}`);
  for (const { observed } of [from, to]) observed.acted = true;
  await runTask(context, {
    what: `hand-over of ${slot} to ${vmName(target)}`,
    node,
    vmid,
    filedAs,
    type: 'qmmove',
    timeoutMs: context.timeouts.cloneMs,
    isOver: async () => hasDrive(await look(to), slot),
    send: () =>
      context.pve.node(node).vm(vmid).moveDisk(
        {
          disk: slot,
          'target-vmid': target.vmid,
          'target-disk': slot,
          digest: source.digest,
          'target-digest': target.digest,
        },
        { signal: context.signal },
      ),
  });
  for (const party of [from, to]) forgetObserved(party);
}

/**
 * Removes the holder. Removing its protection changes its digest: from then on Proxmox refuses every request of an
 * earlier run that would hand it a disk.
 */
export const unhold: VmAction<UnholdInput> = async (context, { destroysData }) => {
  const holder = besideHolder(context);
  if (holder.recorded() === undefined) return;
  await inRounds(holder, 'remove', async () => {
    const vm = await lookIfThere(holder);
    if (!vm || vm.lock === 'destroyed') return 'done';
    if (!destroysData) refuseHolding(holder, vm, 'all');
    if (!isProtected(vm.current)) return 'done';
    const { node, vmid, digest } = vm;
    await holder.intend({ vmid, node, keys: ['protection'] });
    holder.observed.acted = true;
    await holder.pve.node(node).vm(vmid).config.put({ delete: 'protection', digest }, { signal: holder.signal });
    forgetObserved(holder);
    return 'done';
  });
  await destroyVm(holder, { stop: 'stop', without: destroysData ? [] : 'all' });
};
