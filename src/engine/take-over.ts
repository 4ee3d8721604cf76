/**
 * Resources that exist already: imports them, releases them, finds lost records again, and compares records with the
 * cluster. Each kind knows how; this records it, and runs the step that writes or removes the mark of ownership.
 */
import type { Address } from '../base/address.ts';
import { hasCode, ProxwrightError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type {
  ClusterContext,
  ImportResult,
  RecoverContext,
  Recovery,
  Standing,
  TakeOverContext,
} from '../kinds/existing.ts';
import { GuestSigns } from '../kinds/guest-signs.ts';
import { IdReservations } from '../kinds/ids.ts';
import type { StackState, VmPatch } from '../kinds/recorded.ts';
import { KINDS, kindOfAddress, type StepContext } from '../kinds/registry.ts';
import type { ResolvedStack } from '../kinds/stack.ts';
import type { Step } from '../kinds/step.ts';
import type { Pve } from '../pve/client.ts';
import type { RunMemory } from './run-memory.ts';
import { runStep } from './run-step.ts';
import { type EditDeps, editState } from './state-edit.ts';

export interface ImportInput extends Omit<EditDeps, 'stackName'>, Omit<TakeOverContext, 'state' | 'signal'> {
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Records the identity of an existing resource and writes its mark of ownership, and changes nothing else. */
export async function importExisting(input: ImportInput): Promise<ImportResult> {
  const { stack, address } = input;
  const existing = kindOfAddress(address)?.existing;
  if (!existing) {
    throw new ProxwrightError({
      code: 'BAD_VALUE',
      where: { address },
      detail: `"${address}" is not the address of a VM.`,
      hint: 'Only VMs can be imported.',
    });
  }
  return editState({ ...input, stackName: stack.name }, async (memory) => {
    const { result, begun, mark } = await existing.takeOver({ ...input, state: memory.state });
    const before = memory.state.vms[address];
    const record = (part: string, vm: VmPatch['vm']) =>
      memory.recordEdit(`${address}/import/${part}`, address, [{ event: 'learned', patch: { address, vm } }]);
    await record('begin', begun);
    try {
      if (mark) await runAlone(input, memory, mark.step, mark.last);
      await record('complete', result.vm);
      return result;
    } catch (error) {
      // The import failed: restore what was recorded before.
      await record('undo', before ?? null);
      throw error;
    }
  });
}

interface ReleaseDeps extends Pick<ImportInput, 'clock' | 'random' | 'log' | 'signal'> {
  readonly pve: Pve;
  readonly stack: ResolvedStack;
}

/** Removes the mark of ownership. Returns false if the resource is gone, or if its id belongs to another one now. */
export async function release(deps: ReleaseDeps, memory: RunMemory, address: Address): Promise<boolean> {
  const step = memory.vm(address)?.uuid === undefined ? undefined : kindOfAddress(address)?.releaseStep?.(address);
  if (!step) return false;
  try {
    await runAlone(deps, memory, step);
    return true;
  } catch (error) {
    const isGone = hasCode(error, 'NOT_FOUND');
    const isAnother = hasCode(error, 'NOT_OURS');
    if (isGone || isAnother) return false;
    throw error;
  }
}

/** Runs a step that belongs to no plan. */
async function runAlone(
  { pve, clock, random, log, stack, signal }: ReleaseDeps,
  memory: RunMemory,
  step: Step,
  last?: StepContext['observed']['last'],
): Promise<void> {
  const run = {
    pve,
    clock,
    random,
    log,
    stackName: stack.name,
    rollout: stack.rollout,
    memory,
    lockedTicks: clock.ticks(),
    ids: new IdReservations(),
    ports: { isOpen: async () => false },
    secret: () => undefined,
  };
  await runStep(run, step, { observed: { last }, signs: new GuestSigns(pve, clock), signal });
}

/** Rebuilds a lost state; each kind adds its records to those of the kinds before it. */
export async function recoverState(context: RecoverContext): Promise<Recovery> {
  let recovery: Recovery = { state: context.state, found: [], learned: [], notFound: [], remarks: [] };
  for (const { existing } of KINDS) {
    if (!existing) continue;
    const next = await existing.recover({ ...context, state: recovery.state });
    recovery = {
      state: next.state,
      found: [...recovery.found, ...next.found],
      learned: [...recovery.learned, ...next.learned],
      notFound: [...recovery.notFound, ...next.notFound],
      remarks: [...recovery.remarks, ...next.remarks],
    };
  }
  return recovery;
}

export async function compareWithCluster(context: ClusterContext, state: StackState): Promise<Standing[]> {
  const standings = await Promise.all(KINDS.map(({ existing }) => existing?.compare(context, state) ?? []));
  return standings.flat();
}
