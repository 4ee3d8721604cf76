/** Reads the HA rules of the cluster, or its groups before Proxmox VE 9, where the file or the state mentions `ha`. */
import { hasCode } from '../../base/errors.ts';
import type { ObserveContext } from '../kind.ts';
import { MAX_AGE_MS, type Observed } from '../observed.ts';
import { isHaPath } from '../vm/ha.ts';
import { ruleBook } from './book.ts';

export async function observeRules({ pve, stack, state, signal }: ObserveContext): Promise<Pick<Observed, 'haRules'>> {
  const isMentioned =
    stack.vms.some(({ fields }) => fields.ha !== undefined) ||
    Object.values(state.vms).some(({ lastApplied }) => Object.keys(lastApplied).some(isHaPath));
  if (!isMentioned) return {};
  try {
    const book = ruleBook(pve, await pve.authenticate({ signal }));
    return { haRules: { ok: true, value: await book.list({ signal, maxAgeMs: MAX_AGE_MS.guests }) } };
  } catch (error) {
    if (!hasCode(error, 'PRIVILEGE_MISSING')) throw error;
    return { haRules: { ok: false, needs: 'Sys.Audit on /' } };
  }
}
