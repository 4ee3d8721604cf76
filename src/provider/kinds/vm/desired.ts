/** A configuration of the host as a VM that the engine can work with, and the secrets it refers to. */
import { createHash } from 'node:crypto';
import { type Address, vmAddress } from '../../../base/address.ts';
import type { Diagnostic } from '../../../base/diagnostics.ts';
import { toDiagnostic } from '../../../base/errors.ts';
import { type ResolvedSecret, Secret } from '../../../base/secret.ts';
import { whereOf } from '../../../kinds/fields/positions.ts';
import { refuseUnread, secretDigest } from '../../../kinds/vm/config/secret-values.ts';
import type { VmFields } from '../../../kinds/vm/fields/index.ts';
import { type SecretField, secretFieldsOf } from '../../../kinds/vm/fields/secrets.ts';
import { ownDocuments } from '../../../kinds/vm/seed/fields.ts';
import { documentsDigest } from '../../../kinds/vm/seed/seed-place.ts';
import type { ResolvedVm } from '../../../kinds/vm/stack.ts';
import { checkOneVm } from '../../../spec/one-resource.ts';
import type { Deps } from '../../adapter/deps.ts';
import type { DesiredResource } from '../../adapter/kind.ts';
import { readTimeouts } from '../../adapter/timeouts.ts';
import { type CtyObject, isObject } from '../../cty/value.ts';
import type { HostCapabilities, ProviderDiagnostic } from '../../provider.ts';
import type { Attributes } from '../../schema/model.ts';
import { inputProblems, problemAt } from '../../values/diagnostics.ts';
import { type FileValues, toFields } from '../../values/to-fields.ts';
import { TIMEOUTS, VM_SCHEMA } from './schema.ts';
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
function writeOnlyPassword(config: CtyObject): string | undefined {
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

/** By field path. */
export type VmSecrets = ReadonlyMap<string, ResolvedSecret>;

export const NO_SECRETS: VmSecrets = new Map();

/** The password and the cloud-init files of the user. */
export async function secretsOf(deps: Deps, config: CtyObject, vm: ResolvedVm): Promise<VmSecrets> {
  const read = secretFieldsOf(vm.fields).map(async (field): Promise<[string, ResolvedSecret]> => {
    const value = await usableValue(deps, config, vm, field);
    return [field.path, { value, digest: digested(deps, value) }];
  });
  return new Map(await Promise.all(read));
}

/** What is wrong with the cloud-init files of a VM that does not exist yet. */
export async function documentProblems(deps: Deps, config: CtyObject, vm: ResolvedVm): Promise<Diagnostic[]> {
  const documents = secretFieldsOf(vm.fields).filter(({ isDocument }) => isDocument);
  const found = documents.map((field) =>
    usableValue(deps, config, vm, field).then(
      () => [],
      (error: unknown) => [toDiagnostic(error)],
    ),
  );
  return (await Promise.all(found)).flat();
}

async function usableValue(deps: Deps, config: CtyObject, vm: ResolvedVm, field: SecretField): Promise<Secret> {
  const value = await configuredValue(deps, config, vm, field);
  refuseUnread(vm, field.path, value);
  return value;
}

async function configuredValue(
  deps: Deps,
  config: CtyObject,
  vm: ResolvedVm,
  { path, reference, isDocument }: SecretField,
): Promise<Secret> {
  const where = whereOf(vm, path);
  if (isDocument || 'text' in reference) return deps.readDocument(reference, where);
  const password = writeOnlyPassword(config);
  return password === undefined ? deps.readSecret(reference, where) : new Secret(password);
}

/**
 * The salt must be the same in every process and for a VM that does not exist yet. It differs between deployments, so that
 * equal passwords in two of them do not have equal digests.
 */
function digested({ work: { endpoint, principal } }: Deps, value: Secret): string {
  return secretDigest(`${endpoint} ${principal}`, value);
}

/** Of the password of a VM that comes from another provider. It is made before the server is known. */
export function formerDigest(password: Secret): string {
  return secretDigest('former provider', password);
}

/** The former provider has set a password and does not say which. The first one that is configured counts as that one. */
export const ANY_PASSWORD = 'any';

/** The password that the former provider has set counts as applied. */
export function withFormerPassword<
  Kept extends { readonly formerPassword?: string | undefined; readonly applied: object },
>(kept: Kept, secrets: VmSecrets): Kept {
  const password = secrets.get('cloud_init.password');
  const { formerPassword } = kept;
  if (!password || formerPassword === undefined) return kept;
  if (formerPassword !== ANY_PASSWORD && formerPassword !== formerDigest(password.value)) return kept;
  return { ...kept, applied: { ...kept.applied, 'cloud_init.password': password.digest } };
}

/** What the state shows of the secrets: one digest, however many there are. */
export function digestOf(secrets: VmSecrets): string | null {
  const [first, ...others] = [...secrets.values()].map(({ digest }) => digest);
  if (first === undefined) return null;
  return others.length === 0
    ? first
    : createHash('sha256')
        .update([first, ...others].join(' '))
        .digest('hex');
}

/** What is recorded of the secrets once they were applied, by field path. Documents share one digest. */
export function appliedDigests({ fields }: ResolvedVm, secrets: VmSecrets): Readonly<Record<string, string>> {
  const [document] = ownDocuments(fields.cloud_init);
  const password = secrets.get('cloud_init.password')?.digest;
  return {
    ...(password !== undefined && { 'cloud_init.password': password }),
    ...(document !== undefined && { [`cloud_init.${document}`]: documentsDigest(secrets) }),
  };
}

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
