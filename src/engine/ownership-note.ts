/**
 * The ownership line of a VM that exists already, written or taken away outside of any plan: when a VM is taken over and
 * when it is let go. Nothing but the VM's notes is touched.
 */
import type { Address } from '../base/address.ts';
import type { Clock } from '../base/clock.ts';
import { hasCode } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import type { ResolvedStack } from '../kinds/stack.ts';
import { IdReservations } from '../kinds/vm/ids.ts';
import type { VmObserved } from '../kinds/vm/observed.ts';
import { packDesired } from '../kinds/vm/packed.ts';
import { GuestSigns } from '../kinds/vm/ready/signs.ts';
import { vmStep } from '../kinds/vm/steps.ts';
import type { Pve } from '../pve/client.ts';
import type { RunMemory } from './run-memory.ts';
import { runStep } from './run-step.ts';

export interface NoteDoors {
  readonly pve: Pve;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly stack: ResolvedStack;
}

/** The memory knows the VM; without a line the notes are left with the user's own part. */
export async function writeOwnershipNote(
  doors: NoteDoors,
  memory: RunMemory,
  address: Address,
  line: string | undefined,
  last?: VmObserved,
): Promise<void> {
  const { pve, clock, random, log, stack, signal } = doors;
  const run = {
    pve,
    clock,
    random,
    log,
    stackName: stack.name,
    rollout: stack.rollout,
    memory,
    ids: new IdReservations(),
    ports: { isOpen: async () => false },
    secret: () => undefined,
  };
  // Only the line: a description in the file that differs is for the next plan to show.
  const wish = { key: 'description', desired: { kind: 'notes', text: undefined, line } } as const;
  const step = vmStep(address, 'vm.configure', { desired: packDesired([wish]) });
  await runStep(run, step, { observed: { last }, signs: new GuestSigns(pve, clock), signal });
}

/** Whether there was a VM of ours to let go; one that is gone, or whose id is another's by now, carries no line of ours. */
export async function removeOwnershipNote(doors: NoteDoors, memory: RunMemory, address: Address): Promise<boolean> {
  if (memory.vm(address)?.uuid === undefined) return false;
  try {
    await writeOwnershipNote(doors, memory, address, undefined);
    return true;
  } catch (error) {
    const isGone = hasCode(error, 'NOT_FOUND');
    const isAnother = hasCode(error, 'NOT_OURS');
    if (isGone || isAnother) return false;
    throw error;
  }
}
