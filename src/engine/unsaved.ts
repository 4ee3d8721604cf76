/** When the end of a run cannot be written down: what happened, what stands all the same, and how to go on. */
import type { ProxwrightError } from '../base/errors.ts';
import type { ExecuteResult } from './execute.ts';

export function unsaved(error: ProxwrightError, { outcomes }: ExecuteResult): ProxwrightError {
  const done = [...outcomes].filter(([, outcome]) => outcome === 'done').map(([address]) => address);
  const others = [...outcomes.keys()].filter((address) => !done.includes(address));
  const parts = [
    ...(done.length > 0 ? [`done: ${done.join(', ')}`] : []),
    ...(others.length > 0 ? [`stopped on the way or not begun: ${others.join(', ')}`] : []),
  ];
  return error.with({
    addedDetail: `What stands is kept, and the journal tells what was begun (${parts.join('; ')}).`,
    hint: 'Make room or give back the right to write, then run the same command again: it goes on from here.',
  });
}
