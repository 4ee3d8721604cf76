/**
 * The shape of an idempotent act: look, act if there is something to do, and look again whenever it is not certain what
 * came of it. How often is the business of the policies in `base/retry.ts`.
 */
import { ProxwrightError, toDiagnostic } from '../../../base/errors.ts';
import { Attempts, RETRIES } from '../../../base/retry.ts';
import type { ActionContext } from '../../action.ts';
import { forgetObserved } from './look.ts';

/** `again`: something was done and something is left. `stuck`: nothing that waiting would mend. */
export type RoundEnd = 'done' | 'again' | { readonly stuck: ProxwrightError };

export async function inRounds(context: ActionContext, what: string, round: () => Promise<RoundEnd>): Promise<void> {
  const end = await context.whileBusy(`${what} ${context.address}`, async () => {
    const patience = patienceOf(context);
    const rounds = new Attempts(RETRIES.round, context);
    for (;;) {
      try {
        const outcome = await round();
        if (outcome !== 'again') return outcome;
        const stuck = restless(context, what);
        if (rounds.next(stuck) === undefined) return { stuck };
      } catch (error) {
        forgetObserved(context);
        if (await patience.survives(error)) continue;
        if (rounds.next(error) === undefined) throw error;
        context.log.log('debug', `${context.address}: ${what}: looking again`, {
          round: rounds.failed,
          code: toDiagnostic(error).code,
        });
      }
    }
  });
  // Thrown out here, because in there a lock would be waited for.
  if (typeof end === 'object') throw end.stuck;
}

/** A question that is asked again while the daemon behind the server is away. */
export async function patiently<T>(context: ActionContext, ask: () => Promise<T>): Promise<T> {
  const patience = patienceOf(context);
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(await patience.survives(error))) throw error;
    }
  }
}

/** Requests that certainly did nothing, because the daemon behind the server is away or slow, are worth some patience. */
export function patienceOf(context: ActionContext): { survives(error: unknown): Promise<boolean> } {
  const attempts = new Attempts({ ...RETRIES.daemon, budgetMs: context.timeouts.lockMs }, context);
  return {
    survives: (error) =>
      attempts.again(error, (pauseMs) =>
        context.log.log('debug', `${context.address}: ${toDiagnostic(error).code}, trying again in ${pauseMs} ms`, {
          pauseMs,
        }),
      ),
  };
}

function restless(context: ActionContext, what: string): ProxwrightError {
  return new ProxwrightError({
    code: 'CONFIG_CHANGED',
    detail: `${what}: after ${RETRIES.round.attempts} rounds the configuration still is not as desired; another client keeps changing it.`,
    where: { address: context.address },
    hint: 'Find out who else manages this VM, then make a new plan.',
  });
}
