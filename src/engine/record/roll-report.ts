/**
 * The progress of the rolls of a run: which members have the change, which do not, and the command that continues.
 * Pure.
 */
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
  /** Arguments of the apply that continues. It replaces no member a second time: one that was begun is completed. */
  readonly again: readonly string[];
}

/** Only for unfinished rolls. `begun`: the resources of which a step has run. */
export function unfinishedRolls(
  rolls: readonly Roll[],
  outcomes: ReadonlyMap<string, ResourceOutcome>,
  begun: ReadonlySet<string>,
): readonly RollReport[] {
  const reports = rolls.map(({ group, waves, again }): RollReport => {
    const members = waves.flat();
    const changed = members.filter((address) => outcomes.get(address) === 'done');
    // Also of a run that was stopped: a member that was waiting for its turn is as it was.
    const unchanged = members.filter((address) => !changed.includes(address) && !begun.has(address));
    const failed = members.filter((address) => !changed.includes(address) && begun.has(address));
    return { group, changed, failed, unchanged, again: argumentsOf(again, failed, unchanged) };
  });
  return reports.filter(({ failed, unchanged, changed }) => {
    // A single VM is no roll.
    return failed.length + unchanged.length > 0 && changed.length + failed.length + unchanged.length > 1;
  });
}

function argumentsOf(
  again: Roll['again'],
  failed: readonly Address[],
  unchanged: readonly Address[],
): readonly string[] {
  const untouched = unchanged.flatMap((address) => again[address] ?? []);
  const begun = failed.flatMap((address) => again[address] ?? []).filter((word) => word === ALLOW_RESTART);
  const isRestart = [...untouched, ...begun].includes(ALLOW_RESTART);
  return [...untouched.filter((word) => word !== ALLOW_RESTART), ...(isRestart ? [ALLOW_RESTART] : [])];
}

const ALLOW_RESTART = '--allow-restart';
