/** A VM that a snapshot command selects, and the messages that those commands share. Pure. */
import type { Address } from '../../../base/address.ts';
import type { Diagnostic } from '../../../base/diagnostics.ts';
import { ProxwrightError } from '../../../base/errors.ts';
import { advice, command } from '../../../base/hint.ts';
import { closest } from '../../../base/text/closest.ts';
import { type Change, UNDETAILED } from '../../change.ts';
import type { VmObserved } from '../observed.ts';
import type { VmRecord } from '../record.ts';
import type { ResolvedVm } from '../stack.ts';
import type { VmSnapshots } from './snapshots.ts';

export interface Subject {
  readonly address: Address;
  readonly name: string;
  readonly vm: VmObserved;
  readonly recorded: VmRecord;
  /** Undefined if it left the file. */
  readonly desired: ResolvedVm | undefined;
  readonly snapshots: VmSnapshots;
}

export function changeOf({ address, name, vm }: Pick<Subject, 'address' | 'name' | 'vm'>, reason: string): Change {
  return { address, kind: 'update', name, node: vm.node, vmid: vm.vmid, reason, ...UNDETAILED };
}

export function unfinished(address: Address, name: string): Diagnostic {
  return new ProxwrightError({
    code: 'CANNOT_SNAPSHOT',
    where: { address },
    detail: `An earlier run did not finish creating ${name}.`,
    hint: advice`Finish it first: ${command('apply', '--only', address)}`,
  }).diagnostic;
}

/** At least one selected VM does not have the snapshot. */
export function noSuch(name: string, subjects: readonly Pick<Subject, 'address' | 'snapshots'>[]): Diagnostic {
  const known = [...new Set(subjects.flatMap(({ snapshots }) => snapshots.list.map((each) => each.name)))];
  const guess = closest(name, known);
  const addresses = subjects.map(({ address }) => address).join(', ');
  return new ProxwrightError({
    code: 'MISSING_REFERENCE',
    where: { file: name },
    detail: `${addresses} ${subjects.length === 1 ? 'has' : 'have'} no snapshot "${name}"${known.length > 0 ? `, but ${known.join(', ')}` : ''}.`,
    hint: guess
      ? `Did you mean "${guess}"?`
      : advice`See which ones there are: ${command('snapshot list')}. To leave a VM out, name the others with --only.`,
  }).diagnostic;
}
