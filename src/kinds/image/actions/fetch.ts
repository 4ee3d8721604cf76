/**
 * `image.fetch`: Proxmox downloads the file itself. Its download goes to a temporary name and is renamed when it is whole
 * and checked, so whatever stands under the final name is complete, and a download that died is simply started again. With
 * a checksum, asking for a file that is there already makes the server compare it instead.
 */
import { hasCode, ProxwrightError } from '../../../base/errors.ts';
import { advice, setting } from '../../../base/hint.ts';
import type { VolumeEntry } from '../../../pve/index.ts';
import { follow } from '../../vm/actions/tasks.ts';
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
import { differs, explained, hasEnded, isOver } from './failures.ts';
import { inFileRounds, lookAfter, lookFor, type RoundsSoFar, recordFile, runningDownloads } from './look.ts';
import { eraseFile } from './remove.ts';

/** What one run of the step has done so far. */
interface Course {
  /** The file that stood in the way is gone. */
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
  const hasArrived = recorded?.incomplete || soFar.mayBeUnderWay ? await awaitRunning(context, input) : false;
  const entry = await lookFor(context, input);
  if (!entry) return send(context, input, course, 'absent');
  const mustGo = input.replace === true && !course.removedOld;
  const isChecked = isComparable(input);
  if (hasArrived && recorded?.incomplete && isFromSame(recorded, input)) return arrived(context, input, entry);
  const isOurs = recorded !== undefined && isSameFile(recorded, entry);
  if (isOurs && isFromSame(recorded, input) && (!mustGo || isChecked)) return 'done';
  // The server reads it and compares; nothing is downloaded.
  if (isChecked) return send(context, input, course, recorded?.incomplete ? 'ours' : 'there');
  if (recorded?.incomplete && isFromSame(recorded, input)) return arrived(context, input, entry);
  if (mustGo || recorded?.incomplete) return replaceOld(context, input, course);
  if (isOurs) throw differs(context, input, `It was fetched from ${recorded.url ?? 'elsewhere'}.`);
  return adopt(context, input, entry);
}

/** The sum of a packed file says nothing about the unpacked one in the storage. */
function isComparable(input: FetchImageInput): boolean {
  return declaredChecksum(input) !== undefined && input.compression === undefined;
}

/** The same bytes from elsewhere are the same file. */
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
): Promise<'done' | 'again'> {
  const { node, storage } = input;
  const checksum = declaredChecksum(input);
  // Whatever appears from here on under a name that was free is ours.
  if (before === 'absent') await context.learnFile(keyOf(input), begun(context, input));
  await context.intend({ ...placeOf(input), sentAt: context.clock.now() });
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
    return replaceOld(context, input, course);
  }
  // It came between the look and the request; if it can be seen now, the next round decides what to make of it.
  const isThere = hasCode(error, 'ALREADY_EXISTS');
  if (isThere && before === 'absent' && (await lookFor(context, input))) return 'again';
  throw error;
}

/** Nothing can be renamed through the API, so the old file goes before the new one comes; its source is asked first. */
async function replaceOld(context: FileContext, input: FetchImageInput, course: Course): Promise<'again'> {
  const { node, url, verifyCertificates } = input;
  await context.pve
    .node(node)
    .queryUrlMetadata({ url, 'verify-certificates': verifyCertificates }, { signal: context.signal })
    .catch((error: unknown) => {
      throw unreachableSource(input, error);
    });
  await eraseFile(context, input);
  course.removedOld = true;
  return 'again';
}

async function adopt(context: FileContext, input: FetchImageInput, entry: VolumeEntry): Promise<'done'> {
  const why =
    declaredChecksum(input) === undefined
      ? 'without sha256 or sha512 nobody can tell whether it is the right one'
      : 'its checksum is that of the packed file, so the server cannot compare it';
  context.log.log(
    'warn',
    `${context.address}: ${volidOf(input)} was there already and is taken as it is: ${why}. To fetch it anew: proxwright apply --replace ${context.address}`,
  );
  await recordFile(context, input, entry, { ...input, foreign: true });
  return 'done';
}

/** Nothing had the name when we began, and the server checks a download before it gets its name. */
async function arrived(context: FileContext, input: FetchImageInput, entry: VolumeEntry): Promise<'done'> {
  await recordFile(context, input, entry, input);
  return 'done';
}

/** A download of an earlier run, or one whose answer was lost. True when one ended well. */
async function awaitRunning(context: FileContext, input: FetchImageInput): Promise<boolean> {
  let endedWell = false;
  for (const upid of await runningDownloads(context, input)) {
    try {
      await follow(context, upid, { what: 'download', timeoutMs: context.timeouts.imageMs, withProgress: true });
      endedWell = true;
    } catch (error) {
      if (!hasEnded(error)) throw error;
      context.log.log('debug', `${context.address}: the earlier download failed`, { upid });
    }
  }
  return endedWell;
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
 * A download leaves nothing under the name unless it ended well, so a beginning that failed need not be remembered. What
 * failed may have been the look at what has come, though: then the file is ours, and the next run sees to it.
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
    detail: `${input.url} cannot be fetched from ${input.node}, so the old file was not removed.\n${error.diagnostic.detail}`,
    hint: advice`Check the URL; if the node has no way to it, let Proxwright fetch and send it: ${setting('via', 'upload')}.`,
    cause: error,
  });
}
