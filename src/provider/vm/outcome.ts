/** How a run of the engine on one VM ended, in the host's terms. */
import type { Address } from '../../base/address.ts';
import type { Diagnostic } from '../../base/diagnostics.ts';
import { Canceled, ProxwrightError } from '../../base/errors.ts';
import type { ExecuteResult } from '../../engine/execute.ts';
import type { PlanResult } from '../../engine/plan.ts';
import type { Session } from '../../engine/session.ts';
import type { ProviderDiagnostic } from '../provider.ts';
import { diagnosticAt } from '../values/diagnostics.ts';
import { VM_SCHEMA } from './schema.ts';

/** Plans and carries out; what speaks against it comes back. */
export async function carryOut(
  session: Session,
  address: Address,
  planned: PlanResult,
): Promise<readonly ProviderDiagnostic[]> {
  if (!planned.ok) return planned.problems.map(problemOf);
  return problemsOf(address, await session.execute(planned.plan));
}

function problemsOf(address: Address, { outcomes, problems }: ExecuteResult): readonly ProviderDiagnostic[] {
  const problem = problems.get(address);
  if (problem) return [problemOf(problem)];
  switch (outcomes.get(address)) {
    case 'canceled':
    case 'skipped':
      return [stopped()];
    default:
      return [];
  }
}

/** Ctrl-C. */
export function stopped(): ProviderDiagnostic {
  return { severity: 'error', summary: 'Stopped', detail: 'Stopped on request. Nothing was undone.' };
}

/** What an error means for the host; a defect stays an error. */
export function problemFrom(error: unknown): ProviderDiagnostic {
  if (error instanceof Canceled) return stopped();
  if (error instanceof ProxwrightError) return problemOf(error.diagnostic);
  throw error;
}

export function problemOf(diagnostic: Diagnostic): ProviderDiagnostic {
  return diagnosticAt(diagnostic.code === 'STATE_LOST' ? inTermsOfState(diagnostic) : diagnostic, VM_SCHEMA.attributes);
}

/** The way back into a stack's own state is no way into the host's. */
function inTermsOfState(diagnostic: Diagnostic): Diagnostic {
  return {
    ...diagnostic,
    summary: 'A VM of this name is not in the state',
    hint: 'If it is the one this resource means, take it over: terraform import ADDRESS NODE/VMID. If both are meant to be there, give this one another name, or delete the line that begins with "proxwright:" from the notes of the other.',
  };
}
