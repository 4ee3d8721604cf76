/** How far the rolls of a run came: which members have the change, which have not, and what continues. Pure. */
import type { Address } from '../base/address.ts';
import type { Roll } from '../kinds/change.ts';
import type { ResourceOutcome } from '../state/events.ts';

export interface RollReport {
  readonly group: string;
  /** Members that were changed and are ready again. */
  readonly changed: readonly Address[];
  /** Members that were begun and are not ready. */
  readonly failed: readonly Address[];
  /** Members that were not touched. */
  readonly unchanged: readonly Address[];
  /** Arguments of the apply that continues. */
  readonly again: readonly string[];
}

/** Only of rolls that did not come to their end. */
export function unfinishedRolls(
  rolls: readonly Roll[],
  outcomes: ReadonlyMap<string, ResourceOutcome>,
): readonly RollReport[] {
  const reports = rolls.map(({ group, waves, again }): RollReport => {
    const members = waves.flat();
    const having = (...wanted: readonly ResourceOutcome[]) =>
      members.filter((address) => wanted.includes(outcomes.get(address) ?? 'skipped'));
    return {
      group,
      changed: having('done'),
      failed: having('failed', 'notReady', 'canceled'),
      unchanged: having('skipped'),
      again,
    };
  });
  return reports.filter(({ failed, unchanged, changed }) => {
    // One VM on its own has no others to tell apart from.
    return failed.length + unchanged.length > 0 && changed.length + failed.length + unchanged.length > 1;
  });
}
