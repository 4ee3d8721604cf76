/** The host's values as a VM that the engine can work with, and every problem with them. */
import { type Address, vmAddress } from '../../../../base/address.ts';
import type { VmFields } from '../../../../kinds/vm/fields/index.ts';
import type { ResolvedVm } from '../../../../kinds/vm/stack.ts';
import { checkOneVm } from '../../../../spec/one-resource.ts';
import type { ProviderDiagnostic } from '../../../provider.ts';
import type { Attributes } from '../../../schema/model.ts';
import { inputProblems } from '../../../values/diagnostics.ts';
import type { FileValues } from '../../../values/to-fields.ts';

export interface ParsedFields {
  /** The readable part. An unknown name or node reads `unknown`. */
  readonly vm: ResolvedVm;
  readonly fields: VmFields;
  /** Nothing in it is unknown or invalid. */
  readonly isWhole: boolean;
  readonly problems: readonly ProviderDiagnostic[];
}

export interface ParseOptions {
  readonly attributes: Attributes;
  readonly address?: Address;
  /** Whether the VM exists, or may exist, already. Then it has more than its configuration sets. */
  readonly exists: boolean;
}

export function parseFields(values: FileValues, { attributes, address, exists }: ParseOptions): ParsedFields {
  const one = checkOneVm({ tree: values.located, address: address ?? vmAddress('this'), exists });
  return {
    vm: one.vm,
    fields: one.vm.fields,
    isWhole: one.isWhole && values.problems.length === 0,
    problems: inputProblems(values, one.diagnostics, attributes),
  };
}
