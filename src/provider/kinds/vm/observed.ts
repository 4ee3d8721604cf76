/** A VM as the cluster has it, in the host's terms: does it exist, is it the same one, what differs, and taking one over. */

import { ProxwrightError } from '../../../base/errors.ts';
import { Secret } from '../../../base/secret.ts';
import { sourceOf } from '../../../convert/mapping/sources.ts';
import { fieldsOfVm, type Observed, observe } from '../../../engine/index.ts';
import { findCloudInitDrive } from '../../../kinds/vm/config/disks.ts';
import { macsOf } from '../../../kinds/vm/config/parts.ts';
import { diffVm } from '../../../kinds/vm/diff/diff.ts';
import type { VmFields } from '../../../kinds/vm/fields/index.ts';
import { writtenHa } from '../../../kinds/vm/ha.ts';
import { notOurs, sameVm } from '../../../kinds/vm/identity.ts';
import { halfMadeRefusal } from '../../../kinds/vm/lock.ts';
import { observedHa } from '../../../kinds/vm/observe/ha.ts';
import { effectiveValues, readVm, type VmObserved } from '../../../kinds/vm/observed.ts';
import { desiredConfigOf } from '../../../kinds/vm/plan/desired-vm.ts';
import { haDifferences } from '../../../kinds/vm/plan/existing.ts';
import { managedNic, staticAddresses } from '../../../kinds/vm/ready/checks.ts';
import type { ResolvedVm } from '../../../kinds/vm/stack.ts';
import type { Pve } from '../../../pve/index.ts';
import type { Deps } from '../../adapter/deps.ts';
import { ownerName, stackOf, stateOf } from '../../adapter/engine-run.ts';
import { type CtyObject, objectOf } from '../../cty/value.ts';
import type { MoveRequest } from '../../provider.ts';
import type { Attributes } from '../../schema/model.ts';
import { fromFields } from '../../values/from-fields.ts';
import { computedValues } from './computed.ts';
import { desiredVm } from './desired.ts';
import { type ListedVm, listVms } from './leftovers.ts';
import { type SoloVm, workOn } from './recorded.ts';
import { USER_ATTRIBUTES } from './schema.ts';
import { ANY_PASSWORD, formerDigest } from './secrets.ts';
import { VM_SHAPE } from './shape.ts';
import { refreshedAttributes } from './values/refreshed.ts';

export interface Look {
  readonly observed: Observed;
  /** Undefined where it is gone. */
  readonly vm: VmObserved | undefined;
}

/** Of a VM that exists. */
export type ExistingVm = Look & { readonly vm: VmObserved };

/** Refuses another VM under the id of the recorded one, so that it is neither read nor, later, destroyed. */
export async function lookAt(deps: Deps, pve: Pve, solo: SoloVm): Promise<Look> {
  const { vm, recorded } = solo;
  const work = workOn(solo);
  const observed = await observe({ pve, stack: stackOf(deps, work), state: stateOf(deps, work), signal: deps.signal });
  const found = observed.vms.get(vm.address);
  if (found?.kind === 'hidden') {
    throw new ProxwrightError({
      code: 'PRIVILEGE_MISSING',
      detail: `VM ${recorded?.vmid} cannot be read: the token needs ${found.needs}.`,
      hint: 'Grant it to the user and to its token.',
    });
  }
  if (found?.kind !== 'present') return { observed, vm: undefined };
  if (recorded && !sameVm(recorded, found.vm)) {
    throw notOurs({ address: vm.address, recorded, observed: found.vm });
  }
  return { observed, vm: found.vm };
}

export interface Refreshed {
  /** The user's attributes, in their own spelling except where the VM has another value. */
  readonly attributes: CtyObject;
  readonly restartPending: readonly string[];
}

/** The VM as the engine knows it, and the attributes of its resource. */
export interface Viewed {
  readonly vm: ResolvedVm;
  readonly attributes: Attributes;
}

/** The state, corrected by what was observed. */
export function refreshed(
  { work }: Deps,
  state: CtyObject,
  look: ExistingVm,
  { recorded, secrets }: SoloVm,
  { vm, attributes }: Viewed = { vm: desiredVm(state, true).vm, attributes: USER_ATTRIBUTES },
): Refreshed {
  const input = { stackName: ownerName(work), vm, recorded, observed: look.observed, secrets };
  const { vmid, uuid } = look.vm;
  const last = recorded?.lastApplied;
  const diff = diffVm(desiredConfigOf(input, { vmid, uuid }, effectiveValues(look.vm)), look.vm, last);
  const differing = [...diff.differences, ...haDifferences(vm, look.observed, vmid, last)]
    .map(({ path }) => path)
    .filter((path) => path !== 'ownership');
  const found = { ...fieldsOfVm(look.vm).plain, ha: writtenHa(observedHa(look.observed, vmid)) };
  const actual = fromFields(found, attributes, VM_SHAPE);
  return { attributes: refreshedAttributes({ state, actual, differing }), restartPending: diff.restartPending };
}

