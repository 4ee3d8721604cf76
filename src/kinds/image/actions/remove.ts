/**
 * `image.remove`: removes a file of ours from its storage. Succeeds if it is already gone; refuses another file under the
 * name; of a file that existed before, only the record is removed.
 */
import { isFamily, ProxwrightError } from '../../../base/errors.ts';
import { follow, isTaskUnended } from '../../vm/actions/tasks.ts';
import { isSameFile } from '../record.ts';
import {
  type FileAction,
  type FileContext,
  type FilePlace,
  keyOf,
  placeOf,
  type RemoveImageInput,
  volidOf,
} from '../steps.ts';
import { inFileRounds, lookFor } from './look.ts';

const REMOVE_MS = 10 * 60_000;

export const removeImage: FileAction<RemoveImageInput> = (context, input) =>
  inFileRounds(context, 'remove', async () => {
    const recorded = context.file(keyOf(input));
    const entry = recorded?.foreign ? undefined : await lookFor(context, input);
    if (entry && recorded && !recorded.incomplete && !isSameFile(recorded, entry)) throw notOurs(context, input);
    if (entry && !recorded) throw notOurs(context, input);
    if (entry) {
      await eraseFile(context, input);
      return 'again';
    }
    if (recorded) await context.learnFile(keyOf(input), null);
    return 'done';
  });

/** Removes the file under this name, and its record. */
export async function eraseFile(context: FileContext, place: FilePlace): Promise<void> {
  await context.intend({ ...placeOf(place), sentAt: context.clock.now(), erase: true });
  context.progress('remove');
  const { signal } = context;
  try {
    const upid = await context.pve
      .node(place.node)
      .storage(place.storage)
      .content.delete(volidOf(place), {}, { signal });
    if (upid !== undefined) await follow(context, upid, { what: 'removal', timeoutMs: REMOVE_MS });
  } catch (error) {
    // Another client may have removed it first: then the task fails, and the file is gone.
    if (!isFamily(error, 'task') || isTaskUnended(error) || (await lookFor(context, place))) throw error;
  }
  await context.learnFile(keyOf(place), null);
}

function notOurs(context: FileContext, place: FilePlace): ProxwrightError {
  return new ProxwrightError({
    code: 'NOT_OURS',
    detail: `${volidOf(place)} on ${place.node} is not the file that ${context.address} brought there: its size or time differ from what is remembered. Nothing was touched.`,
    where: { address: context.address },
    hint: `If it may go: on ${place.node}, pvesm free ${volidOf(place)}`,
  });
}
