/** How a run of the engine for one resource ended, in the host's terms. */
import type { Diagnostic } from '../../base/diagnostics.ts';
import { isCanceled, ProxwrightError } from '../../base/errors.ts';
import { advice } from '../../base/hint.ts';
import type { ExecuteResult } from '../../engine/execute.ts';
import type { PlanResult } from '../../engine/plan.ts';
import type { Session } from '../../engine/session.ts';
import type { ProviderDiagnostic } from '../provider.ts';
import type { Attributes } from '../schema/model.ts';
import { diagnosticAt } from '../values/diagnostics.ts';

/** What the resource is, in messages, and its attributes. */
export interface Subject {
  /** `VM`. */
  readonly noun: string;
  readonly attributes: Attributes;
}

/** Carries a plan out; what speaks against it comes back. */
export async function carryOut(
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

/** Ctrl-C. */
export function stopped(): ProviderDiagnostic {
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
  // The host does not order what it destroys and what it makes, unless one depends on the other.
  if (diagnostic.code === 'VMID_TAKEN')
    return { ...diagnostic, hint: advice`${diagnostic.hint ?? ''} ${OTHER_ADDRESS}` };
  return diagnostic;
}

const OTHER_ADDRESS =
  'If it is the same VM under another address, say so in a moved block; if this very run destroys it, apply again.';

/** The way back into a stack's own state is no way into the host's. */
function inTermsOfState(diagnostic: Diagnostic, { noun }: Subject): Diagnostic {
  const other = noun === 'VM' ? 'another name, or a vmid of its own' : 'another name';
  return {
    ...diagnostic,
    summary: `A ${noun} of this name is not in the state`,
    hint: {
      text:
        'If it is the one this resource means, take it over: terraform import ADDRESS NODE/VMID. ' +
        `If it is being replaced with create_before_destroy, it still has the name: take create_before_destroy out, or give the new one ${other}. ` +
        `If both are meant to be there, give this one ${other}, or delete the line that begins with "proxwright:" from the notes of the other.`,
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
    if (isCanceled(error)) return failed([stopped()]);
    if (!(error instanceof ProxwrightError)) throw error;
    return failed([diagnosticAt(error.diagnostic, subject.attributes)]);
  }
}

/** A call that found nothing to hand over. */
export function nothing(diagnostics: readonly ProviderDiagnostic[]) {
  return { state: null, private: undefined, diagnostics };
}
