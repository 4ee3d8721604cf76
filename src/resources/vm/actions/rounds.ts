/**
 * The shape of an idempotent act: look, act if there is something to do, and look again whenever it is not certain what
 * came of it. Rounds are bounded, and lock contention has the budget of the stack.
 */
import { hasCode, ProxwrightError } from '../../../base/errors.ts';
import { isOutcomeUnknown } from '../../../pve/index.ts';
import type { ActionContext } from '../../action.ts';
import { forgetSight } from './look.ts';
import { isTaskLost } from './tasks.ts';

/** `again`: something was done and something is left. `stuck`: nothing that waiting would mend. */
export type RoundEnd = 'done' | 'again' | { readonly stuck: ProxwrightError };

/** More than any sane run needs; each round asks the server anew. */
const MAX_ROUNDS = 8;
/** A daemon that is being restarted is back within seconds. */
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 15_000;

export async function inRounds(context: ActionContext, what: string, round: () => Promise<RoundEnd>): Promise<void> {
  const end = await context.whileBusy(`${what} ${context.address}`, async () => {
    const patience = patienceOf(context);
    for (let rounds = 1; ; rounds++) {
      try {
        const outcome = await round();
        if (outcome !== 'again') return outcome;
        if (rounds >= MAX_ROUNDS) return { stuck: restless(context, what) };
      } catch (error) {
        forgetSight(context);
        if (await patience.survives(error)) continue;
        if (!isWorthAnotherLook(error) || rounds >= MAX_ROUNDS) throw error;
        context.log.log('debug', `${context.address}: ${what}: ${error.code}, looking again`, { round: rounds });
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

/** What was asked for may or may not have happened, or rested on an outdated read. */
function isWorthAnotherLook(error: unknown): error is ProxwrightError {
  return isOutcomeUnknown(error) || isTaskLost(error) || isOutdated(error);
}

function isOutdated(error: unknown): boolean {
  return hasCode(error, 'CONFIG_CHANGED');
}

/** Requests that certainly did nothing, because the daemon behind the server is away or slow, are worth some patience. */
export function patienceOf(context: ActionContext): { survives(error: unknown): Promise<boolean> } {
  const startedAt = context.clock.now();
  let pauseMs = FIRST_PAUSE_MS;
  return {
    survives: async (error) => {
      if (!isDaemonAway(error) || context.clock.now() - startedAt + pauseMs > context.timeouts.lockMs) return false;
      context.log.log('debug', `${context.address}: ${error.code}, trying again in ${pauseMs} ms`, { pauseMs });
      await context.clock.sleep(pauseMs, context.signal);
      pauseMs = Math.min(MAX_PAUSE_MS, pauseMs * 2);
      return true;
    },
  };
}

/** By construction neither code is about a change: it was not carried out, or it was only a question. */
function isDaemonAway(error: unknown): error is ProxwrightError {
  return hasCode(error, 'NOT_EXECUTED', 'REQUEST_TIMEOUT');
}

function restless(context: ActionContext, what: string): ProxwrightError {
  return new ProxwrightError({
    code: 'CONFIG_CHANGED',
    detail: `${what}: after ${MAX_ROUNDS} writes the configuration still is not as wanted; somebody else keeps changing it.`,
    where: { address: context.address },
    hint: 'Find out who else manages this VM, then make a new plan.',
  });
}
