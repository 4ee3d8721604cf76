/** What a stack wants of a VM, held against an answer of `…/pending`: every field, and the plainest ones word by word. */
import { type Address, kindOf } from '../../../../src/base/address.ts';
import type { ResolvedSecret } from '../../../../src/base/secret.ts';
import { machinesOf, type ResolvedStack } from '../../../../src/kinds/stack.ts';
import { desiredConfig } from '../../../../src/kinds/vm/config/desired-config.ts';
import { propertyOf } from '../../../../src/kinds/vm/config/parts.ts';
import { actualOf, unsatisfied } from '../../../../src/kinds/vm/diff/merge.ts';
import { effectiveValues, observedOf } from '../../../../src/kinds/vm/observed.ts';
import { printOwnership } from '../../../../src/kinds/vm/ownership.ts';
import { ipsOfSeed } from '../../../../src/kinds/vm/seed/addresses.ts';
import { seedPlace } from '../../../../src/kinds/vm/seed/seed-place.ts';
import type { ResolvedVm } from '../../../../src/kinds/vm/stack.ts';
import type { PendingEntry } from '../../../../src/pve/index.ts';
import type { Unmet } from './wire-violations.ts';

const MIB = 1024 * 1024;

/** A configuration, as it was told or as it stands in the world. */
export type Values = Parameters<typeof effectiveValues>[0];

/** What the stack wants and these values do not have, in words. */
export type UnmetFields = (vmid: number, values: Values) => readonly string[];

/** `addresses`: which VM of the stack an id belongs to. */
export function unmetFields(
  stack: ResolvedStack,
  addresses: ReadonlyMap<number, Address>,
  secrets: ReadonlyMap<Address, ReadonlyMap<string, ResolvedSecret>>,
): UnmetFields {
  return (vmid, observed) => {
    const address = addresses.get(vmid);
    const vm = machinesOf(stack).find((each) => each.address === address);
    if (!vm) return [`VM ${vmid} is none of the stack's`];
    const uuid = propertyOf('smbios1', observed.current.get('smbios1')).get('uuid');
    const line = printOwnership({ stack: stack.name, address: vm.address, vmid, uuid, ips: ipsOfSeed(vm.fields) });
    const values = effectiveValues(observed);
    // What a template is to be changes while it is built: its medium goes, and its name comes last.
    if (kindOf(vm.address) === 'template') return plainly(vm, values).filter((each) => !each.startsWith('name'));
    const own = secrets.get(vm.address) ?? new Map<string, ResolvedSecret>();
    const seed = seedPlace({ fields: vm.fields, secrets: own, base: values, uuid });
    const desired = desiredConfig(vm.fields, { ownershipLine: line, secrets: own, seed });
    // Which mapping stands for the address of a PCI device is known where the world is made, not here.
    const open = unsatisfied(desired.values(), values).filter(({ key }) => !key.startsWith('hostpci'));
    return [
      ...open.map((entry) => `${entry.key} was ${actualOf(entry, values) ?? 'not there'}`),
      ...plainly(vm, values),
    ];
  };
}

/** The same for an answer of `…/pending`. */
export function unmetIn(unmet: UnmetFields): Unmet {
  return (vmid, answer) => unmet(vmid, observedOf('', vmid, pendingEntries(answer), false));
}

/** Without any code of the product in between, so that a wrong comparison shows too. */
function plainly({ fields }: ResolvedVm, values: ReadonlyMap<string, string>): string[] {
  const desired = new Map([
    ['name', fields.name],
    ...(fields.memory === undefined ? [] : [['memory', String(fields.memory / MIB)] as const]),
    ...(fields.cpu?.cores === undefined ? [] : [['cores', String(fields.cpu.cores)] as const]),
  ]);
  return [...desired]
    .filter(([key, text]) => values.get(key) !== text)
    .map(([key, text]) => `${key} was ${values.get(key) ?? 'not there'} instead of ${text}`);
}

interface RawEntry {
  readonly key: string;
  readonly value?: string | number;
  readonly pending?: string | number;
  readonly delete?: number;
}

function pendingEntries(answer: string): PendingEntry[] {
  const { data } = JSON.parse(answer) as { data: RawEntry[] }; // an answer of our own simulator
  return data.map((entry) => ({
    key: entry.key,
    ...(entry.value !== undefined && { value: String(entry.value) }),
    ...(entry.pending !== undefined && { pending: String(entry.pending) }),
    ...(entry.delete !== undefined && { delete: entry.delete }),
  })) as PendingEntry[]; // the same entry, with texts for numbers
}
