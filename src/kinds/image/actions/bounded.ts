/** A bound for work of our own, on the clock of the run. */
import { ProxwrightError } from '../../../base/errors.ts';
import { advice, setting } from '../../../base/hint.ts';
import { printDuration } from '../../../base/units.ts';
import type { FileContext } from '../context.ts';

/** The signal given to `work` fires when the time for images is over, or the run is stopped. */
export async function bounded<T>(
  context: FileContext,
  what: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { clock, signal, timeouts } = context;
  const over = new AbortController();
  const ended = new AbortController();
  clock.sleep(timeouts.imageMs, ended.signal).then(
    () => over.abort(tooLong(context, what)),
    () => {},
  );
  try {
    return await work(AbortSignal.any([signal, over.signal]));
  } catch (error) {
    throw over.signal.aborted && !signal.aborted ? over.signal.reason : error;
  } finally {
    ended.abort();
  }
}

function tooLong(context: FileContext, what: string): ProxwrightError {
  return new ProxwrightError({
    code: 'DOWNLOAD_FAILED',
    detail: `It took longer than ${printDuration(context.timeouts.imageMs)} to ${what}, the whole time allowed.`,
    where: { address: context.address },
    hint: advice`Apply again: a download goes on where it was. Or allow more time: ${setting('rollout.timeouts.image')}`,
  });
}
