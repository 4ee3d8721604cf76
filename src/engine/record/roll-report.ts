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

/** Only what is unfinished, also of single VMs. `begun`: the resources of which a step has run. */
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
  return reports.filter(({ failed, unchanged }) => failed.length + unchanged.length > 0);
}

/** A single VM is changed or not, and never partly. */
export function isPartial({ changed, failed, unchanged }: RollReport): boolean {
  return changed.length + failed.length + unchanged.length > 1;
}

function argumentsOf(
  again: Roll['again'],
  failed: readonly Address[],
  unchanged: readonly Address[],
): readonly string[] {
  const untouched = unchanged.flatMap((address) => again[address] ?? []);
  const begun = failed.flatMap((address) => again[address] ?? []).filter((word) => word === ALLOW_RESTART);
  return withoutRepeats([...untouched, ...begun]);
}

/** Arguments of the apply that continues all of them. */
export function argumentsOfAll(reports: readonly RollReport[]): readonly string[] {
  return withoutRepeats(reports.flatMap(({ again }) => again));
}

function withoutRepeats(words: readonly string[]): string[] {
  const others = words.filter((word) => word !== ALLOW_RESTART);
  return words.includes(ALLOW_RESTART) ? [...others, ALLOW_RESTART] : others;
}

const ALLOW_RESTART = '--allow-restart';
