/** A VM from outside a stack file, checked by the same field table and the same rules, with the same messages. */
import { type Address, parseAddress } from '../base/address.ts';
import type { Diagnostic } from '../base/diagnostics.ts';
import type { ResolvedVm } from '../kinds/stack.ts';
import { Findings } from './findings.ts';
import type { LocatedMap } from './located.ts';
import { checkRules } from './rules/index.ts';
import { inheriting } from './rules/rule.ts';
import { parseMember, UNRELATED } from './vm.ts';

export interface OneVm {
  /** As far as it could be read. */
  readonly vm: ResolvedVm;
  /** Whether it has no mistakes and no unknown values. */
  readonly isWhole: boolean;
  readonly diagnostics: readonly Diagnostic[];
}

export interface OneVmInput {
  /** Unknown values are not checked. */
  readonly tree: LocatedMap;
  readonly address: Address;
  /** Whether the VM exists, or may exist, already. If not, it is created from this tree alone. */
  readonly exists: boolean;
}

export function checkOneVm({ tree, address, exists }: OneVmInput): OneVm {
  const findings = new Findings();
  const group = parseAddress(address)?.group ?? address;
  const member = { tree, address, group, number: 1, at: tree.at, formerly: [] };
  const { vm, tainted } = parseMember(member, UNRELATED, findings);
  checkRules({ vms: [{ vm: exists ? inheriting(vm) : vm, tainted }] }, findings);
  return { vm, isWhole: tainted.length === 0, diagnostics: findings.list() };
}
