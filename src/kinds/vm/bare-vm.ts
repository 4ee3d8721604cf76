/** A VM without positions in a file: for rules and comparisons of an observed VM. */
import type { Address } from '../../base/address.ts';
import type { ResolvedVm } from '../stack.ts';
import type { VmFields } from './fields/index.ts';

export function bareVm(address: Address, fields: VmFields): ResolvedVm {
  return { address, group: 'vm', number: 1, fields, after: [], formerly: [], positions: {} };
}
