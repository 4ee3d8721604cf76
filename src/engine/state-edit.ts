/**
 * Changes of the state other than an apply: import, move, forget, recover, restore. Each is a small run: it holds the
 * lock, writes a journal, and leaves a backup of the previous state.
 */

import type { Clock } from '../base/clock.ts';
import { hasCode, ProxwrightError } from '../base/errors.ts';
import { advice, command } from '../base/hint.ts';
import type { Random } from '../base/random.ts';
import { closest } from '../base/text/closest.ts';
import { emptyState, type StackState } from '../kinds/recorded.ts';
import { openSteps, type RunSource } from '../state/events.ts';
import { JournalWriter, lockRun, unfinishedRuns } from '../state/journal.ts';
import { withLineage } from '../state/recorded.ts';
import { readState, writeState } from '../state/state-file.ts';
import type { LockOwner, StateStore } from '../state/store.ts';
import { RunMemory, recordEdit } from './run-memory.ts';

export interface EditDeps {
  readonly store: StateStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly stackName: string;
  readonly owner: Omit<LockOwner, 'runId' | 'since'>;
  readonly source?: RunSource;
}

export interface EditOptions {
  /**
   * The next apply folds an unfinished run into the state and would overwrite the edit. So an apply must resume the run
   * first, unless the edit handles unfinished runs itself.
   */
  readonly unfinished?: 'refuse' | 'allow';
  /** The state to start from, instead of the state file. */
  readonly state?: StackState;
}

/** Edits the state in a separate run and writes the result. */
export async function editState<Result>(
  deps: EditDeps,
  edit: (memory: RunMemory, runId: string) => Promise<Result>,
  options: EditOptions = {},
): Promise<Result> {
  const { store, clock, random, owner, source } = deps;
  const { lock, runId } = await lockRun(store, deps, owner);
  try {
    if (options.unfinished !== 'allow') await refuseUnfinished(store);
    const state = withLineage(await editedState(deps, options), random);
    const memory = new RunMemory(state, new JournalWriter(store, clock, runId), { ...owner, source });
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

/**
 * A backup of an older version has no lineage; it becomes a version of the state that it replaces. The replaced state
 * is always read: it may have been moved to another store since the user confirmed.
 */
async function editedState({ store, stackName }: EditDeps, { state }: EditOptions): Promise<StackState> {
  if (!state) return readState(store, stackName);
  const current = await readStateIfSound(store, stackName);
  const lineage = state.lineage ?? current.lineage;
  return { ...state, ...(lineage !== undefined && { lineage }) };
}

/** Renames `from` to `to` in the state; makes no requests. */
export async function moveAddress(deps: EditDeps, from: string, to: string): Promise<StackState['vms'][string]> {
  return editState(deps, async (memory) => {
    const vm = knownVm(memory.state, from);
    const taken = memory.state.vms[to];
    if (taken) {
      throw new ProxwrightError({
        code: 'BAD_VALUE',
        detail: `"${to}" is already VM ${taken.vmid} (${taken.name}).`,
        hint: advice`Move that VM first, or forget it: ${command('state forget', to)}`,
      });
    }
    await memory.recordEdit('state/mv', to, [{ event: 'moved', from, to }]);
    return vm;
  });
}

/**
 * Removes a VM from the state and from unfinished runs; the VM itself stays as it is. Returns undefined if only an
 * unfinished run knew the VM. `release` runs before that; if it fails, the VM stays in the state.
 */
export async function forgetAddress(
  deps: EditDeps,
  address: string,
  release?: (memory: RunMemory) => Promise<void>,
): Promise<StackState['vms'][string] | undefined> {
  const { store, clock } = deps;
  return editState(
    deps,
    async (memory, ownRun) => {
      const unfinished = (await unfinishedRuns(store)).filter(({ runId }) => runId !== ownRun);
      const isBegun = unfinished.some(({ events }) => openSteps(events).some((open) => open.address === address));
      const vm = memory.state.vms[address];
      if (!isBegun) knownVm(memory.state, address);
      await release?.(memory);
      const forget = { event: 'learned', patch: { address, vm: null } } as const;
      for (const { runId, events } of unfinished) {
        const journal = new JournalWriter(store, clock, runId, events);
        for (const { step } of openSteps(events).filter((open) => open.address === address)) {
          await journal.write({ event: 'stepFailed', step, code: 'CANCELED', detail: 'Forgotten on request.' });
        }
        // The next apply folds this journal into the state, and must not restore the VM.
        await recordEdit((event) => journal.write(event), `state/forget/${ownRun}`, address, [forget]);
      }
      await memory.recordEdit('state/forget', address, [forget]);
      return vm;
    },
    { unfinished: 'allow' },
  );
}

/** Replaces the whole state; the serial keeps counting, and the old state is kept as a backup. */
export async function replaceState(deps: EditDeps, state: StackState): Promise<void> {
  await editState(deps, async () => {}, { unfinished: 'allow', state });
}

async function refuseUnfinished(store: StateStore): Promise<void> {
  const [run] = await unfinishedRuns(store);
  if (!run) return;
  throw new ProxwrightError({
    code: 'STATE_LOCKED',
    detail: `The run ${run.runId} did not finish. It must be resumed before the state can be edited.`,
    hint: advice`Resume it: ${command('apply')}`,
  });
}

/** Reads the state before it is replaced; empty if it is damaged. */
export async function readStateIfSound(store: StateStore, stackName: string): Promise<StackState> {
  try {
    return await readState(store, stackName);
  } catch (error) {
    if (hasCode(error, 'STATE_DAMAGED')) return emptyState(stackName);
    throw error;
  }
}

export function knownVm(state: StackState, address: string): StackState['vms'][string] {
  const vm = state.vms[address];
  if (vm) return vm;
  const known = Object.keys(state.vms);
  const guess = closest(address, known);
  throw new ProxwrightError({
    code: 'MISSING_REFERENCE',
    detail: `The state has no "${address}".`,
    hint: guess
      ? `Did you mean '${guess}'?`
      : known.length === 0
        ? advice`The state is empty. Create the VMs: ${command('apply')}. If the state was lost: ${command('state recover')}`
        : `It has ${known.join(', ')}.`,
  });
}