/** Every attribute that can be read of a VM. Which of them a configuration will manage is not known yet. */
export function importedAttributes(vm: VmObserved, attributes: Attributes): CtyObject {
  // Proxmox does not store how a guest is configured; a cloud-init drive is the best sign.
  const guest = findCloudInitDrive(effectiveValues(vm)) ? 'cloud-init' : undefined;
  return fromFields({ ...fieldsOfVm(vm).plain, ...(guest !== undefined && { guest }) }, attributes, VM_SHAPE);
}

export function importedState(vm: VmObserved): CtyObject {
  const { fields } = fieldsOfVm(vm);
  const facts = {
    addresses: configuredAddresses(fields, vm),
    managedNic: managedNic(fields, Object.keys(macsOf(vm.current))),
    restartPending: [],
    secretsDigest: null,
  };
  return objectOf(Object.entries({ ...importedAttributes(vm, USER_ATTRIBUTES), ...computedValues(vm, facts) }));
}

function configuredAddresses(fields: VmFields, vm: VmObserved): Record<string, string[]> {
  const slots = Object.keys(macsOf(vm.current));
  return Object.fromEntries(slots.map((slot) => [slot, staticAddresses(fields.nics?.[slot])]));
}

/** The VM or template that an import id means: `node/vmid`, `vmid` or a name. */
export async function findVm({ looks, signal }: Deps, id: string): Promise<VmObserved> {
  const listed = await listVms(looks, signal);
  const matches = listed.filter((vm) => isMeant(vm, id.trim()));
  const [only, second] = matches;
  if (second) {
    throw new ProxwrightError({
      code: 'BAD_VALUE',
      detail: `Several VMs are called "${id}": ${matches.map(({ vmid, node }) => `${node}/${vmid}`).join(', ')}.`,
      hint: 'Import one of them as node/vmid.',
    });
  }
  if (!only) {
    throw new ProxwrightError({
      code: 'NOT_FOUND',
      detail:
        listed.length === 0
          ? `The token cannot see any VM, so it is not known whether "${id}" exists: it lacks VM.Audit everywhere.`
          : `The token cannot see a VM "${id}".`,
      hint: 'Use node/vmid, vmid or a name: pve1/101, 101 or web-1.',
    });
  }
  return readVm(looks, only.node, only.vmid, { running: only.running, signal });
}

function isMeant({ vmid, node, name }: ListedVm, id: string): boolean {
  const [, onNode, number] = /^(?:([^/]+)\/)?(\d+)$/.exec(id) ?? [];
  if (number === undefined) return name === id;
  return vmid === Number(number) && (onNode === undefined || onNode === node);
}

export async function findVmToImport(deps: Deps, id: string): Promise<VmObserved> {
  const vm = await findVm(deps, id);
  const refusal = await halfMadeRefusal({ pve: deps.looks, signal: deps.signal }, vm, {});
  if (refusal) throw refusal;
  if (!vm.template) return vm;
  throw new ProxwrightError({
    code: 'BAD_VALUE',
    detail: `VM ${vm.vmid} on ${vm.node} is a template, not a VM.`,
    hint: 'Read it with the data source proxwright_template.',
  });
}

/** The vmid of another provider's VM. Its node does not matter: the VM may have been migrated. */
export function movedVmid({ sourceType, sourceState }: MoveRequest): number {
  const source = isRecord(sourceState) ? sourceState : {};
  // The last number counts: `pve1/qemu/101`.
  const names = sourceOf(sourceType)?.vmidFrom ?? [];
  const numbers = names.map((name) => /[1-9]\d*$/.exec(String(source[name] ?? ''))?.[0]);
  const id = numbers.find((text) => text !== undefined);
  if (id !== undefined) return Number(id);
  throw new ProxwrightError({
    code: 'BAD_VALUE',
    detail: `A ${sourceType} cannot become a proxwright_vm.`,
    hint: 'Remove it from the state and import the VM: terraform state rm, then terraform import ADDRESS node/vmid.',
  });
}

/**
 * The password that the former provider has set, as a digest: the same one need not be sent again. Proxmox shows stars
 * instead of a password, and so does the state of a provider that reads it back.
 */
export function movedPassword({ sourceType, sourceState }: MoveRequest): string | undefined {
  let value = sourceState;
  for (const step of sourceOf(sourceType)?.passwordFrom ?? []) {
    const isThere = Array.isArray(value) || isRecord(value);
    value = isThere ? (value as Readonly<Record<string | number, unknown>>)[step] : undefined; // a list or an object
  }
  if (typeof value !== 'string' || value === '') return undefined;
  return /^\*+$/.test(value) ? ANY_PASSWORD : formerDigest(new Secret(value));
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
