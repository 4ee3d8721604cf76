/**
 * `image.fetch`: Proxmox downloads the file itself. It downloads to a temporary name and renames the file when it is
 * complete and checked, so a file under the final name is complete, and a download that failed is simply started again.
 * With a checksum, a request for an existing file makes Proxmox compare it instead.
 */
import { hasCode, ProxwrightError } from '../../../base/errors.ts';
import { advice, setting } from '../../../base/hint.ts';
import type { VolumeEntry } from '../../../pve/index.ts';
import { follow } from '../../safety/tasks.ts';
import { type FileRecord, isSameFile } from '../record.ts';
import {
  declaredChecksum,
  type FetchImageInput,
  type FileAction,
  type FileContext,
  keyOf,
  placeOf,
  volidOf,
} from '../steps.ts';
import { differs, explained, hasEnded, isOver, replacing } from './failures.ts';
import { downloadsTo, endOfTransfers, inFileRounds, lookAfter, lookFor, type RoundsSoFar, recordFile } from './look.ts';
import { eraseFile } from './remove.ts';

/** What one run of the step has done so far. */
interface Course {
  /** The file that had the name before is gone. */
  removedOld: boolean;
}

export const fetchImage: FileAction<FetchImageInput> = async (context, input) => {
  const course: Course = { removedOld: false };
  try {
    await inFileRounds(context, 'fetch', (soFar) => round(context, input, course, soFar));
  } catch (error) {
    if (isOver(error)) await forgetAbsent(context, input);
    throw explained(context, input, error, { way: 'fetch', removedOld: course.removedOld });
  }
};

async function round(
  context: FileContext,
  input: FetchImageInput,
  course: Course,
  soFar: RoundsSoFar,
): Promise<'done' | 'again'> {
  const recorded = context.file(keyOf(input));
  const hasArrived = recorded?.incomplete || soFar.mayBeUnderWay ? await awaitTasks(context, input, soFar) : false;
  const entry = await lookFor(context, input);
  if (!entry) return send(context, input, course, 'absent', soFar);
  if (recorded?.incomplete && !hasArrived) {
    // The name was free before, but no task of ours made the file: treat it as that of another client.
    await context.learnFile(keyOf(input), null);
    return 'again';
  }
  const mustGo = input.replace === true && !course.removedOld;
  const isChecked = isComparable(input);
  if (recorded?.incomplete && isFromSame(recorded, input)) return arrived(context, input, entry);
  const isOurs = recorded !== undefined && isSameFile(recorded, entry);
  if (isOurs && isFromSame(recorded, input) && (!mustGo || isChecked)) return 'done';
  // Proxmox reads the file and compares it; nothing is downloaded.
  if (isChecked) return send(context, input, course, recorded?.incomplete ? 'ours' : 'there', soFar);
  if (mustGo || recorded?.incomplete) return replaceOld(context, input, course, entry);
  if (isOurs) throw differs(context, input, `It was downloaded from ${recorded.url ?? 'elsewhere'}.`);
  return adopt(context, input, entry);
}

/** The checksum of a packed file says nothing about the unpacked file in the storage. */
function isComparable(input: FetchImageInput): boolean {
  return declaredChecksum(input) !== undefined && input.compression === undefined;
}

/** The same bytes from another URL are the same file. */
function isFromSame(recorded: FileRecord, input: FetchImageInput): boolean {
  if (declaredChecksum(input) === undefined) return recorded.url === input.url;
  return isSameSum(recorded.sha256, input.sha256) && isSameSum(recorded.sha512, input.sha512);
}

const isSameSum = (ours: string | undefined, asked: string | undefined) =>
  asked === undefined || ours?.toLowerCase() === asked.toLowerCase();

async function send(
  context: FileContext,
  input: FetchImageInput,
  course: Course,
  before: 'absent' | 'ours' | 'there',
  soFar: RoundsSoFar,
): Promise<'done' | 'again'> {
  const { node, storage } = input;
  const checksum = declaredChecksum(input);
  const sentAt = context.clock.now();
  // Before the record: the next run looks for a task of ours only if it finds an intent.
  await context.intend({ ...placeOf(input), sentAt });
  // The name is free, so a file that a task of ours puts there from now on is ours.
  if (before === 'absent') await context.learnFile(keyOf(input), begun(context, input));
  soFar.sentAt = sentAt;
  context.progress(before === 'absent' ? 'download' : 'compare');
  const { signal, timeouts } = context;
  const known = context.file(keyOf(input));
  try {
    const upid = await context.pve
      .node(node)
      .storage(storage)
      .downloadUrl(
        {
          url: input.url,
          content: input.content,
          filename: input.file,
          ...(checksum && { checksum: checksum.value, 'checksum-algorithm': checksum.algorithm }),
          compression: input.compression,
          'verify-certificates': input.verifyCertificates,
        },
        { signal },
      );
    await follow(context, upid, { what: 'download', timeoutMs: timeouts.imageMs, withProgress: true });
  } catch (error) {
    return afterFailure(context, input, course, before, error);
  }
  const isForeign = before === 'there' && (known?.foreign ?? !known);
  await recordFile(context, input, await lookAfter(context, input), { ...input, ...(isForeign && { foreign: true }) });
  return 'done';
}

