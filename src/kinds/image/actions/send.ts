/**
 * `image.send`: Proxwright uploads the file, because the node cannot reach it or does not unpack it. Proxmox checks the
 * checksum in its /var/tmp, then copies the file to the storage and overwrites what has the name: so we read that first.
 */

import type { ReadyImage } from '../../../base/image-source.ts';
import type { StreamBody } from '../../../base/transport.ts';
import { upTo } from '../../../base/values/units.ts';
import type { VolumeEntry } from '../../../pve/index.ts';
import { follow } from '../../safety/tasks.ts';
import { type FileRecord, isSameFile } from '../record.ts';
import {
  declaredChecksum,
  type FileAction,
  type FileContext,
  type FilePlace,
  keyOf,
  placeOf,
  type SendImageInput,
  volidOf,
} from '../steps.ts';
import { bounded, differs, explained, hasEnded, isOver, replacing } from './failures.ts';
import { endOfTransfers, importsTo, inFileRounds, lookAfter, lookFor, type RoundsSoFar, recordFile } from './look.ts';

export const sendImage: FileAction<SendImageInput> = async (context, input) => {
  const { origin } = input;
  const source = context.imageSource(origin);
  const image = await bounded(context, 'prepare the image', (signal) =>
    source.prepare({
      signal,
      onProgress: (what, fraction) =>
        context.progress(upTo(what, context.timeouts.imageMs), fraction === undefined ? undefined : percent(fraction)),
    }),
  );
  const url = origin.kind === 'download' ? origin.url : undefined;
  const declared = declaredChecksum(origin)?.value;
  await sendBytes(context, input, image, { replace: input.replace === true, url, declared });
};

interface SendOptions {
  /** A file that has the name may be overwritten, whatever it is. */
  readonly replace: boolean;
  /** Where the bytes came from, for the record. */
  readonly url?: string | undefined;
  /** The checksum that the stack declares. */
  readonly declared?: string | undefined;
}

async function sendBytes(
  context: FileContext,
  place: FilePlace,
  image: ReadyImage,
  options: SendOptions,
): Promise<void> {
  const course: Course = { before: undefined };
  try {
    await inFileRounds(context, 'send', (soFar) =>
      round(context, place, image, options, Object.assign(soFar, { course })),
    );
  } catch (error) {
    const removedOld = isOver(error) && (await undone(context, place, course.before));
    throw explained(context, place, error, { way: 'send', removedOld });
  }
}

/** What one run of the step has done so far. */
interface Course {
  /** The file that had the name, and its record, before it was overwritten on request. */
  before: { readonly entry: VolumeEntry; readonly recorded: FileRecord | undefined } | undefined;
}

async function round(
  context: FileContext,
  place: FilePlace,
  image: ReadyImage,
  options: SendOptions,
  soFar: RoundsSoFar & { readonly course: Course },
): Promise<'done' | 'again'> {
  const recorded = context.file(keyOf(place));
  const isBegun = recorded?.incomplete || soFar.mayBeUnderWay ? await awaitTasks(context, place, soFar) : false;
  const entry = await lookFor(context, place);
  if (entry && recorded?.incomplete && soFar.sentAt !== undefined && !isBegun) {
    // This run sent it, and no task of ours copied it: the file is that of another client.
    await context.learnFile(keyOf(place), soFar.course.before?.recorded ?? null);
    return 'again';
  }
  switch (entry ? verdictOn(recorded, entry, image, options) : 'send') {
    case 'right':
      return 'done';
    case 'arrived':
      if (entry)
        await recordFile(context, place, entry, { url: options.url, declared: options.declared, sha256: image.sha256 });
      return 'done';
    case 'like ours':
      if (entry) await adopt(context, place, entry, image, options);
      return 'done';
    case 'other':
      throw differs(
        context,
        place,
        `It has ${entry?.size ?? 'unknown'} bytes, and the desired file has ${image.sizeBytes}.`,
      );
    case 'send':
      if (entry && !recorded?.incomplete) soFar.course.before ??= { entry, recorded };
      await send(context, place, image, options, soFar);
      return 'done';
  }
}

type Verdict = 'right' | 'arrived' | 'like ours' | 'other' | 'send';

function verdictOn(
  recorded: FileRecord | undefined,
  entry: VolumeEntry,
  image: ReadyImage,
  { replace }: SendOptions,
): Verdict {
  const isSameSize = entry.size === image.sizeBytes;
  if (recorded?.incomplete) {
    // The name was free before. Copies grow from the front, so a file of full length is complete.
    return isSameSize && recorded.sha256 === image.sha256 ? 'arrived' : 'send';
  }
  if (recorded && isSameFile(recorded, entry)) {
    if (recorded.sha256 === image.sha256) return 'right';
    return replace ? 'send' : 'other';
  }
  if (replace) return 'send';
  return isSameSize ? 'like ours' : 'other';
}

