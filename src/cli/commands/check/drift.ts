/** `proxwright drift`: what was changed outside Proxwright since the last apply. Changes in the file are left to `plan`. */
import { planStack } from '../../../engine/plan.ts';
import type { Change, Difference, Plan } from '../../../kinds/change.ts';
import type { ResolvedStack } from '../../../kinds/stack.ts';
import type { CommandDeps, ExitCode, StackOptions } from '../../command.ts';
import { connect } from '../../stack/connect.ts';
import { openStack } from '../../stack/open.ts';
import { type PlanAttempt, type PlannedStack, requirePlan, tryPlan } from '../../stack/planning.ts';
import { type Drift, driftView } from '../../views/check/drift.ts';

export interface DriftOptions extends StackOptions {
  readonly only?: readonly string[];
  readonly exitCode?: boolean;
}

/** Reports VMs that cannot be compared, such as one whose id now belongs to another VM, and compares all others. */
export async function runDrift(options: DriftOptions, deps: CommandDeps): Promise<ExitCode> {
  const opened = await openStack(options, deps);
  const pve = await connect(opened, deps);
  const only = options.only ?? [];
  const attempt = await tryPlan(opened, deps, pve, { only });
  const problems = attempt.result.ok ? [] : attempt.result.problems;
  const left = attempt.result.ok
    ? attempt.result.plan
    : planOfOthers(attempt, opened.stack, { only, now: deps.clock.now() });
  const plan = left ?? requirePlan(attempt.result, deps);
  const drifts = driftsOf({ ...attempt, plan });
  driftView(deps).drifts(opened.stack.name, drifts, { notCompared: problems.length });
  for (const problem of problems) deps.terminal.diagnostic(problem);
  if (problems.length > 0) return 1;
  return options.exitCode && drifts.length > 0 ? 2 : 0;
}

/** The plan of all VMs without a reported problem; undefined if the rest cannot be planned either. */
function planOfOthers(
  { result, state, observed, secrets, unsettled }: PlanAttempt,
  stack: ResolvedStack,
  options: { readonly only: readonly string[]; readonly now: number },
): Plan | undefined {
  const refused = result.ok ? [] : result.problems.map(({ where }) => where?.address);
  const left = new Set([...refused, ...unsettled.map(({ address }) => address)]);
  const vms = stack.vms.filter(({ address }) => !left.has(address));
  const others = planStack({ stack: { ...stack, vms }, state, observed, secrets, ...options });
  return others.ok ? others.plan : undefined;
}

export function driftsOf({ plan, state, observed }: Pick<PlannedStack, 'plan' | 'state' | 'observed'>): Drift[] {
  return plan.changes.flatMap((change): Drift[] => {
    const { address, name, node, outside = [] } = change;
    const recorded = state.vms[address];
    const gone = recorded !== undefined && observed.vms.get(address)?.kind === 'gone';
    // A move by a Proxwright command is no outside change; the plan says so.
    const left = outside.filter(({ by }) => by === undefined).map((each) => ({ ...each, leftAlone: true as const }));
    const fields = gone ? [] : [...foreignFields(change, recorded?.lastApplied ?? {}), ...left];
    if (!gone && fields.length === 0) return [];
    return [{ address, name, vmid: recorded?.vmid ?? change.vmid, node: recorded?.node ?? node, gone, fields }];
  });
}

/** A VM that was never completed has no last apply to drift from. */
function foreignFields({ kind, differences }: Change, lastApplied: Readonly<Record<string, unknown>>): Drift['fields'] {
  if (kind === 'create' || kind === 'complete') return [];
  const isForeign = ({ by }: Difference) => by !== 'file';
  return differences.filter(isForeign).map(({ path, before, after, secret }) => ({
    path,
    applied: secret ? after : (lastApplied[path] ?? after),
    actual: before,
  }));
}
