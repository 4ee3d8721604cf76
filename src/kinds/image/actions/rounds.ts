/**
 * The shape of an idempotent act on a file: look, act if there is something to do, and look again whenever it is not
 * certain what came of it.
 */
import { ProxwrightError } from '../../../base/errors.ts';
import { Attempts, RETRIES } from '../../../base/retry.ts';
import { patienceOf } from '../../vm/actions/rounds.ts';
import type { FileContext } from '../context.ts';

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
    const rounds = new Attempts(RETRIES.fileRound, context);
    // A doubt is looked into for as long as an image may take; a round that did something has its own bounds.
    const deadline = context.clock.now() + context.timeouts.imageMs;
    for (;;) {
      let failure: ProxwrightError;
      try {
        if ((await round(soFar)) === 'done') return;
        failure = restless(context, what);
      } catch (error) {
        if (await patience.survives(error)) continue;
        if (!(error instanceof ProxwrightError) || context.clock.now() >= deadline) throw error;
        soFar.mayBeUnderWay = true;
        failure = error;
      }
      if (rounds.next(failure) === undefined) throw failure;
      context.log.log('debug', `${context.address}: ${what}: looking again`, { round: rounds.failed });
    }
  });
}

function restless(context: FileContext, what: string): ProxwrightError {
  return new ProxwrightError({
    code: 'CONFIG_CHANGED',
    detail: `${what}: after ${RETRIES.fileRound.attempts} rounds the file still is not as desired; another client keeps changing it.`,
    where: { address: context.address },
    hint: 'Find out who else brings files into this storage, then apply again.',
  });
}