async function afterFailure(
  context: FileContext,
  input: FetchImageInput,
  course: Course,
  before: 'absent' | 'ours' | 'there',
  error: unknown,
): Promise<'again'> {
  if (hasCode(error, 'FILE_DIFFERS')) {
    const mayGo = before === 'ours' || (input.replace === true && !course.removedOld);
    if (before === 'absent') await context.learnFile(keyOf(input), null);
    if (!mayGo) throw error;
    const entry = await lookFor(context, input);
    return entry ? replaceOld(context, input, course, entry) : 'again';
  }
  // The file appeared between the read and the request; if it is listed now, the next round decides.
  const isThere = hasCode(error, 'ALREADY_EXISTS');
  if (isThere && before === 'absent' && (await lookFor(context, input))) return 'again';
  throw error;
}

/** The API cannot rename files, so the old file is removed before the download; the source is checked first. */
async function replaceOld(
  context: FileContext,
  input: FetchImageInput,
  course: Course,
  observed: VolumeEntry,
): Promise<'again'> {
  const { node, url, verifyCertificates } = input;
  await context.pve
    .node(node)
    .queryUrlMetadata({ url, 'verify-certificates': verifyCertificates }, { signal: context.signal })
    .catch((error: unknown) => {
      throw unreachableSource(input, error);
    });
  await eraseFile(context, input, observed);
  course.removedOld = true;
  return 'again';
}

async function adopt(context: FileContext, input: FetchImageInput, entry: VolumeEntry): Promise<'done'> {
  const why =
    declaredChecksum(input) === undefined
      ? 'without sha256 or sha512 it cannot be checked'
      : 'its checksum is that of the packed file, so Proxmox cannot compare it';
  context.log.log(
    'warn',
    `${context.address}: ${volidOf(input)} already exists and is used as it is: ${why}. ${replacing(context.address, volidOf(input)).text}`,
  );
  await recordFile(context, input, entry, { ...input, foreign: true });
  return 'done';
}

/** The name was free before, and Proxmox checks a download before it renames it. */
async function arrived(context: FileContext, input: FetchImageInput, entry: VolumeEntry): Promise<'done'> {
  await recordFile(context, input, entry, input);
  return 'done';
}

/** Waits for a download of an earlier run, or one whose answer was lost. True if one of ours has succeeded. */
async function awaitTasks(context: FileContext, input: FetchImageInput, { sentAt }: RoundsSoFar): Promise<boolean> {
  return endOfTransfers(await downloadsTo(context, input, sentAt), async ({ upid, isOurs }) => {
    const timeoutMs = context.timeouts.imageMs;
    try {
      await follow(context, upid, { what: 'download', timeoutMs, withProgress: true, isOurs });
      return true;
    } catch (error) {
      if (!hasEnded(error)) throw error;
      context.log.log('debug', `${context.address}: the earlier download failed`, { upid });
      return false;
    }
  });
}

function begun(context: FileContext, input: FetchImageInput): FileRecord {
  const { url, sha256, sha512 } = input;
  return {
    address: context.address,
    node: input.node,
    volid: volidOf(input),
    url,
    ...(sha256 !== undefined && { sha256 }),
    ...(sha512 !== undefined && { sha512 }),
    sizeBytes: 0,
    incomplete: true,
  };
}

/**
 * A failed download leaves nothing under the name, so its record can go. If the read after the download failed instead,
 * the file is ours, and the next run handles it.
 */
async function forgetAbsent(context: FileContext, input: FetchImageInput): Promise<void> {
  if (!context.file(keyOf(input))?.incomplete) return;
  const isGone = await lookFor(context, input).then(
    (entry) => entry === undefined,
    () => false,
  );
  if (isGone) await context.learnFile(keyOf(input), null);
}

function unreachableSource(input: FetchImageInput, error: unknown): unknown {
  if (!hasCode(error, 'SERVER_FAULT')) return error;
  return new ProxwrightError({
    code: 'DOWNLOAD_FAILED',
    detail: `${input.node} cannot download ${input.url}, so the old file was not removed.\n${error.diagnostic.detail}`,
    hint: advice`Check the URL. If the node cannot reach it, let Proxwright download and upload the file: ${setting('via', 'upload')}.`,
    cause: error,
  });
}
