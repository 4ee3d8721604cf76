/** Versions of a template: the present one, the earlier ones, and the name of the next one while it is built. Pure. */
import { type Address, addressOf, kindOf, parseAddress } from '../../base/address.ts';
import type { Observed } from '../observed.ts';
import type { StackState } from '../recorded.ts';
import type { VmObserved } from '../vm/observed.ts';
import type { ResolvedVm } from '../vm/stack.ts';
import { type TemplateCandidate, templateKey } from './observed.ts';
import type { ResolvedTemplate } from './stack.ts';
import type { RetireInput } from './steps.ts';

export interface VersionsInput {
  readonly template: ResolvedTemplate;
  readonly state: StackState;
  readonly observed: Observed;
}

/** The version that has the name, and perhaps the id, now. */
export interface Former {
  readonly address: Address;
  readonly vmid: number;
}

/** Of a template or of an earlier version of one. */
export function isTemplateAddress(address: Address): boolean {
  const kind = kindOf(address);
  return kind === 'template' || kind === 'retired';
}

/** The address of a machine of the cluster: a template whose name is not that of its address is an earlier version. */
export function versionAddress(address: Address, vm: VmObserved): Address {
  const name = parseAddress(address)?.group ?? '';
  const isRetired = kindOf(address) === 'template' && vm.template && vm.current.get('name') !== name;
  return isRetired ? retiredAddress(name, vm.vmid) : address;
}

export function retiredAddress(name: string, vmid: number): Address {
  return addressOf('retired', name, String(vmid));
}

/** A guest that has the template's name on its node and is not one of its versions. */
export function holderOf({ template: { name, vm }, state, observed }: VersionsInput): TemplateCandidate | undefined {
  const candidates = observed.templates.get(templateKey(name)) ?? [];
  const isOurs = (vmid: number) =>
    state.vms[vm.address]?.vmid === vmid || state.vms[retiredAddress(name, vmid)] !== undefined;
  return candidates.find(({ node, vmid }) => node === vm.fields.node && !isOurs(vmid));
}

/** An earlier version that still has the name; its configuration decides, because the list of guests may be old. */
export function formerOf({ template: { name, vm }, state, observed }: VersionsInput): Former | undefined {
  return Object.values(state.vms).flatMap(({ vmid, node }): Former[] => {
    const address = retiredAddress(name, vmid);
    const observedVm = state.vms[address] && observed.vms.get(address);
    const hasName = observedVm?.kind === 'present' && observedVm.vm.current.get('name') === name;
    return hasName && node === vm.fields.node ? [{ address, vmid }] : [];
  })[0];
}

/** The VM as it is built: with another name and id while an earlier version has those of the template. */
export function buildVm({ template, state, observed }: VersionsInput, former: Former | undefined): ResolvedVm {
  const { vm, name } = template;
  const own = vm.fields.vmid === undefined ? undefined : retiredAddress(name, vm.fields.vmid);
  const isIdKept = own !== undefined && state.vms[own] !== undefined && observed.vms.get(own)?.kind !== 'gone';
  if (!former && !isIdKept) return vm;
  const { vmid, ...fields } = vm.fields;
  const given = vmid === undefined ? vm.vmids : Array.from({ length: VERSIONS }, (_, index) => vmid + index);
  const free = given?.filter((id) => !observed.guests.has(id));
  const newName = former ? shortened(name, '-next') : name;
  return { ...vm, fields: { ...fields, name: newName }, ...(free && { vmids: free }) };
}

/** How many ids after that of the template later versions may use. */
const VERSIONS = 100;
const MAX_NAME = 63;

function shortened(name: string, suffix: string): string {
  return `${name.slice(0, MAX_NAME - suffix.length).replace(/[-.]+$/, '')}${suffix}`;
}

export function retireInput({ name }: ResolvedTemplate, former: Former): RetireInput {
  return { former: former.address, name: shortened(name, `-retired-${former.vmid}`) };
}
