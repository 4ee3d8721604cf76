/**
 * The shape of an idempotent act on a file: look, act if there is something to do, and look again whenever it is not
 * certain what came of it.
 */
import { ProxwrightError } from '../../../base/errors.ts';
import { isOutcomeUnknown } from '../../../pve/index.ts';
import { patienceOf } from '../../vm/actions/rounds.ts';
import { isTaskLost } from '../../vm/actions/tasks.ts';
import type { FileContext } from '../context.ts';

/** More than any sane run needs; each round asks the server anew. */
const MAX_ROUNDS = 6;

/** What a round knows of those before it. */
export interface RoundsSoFar {
  /** A request was sent and what came of it was not told: something of ours may be at work. */
  mayBeUnderWay: boolean;
}

export async function inFileRounds(
  context: FileContext,
  what: string,
  round: (soFar: RoundsSoFar) => Promise<'done' | 'again'>,
): Promise<void> {
  await context.whileBusy(`${what} ${context.address}`, async () => {
    const patience = patienceOf(context);
    const soFar: RoundsSoFar = { mayBeUnderWay: false };
    const deadline = context.clock.now() + context.timeouts.imageMs;
    for (let rounds = 1; rounds <= MAX_ROUNDS; rounds++) {
      try {
        if ((await round(soFar)) === 'done') return;
      } catch (error) {
        const isDoubtful = isOutcomeUnknown(error) || isTaskLost(error);
        if (isDoubtful) soFar.mayBeUnderWay = true;
        if (!isDoubtful && !(await patience.survives(error))) throw error;
        if (isDoubtful && (rounds === MAX_ROUNDS || context.clock.now() >= deadline)) throw error;
        // Waiting for a daemon that is away has a bound of its own.
        if (!isDoubtful) rounds--;
        context.log.log('debug', `${context.address}: ${what}: looking again`, { round: rounds });
      }
    }
    throw restless(context, what);
  });
}

function restless(context: FileContext, what: string): ProxwrightError {
  return new ProxwrightError({
    code: 'CONFIG_CHANGED',
    detail: `${what}: after ${MAX_ROUNDS} attempts the file still is not as wanted; somebody else keeps changing it.`,
    where: { address: context.address },
    hint: 'Find out who else brings files into this storage, then apply again.',
  });
}
