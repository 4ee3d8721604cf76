/**
 * Equal changes of a plan as one group: what all members have in common is shown once, what differs is a column of theirs. A plan
 * of 300 VMs is then a handful of groups. Pure.
 */
import { groupAddress } from '../../base/address.ts';
import { groupedBy } from '../../base/values/groups.ts';
import type { ChangeView, FieldView } from '../server/source.ts';

export interface ChangeGroup {
  /** `vm.worker`, or the address of the only member. */
  readonly title: string;
  readonly kind: string;
  readonly verb: string;
  readonly members: readonly ChangeView[];
  readonly reason: string;
  readonly notes: readonly string[];
  /** The same for every member. */
  readonly fields: readonly FieldView[];
  /** Paths whose new value differs between members. */
  readonly columns: readonly string[];
}

export function groupsOf(changes: readonly ChangeView[]): readonly ChangeGroup[] {
  return [...groupedBy(changes, keyOf).values()].flatMap((members) => {
    const [first] = members;
    return first ? [groupOf(first, members)] : [];
  });
}

/** Of one group are changes that differ only in names and in new values. */
function keyOf(change: ChangeView): string {
  const { kind, verb, fields, reason, notes } = change;
  const shapes = fields.map(({ path, before, by, effect }) => [path, before, by, effect]);
  const texts = [reason, ...notes].map((text) => anonymous(text, change));
  return JSON.stringify([groupAddress(change.address), kind, verb, shapes, texts]);
}

function groupOf(first: ChangeView, members: readonly ChangeView[]): ChangeGroup {
  const { kind, verb, reason, notes } = first;
  const isLone = members.length === 1;
  const differs = first.fields.map(
    ({ after }, at) => !members.every(({ fields }) => JSON.stringify(fields[at]?.after) === JSON.stringify(after)),
  );
  return {
    title: isLone ? first.address : groupAddress(first.address),
    kind,
    verb,
    members,
    reason,
    notes,
    fields: first.fields.filter((_, at) => !differs[at]),
    // The name has a column of its own.
    columns: first.fields.flatMap(({ path }, at) => (differs[at] && path !== 'name' ? [path] : [])),
  };
}

/** A name without a letter could be any number in the text. */
function anonymous(text: string, { name, address }: ChangeView): string {
  const unaddressed = text.replaceAll(address, '…');
  return /[a-z]/i.test(name) ? unaddressed.replaceAll(name, '…') : unaddressed;
}
