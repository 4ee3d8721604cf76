/**
 * What the provider writes into the ownership line of a VM because it has no journal: that its creation is not complete, and
 * that it is about to be deleted.
 */
import { isCanceled, ProxwrightError } from '../../../base/errors.ts';
import { RunMemory, runStep } from '../../../engine/index.ts';
import { ON_ITS_WAY_MS } from '../../../kinds/safety/tasks.ts';
import type { DesiredOwnership, PackedEntry } from '../../../kinds/vm/config/packed.ts';
import { sameVm } from '../../../kinds/vm/identity.ts';
import { readVm, type VmObserved } from '../../../kinds/vm/observed.ts';
import { findOwnership, ownershipCounts } from '../../../kinds/vm/ownership.ts';
import type { VmRecord } from '../../../kinds/vm/record.ts';
import { ipsOfSeed } from '../../../kinds/vm/seed/addresses.ts';
import { vmStep } from '../../../kinds/vm/steps.ts';
import { isNotFound } from '../../../pve/index.ts';
import { JournalWriter } from '../../../state/journal.ts';
import { MemoryStore } from '../../../state/memory-store.ts';
import { textAt } from '../../adapter/attributes.ts';
import type { Deps } from '../../adapter/deps.ts';
import { stackOf, stateOf } from '../../adapter/engine-run.ts';
import type { Held } from '../../adapter/kind.ts';
import { isOffBecauseOfUs, type SoloVm, type VmPrivate, workOn } from './recorded.ts';

/**
 * The last step of a creation: without the mark, no later create resumes with the VM. Everything that the host receives
 * was read before, so only the answer follows. Throws only where the mark is still there, or where that is unknown.
 */
export async function removeMark(deps: Deps, solo: SoloVm, observed: VmObserved): Promise<void> {
  try {
    await runMarkStep(deps, solo, observed, solo.vm.fields.ownership === 'off' ? 'none' : 'complete');
  } catch (error) {
    // Ctrl-C may come between a write and its answer. Then what the server has decides.
    if (await isMarked(deps, observed).catch(() => true)) throw error;
  }
}

async function runMarkStep(deps: Deps, solo: SoloVm, observed: VmObserved, ownership: DesiredOwnership): Promise<void> {
  const { work, clock, random, log, ids, ports, limits, signal } = deps;
  const { vm } = solo;
  const { name, rollout } = stackOf(deps, workOn(solo));
  const label = deps.runLabel();
  const journal = new JournalWriter(new MemoryStore(), clock, label);
  const run = {
    pve: work,
    clock,
    random: random.fork(label),
    log,
    stackName: name,
    rollout,
    memory: new RunMemory(stateOf(deps, workOn(solo)), journal, { command: 'complete', who: 'terraform' }),
    lockedTicks: clock.ticks(),
    ids,
    ports,
    secret: () => undefined,
  };
  const ips = ipsOfSeed(vm.fields);
  const notes = { kind: 'notes', text: null, ownership, ...(ips !== undefined && { ips }) } as const;
  const desired: PackedEntry[] = [{ key: 'description', desired: notes }];
  const step = vmStep(vm.address, 'vm.configure', { desired }, { part: 'hand-over' });
  await runStep(run, step, { observed: { last: observed }, signs: limits.signs, signal });
}

async function isMarked({ work }: Deps, { node, vmid }: VmObserved): Promise<boolean> {
  const { current } = await readVm(work, node, vmid, { running: false });
  return findOwnership(current.get('description') ?? '')?.incomplete === true;
}

/**
 * A provider that is killed may have sent a DELETE that arrives later, and Proxmox takes no digest with it: it would destroy
 * whatever has the id by then. So before a VM is deleted that is off already, its notes say so; one that was running has the
 * task that switched it off. Where an earlier process has come as far as that, this one deletes nothing until no request of it
 * can arrive: they were all sent before this process began. Then the id can be used again.
 */
export async function beforeDeletion(
  deps: Deps,
  solo: SoloVm & { readonly recorded: VmRecord },
  { state, kept }: Held<VmPrivate>,
  leftovers: { readonly bornTicks: number },
): Promise<void> {
  if (textAt(state, 'status') === 'running') return;
  const { node, vmid } = solo.recorded;
  const vm = await readIfThere(deps, node, vmid);
  if (!vm || vm.running || !sameVm(solo.recorded, vm)) return;
  const owner = findOwnership(vm.current.get('description') ?? '');
  const isMarked = owner?.leaving === true && ownershipCounts(owner, vm);
  const isExpectedOn = (textAt(state, 'power') ?? 'running') === 'running';
  if (isMarked || kept.switchedOff || (isExpectedOn && (await isOffBecauseOfUs(deps, vm)))) {
    return outlast(deps, vm, leftovers.bornTicks);
  }
  if (solo.vm.fields.ownership === 'off') return;
  try {
    await runMarkStep(deps, solo, vm, 'leaving');
  } catch (error) {
    // What keeps the notes from being written also keeps the VM from being deleted, or does not matter to it.
    if (!(error instanceof ProxwrightError) || isCanceled(error)) throw error;
    deps.log.log('debug', `The notes of VM ${vmid} could not be written.`, { code: error.code });
  }
}

const LATE_POLL_MS = 5_000;

async function outlast(deps: Deps, { node, vmid }: VmObserved, bornTicks: number): Promise<void> {
  const { clock, log, signal } = deps;
  const restMs = () => bornTicks + ON_ITS_WAY_MS - clock.ticks();
  if (restMs() <= 0) return;
  const seconds = Math.ceil(restMs() / 1000);
  log.log(
    'info',
    `An earlier run began to delete VM ${vmid}. Waiting up to ${seconds} s for requests of it that may still arrive.`,
  );
  while (restMs() > 0 && (await readIfThere(deps, node, vmid))) {
    await clock.sleep(Math.min(LATE_POLL_MS, restMs()), signal);
  }
}

async function readIfThere({ work, signal }: Deps, node: string, vmid: number): Promise<VmObserved | undefined> {
  try {
    return await readVm(work, node, vmid, { running: false, signal });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
