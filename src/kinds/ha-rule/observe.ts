/** Reads the HA rules of the cluster, where the file or the state mentions `ha` and the server has rules. */
import { hasCode } from '../../base/errors.ts';
import { hasEndpoint } from '../../pve/compatibility.ts';
import type { ObserveContext } from '../kind.ts';
import { MAX_AGE_MS, type Observed } from '../observed.ts';
import { isHaPath } from '../vm/ha.ts';

export async function observeRules({ pve, stack, state, signal }: ObserveContext): Promise<Pick<Observed, 'haRules'>> {
  const isMentioned =
    stack.vms.some(({ fields }) => fields.ha !== undefined) ||
    Object.values(state.vms).some(({ lastApplied }) => Object.keys(lastApplied).some(isHaPath));
  if (!isMentioned || !hasEndpoint(await pve.authenticate({ signal }), '/cluster/ha/rules')) return {};
  try {
    return { haRules: { ok: true, value: await pve.cluster.haRules.list({ signal, maxAgeMs: MAX_AGE_MS.guests }) } };
  } catch (error) {
    if (!hasCode(error, 'PRIVILEGE_MISSING')) throw error;
    return { haRules: { ok: false, needs: 'Sys.Audit on /' } };
  }
}
