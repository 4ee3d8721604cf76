/** How far the rolls of a run came: which members have the change, which have not, and what continues. Pure. */
import type { Address } from '../../base/address.ts';
import type { Roll } from '../../kinds/change.ts';
import type { ResourceOutcome } from '../../state/events.ts';

export interface RollReport {
  readonly group: string;
  /** Members that were changed and are ready again. */
  readonly changed: readonly Address[];
  /** Members that were begun and are not ready. */
  readonly failed: readonly Address[];
  /** Members that were not touched. */
  readonly unchanged: readonly Address[];
  /** Arguments of the apply that continues. It replaces no member a second time: one that was begun is only completed. */
  readonly again: readonly string[];
}

/** Only of rolls that did not come to their end. */
export function unfinishedRolls(
  rolls: readonly Roll[],
  outcomes: ReadonlyMap<string, ResourceOutcome>,
): readonly RollReport[] {
  const reports = rolls.map(({ group, waves, again }): RollReport => {
    const members = waves.flat();
    const unchanged = members.filter((address) => (outcomes.get(address) ?? 'skipped') === 'skipped');
    const having = (...wanted: readonly ResourceOutcome[]) =>
      members.filter((address) => wanted.includes(outcomes.get(address) ?? 'skipped'));
    return {
      group,
      changed: having('done'),
      failed: having('failed', 'notReady', 'canceled'),
      unchanged,
      again: unchanged.flatMap((address) => again[address] ?? []),
    };
  });
  return reports.filter(({ failed, unchanged, changed }) => {
    // One VM on its own has no others to tell apart from.
    return failed.length + unchanged.length > 0 && changed.length + failed.length + unchanged.length > 1;
  });
}
