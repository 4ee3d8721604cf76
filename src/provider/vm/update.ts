/** Changing a VM that stands. */
import type { ApplyResult, ProviderDiagnostic } from '../provider.ts';
import { carryOut, problemFrom } from '../run/outcome.ts';
import type { UpdateRequest } from '../run/resource.ts';
import type { VmContext } from './context.ts';
import { memoryOfState } from './memory.ts';
import { readPrivate } from './private-state.ts';
import { type Applied, finished, halfDone, seenAfter } from './result.ts';
import { VM } from './schema.ts';
import { secretsOf } from './secrets.ts';
import { withSession } from './solo-session.ts';
import { isSwitchOff, keptFor } from './switched-off.ts';
import { wantedVm } from './wanted-vm.ts';

export async function updateVm(context: VmContext, request: UpdateRequest): Promise<ApplyResult> {
  const { prior, planned, config } = request;
  const surroundings = context.requireSurroundings();
  const untouched = { state: prior, private: request.private };
  const { vm, timeouts, problems } = wantedVm(config, { exists: true });
  if (problems.length > 0) return { ...untouched, diagnostics: problems };
  const kept = keptFor(vm, readPrivate(request.private));
  const secrets = await secretsOf(surroundings, config, vm);
  let state = memoryOfState(prior, kept);
  const wasOn = prior.status === 'running' || kept.switchedOff === true;
  let found: readonly ProviderDiagnostic[] = [];
  const applied = (): Applied => ({ planned, config, vm, state, secrets });
  try {
    const ended = await context.leftovers().settle(state, surroundings.signal);
    if (ended.some(isSwitchOff)) state = { ...state, lastApplied: { ...state.lastApplied, power: 'stopped' } };
    await withSession(
      surroundings,
      { vm, remembered: state, timeouts, secrets },
      context.sessionLabel(),
      async (session) => {
        try {
          found = await carryOut(session, await session.plan(), VM);
        } finally {
          state = session.state.vms[vm.address] ?? state;
        }
      },
    );
    if (found.length === 0) return finished(surroundings, applied(), await seenAfter(surroundings, applied()));
  } catch (error) {
    found = [problemFrom(error, VM)];
  } finally {
    surroundings.forgetLooks();
  }
  // Whatever cannot be read now is left as it was; the next refresh reads it.
  const left = await halfDone(surroundings, applied(), { state: prior, wasOn }).catch(() => ({
    ...untouched,
    diagnostics: [],
  }));
  return { ...left, diagnostics: found };
}
