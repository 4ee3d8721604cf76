/** A configuration of the host as a VM that the engine can work with. A process that only validates loads no more of a VM. */
import { type Address, vmAddress } from '../../../base/address.ts';
import type { VmFields } from '../../../kinds/vm/fields/index.ts';
import type { ResolvedVm } from '../../../kinds/vm/stack.ts';
import { checkOneVm } from '../../../spec/one-resource.ts';
import type { DesiredResource, ResourceRules } from '../../adapter/kind.ts';
import { readTimeouts } from '../../adapter/timeouts.ts';
import { type CtyObject, isObject } from '../../cty/value.ts';
import type { HostCapabilities, ProviderDiagnostic } from '../../provider.ts';
import type { Attributes } from '../../schema/model.ts';
import { inputProblems, problemAt } from '../../values/diagnostics.ts';
import { type FileValues, toFields } from '../../values/to-fields.ts';
import { TIMEOUTS, VM, VM_SCHEMA } from './schema.ts';
import { VM_SHAPE } from './shape.ts';

export interface DesiredVm extends DesiredResource {
  readonly vm: ResolvedVm;
}

/** A VM that exists has more than its configuration sets, so fewer attributes are required of it. */
export function desiredVm(config: CtyObject, exists: boolean): DesiredVm {
  const { attributes } = VM_SCHEMA;
  const address = addressFor(typeof config.name === 'string' ? config.name : 'unnamed');
  const values = toFields(config, VM_SHAPE);
  const parsed = parseFields(values, { attributes, address, exists });
  const { timeouts, problems } = readTimeouts(config, TIMEOUTS, attributes);
  return {
    vm: inUpdateGroup(withWriteOnlyPassword(parsed.vm, config), config),
    timeouts,
    unknown: withBootOrder(values.unknown),
    problems: [...parsed.problems, ...problems, ...updateProblems(config)],
  };
}

/** A VM that was taken over stays as it is, on or off, until the configuration sets `power`. */
export function withPlannedPower(vm: ResolvedVm, { power }: CtyObject): ResolvedVm {
  return power === 'running' || power === 'stopped' ? { ...vm, fields: { ...vm.fields, power } } : vm;
}

/** Only the user knows which VMs are interchangeable: without `update_group`, all of them count as one group. */
function inUpdateGroup(vm: ResolvedVm, { update_group: group, max_unavailable: limit }: CtyObject): ResolvedVm {
  return {
    ...vm,
    group: typeof group === 'string' ? `update_group ${group}` : '',
    ...(isCount(limit) && { fields: { ...vm.fields, update: { max_unavailable: limit } } }),
  };
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 1;

function updateProblems({ max_unavailable: limit }: CtyObject): ProviderDiagnostic[] {
  if (typeof limit !== 'number' || isCount(limit)) return [];
  return [problemAt('max_unavailable', `${limit} is not a whole number from 1.`, VM_SCHEMA.attributes)];
}

/** The host does not tell a provider the address of a resource, so the ownership line holds the name of the VM. */
function addressFor(name: string): Address {
  return `vm.${name}` as Address; // never parsed: a name with dots is fine here
}

const DEVICE = /^(disks|nics|usb|pci)(\.|$)/;

/** Which devices may be in the boot order is not known before the devices are. */
export function withBootOrder(unknown: readonly string[]): readonly string[] {
  return unknown.some((path) => DEVICE.test(path)) ? [...unknown, 'boot'] : unknown;
}

export function isOpen({ unknown }: DesiredResource, paths: readonly string[]): boolean {
  return paths.some((path) => unknown.includes(path));
}

/** The value of the write-only attribute. Only a configuration has it, never a plan or a state. */
export function writeOnlyPassword(config: CtyObject): string | undefined {
  const password = isObject(config.cloud_init) ? config.cloud_init.password_wo : undefined;
  return typeof password === 'string' ? password : undefined;
}

/** The engine asks only whether there is a password; `secretsOf` supplies the value. */
const WRITE_ONLY_REFERENCE = { env: 'password_wo' } as const;

export function withWriteOnlyPassword(vm: ResolvedVm, config: CtyObject): ResolvedVm {
  if (writeOnlyPassword(config) === undefined) return vm;
  const cloudInit = { ...vm.fields.cloud_init, password: WRITE_ONLY_REFERENCE };
  return { ...vm, fields: { ...vm.fields, cloud_init: cloudInit } };
}

export function writeOnlyProblems(
  config: CtyObject,
  { writeOnlyAttributes }: HostCapabilities,
  attributes: Attributes,
): ProviderDiagnostic[] {
  if (writeOnlyPassword(config) === undefined) return [];
  const cloudInit = isObject(config.cloud_init) ? config.cloud_init : undefined;
  const problem = (detail: string) => problemAt('cloud_init.password_wo', detail, attributes);
  return [
    ...(writeOnlyAttributes
      ? []
      : [
          problem(
            'This version of the host does not support write-only attributes and would store the password in its state. Refer to it instead: password = { env = "CI_PASSWORD" }.',
          ),
        ]),
    ...(cloudInit?.password ? [problem('password and password_wo cannot be used together.')] : []),
  ];
}

export const VM_RULES: ResourceRules<DesiredVm> = {
  subject: VM,
  schema: VM_SCHEMA,
  migrations: [],
  desired: desiredVm,
  validate: (config, capabilities) => writeOnlyProblems(config, capabilities, VM_SCHEMA.attributes),
};

interface ParsedFields {
  /** The readable part. An unknown name or node reads `unknown`. */
  readonly vm: ResolvedVm;
  readonly fields: VmFields;
  /** Nothing in it is unknown or invalid. */
  readonly isWhole: boolean;
  readonly problems: readonly ProviderDiagnostic[];
}

interface ParseOptions {
  readonly attributes: Attributes;
  readonly address?: Address;
  /** Whether the VM exists, or may exist, already. Then it has more than its configuration sets. */
  readonly exists: boolean;
}

/** The values of the host as a VM that the engine can work with, and every problem with them. */
export function parseFields(values: FileValues, { attributes, address, exists }: ParseOptions): ParsedFields {
  const one = checkOneVm({ tree: values.located, address: address ?? vmAddress('this'), exists });
  return {
    vm: one.vm,
    fields: one.vm.fields,
    isWhole: one.isWhole && values.problems.length === 0,
    problems: inputProblems(values, one.diagnostics, attributes),
  };
}
