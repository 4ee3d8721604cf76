/** The host's values as a VM the engine can work with, and everything that is wrong with them. */
import { type Address, vmAddress } from '../../base/address.ts';
import type { ResolvedVm } from '../../kinds/stack.ts';
import type { VmFields } from '../../kinds/vm/fields/index.ts';
import { checkOneVm } from '../../spec/one-resource.ts';
import type { ProviderDiagnostic } from '../provider.ts';
import type { Attributes } from '../schema/model.ts';
import { diagnosticAt, problemAt } from './diagnostics.ts';
import type { FileValues } from './to-fields.ts';

export interface ParsedFields {
  /** As far as it could be read; a name or node that is unknown reads `unknown`. */
  readonly vm: ResolvedVm;
  readonly fields: VmFields;
  /** Nothing of it is unknown or wrong. */
  readonly isWhole: boolean;
  /** By field path: `nics.net0.vlan`. */
  readonly problems: readonly FieldProblem[];
}

export interface FieldProblem extends ProviderDiagnostic {
  /** The dotted path; empty where the whole VM is meant. */
  readonly field: string;
}

export interface ParseOptions {
  readonly attributes: Attributes;
  readonly address?: Address;
  /** Whether the VM stands, or may stand, already: then it has more than it is told. */
  readonly exists: boolean;
}

export function parseFields(values: FileValues, { attributes, address, exists }: ParseOptions): ParsedFields {
  const one = checkOneVm({ tree: values.located, address: address ?? vmAddress('this'), exists });
  const found = one.diagnostics.map((diagnostic) => ({
    ...diagnosticAt(diagnostic, attributes),
    field: diagnostic.where?.field ?? '',
  }));
  const own = values.problems.map(({ path, detail }) => ({ ...problemAt(path, detail, attributes), field: path }));
  return {
    vm: one.vm,
    fields: one.vm.fields,
    isWhole: one.isWhole && values.problems.length === 0,
    problems: [...own, ...found],
  };
}
