/**
 * Reading before acting: what the storage lists under the name, and which tasks of ours still work on it. An action reads,
 * acts if there is work, and reads again whenever the outcome is uncertain.
 */
import { ProxwrightError } from '../../../base/errors.ts';
import { Attempts, RETRIES } from '../../../base/retry.ts';
import { parseUpid, type Upid, type VolumeEntry } from '../../../pve/index.ts';
import { patienceOf, patiently } from '../../vm/actions/look.ts';
import { runningTasks } from '../../vm/actions/tasks.ts';
import type { FileRecord } from '../record.ts';
import { type FileContext, type FilePlace, keyOf, volidOf } from '../steps.ts';

export async function lookFor(context: FileContext, place: FilePlace): Promise<VolumeEntry | undefined> {
  const { node, storage, content } = place;
  const { signal } = context;
  const entries = await patiently(context, () =>
    context.pve.node(node).storage(storage).content.list({ content }, { signal }),
  );
  return entries.find(({ volid }) => volid === volidOf(place));
}

/** A fresh read of a file that must exist now. */
export async function lookAfter(context: FileContext, place: FilePlace): Promise<VolumeEntry> {
  const entry = await lookFor(context, place);
  if (entry) return entry;
  throw notListed(context, place);
}

export async function recordFile(
  context: FileContext,
  place: FilePlace,
  entry: VolumeEntry,
  source: Pick<FileRecord, 'url' | 'sha256' | 'sha512' | 'declared' | 'foreign'>,
): Promise<void> {
  const { url, sha256, sha512, declared, foreign } = source;
  await context.learnFile(keyOf(place), {
    address: context.address,
    node: place.node,
    volid: entry.volid,
    ...(url !== undefined && { url }),
    ...(sha256 !== undefined && { sha256 }),
    ...(sha512 !== undefined && { sha512 }),
    ...(declared !== undefined && { declared }),
    sizeBytes: entry.size ?? 0,
    ...(entry.ctime !== undefined && { ctime: entry.ctime }),
    ...(foreign && { foreign }),
  });
}

/** Our downloads to this name. The id of their tasks is the file name, for every storage. */
export async function runningDownloads(context: FileContext, { node, file }: FilePlace): Promise<Upid[]> {
  const upids = await patiently(context, () => runningTasks(context, { node, type: 'download' }));
  return upids.filter((upid) => parseUpid(upid)?.id === file);
}

/**
 * Our uploads to this name. Their tasks run on the node that received the request, which may differ from the target node,
 * and have no id: only their logs say what they copy.
 */
export async function runningImports(context: FileContext, { node, file }: FilePlace): Promise<Upid[]> {
  const tasks = new Set<Upid>();
  for (const place of new Set(['localhost', node])) {
    const upids = await patiently(context, () => runningTasks(context, { node: place, type: 'imgcopy' }));
    for (const upid of upids) tasks.add(upid);
  }
  const ours: Upid[] = [];
  for (const upid of tasks) if (await copiesTo(context, upid, file)) ours.push(upid);
  return ours;
}

/** Until the log names the target, the task is taken for ours. */
async function copiesTo(context: FileContext, upid: Upid, file: string): Promise<boolean> {
  const node = parseUpid(upid)?.node ?? '';
  const { signal } = context;
  const { entries } = await patiently(context, () =>
    context.pve.node(node).tasks.log(upid, { start: 0, limit: 50 }, { signal }),
  );
  const target = entries.map(({ t }) => /^target file: (.+)$/.exec(t)?.[1]).find((path) => path !== undefined);
  return target === undefined || target.endsWith(`/${file}`);
}

function notListed(context: FileContext, place: FilePlace): ProxwrightError {
  return new ProxwrightError({
    code: 'NOT_FOUND',
    detail: `The task succeeded, but storage "${place.storage}" does not list ${volidOf(place)} on ${place.node}: another client removed it, or ${context.pve.principal} may not see it.`,
    where: { address: context.address },
    hint: `Listing the storage needs Datastore.Audit or Datastore.AllocateSpace on /storage/${place.storage}.`,
  });
}

/** What a round knows of earlier rounds. */
export interface RoundsSoFar {
  /** A request was sent and its outcome is unknown: a task of ours may be running. */
  mayBeUnderWay: boolean;
}

export async function inFileRounds(
  context: FileContext,
  what: string,
  round: (soFar: RoundsSoFar) => Promise<'done' | 'again'>,
): Promise<void> {
  await context.whileBusy(`${what} ${context.address}`, async () => {
    const patience = patienceOf(context);
    const soFar: RoundsSoFar = { mayBeUnderWay: false };
    const rounds = new Attempts(RETRIES.fileRound, context);
    // Uncertain outcomes are checked for as long as an image may take; a round that transfers has its own limits.
    const deadline = context.clock.ticks() + context.timeouts.imageMs;
    for (;;) {
      let failure: ProxwrightError;
      try {
        if ((await round(soFar)) === 'done') return;
        failure = restless(context, what);
      } catch (error) {
        if (await patience.survives(error)) continue;
        if (!(error instanceof ProxwrightError) || context.clock.ticks() >= deadline) throw error;
        soFar.mayBeUnderWay = true;
        failure = error;
      }
      if (rounds.next(failure) === undefined) throw failure;
      context.log.log('debug', `${context.address}: ${what}: looking again`, { round: rounds.failed });
    }
  });
}

function restless(context: FileContext, what: string): ProxwrightError {
  return new ProxwrightError({
    code: 'CONFIG_CHANGED',
    detail: `${what}: after ${RETRIES.fileRound.attempts} rounds the file still is not as desired; another client keeps changing it.`,
    where: { address: context.address },
    hint: 'Find out which other client writes files to this storage, then apply again.',
  });
}
