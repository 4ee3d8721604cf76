/**
 * `image.send`: we upload the file, because the node has no way to it or does not unpack it. The server checks the checksum
 * of what arrived in its /var/tmp, then copies it to the storage, over whatever has the name: so we look who that is first.
 */
import type { ReadyImage } from '../../../base/image-source.ts';
import type { VolumeEntry } from '../../../pve/index.ts';
import { follow } from '../../vm/actions/tasks.ts';
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
import { bounded, differs, explained, hasEnded, isOver } from './failures.ts';
import { inFileRounds, lookAfter, lookFor, type RoundsSoFar, recordFile, runningImports } from './look.ts';

export const sendImage: FileAction<SendImageInput> = async (context, input) => {
  const { origin } = input;
  const source = context.imageSource(origin);
  const image = await bounded(context, 'prepare the image', (signal) =>
    source.prepare({
      signal,
      onProgress: (what, fraction) => context.progress(what, fraction === undefined ? undefined : percent(fraction)),
    }),
  );
  const url = origin.kind === 'download' ? origin.url : undefined;
  const declared = declaredChecksum(origin)?.value;
  await sendBytes(context, input, image, { replace: input.replace === true, url, declared });
};

interface SendOptions {
  /** What has the name may go, whatever it is. */
  readonly replace: boolean;
  /** Where the bytes came from, to be remembered. */
  readonly url?: string | undefined;
  /** What the file declares of it. */
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
    await inFileRounds(context, 'send', (soFar) => round(context, place, image, options, { ...soFar, course }));
  } catch (error) {
    const removedOld = isOver(error) && (await undone(context, place, course.before));
    throw explained(context, place, error, { way: 'send', removedOld });
  }
}

/** What one run of the step has done so far. */
interface Course {
  /** What had the name, and what was remembered of it, before something was written over it on request. */
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
  if (recorded?.incomplete || soFar.mayBeUnderWay) await awaitRunning(context, place);
  const entry = await lookFor(context, place);
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
      throw differs(context, place, `It has ${entry?.size ?? 'unknown'} bytes, and ${image.sizeBytes} are to be sent.`);
    case 'send':
      if (entry && !recorded?.incomplete) soFar.course.before ??= { entry, recorded };
      await send(context, place, image, options);
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
    // The name was free when we began. Copies grow from the front, so one of full length is whole.
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
): Promise<void> {
  const { sha256, sizeBytes } = image;
  const { signal, timeouts } = context;
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
  await context.intend({ ...placeOf(place), sentAt: context.clock.now(), sizeBytes, sha256 });
  const upid = await context.pve
    .node(place.node)
    .storage(place.storage)
    .upload(
      { content: place.content, filename: place.file, bytes: image, checksum: { algorithm: 'sha256', value: sha256 } },
      { signal, timeoutMs: timeouts.imageMs, onSent: uploadProgress(context, sizeBytes) },
    );
  await follow(context, upid, { what: 'copy into the storage', timeoutMs: timeouts.imageMs });
  const entry = await lookAfter(context, place);
  if (entry.size !== sizeBytes) throw differs(context, place, arrivedOtherwise(entry, sizeBytes));
  await recordFile(context, place, entry, { sha256, url, declared });
}

/**
 * After the server's last word. A copy that fails takes away what it has begun, and with it what had the name before; one
 * that was refused leaves that alone. True when an old file is gone.
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

/** Said once for each percent; the bytes of the envelope are not counted beyond the file. */
function uploadProgress(context: FileContext, sizeBytes: number): (sentBytes: number) => void {
  let last = -1;
  return (sentBytes) => {
    const now = percent(Math.min(1, sentBytes / Math.max(1, sizeBytes)));
    if (now !== last) context.progress('upload', now);
    last = now;
  };
}

const percent = (fraction: number) => Math.floor(fraction * 100);

function arrivedOtherwise(entry: VolumeEntry, sizeBytes: number): string {
  return `${sizeBytes} bytes were sent and checked, but the storage lists ${entry.size ?? 'none'}: somebody else wrote to it at the same time.`;
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
    `${context.address}: ${volidOf(place)} was there already with the same length and is taken as it is; its content was not compared. To send it anew: proxwright apply --replace ${context.address}`,
  );
  await recordFile(context, place, entry, { sha256: image.sha256, url, declared, foreign: true });
}

/** A copy of an earlier run, or one whose answer was lost. How it ended shows in the storage. */
async function awaitRunning(context: FileContext, place: FilePlace): Promise<void> {
  for (const upid of await runningImports(context, place)) {
    try {
      await follow(context, upid, { what: 'copy into the storage', timeoutMs: context.timeouts.imageMs });
    } catch (error) {
      if (!hasEnded(error)) throw error;
      context.log.log('debug', `${context.address}: the earlier copy failed`, { upid });
    }
  }
}
