/**
 * Changes of the state that are not applies: import, move, forget, recover, restore. Each is a small run of its own: it
 * holds the lock, stands in the journal, and leaves a backup of what was there before.
 */

import type { Clock } from '../base/clock.ts';
import { closest } from '../base/closest.ts';
import { hasCode, ProxwrightError } from '../base/errors.ts';
import { advice, command } from '../base/hint.ts';
import type { Random } from '../base/random.ts';
import { emptyState, type StackState } from '../kinds/recorded.ts';
import type { VmRecord } from '../kinds/vm/record.ts';
import { openSteps } from '../state/events.ts';
import { JournalWriter, nextRunId, unfinishedRuns } from '../state/journal.ts';
import { readState, writeState } from '../state/state-file.ts';
import type { LockOwner, StateStore } from '../state/store.ts';
import { RunMemory, recordEdit } from './run-memory.ts';

export interface EditDoors {
  readonly store: StateStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly stackName: string;
  readonly owner: Omit<LockOwner, 'runId' | 'since'>;
}

export interface EditOptions {
  /**
   * An unfinished run is folded into the state by the next apply, over whatever was changed meanwhile. So it has to be
   * taken up first, unless the edit is made for just that case.
   */
  readonly unfinished?: 'refuse' | 'allow';
  /** What the edit starts from, instead of the state file. */
  readonly state?: StackState;
}

/** Works on the memory of a run; what it holds in the end is written. */
export async function editState<Result>(
  doors: EditDoors,
  edit: (memory: RunMemory, runId: string) => Promise<Result>,
  options: EditOptions = {},
): Promise<Result> {
  const { store, clock, random, owner, stackName } = doors;
  const since = new Date(clock.now()).toISOString();
  const runId = await nextRunId(store, clock.now(), random);
  const lock = await store.lock({ ...owner, runId, since });
  try {
    if (options.unfinished !== 'allow') await refuseUnfinished(store);
    const state = options.state ?? (await readState(store, stackName));
    const memory = new RunMemory(state, new JournalWriter(store, clock, runId), owner);
    await memory.record({ event: 'planned', steps: [] });
    try {
      const result = await edit(memory, runId);
      await writeState(store, memory.state);
      await memory.record({ event: 'runEnded', outcome: 'done' });
      return result;
    } catch (error) {
      await memory.record({ event: 'runEnded', outcome: 'failed' });
      throw error;
    }
  } finally {
    await lock.release();
  }
}

/** The VM at `from` is called `to` from now on; the cluster is not asked. */
export async function moveAddress(doors: EditDoors, from: string, to: string): Promise<VmRecord> {
  return editState(doors, async (memory) => {
    const vm = knownVm(memory.state, from);
    const taken = memory.state.vms[to];
    if (taken) {
      throw new ProxwrightError({
        code: 'BAD_VALUE',
        detail: `"${to}" is VM ${taken.vmid} (${taken.name}) already.`,
        hint: advice`Move that one away first, or forget it: ${command('state forget', to)}`,
      });
    }
    await memory.recordEdit('state/mv', to, [{ event: 'moved', from, to }]);
    return vm;
  });
}

/**
 * The VM stays as it is, but is no longer ours; what an unfinished run began on it is left alone, too. Undefined where
 * only such a run knew it. `letGo` is called while it is still known; where it fails, nothing is forgotten.
 */
export async function forgetAddress(
  doors: EditDoors,
  address: string,
  letGo?: (memory: RunMemory) => Promise<void>,
): Promise<VmRecord | undefined> {
  const { store, clock } = doors;
  return editState(
    doors,
    async (memory, ownRun) => {
      const unfinished = (await unfinishedRuns(store)).filter(({ runId }) => runId !== ownRun);
      const isBegun = unfinished.some(({ events }) => openSteps(events).some((open) => open.address === address));
      const vm = memory.state.vms[address];
      if (!isBegun) knownVm(memory.state, address);
      await letGo?.(memory);
      const forget = { event: 'learned', patch: { address, vm: null } } as const;
      for (const { runId, events } of unfinished) {
        const journal = new JournalWriter(store, clock, runId, events);
        for (const { step } of openSteps(events).filter((open) => open.address === address)) {
          await journal.write({ event: 'stepFailed', step, code: 'CANCELED', detail: 'Forgotten on request.' });
        }
        // The next apply folds it into the state: nothing of the VM may come back with it.
        await recordEdit((event) => journal.write(event), `state/forget/${ownRun}`, address, [forget]);
      }
      await memory.recordEdit('state/forget', address, [forget]);
      return vm;
    },
    { unfinished: 'allow' },
  );
}

/** Replaces what is remembered as a whole; the serial goes on, and the old state stays as a backup. */
export async function replaceState(doors: EditDoors, state: StackState): Promise<void> {
  await editState(doors, async () => {}, { unfinished: 'allow', state });
}

async function refuseUnfinished(store: StateStore): Promise<void> {
  const [run] = await unfinishedRuns(store);
  if (!run) return;
  throw new ProxwrightError({
    code: 'STATE_LOCKED',
    detail: `The run ${run.runId} did not end: what it began has to be taken up before the state is changed by hand.`,
    hint: advice`Let it be taken up: ${command('apply')}`,
  });
}

/** A state that may be damaged, for those who are about to replace it. */
export async function readStateIfSound(store: StateStore, stackName: string): Promise<StackState> {
  try {
    return await readState(store, stackName);
  } catch (error) {
    if (hasCode(error, 'STATE_DAMAGED')) return emptyState(stackName);
    throw error;
  }
}

export function knownVm(state: StackState, address: string): VmRecord {
  const vm = state.vms[address];
  if (vm) return vm;
  const known = Object.keys(state.vms);
  const guess = closest(address, known);
  throw new ProxwrightError({
    code: 'MISSING_REFERENCE',
    detail: `The state knows no "${address}".`,
    hint: guess
      ? `Did you mean '${guess}'?`
      : known.length === 0
        ? advice`It is empty. Make the VMs: ${command('apply')}. If it was lost: ${command('state recover')}`
        : `It knows ${known.join(', ')}.`,
  });
}
