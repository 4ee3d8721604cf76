/**
 * `image.remove`: removes a file of ours from its storage. Succeeds if it is already gone; refuses another file under the
 * name; of a file that existed before, only the record is removed.
 */

import { isFamily, ProxwrightError } from '../../../base/errors.ts';
import { nodeCommand } from '../../../base/text/node-command.ts';
import type { VolumeEntry } from '../../../pve/index.ts';
import { foreign } from '../../safety/foreign.ts';
import { follow, isTaskUnended } from '../../safety/tasks.ts';
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
      await eraseFile(context, input, entry);
      return 'again';
    }
    if (recorded) await context.learnFile(keyOf(input), null);
    return 'done';
  });

/** Removes the file that was observed under this name, and its record. Reads once more right before: the API takes no digest. */
export async function eraseFile(context: FileContext, place: FilePlace, observed: VolumeEntry): Promise<void> {
  await context.intend({ ...placeOf(place), sentAt: context.clock.now(), erase: true });
  context.progress('remove');
  const { content } = context.pve.node(place.node).storage(place.storage);
  try {
    const upid = await context.pve.inOneSlot(async (options) => {
      const entries = await content.list({ content: place.content }, options);
      const entry = entries.find(({ volid }) => volid === volidOf(place));
      if (!entry) return undefined;
      if (entry.size !== observed.size || entry.ctime !== observed.ctime) throw changedMeanwhile(context, place);
      return content.delete(volidOf(place), {}, { ...options, attempts: 1 });
    }, context.signal);
    if (upid !== undefined) await follow(context, upid, { what: 'removal', timeoutMs: REMOVE_MS });
  } catch (error) {
    // Another client may have removed it first: then the task fails, and the file is gone.
    if (!isFamily(error, 'task') || isTaskUnended(error) || (await lookFor(context, place))) throw error;
  }
  await context.learnFile(keyOf(place), null);
}

/** The next round looks at the new file. */
function changedMeanwhile(context: FileContext, place: FilePlace): ProxwrightError {
  return new ProxwrightError({
    code: 'CONFIG_CHANGED',
    detail: `${volidOf(place)} on ${place.node} was replaced a moment ago, so it was not removed.`,
    where: { address: context.address },
    hint: 'Find out which other client writes files to this storage.',
  });
}

function notOurs(context: FileContext, place: FilePlace): ProxwrightError {
  return foreign({
    why: `${volidOf(place)} on ${place.node} is not the file that ${context.address} transferred: its size or time differ from the recorded ones.`,
    where: { address: context.address },
    hint: `To delete it anyway, run on ${place.node}: ${nodeCommand('pvesm free', [volidOf(place)])}`,
  });
}
