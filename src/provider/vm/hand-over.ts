/**
 * The last act of a creation: the mark goes from the VM, which from then on is an ordinary one that nobody takes up again.
 * Everything the host is to be told has been read before, so that nothing but the answer lies between the two.
 */
import { RunMemory } from '../../engine/run-memory.ts';
import { runStep } from '../../engine/run-step.ts';
import { readVm, type VmObserved } from '../../kinds/vm/observed.ts';
import { findOwnership } from '../../kinds/vm/ownership.ts';
import type { PackedEntry } from '../../kinds/vm/packed.ts';
import { vmStep } from '../../kinds/vm/steps.ts';
import { JournalWriter } from '../../state/journal.ts';
import { MemoryStore } from '../../state/memory-store.ts';
import type { Surroundings } from '../surroundings.ts';
import { type SoloVm, soloStack, soloState } from './solo-session.ts';

/** `seen` is what the write rests on. Throws only where the mark is still there, or nobody can say. */
export async function handOver(
  surroundings: Surroundings,
  solo: SoloVm,
  seen: VmObserved,
  label: string,
): Promise<void> {
  try {
    await takeMarkAway(surroundings, solo, seen, label);
  } catch (error) {
    // Also Ctrl-C may come between a write and its answer: then what stands decides.
    if (await isMarked(surroundings, seen).catch(() => true)) throw error;
  }
}

async function takeMarkAway(surroundings: Surroundings, solo: SoloVm, seen: VmObserved, label: string): Promise<void> {
  const { work, clock, random, log, ids, ports, limits, signal } = surroundings;
  const { vm } = solo;
  const { name, rollout } = soloStack(surroundings, solo);
  const journal = new JournalWriter(new MemoryStore(), clock, label);
  const run = {
    pve: work,
    clock,
    random: random.fork(label),
    log,
    stackName: name,
    rollout,
    memory: new RunMemory(soloState(name, solo), journal, { command: 'hand over', who: 'terraform' }),
    ids,
    ports,
    secret: () => undefined,
  };
  const ownership = vm.fields.ownership === 'off' ? 'none' : 'complete';
  const desired: PackedEntry[] = [{ key: 'description', desired: { kind: 'notes', text: null, ownership } }];
  const step = vmStep(vm.address, 'vm.configure', { desired }, { part: 'hand-over' });
  await runStep(run, step, { observed: { last: seen }, signs: limits.signs, signal });
}

async function isMarked({ work }: Surroundings, { node, vmid }: VmObserved): Promise<boolean> {
  const { current } = await readVm(work, node, vmid, { running: false });
  return findOwnership(current.get('description') ?? '')?.incomplete === true;
}
