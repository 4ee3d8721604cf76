/** What the engine would say to a plan of the host, before anything is done. */
import type { Diagnostic } from '../../base/diagnostics.ts';
import { isCanceled, toDiagnostic } from '../../base/errors.ts';
import { observe } from '../../engine/observe.ts';
import { type PlanResult, planStack } from '../../engine/plan.ts';
import { checkPrivileges } from '../../engine/privileges/check.ts';
import { explainUnseen } from '../../engine/privileges/unseen.ts';
import { isEmpty } from '../../kinds/change.ts';
import type { Observed } from '../../kinds/observed.ts';
import type { ProviderDiagnostic } from '../provider.ts';
import type { Attributes } from '../schema/model.ts';
import type { Surroundings } from '../surroundings.ts';
import { diagnosticAt } from '../values/diagnostics.ts';
import type { EngineRun } from './session.ts';

/** As `plan_checks` says: errors, warnings, or nothing at all. Without a server nothing can be checked. */
export async function checked(
  surroundings: Surroundings | undefined,
  attributes: Attributes,
  check: (surroundings: Surroundings) => Promise<ProviderDiagnostic[]>,
): Promise<ProviderDiagnostic[]> {
  if (!surroundings || surroundings.planChecks === 'off') return [];
  try {
    return soften(surroundings, await check(surroundings));
  } catch (error) {
    if (isCanceled(error)) throw error;
    return soften(surroundings, [diagnosticAt(toDiagnostic(error), attributes)]);
  }
}

function soften({ planChecks }: Surroundings, found: ProviderDiagnostic[]): ProviderDiagnostic[] {
  return planChecks === 'warn' ? found.map((each) => ({ ...each, severity: 'warning' })) : found;
}

/** `expected` is the cluster as it will be when it counts: the host may be about to make room. */
export async function planWithEngine(
  { looks, signal, clock }: Surroundings,
  { stack, state, secrets }: EngineRun,
  expected: (observed: Observed) => Observed = (observed) => observed,
): Promise<PlanResult> {
  const observed = expected(await observe({ pve: looks, stack, state, secrets, signal }));
  const result = planStack({ stack, state, observed, secrets, now: clock.now(), strictClaims: true });
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

/** A check that rests on a value which is not known yet, or on a whole that holds one, is made at apply. */
export function isPostponed({ where }: Diagnostic, unknown: readonly string[]): boolean {
  const field = where?.field ?? '';
  const isTouched = unknown.some(
    (path) => field === path || field.startsWith(`${path}.`) || path.startsWith(`${field}.`),
  );
  // Which devices there will be is part of the question what may stand in a boot order.
  const isOfDevice = (path: string) => /^(disks|nics|usb|pci)(\.|$)/.test(path);
  return isTouched || (field.startsWith('boot') && unknown.some(isOfDevice));
}
