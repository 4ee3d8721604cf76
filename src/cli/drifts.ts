/** What others changed since the last apply, picked out of a plan. */
import type { Address } from '../base/address.ts';
import type { Change } from '../engine/plan-types.ts';
import type { Difference } from '../resources/vm/diff.ts';
import type { Sight } from './read-only-plan.ts';

export interface Drift {
  readonly address: Address;
  readonly name: string;
  readonly vmid: number | undefined;
  readonly node: string;
  readonly gone: boolean;
  /** As `applied` it was left; as `actual` it was found. */
  readonly fields: readonly { readonly path: string; readonly applied: unknown; readonly actual: unknown }[];
}

export function driftsOf({ plan, state, observed }: Pick<Sight, 'plan' | 'state' | 'observed'>): Drift[] {
  return plan.changes.flatMap((change): Drift[] => {
    const { address, name, node } = change;
    const remembered = state.vms[address];
    const gone = remembered !== undefined && observed.vms.get(address)?.kind === 'gone';
    const fields = gone ? [] : foreignFields(change, remembered?.lastApplied ?? {});
    if (!gone && fields.length === 0) return [];
    return [{ address, name, vmid: remembered?.vmid ?? change.vmid, node: remembered?.node ?? node, gone, fields }];
  });
}

/** A VM that was never finished has no last apply to drift from. */
function foreignFields({ kind, differences }: Change, lastApplied: Readonly<Record<string, unknown>>): Drift['fields'] {
  if (kind === 'create' || kind === 'complete') return [];
  const isForeign = ({ by }: Difference) => by !== 'file';
  return differences.filter(isForeign).map(({ path, before, after, secret }) => ({
    path,
    applied: secret ? after : (lastApplied[path] ?? after),
    actual: before,
  }));
}
