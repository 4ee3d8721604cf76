/**
 * Reading before acting: what the storage lists under the name, and which tasks of ours still work on it. An action reads,
 * acts if there is work, and reads again whenever the outcome is uncertain.
 */
import type { Instant } from '../../../base/clock.ts';
import { ProxwrightError } from '../../../base/errors.ts';
import { Attempts, RETRIES } from '../../../base/retry.ts';
import { parseUpid, type TaskEntry, type Upid, type VolumeEntry } from '../../../pve/index.ts';
import { patiently } from '../../safety/rounds.ts';
import { ON_ITS_WAY_MS } from '../../safety/tasks.ts';
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

/** A task that transfers a file to a name. */
export interface Transfer {
  readonly upid: Upid;
  /**
   * It started when our request was sent, so it is ours. Another stack may use the same token: the action waits for a
   * task that started at another time, but its file belongs to that stack.
   */
  readonly isOurs: boolean;
  /** Exit status; undefined while it runs. */
  readonly status: string | undefined;
}

/** Between our request and the start of its task, by two clocks. A later task counts as that of another client. */
const SAME_MOMENT_MS = 3_000;

const isWithin = (limitMs: number) => (afterMs: number) => isNotBefore(afterMs) && afterMs <= limitMs;

/**
 * Downloads to this name by our token, running and ended, newest first. The id of their tasks is the file name, for every
 * storage. `sentAt`: when our request was sent; undefined if we sent none.
 */
export async function downloadsTo(
  context: FileContext,
  { node, file }: FilePlace,
  sentAt?: Instant,
): Promise<Transfer[]> {
  const tasks = await tokensTasks(context, node, 'download');
  return transfersOf(
    tasks.filter(({ id }) => id === file),
    sentAt,
    isWithin(SAME_MOMENT_MS),
  );
}

/**
 * Uploads to this name by our token. Their tasks run on the node that received the request, which may differ from the target
 * node, begin when the last byte has arrived, and have no id: only their logs say what they copy. An ended one is looked at
 * only if it may be ours. `wholeAt`: when the last bytes of our upload were handed over, which the server may get as late
 * as any request; undefined if they were not, so that no task is ours.
 */
export async function importsTo(
  context: FileContext,
  { node, file }: FilePlace,
  wholeAt?: Instant,
): Promise<Transfer[]> {
  const tasks = new Map<string, TaskEntry>();
  for (const place of new Set(['localhost', node])) {
    for (const task of await tokensTasks(context, place, 'imgcopy')) tasks.set(task.upid, task);
  }
  const transfers = transfersOf([...tasks.values()], wholeAt, isWithin(ON_ITS_WAY_MS));
  const found = transfers.filter(({ isOurs, status }) => isOurs || status === undefined);
  const ours: Transfer[] = [];
  for (const task of found) if (await copiesTo(context, task.upid, file)) ours.push(task);
  return ours;
}

function transfersOf(
  tasks: readonly TaskEntry[],
  sentAt: Instant | undefined,
  isOurs: (afterMs: number) => boolean,
): Transfer[] {
  return tasks
    .toSorted((a, b) => b.starttime - a.starttime)
    .map(({ upid, status, starttime, endtime }) => ({
      upid,
      status: (status ?? 'RUNNING') === 'RUNNING' && endtime === undefined ? undefined : status,
      isOurs: sentAt !== undefined && isOurs(starttime * 1_000 - sentAt),
    }));
}

/** Servers count whole seconds. */
const isNotBefore = (afterMs: number) => afterMs > -SAME_MOMENT_MS - 1_000;

async function tokensTasks({ pve, ...context }: FileContext, node: string, typefilter: string): Promise<TaskEntry[]> {
  const { signal } = context;
  const tasks = await patiently({ pve, ...context }, () =>
    pve.node(node).tasks.list({ source: 'all', typefilter, limit: 500 }, { signal }),
  );
  return tasks.filter(({ upid }) => parseUpid(upid)?.user === pve.principal);
}

/** Until the log names the target, the task counts as ours. */
async function copiesTo(context: FileContext, upid: Upid, file: string): Promise<boolean> {
  const node = parseUpid(upid)?.node ?? '';
  const { signal } = context;
  const { entries } = await patiently(context, () =>
    context.pve.node(node).tasks.log(upid, { start: 0, limit: 50 }, { signal }),
  );
  const target = entries.map(({ t }) => /^target file: (.+)$/.exec(t)?.[1]).find((path) => path !== undefined);
  return target === undefined || target.endsWith(`/${file}`);
}

/** Waits for the running ones. True if one of ours, running or ended before, has succeeded. */
export async function endOfTransfers(
  transfers: readonly Transfer[],
  waitFor: (transfer: Transfer) => Promise<boolean>,
): Promise<boolean> {
  let hasSucceeded = false;
  for (const transfer of transfers) {
    const { isOurs, status } = transfer;
    const isGood = status === undefined ? await waitFor(transfer) : /^(OK|WARNINGS: \d+)$/.test(status);
    hasSucceeded ||= isOurs && isGood;
  }
  return hasSucceeded;
}

function notListed(context: FileContext, place: FilePlace): ProxwrightError {
  return new ProxwrightError({
    code: 'NOT_FOUND',
    detail: `The task succeeded, but storage "${place.storage}" does not list ${volidOf(place)} on ${place.node}: another client removed it, or ${context.pve.principal} may not see it.`,
    where: { address: context.address },
    hint: `Listing the storage needs Datastore.Audit or Datastore.AllocateSpace on /storage/${place.storage}.`,
  });
}

/** What a round knows about earlier rounds. */
export interface RoundsSoFar {
  /** When the last request of this step was sent. */
  sentAt?: Instant;
  /** When the last bytes of its upload were handed over. */
  wholeAt?: Instant | undefined;
  /** A request was sent and its outcome is unknown: a task of ours may be running. */
  mayBeUnderWay: boolean;
}

export async function inFileRounds(
  context: FileContext,
  what: string,
  round: (soFar: RoundsSoFar) => Promise<'done' | 'again'>,
): Promise<void> {
  await context.whileBusy(`${what} ${context.address}`, async () => {
    const patience = context.pve.reach.patience(context.signal);
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
        if (await patience.again(error)) continue;
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
