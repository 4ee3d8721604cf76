/** Checks a plan of the host with the engine, before anything changes. */
import type { Diagnostic } from '../../base/diagnostics.ts';
import { isCanceled, toDiagnostic } from '../../base/errors.ts';
import {
  checkPrivileges,
  type DestroyInput,
  explainUnseen,
  isEmpty,
  type Observed,
  observe,
  type PlanResult,
  planDestroy,
  planStack,
} from '../../engine/index.ts';
import type { ProviderDiagnostic } from '../provider.ts';
import type { Attributes } from '../schema/model.ts';
import { diagnosticAt } from '../values/diagnostics.ts';
import type { Deps } from './deps.ts';
import { type EngineWork, stackOf, stateOf } from './engine-run.ts';
import { problemOf, type Subject } from './outcome.ts';

/** Errors, warnings or nothing, as `plan_checks` says. Without a server nothing can be checked. */
export async function checked(
  deps: Deps | undefined,
  attributes: Attributes,
  check: (deps: Deps) => Promise<readonly ProviderDiagnostic[]>,
): Promise<readonly ProviderDiagnostic[]> {
  if (!deps || deps.planChecks === 'off') return [];
  try {
    return soften(deps, await check(deps));
  } catch (error) {
    if (isCanceled(error)) throw error;
    return soften(deps, [diagnosticAt(toDiagnostic(error), attributes)]);
  }
}

function soften({ planChecks }: Deps, found: readonly ProviderDiagnostic[]): readonly ProviderDiagnostic[] {
  return planChecks === 'warn' ? found.map((each) => ({ ...each, severity: 'warning' })) : found;
}

/** `expected` is the cluster as it will be at apply: the host may destroy something first. */
export async function planWithEngine(
  deps: Deps,
  work: EngineWork,
  expected: (observed: Observed) => Observed = (observed) => observed,
): Promise<PlanResult> {
  const { looks, signal, clock } = deps;
  const { secrets } = work;
  const [stack, state] = [stackOf(deps, work), stateOf(deps, work)];
  const observed = expected(await observe({ pve: looks, stack, state, secrets, signal, chooseIds: false }));
  const result = planStack({ stack, state, observed, secrets, now: clock.now(), strictClaims: true, chooseIds: false });
  if (!result.ok) {
    return { ok: false, problems: await explainUnseen({ pve: looks, stack, problems: result.problems, signal }) };
  }
  const { plan } = result;
  if (isEmpty(plan)) return result;
  const { version } = observed;
  const { missing, notChecked } = await checkPrivileges({ pve: looks, plan, stack, version, observed, signal });
  if (missing.length > 0) return { ok: false, problems: missing };
  return { ok: true, plan: { ...plan, warnings: [...plan.warnings, ...notChecked] } };
}

export interface FindingsOptions {
  /** Paths that are known only after apply. */
  readonly unknown: readonly string[];
  /** Another way to report a problem; undefined for the usual one. */
  readonly instead?: (problem: Diagnostic) => ProviderDiagnostic | undefined;
}

/** Problems and warnings of the engine's plan, as the host shows them. */
export function findingsOf(
  result: PlanResult,
  subject: Subject,
  { unknown, instead = () => undefined }: FindingsOptions,
): ProviderDiagnostic[] {
  if (result.ok) return result.plan.warnings.map((warning) => diagnosticAt(warning, subject.attributes));
  return result.problems
    .filter((problem) => !isPostponed(problem, unknown))
    .map((problem) => instead(problem) ?? problemOf(problem, subject));
}

/** A check that depends on an unknown value, or on a whole that contains one, is made at apply. */
export function isPostponed({ where }: Diagnostic, unknown: readonly string[]): boolean {
  const field = where?.field ?? '';
  return unknown.some((path) => field === path || field.startsWith(`${path}.`) || path.startsWith(`${field}.`));
}

/** Why the recorded resources of `work` cannot be destroyed. */
export async function destroyFindings(
  deps: Deps,
  work: EngineWork,
  subject: Subject,
  options: Pick<DestroyInput, 'running' | 'all'>,
): Promise<ProviderDiagnostic[]> {
  const { looks, signal, clock } = deps;
  const [stack, state] = [stackOf(deps, work), stateOf(deps, work)];
  const observed = await observe({ pve: looks, stack, state, signal, neighbours: 'never', chooseIds: false });
  const result = planDestroy({ stack, state, observed, now: clock.now(), ...options });
  return result.ok ? [] : result.problems.map((problem) => problemOf(problem, subject));
}
