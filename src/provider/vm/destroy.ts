/** Removing a VM: only the very one of the state, with its disks. */
import type { CtyObject } from '../cty/value.ts';
import type { ApplyResult, PrivateState } from '../provider.ts';
import { carryOut } from '../run/outcome.ts';
import type { VmContext } from './context.ts';
import { memoryOfState } from './memory.ts';
import { readPrivate } from './private-state.ts';
import { VM } from './schema.ts';
import { withSession } from './solo-session.ts';
import { wantedVm } from './wanted-vm.ts';

export async function destroyVm(context: VmContext, prior: CtyObject, bytes: PrivateState): Promise<ApplyResult> {
  const surroundings = context.requireSurroundings();
  const { vm, timeouts } = wantedVm(prior, { exists: true });
  const remembered = memoryOfState(prior, readPrivate(bytes));
  const solo = { vm, timeouts, remembered, secrets: new Map() };
  try {
    await context.leftovers().settle(remembered, surroundings.signal);
    const problems = await withSession(surroundings, solo, context.sessionLabel(), async (session) => {
      const running = prior.stop_on_destroy === true ? 'stop' : 'shutdown';
      return carryOut(session, await session.planDestroy({ running }), VM);
    });
    if (problems.length > 0) return { state: prior, private: bytes, diagnostics: problems };
    return { state: null, private: undefined, diagnostics: [] };
  } finally {
    surroundings.forgetLooks();
  }
}
