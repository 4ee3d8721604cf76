/** A configuration of the host as a VM the engine can work with. */
import type { ResolvedVm, Rollout } from '../../kinds/stack.ts';
import { type CtyObject, isObject } from '../cty/value.ts';
import type { ProviderDiagnostic } from '../provider.ts';
import { readTimeouts } from '../run/timeouts.ts';
import { parseFields } from '../values/parse-fields.ts';
import { toFields } from '../values/to-fields.ts';
import { ownerAddress } from './owner.ts';
import { TIMEOUTS, VM_SCHEMA } from './schema.ts';

export interface WantedVm {
  readonly vm: ResolvedVm;
  readonly timeouts: Partial<Rollout['timeouts']>;
  /** Dotted paths of what is known only after apply. */
  readonly unknown: readonly string[];
  readonly problems: readonly ProviderDiagnostic[];
}

/** Whether the VM exists decides what it must be told: one that does has more than it is told. */
export function wantedVm(config: CtyObject, options: { readonly exists: boolean }): WantedVm {
  const { attributes } = VM_SCHEMA;
  const address = ownerAddress(typeof config.name === 'string' ? config.name : 'unnamed');
  const values = toFields(config);
  const parsed = parseFields(values, { attributes, address, exists: options.exists });
  const { timeouts, problems } = readTimeouts(config, TIMEOUTS, attributes);
  return {
    vm: withWriteOnlyPassword(parsed.vm, config),
    timeouts,
    unknown: values.unknown,
    problems: [...parsed.problems, ...problems],
  };
}

/** The value of a write-only attribute, which only a configuration has. */
export function writeOnlyPassword(config: CtyObject): string | undefined {
  const password = isObject(config.cloud_init) ? config.cloud_init.password_wo : undefined;
  return typeof password === 'string' ? password : undefined;
}

/** The engine asks only whether there is a password; where it comes from is settled here. */
const WRITE_ONLY_REFERENCE = { env: 'password_wo' } as const;

export function withWriteOnlyPassword(vm: ResolvedVm, config: CtyObject): ResolvedVm {
  if (writeOnlyPassword(config) === undefined) return vm;
  const cloudInit = { ...vm.fields.cloud_init, password: WRITE_ONLY_REFERENCE };
  return { ...vm, fields: { ...vm.fields, cloud_init: cloudInit } };
}