async function send(
  context: FileContext,
  place: FilePlace,
  image: ReadyImage,
  { url, declared }: SendOptions,
  soFar: RoundsSoFar,
): Promise<void> {
  const { sha256, sizeBytes } = image;
  const { signal, timeouts } = context;
  const sentAt = context.clock.now();
  const intent = { ...placeOf(place), sentAt, sizeBytes, sha256 };
  // Before the record: the next run looks for a task of ours only if it finds an intent.
  await context.intend(intent);
  await context.learnFile(keyOf(place), {
    address: context.address,
    node: place.node,
    volid: volidOf(place),
    ...(url !== undefined && { url }),
    sha256,
    ...(declared !== undefined && { declared }),
    sizeBytes,
    incomplete: true,
  });
  soFar.sentAt = sentAt;
  soFar.wholeAt = undefined;
  const bytes = announced(image, async () => {
    const wholeAt = context.clock.now();
    await context.intend({ ...intent, wholeAt });
    soFar.wholeAt = wholeAt;
  });
  const upid = await context.pve
    .node(place.node)
    .storage(place.storage)
    .upload(
      { content: place.content, filename: place.file, bytes, checksum: { algorithm: 'sha256', value: sha256 } },
      { signal, timeoutMs: timeouts.imageMs, onSent: uploadProgress(context, sizeBytes) },
    );
  await follow(context, upid, { what: 'copy into the storage', timeoutMs: timeouts.imageMs });
  const entry = await lookAfter(context, place);
  if (entry.size !== sizeBytes) throw differs(context, place, arrivedOtherwise(entry, sizeBytes));
  await recordFile(context, place, entry, { sha256, url, declared });
}

/**
 * The same bytes; `isComplete` runs before the last of them are handed over. An upload starts its task with its last byte,
 * so the task of an upload that never got there belongs to another client.
 */
function announced({ sizeBytes, open }: ReadyImage, isComplete: () => Promise<void>): StreamBody {
  return {
    sizeBytes,
    async *open() {
      let held: Uint8Array | undefined;
      for await (const chunk of open()) {
        if (held) yield held;
        held = chunk;
      }
      await isComplete();
      if (held) yield held;
    },
  };
}

/**
 * After a final answer. A failed copy removes its target, and with it the file that had the name before; a refused
 * upload leaves that file alone. True if an old file is gone.
 */
async function undone(context: FileContext, place: FilePlace, before: Course['before']): Promise<boolean> {
  const recorded = context.file(keyOf(place));
  if (!recorded?.incomplete) return false;
  const entry = await lookFor(context, place);
  if (!entry) await context.learnFile(keyOf(place), null);
  else if (before && isUntouched(before.entry, entry)) await context.learnFile(keyOf(place), before.recorded ?? null);
  return before !== undefined && !entry;
}

const isUntouched = (before: VolumeEntry, now: VolumeEntry) => before.size === now.size && before.ctime === now.ctime;

/** Reports each percent once; the bytes of the request envelope do not count beyond the file. */
function uploadProgress(context: FileContext, sizeBytes: number): (sentBytes: number) => void {
  let last = -1;
  return (sentBytes) => {
    const now = percent(Math.min(1, sentBytes / Math.max(1, sizeBytes)));
    if (now !== last) context.progress(upTo('upload', context.timeouts.imageMs), now);
    last = now;
  };
}

const percent = (fraction: number) => Math.floor(fraction * 100);

function arrivedOtherwise(entry: VolumeEntry, sizeBytes: number): string {
  return `${sizeBytes} bytes were uploaded and checked, but the storage lists ${entry.size ?? 'none'}: another client wrote to it at the same time.`;
}

async function adopt(
  context: FileContext,
  place: FilePlace,
  entry: VolumeEntry,
  image: ReadyImage,
  { url, declared }: SendOptions,
): Promise<void> {
  context.log.log(
    'warn',
    `${context.address}: ${volidOf(place)} already exists with the same length and is used as it is; its content was not compared. ${replacing(context.address, volidOf(place)).text}`,
  );
  await recordFile(context, place, entry, { sha256: image.sha256, url, declared, foreign: true });
}

/** Waits for a copy of an earlier run, or one whose answer was lost; the storage shows how it ended. True if one is ours. */
async function awaitTasks(context: FileContext, place: FilePlace, { wholeAt }: RoundsSoFar): Promise<boolean> {
  const transfers = await importsTo(context, place, wholeAt);
  await endOfTransfers(transfers, async ({ upid, isOurs }) => {
    const timeoutMs = context.timeouts.imageMs;
    try {
      await follow(context, upid, { what: 'copy into the storage', timeoutMs, isOurs });
      return true;
    } catch (error) {
      if (!hasEnded(error)) throw error;
      context.log.log('debug', `${context.address}: the earlier copy failed`, { upid });
      return false;
    }
  });
  return transfers.some(({ isOurs }) => isOurs);
}
