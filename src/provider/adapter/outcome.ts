/** How a run of the engine for one resource ended, in the host's terms. */
import type { Diagnostic } from '../../base/diagnostics.ts';
import { isCanceled, ProxwrightError } from '../../base/errors.ts';
import { advice } from '../../base/hint.ts';
import type { ExecuteResult, PlanResult, Session } from '../../engine/index.ts';
import type { ProviderDiagnostic } from '../provider.ts';
import type { Attributes } from '../schema/model.ts';
import { diagnosticAt } from '../values/diagnostics.ts';

/** What a message is about. */
export interface Subject {
  /** What it is called in messages. */
  readonly noun: string;
  readonly attributes: Attributes;
  /** What distinguishes a second resource from this one: `another name`. */
  readonly newIdentity: string;
}

/** Executes a plan and returns what went wrong. */
export async function execute(
  session: Session,
  planned: PlanResult,
  subject: Subject,
): Promise<readonly ProviderDiagnostic[]> {
  if (!planned.ok) return planned.problems.map((problem) => problemOf(problem, subject));
  return problemsOf(await session.execute(planned.plan), subject);
}

function problemsOf({ outcomes, problems }: ExecuteResult, subject: Subject): readonly ProviderDiagnostic[] {
  if (problems.size > 0) return [...problems.values()].map((problem) => problemOf(problem, subject));
  const isBroken = [...outcomes.values()].some((outcome) => outcome === 'canceled' || outcome === 'skipped');
  return isBroken ? [stopped()] : [];
}

/** After Ctrl-C. */
function stopped(): ProviderDiagnostic {
  return { severity: 'error', summary: 'Stopped', detail: 'Stopped on request. Nothing was undone.' };
}

/** What an error means for the host; a defect stays an error. */
export function problemFrom(error: unknown, subject: Subject): ProviderDiagnostic {
  if (isCanceled(error)) return stopped();
  if (error instanceof ProxwrightError) return problemOf(error.diagnostic, subject);
  throw error;
}

export function problemOf(diagnostic: Diagnostic, subject: Subject): ProviderDiagnostic {
  return diagnosticAt(inTermsOfHost(diagnostic, subject), subject.attributes);
}

function inTermsOfHost(diagnostic: Diagnostic, subject: Subject): Diagnostic {
  if (diagnostic.code === 'STATE_LOST') return inTermsOfState(diagnostic, subject);
  // The host does not order what it destroys and what it creates, unless one depends on the other.
  if (diagnostic.code === 'VMID_TAKEN')
    return { ...diagnostic, hint: advice`${diagnostic.hint ?? ''} ${otherAddress(subject)}` };
  return diagnostic;
}

function otherAddress({ noun }: Subject): string {
  return `If this ${noun} is in the state under another address, add a moved block. If the same run destroys it, apply again.`;
}

/** A stack's own state is recovered in another way than the host's. */
function inTermsOfState(diagnostic: Diagnostic, { noun, newIdentity }: Subject): Diagnostic {
  return {
    ...diagnostic,
    summary: `A ${noun} of this name is not in the state`,
    hint: {
      text:
        'If it is the one that this resource describes, import it: terraform import ADDRESS NODE/VMID. ' +
        'That is so after a run that was killed before it wrote its state. To destroy it, import it first; to destroy only what is in the state: terraform destroy -refresh=false. ' +
        `If it is being replaced with create_before_destroy, it still has the name: remove create_before_destroy, or give the new one ${newIdentity}. ` +
        `If you want both, give this one ${newIdentity}, or delete the line that starts with "proxwright:" from the notes of the other.`,
    },
  };
}

/** Expected failures of a call come back as diagnostics. */
export async function orDiagnostics<Result>(
  subject: Subject,
  work: () => Promise<Result>,
  failed: (diagnostics: readonly ProviderDiagnostic[]) => Result,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    return failed([problemFrom(error, subject)]);
  }
}
