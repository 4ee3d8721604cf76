/**
 * Making a VM. Its ownership line says "incomplete" until everything is done, readiness included; only then does it become
 * an ordinary one. A create that fails leaves that mark and returns no state, so that the host asks for the VM again, and
 * the next create goes on where this one stopped.
 */

import type { ResolvedVm } from '../../kinds/stack.ts';
import type { VmRecord } from '../../kinds/vm/record.ts';
import type { CtyObject } from '../cty/value.ts';
import type { ApplyResult, ProviderDiagnostic } from '../provider.ts';
import { carryOut, problemFrom } from '../run/outcome.ts';
import type { Surroundings } from '../surroundings.ts';
import type { VmContext } from './context.ts';
import { handOver } from './hand-over.ts';
import { memoryOfIncomplete } from './incomplete.ts';
import { finished, seenAfter } from './result.ts';
import { VM } from './schema.ts';
import { secretsOf } from './secrets.ts';
import { type SoloVm, withSession } from './solo-session.ts';
import { wantedVm } from './wanted-vm.ts';

export async function createVm(context: VmContext, planned: CtyObject, config: CtyObject): Promise<ApplyResult> {
  const surroundings = context.requireSurroundings();
  const { vm, timeouts, problems } = wantedVm(config, { exists: false });
  if (problems.length > 0) return failed(problems);
  const { name, vmid } = vm.fields;
  const leftover = await context.leftovers().find({ name, vmid }, surroundings.signal);
  if (leftover) surroundings.log.log('info', `Completing VM ${leftover.vmid}, which an earlier run left.`);
  const made: Made = { problems: [], state: leftover && memoryOfIncomplete(leftover) };
  const secrets = await secretsOf(surroundings, config, vm);
  const solo: SoloVm = { vm: marked(vm), remembered: made.state, timeouts, secrets };
  try {
    await make(surroundings, context, solo, made);
    const { state } = made;
    if (made.problems.length > 0 || !state?.uuid) return failed(made.problems, state);
    const applied = { planned, config, vm, state, secrets };
    const seen = await seenAfter(surroundings, applied);
    const result = finished(surroundings, applied, seen);
    await handOver(surroundings, { ...solo, vm, remembered: state }, seen.vm, context.sessionLabel());
    return result;
  } catch (error) {
    return failed([problemFrom(error, VM)], made.state);
  } finally {
    surroundings.forgetLooks();
  }
}

/** Filled in on the way, so that a failure can say what stands. */
interface Made {
  problems: readonly ProviderDiagnostic[];
  state: VmRecord | undefined;
}

async function make(surroundings: Surroundings, context: VmContext, solo: SoloVm, made: Made): Promise<void> {
  const { address } = solo.vm;
  await withSession(surroundings, solo, context.sessionLabel(), async (session) => {
    try {
      made.problems = await carryOut(session, await session.plan({ asIncomplete: true, strictClaims: true }), VM);
    } finally {
      made.state = session.state.vms[address];
    }
  });
}

/** Also a VM that is to have no line has one while it is made. */
function marked(vm: ResolvedVm): ResolvedVm {
  return { ...vm, fields: { ...vm.fields, ownership: 'line' } };
}

function failed(problems: readonly ProviderDiagnostic[], left?: VmRecord): ApplyResult {
  const note: ProviderDiagnostic[] =
    left === undefined || problems.length === 0
      ? []
      : [
          {
            severity: 'warning',
            summary: 'An incomplete VM stays',
            detail:
              `VM ${left.vmid} on ${left.node} ("${left.name}") is kept and marked as incomplete: the next apply completes it. ` +
              'If you remove this resource from the configuration instead, remove the VM by hand; the data source proxwright_vms lists it with incomplete = true.',
          },
        ];
  return { state: null, private: undefined, diagnostics: [...problems, ...note] };
}
