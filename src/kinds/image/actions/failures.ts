/**
 * Failures of a transfer: which file they are about, what to do next, whether Proxmox may still be working on it, and the
 * time limit for our own work.
 */

import type { Address } from '../../../base/address.ts';
import { isCanceled, isFamily, ProxwrightError } from '../../../base/errors.ts';
import { advice, command, type Hint, setting } from '../../../base/hint.ts';
import { nodeCommand } from '../../../base/text/node-command.ts';
import { printDuration } from '../../../base/values/units.ts';
import { isOutcomeUnknown } from '../../../pve/index.ts';
import { isTaskLost, isTaskUnended } from '../../safety/tasks.ts';
import { type FileContext, type FilePlace, volidOf } from '../steps.ts';

interface Transfer {
  /** The file that had the name before was removed by this step. */
  readonly removedOld?: boolean;
  /** Whether the node downloads the file, or Proxwright uploads it. */
  readonly way: 'fetch' | 'send';
}

export function explained(context: FileContext, place: FilePlace, error: unknown, transfer: Transfer): unknown {
  if (!(error instanceof ProxwrightError) || isCanceled(error)) return error;
  const where = { address: context.address };
  const gone = transfer.removedOld
    ? {
        addedDetail: `--replace removed the old file before, so ${volidOf(place)} does not exist now.`,
      }
    : {};
  switch (error.code) {
    case 'FILE_DIFFERS':
      return differs(context, place, error.diagnostic.detail, error);
    case 'ALREADY_EXISTS':
      return error.with({
        where,
        hint: advice`Declare ${setting('sha256', '…')} or ${setting('sha512', '…')}, so that Proxmox can compare it, or give the image another name: ${setting('file', '…')}`,
      });
    case 'NO_SPACE':
      return error.with({ where, ...gone, hint: noSpaceHint(place, transfer.way) });
    default:
      return error.with({ where, ...gone });
  }
}

/** The file exists and is the wrong one; it is replaced only on request. */
export function differs(context: FileContext, place: FilePlace, why: string, cause?: unknown): ProxwrightError {
  return new ProxwrightError({
    code: 'FILE_DIFFERS',
    detail: `${volidOf(place)} already exists on ${place.node} and is not the desired file. Nothing was changed.\n${why}`,
    where: { address: context.address },
    hint: advice`Give the image another name: ${setting('file', '…')}. ${replacing(context.address, volidOf(place))}`,
    ...(cause !== undefined && { cause }),
  });
}

/** States the consequence without recommending it: the user must know what would be lost. */
export function replacing(address: Address, volid: string): Hint {
  return advice`${command('apply', '--replace', address)} would delete ${volid} even if another stack made it, and transfer the declared file in its place.`;
}

function noSpaceHint({ storage, node }: FilePlace, way: Transfer['way']): string {
  const free = `Free space on storage "${storage}" (on ${node}: ${nodeCommand('pvesm status', [], { storage })}), or choose another one.`;
  return way === 'fetch'
    ? free
    : `${free} An upload also needs room for a whole copy in /var/tmp of the node that the endpoint names: df -h /var/tmp`;
}

/** The answer is final: none of our tasks is running. */
export function isOver(error: unknown): boolean {
  if (isOutcomeUnknown(error) || isTaskUnended(error)) return false;
  return isFamily(error, 'file', 'api', 'auth', 'task');
}

/** A task failed, or its outcome is unknown: the storage shows the result. */
export function hasEnded(error: unknown): boolean {
  return isOver(error) || isTaskLost(error);
}

/** Limits our own work. The signal fires when the time for images is over, or the run is stopped. */
export async function bounded<T>(
  context: FileContext,
  what: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { clock, signal, timeouts } = context;
  const over = new AbortController();
  const ended = new AbortController();
  clock.sleep(timeouts.imageMs, ended.signal).then(
    () => over.abort(tooLong(context, what)),
    () => {},
  );
  try {
    return await work(AbortSignal.any([signal, over.signal]));
  } catch (error) {
    throw over.signal.aborted && !signal.aborted ? over.signal.reason : error;
  } finally {
    ended.abort();
  }
}

function tooLong(context: FileContext, what: string): ProxwrightError {
  return new ProxwrightError({
    code: 'DOWNLOAD_FAILED',
    detail: `It took longer than ${printDuration(context.timeouts.imageMs)} to ${what}, the whole time allowed.`,
    where: { address: context.address },
    hint: advice`Apply again: the download resumes. Or allow more time: ${setting('rollout.timeouts.image')}`,
  });
}
