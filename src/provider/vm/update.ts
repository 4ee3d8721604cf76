/** Changing a VM that stands. */
import { Canceled, toDiagnostic } from '../../base/errors.ts';
import type { CtyObject } from '../cty/value.ts';
import type { ApplyResult, PrivateState, ProviderDiagnostic } from '../provider.ts';
import { diagnosticAt } from '../values/diagnostics.ts';
import type { VmContext } from './context.ts';
import { memoryOfState } from './memory.ts';
import { carryOut, stopped } from './outcome.ts';
import { readPrivate } from './private-state.ts';
import { type Applied, finished, halfDone } from './result.ts';
import { VM_SCHEMA } from './schema.ts';
import { secretsOf } from './secrets.ts';
import { withSession } from './solo-session.ts';
import { wantedVm } from './wanted-vm.ts';

export interface UpdateRequest {
  readonly prior: CtyObject;
  readonly planned: CtyObject;
  readonly config: CtyObject;
  readonly private: PrivateState;
}

export async function updateVm(context: VmContext, request: UpdateRequest): Promise<ApplyResult> {
  const { prior, planned, config } = request;
  const surroundings = context.requireSurroundings();
  const untouched = { state: prior, private: request.private };
  const { vm, timeouts, problems } = wantedVm(config, { exists: true });
  if (problems.length > 0) return { ...untouched, diagnostics: problems };
  const kept = readPrivate(request.private);
  const secrets = await secretsOf(surroundings, config, vm);
  let state = memoryOfState(prior, kept);
  let found: readonly ProviderDiagnostic[] = [];
  const applied = (): Applied => ({ planned, config, vm, state, secrets });
  try {
    await withSession(
      surroundings,
      { vm, remembered: state, timeouts, secrets },
      context.sessionLabel(),
      async (session) => {
        try {
          found = await carryOut(session, vm.address, await session.plan());
        } finally {
          state = session.state.vms[vm.address] ?? state;
        }
      },
    );
    if (found.length === 0) return await finished(surroundings, applied());
  } catch (error) {
    if (error instanceof Canceled) found = [stopped()];
    else found = [diagnosticAt(toDiagnostic(error), VM_SCHEMA.attributes)];
  } finally {
    surroundings.forgetLooks();
  }
  // Whatever cannot be read now is left as it was; the next refresh reads it.
  const left = await halfDone(surroundings, applied(), prior).catch(() => ({ ...untouched, diagnostics: [] }));
  return { ...left, diagnostics: found };
}
