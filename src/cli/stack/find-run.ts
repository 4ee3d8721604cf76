/** The run that a user names: `last`, an id, or the beginning or end of exactly one id. */
import { ProxwrightError } from '../../base/errors.ts';
import { advice, command } from '../../base/hint.ts';
import { closest } from '../../base/text/closest.ts';
import { listRuns } from '../../state/journal.ts';
import type { StateStore } from '../../state/store.ts';

export async function findRun(store: StateStore, text: string): Promise<string> {
  const ids = await listRuns(store);
  const last = ids.at(-1);
  if (text === 'last' && last !== undefined) return last;
  const matching = ids.filter((id) => id === text || id.startsWith(text) || id.endsWith(text));
  const [only] = matching;
  if (only !== undefined && (matching.length === 1 || ids.includes(text))) return ids.includes(text) ? text : only;
  const guess = closest(text, ids);
  if (last === undefined) {
    throw new ProxwrightError({
      code: 'MISSING_REFERENCE',
      detail: 'There is no run yet.',
      hint: advice`To start the first one: ${command('apply')}`,
    });
  }
  throw new ProxwrightError({
    code: 'MISSING_REFERENCE',
    detail: matching.length > 1 ? `"${text}" matches ${matching.length} runs.` : `There is no run "${text}".`,
    hint: guess ? `Did you mean ${guess}?` : advice`To list the runs: ${command('runs')}`,
  });
}
