/**
 * The only constructor of NOT_OURS: something that this stack did not create has the id, the name or the place of a
 * resource. Proxwright leaves it alone, and the message says so. `identity.ts` of the VM kind compares VMs.
 */
import type { Where } from '../../base/diagnostics.ts';
import { ProxwrightError } from '../../base/errors.ts';
import type { Hint } from '../../base/hint.ts';

export interface Foreign {
  readonly where?: Where | undefined;
  /** What was found, and why it is not ours, in full sentences. */
  readonly why: string;
  readonly hint: Hint | string;
  /** What this run had already done to it before it knew, in full sentences. */
  readonly acted?: string | undefined;
}

export function foreign({ where, why, hint, acted }: Foreign): ProxwrightError<'NOT_OURS'> {
  const end = acted === undefined ? 'Proxwright leaves it alone.' : `${acted} Proxwright leaves it alone from now on.`;
  return new ProxwrightError({ code: 'NOT_OURS', where, detail: `${why} ${end}`, hint });
}
