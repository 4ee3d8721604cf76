/** What the server says of a file, with what only the step knows: which file, and what to type next. */
import type { Where } from '../../../base/diagnostics.ts';
import { ApiError, type ErrorCode, type ErrorInit, FileError, ProxwrightError } from '../../../base/errors.ts';
import type { FileContext } from '../context.ts';
import { type FilePlace, volidOf } from '../steps.ts';

export interface Told {
  /** The file that had the name before was removed by this step. */
  readonly removedOld?: boolean;
  /** How it comes in: over the network of the node, or from here. */
  readonly way: 'fetch' | 'send';
}

export function explained(context: FileContext, place: FilePlace, error: unknown, told: Told): unknown {
  if (!(error instanceof ProxwrightError) || error.code === 'CANCELED') return error;
  const { diagnostic } = error;
  const gone = told.removedOld
    ? `\nThe old file was removed before, as --replace asked for: nothing has the name ${volidOf(place)} now.`
    : '';
  const where = { ...diagnostic.where, address: context.address };
  const base = { where, cause: error };
  switch (error.code) {
    case 'FILE_DIFFERS':
      return differs(context, place, diagnostic.detail, error);
    case 'ALREADY_EXISTS':
      return new ApiError({
        ...base,
        code: 'ALREADY_EXISTS',
        detail: diagnostic.detail,
        hint: `Declare sha256 or sha512, so that Proxmox can compare it, or replace it: proxwright apply --replace ${context.address}`,
      });
    case 'NO_SPACE':
      return new ApiError({
        ...base,
        code: 'NO_SPACE',
        detail: `${diagnostic.detail}${gone}`,
        hint: noSpaceHint(place, told.way),
      });
    default:
      return retold(error, `${diagnostic.detail}${gone}`, where);
  }
}

/** Present and wrong: said, and replaced only on request. */
export function differs(context: FileContext, place: FilePlace, why: string, cause?: unknown): FileError {
  return new FileError({
    code: 'FILE_DIFFERS',
    detail: `${volidOf(place)} is on ${place.node} already, and is not the file that was asked for. Nothing was changed.\n${why}`,
    where: { address: context.address },
    hint: `Give the image another name (file: …), or replace the file: proxwright apply --replace ${context.address}`,
    ...(cause !== undefined && { cause }),
  });
}

function noSpaceHint({ storage, node }: FilePlace, way: Told['way']): string {
  const free = `Free space on storage "${storage}" (on ${node}: pvesm status --storage ${storage}), or choose another one.`;
  return way === 'fetch'
    ? free
    : `${free} An upload also needs room for a whole copy in /var/tmp of the node that the endpoint names: df -h /var/tmp`;
}

function retold(error: ProxwrightError, detail: string, where: Where): ProxwrightError {
  const Class = error.constructor as new (init: ErrorInit<ErrorCode>) => ProxwrightError; // `Canceled` does not come here
  const { hint } = error.diagnostic;
  return new Class({ code: error.code, detail, where, cause: error, ...(hint !== undefined && { hint }) });
}
