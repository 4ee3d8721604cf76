/** `proxwright drift`: what was changed outside Proxwright since the last apply. Changes in the file are left to `plan`. */
import type { Change } from '../../kinds/change.ts';
import type { Difference } from '../../kinds/vm/diff/diff.ts';
import type { CommandDeps, ExitCode, StackOptions } from '../command.ts';
import { openAndPlan, type PlannedStack } from '../stack/planning.ts';
import { type Drift, driftView } from '../views/drift.ts';

export interface DriftOptions extends StackOptions {
  readonly only?: readonly string[];
  readonly exitCode?: boolean;
}

export async function runDrift(options: DriftOptions, deps: CommandDeps): Promise<ExitCode> {
  const planned = await openAndPlan(options, deps, { only: options.only ?? [] });
  const drifts = driftsOf(planned);
  driftView(deps).drifts(planned.stack.name, drifts);
  return options.exitCode && drifts.length > 0 ? 2 : 0;
}

export function driftsOf({ plan, state, observed }: Pick<PlannedStack, 'plan' | 'state' | 'observed'>): Drift[] {
  return plan.changes.flatMap((change): Drift[] => {
    const { address, name, node } = change;
    const recorded = state.vms[address];
    const gone = recorded !== undefined && observed.vms.get(address)?.kind === 'gone';
    const fields = gone ? [] : foreignFields(change, recorded?.lastApplied ?? {});
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
