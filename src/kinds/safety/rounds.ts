/**
 * Read, act, read again until there is nothing left to do. How often to retry is set by the policies in `base/retry.ts`.
 */
import { ProxwrightError, toDiagnostic } from '../../base/errors.ts';
import { Attempts, RETRIES } from '../../base/retry.ts';
import type { ActionContext } from '../action.ts';

/** `again`: something was done and more is left. `stuck`: waiting would not help. */
export type RoundEnd = 'done' | 'again' | { readonly stuck: ProxwrightError };

interface RoundOptions {
  /** Repeats the rounds while another client holds a lock; the `whileBusy` of the context if absent. */
  readonly whileBusy?: ActionContext['whileBusy'];
  /** Called after a failed round: what it read may be outdated. */
  readonly afterFailure?: () => void;
}

export async function inRounds(
  context: ActionContext,
  what: string,
  round: () => Promise<RoundEnd>,
  { whileBusy, afterFailure }: RoundOptions = {},
): Promise<void> {
  const repeat: ActionContext['whileBusy'] = whileBusy ?? ((subject, work) => context.whileBusy(subject, work));
  const end = await repeat(`${what} ${context.address}`, async () => {
    const patience = context.pve.reach.patience(context.signal);
    const rounds = new Attempts(RETRIES.round, context);
    for (;;) {
      try {
        const outcome = await round();
        if (outcome !== 'again') return outcome;
        const stuck = restless(context, what);
        if (rounds.next(stuck) === undefined) return { stuck };
      } catch (error) {
        afterFailure?.();
        if (await patience.again(error)) continue;
        if (rounds.next(error) === undefined) throw error;
        context.log.log('debug', `${context.address}: ${what}: looking again`, {
          round: rounds.failed,
          code: toDiagnostic(error).code,
        });
      }
    }
  });
  // Thrown here because `whileBusy` would retry it as a lock.
  if (typeof end === 'object') throw end.stuck;
}

/** Repeats a read while nothing answers. */
export async function patiently<T>(context: ActionContext, ask: () => Promise<T>): Promise<T> {
  const patience = context.pve.reach.patience(context.signal);
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(await patience.again(error))) throw error;
    }
  }
}

function restless(context: ActionContext, what: string): ProxwrightError {
  return new ProxwrightError({
    code: 'CONFIG_CHANGED',
    detail: `${what}: after ${RETRIES.round.attempts} rounds the configuration still is not as desired; another client keeps changing it.`,
    where: { address: context.address },
    hint: 'Find out who else manages this VM, then make a new plan.',
  });
}
