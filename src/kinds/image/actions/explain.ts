/** What the server says of a file, with what only the step knows: which file, and what to type next. */
import { isCanceled, ProxwrightError } from '../../../base/errors.ts';
import { advice, command, setting } from '../../../base/hint.ts';
import type { FileContext } from '../context.ts';
import { type FilePlace, volidOf } from '../steps.ts';

export interface Told {
  /** The file that had the name before was removed by this step. */
  readonly removedOld?: boolean;
  /** How it comes in: over the network of the node, or from here. */
  readonly way: 'fetch' | 'send';
}

export function explained(context: FileContext, place: FilePlace, error: unknown, told: Told): unknown {
  if (!(error instanceof ProxwrightError) || isCanceled(error)) return error;
  const where = { address: context.address };
  const gone = told.removedOld
    ? {
        addedDetail: `The old file was removed before, as --replace asked for: nothing has the name ${volidOf(place)} now.`,
      }
    : {};
  switch (error.code) {
    case 'FILE_DIFFERS':
      return differs(context, place, error.diagnostic.detail, error);
    case 'ALREADY_EXISTS':
      return error.with({
        where,
        hint: advice`Declare sha256 or sha512, so that Proxmox can compare it, or replace it: ${command('apply', '--replace', context.address)}`,
      });
    case 'NO_SPACE':
      return error.with({ where, ...gone, hint: noSpaceHint(place, told.way) });
    default:
      return error.with({ where, ...gone });
  }
}

/** Present and wrong: said, and replaced only on request. */
export function differs(context: FileContext, place: FilePlace, why: string, cause?: unknown): ProxwrightError {
  return new ProxwrightError({
    code: 'FILE_DIFFERS',
    detail: `${volidOf(place)} is on ${place.node} already, and is not the file that was asked for. Nothing was changed.\n${why}`,
    where: { address: context.address },
    hint: advice`Give the image another name (${setting('file', '…')}), or replace the file: ${command('apply', '--replace', context.address)}`,
    ...(cause !== undefined && { cause }),
  });
}

function noSpaceHint({ storage, node }: FilePlace, way: Told['way']): string {
  const free = `Free space on storage "${storage}" (on ${node}: pvesm status --storage ${storage}), or choose another one.`;
  return way === 'fetch'
    ? free
    : `${free} An upload also needs room for a whole copy in /var/tmp of the node that the endpoint names: df -h /var/tmp`;
}
