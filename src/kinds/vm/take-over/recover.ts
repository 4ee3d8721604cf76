/**
 * Rebuilds a lost state from the ownership lines in the notes of VMs, and compares a state with the cluster. A line counts
 * only if its id and uuid are those of the VM, because a clone or a restored backup copies the line.
 */

import { type Address, keeperOf, keptAddress, kindOf, toAddress } from '../../../base/address.ts';
import { hasCode } from '../../../base/errors.ts';
import { commandText } from '../../../base/hint.ts';
import type { Pve } from '../../../pve/client.ts';
import { isNotFound } from '../../../pve/errors/kinds.ts';
import type { ClusterContext, RecoverContext, Recovery, Standing } from '../../existing.ts';
import { readPciMappings } from '../../pci-mapping/observe.ts';
import type { StackState } from '../../recorded.ts';
import type { ResolvedStack } from '../../stack.ts';
import { isTemplateAddress, versionAddress } from '../../template/versions.ts';
import { drivesOf } from '../config/disks.ts';
import { macsOf } from '../config/parts.ts';
import { sameVm, vmName } from '../identity.ts';
import { observeHa } from '../observe/ha.ts';
import { isHalfMade, readVm, type VmObserved } from '../observed.ts';
import { findOwnership, isForeign, type Ownership, ownershipCounts } from '../ownership.ts';
import type { VmRecord } from '../record.ts';
import { knownAddresses } from './known-addresses.ts';
import { takeOver } from './take-over.ts';

type Look =
  | { readonly kind: 'present'; readonly vm: VmObserved }
  | { readonly kind: 'gone' }
  | { readonly kind: 'hidden' };

interface Claim {
  readonly address: Address;
  readonly ownership: Ownership;
  readonly vm: VmObserved & { readonly uuid: string };
}

export async function recoverVms({ pve, clock, stack, state, signal }: RecoverContext): Promise<Recovery> {
  const guests = (await guestsOf({ pve, signal })).filter((guest) => guest.type === 'qemu');
  const remarks: string[] = [];
  const claims: Claim[] = [];
  const looks = await Promise.all(guests.map(async (guest) => [guest.vmid, await look(pve, guest, signal)] as const));
  for (const [vmid, found] of looks) {
    if (found.kind === 'hidden') remarks.push(`VM ${vmid} was not checked: the token needs VM.Audit on /vms/${vmid}.`);
    if (found.kind !== 'present') continue;
    const claim = claimOf(stack.name, found.vm, remarks);
    if (claim) claims.push(claim);
  }
  const lineage = continuedLineage(state, claims);
  const own = claims.filter((claim) => isOfState(claim, lineage, remarks));
  const accepted = own.filter((claim) => isOnly(claim, own, remarks));
  const templates = accepted.filter(({ address }) => isTemplateAddress(address));
  const holders = accepted.filter(({ address }) => kindOf(address) === 'kept');
  const subjects = accepted
    .filter((claim) => !templates.includes(claim) && !holders.includes(claim))
    .filter(({ address, vm }) => !knowsAddresses(state.vms[address], vm))
    .map(({ address, ownership, vm }) => ({
      address,
      fields: stack.vms.find((each) => each.address === address)?.fields,
      sensitive: stack.vms.find((each) => each.address === address)?.sensitive,
      observed: vm,
      isIncomplete: ownership.incomplete === true,
    }));
  const [addresses, { ha }, pciMappings] = await Promise.all([
    knownAddresses({ pve, clock, signal }, subjects),
    observeHa(pve, stack, signal),
    readPciMappings(pve, stack.vms, signal),
  ]);
  const vms: Record<string, VmRecord> = { ...state.vms };
  const [found, learned]: [Address[], Address[]] = [[], []];
  for (const { isIncomplete, ...subject } of subjects) {
    const { address, observed } = subject;
    const known = addresses.get(address) ?? { addresses: {}, unknown: undefined };
    const before = state.vms[address];
    const isKnown = before !== undefined && sameVm(before, observed);
    if (known.unknown !== undefined) remarks.push(noAddress(address, known.unknown));
    if (isKnown) {
      if (Object.keys(known.addresses).length === 0) continue;
      vms[address] = { ...before, macs: macsOf(observed.current), addresses: known.addresses };
      learned.push(address);
    } else {
      const { vm } = takeOver({
        ...subject,
        stackName: stack.name,
        lineage,
        addresses: known.addresses,
        ha,
        pciMappings,
      });
      vms[address] = isIncomplete ? { ...vm, phase: 'incomplete' } : vm;
      found.push(address);
    }
  }
  for (const claim of [...templates, ...holders]) {
    const known = state.vms[claim.address];
    if (known && sameVm(known, claim.vm)) continue;
    vms[claim.address] = holders.includes(claim) ? holderState(claim, stack) : templateState(claim);
    found.push(claim.address);
  }
  const claimed = new Set<string>(accepted.map(({ address }) => address));
  const notFound = Object.keys(state.vms).filter((address) => !claimed.has(address));
  return { state: { ...state, ...(lineage !== undefined && { lineage }), vms }, found, learned, notFound, remarks };
}

/** False for another VM, and for one without any recorded network address. */
function knowsAddresses(known: VmRecord | undefined, vm: VmObserved): boolean {
  return known !== undefined && sameVm(known, vm) && Object.values(known.addresses).some((list) => list.length > 0);
}

function noAddress(address: Address, unknown: string): string {
  return `${address}: no address is known on ${unknown}. The outputs contain null until proxwright state recover finds one, or an apply starts the VM.`;
}

function claimOf(stackName: string, vm: VmObserved, remarks: string[]): Claim | undefined {
  const ownership = findOwnership(vm.current.get('description') ?? '');
  if (ownership?.stack !== stackName) return undefined;
  const address = toAddress(ownership.address);
  if (!address) {
    remarks.push(`VM ${vm.vmid} has an ownership line with "${ownership.address}", which is not a valid address.`);
    return undefined;
  }
  if (isHalfMade(vm)) {
    remarks.push(
      `${vmName(vm)} (${address}) is locked (${vm.lock}): Proxmox has not finished creating it, so it was not recovered.`,
    );
    return undefined;
  }
  if (vm.uuid === undefined || !ownershipCounts(ownership, vm)) {
    remarks.push(
      `VM ${vm.vmid} has an ownership line of ${address} that was written for VM ${ownership.vmid} with the uuid ` +
        `${ownership.uuid ?? '(none)'}: it is a copy or a restored backup, and was not recovered. If it is the right VM: ` +
        commandText('import', address, vm.vmid, '--accept-identity'),
    );
    return undefined;
  }
  return { address: versionAddress(address, vm), ownership, vm: { ...vm, uuid: vm.uuid } };
}

/** A state without VMs continues the one that was lost: it takes its lineage from the lines. */
function continuedLineage(state: StackState, claims: readonly Claim[]): string | undefined {
  if (Object.keys(state.vms).length > 0) return state.lineage;
  const [first, ...others] = new Set(claims.flatMap(({ ownership }) => ownership.lineage ?? []));
  return first !== undefined && others.length === 0 ? first : state.lineage;
}

/** VMs that another copy of the stack created are taken over only one by one, by the user. */
function isOfState({ address, ownership, vm }: Claim, lineage: string | undefined, remarks: string[]): boolean {
  if (!isForeign(ownership, lineage)) return true;
  remarks.push(
    `VM ${vm.vmid} is ${address} of another copy of this stack, whose state has the lineage ${ownership.lineage}: it was not ` +
      `recovered. To take it over into this state: ${commandText('import', address, vm.vmid)}`,
  );
  return false;
}

/** Without a recipe, the next apply builds a new version of the template. */
function templateState({ ownership, vm }: Claim): VmRecord {
  const isFinished = vm.template && !ownership.incomplete;
  return {
    vmid: vm.vmid,
    uuid: vm.uuid,
    node: vm.node,
    name: vm.current.get('name') ?? '',
    phase: isFinished ? 'complete' : 'incomplete',
    template: { recipe: ownership.recipe ?? '', ...(isFinished && { finished: true as const }) },
    lastApplied: {},
    secrets: {},
    macs: macsOf(vm.current),
    addresses: {},
  };
}

/** The next apply hands the disks that it holds to their VM. */
function holderState({ address, vm }: Claim, stack: ResolvedStack): VmRecord {
  const volumes = drivesOf(vm.current).flatMap(({ key, kind, file }) =>
    kind === 'disk' ? [[key, file] as const] : [],
  );
  const { fields } = stack.vms.find((each) => keptAddress(each.address) === address) ?? {};
  return {
    vmid: vm.vmid,
    uuid: vm.uuid,
    node: vm.node,
    name: vm.current.get('name') ?? '',
    phase: 'incomplete',
    holds: { name: fields?.name ?? keeperOf(address), volumes: Object.fromEntries(volumes) },
    lastApplied: {},
    secrets: {},
    macs: {},
    addresses: {},
  };
}

/** If several VMs claim one address, none of them is accepted. */
function isOnly(claim: Claim, claims: readonly Claim[], remarks: string[]): boolean {
  const rivals = claims.filter(({ address }) => address === claim.address);
  if (rivals.length === 1) return true;
  if (rivals[0] === claim) {
    const ids = rivals.map(({ vm }) => vm.vmid).join(' and ');
    remarks.push(
      `VMs ${ids} all claim to be ${claim.address}. Choose one: ${commandText('import', claim.address, 'ID')}`,
    );
  }
  return false;
}

/** Compares each VM of a state, for example from a backup, with the cluster. */
export async function compareVms({ pve, signal }: ClusterContext, state: StackState): Promise<Standing[]> {
  const guests = new Map((await guestsOf({ pve, signal })).map((guest) => [guest.vmid, guest]));
  return Promise.all(
    Object.entries(state.vms).map(async ([address, known]): Promise<Standing> => {
      const { vmid, name } = known;
      const guest = guests.get(vmid) ?? { vmid, node: known.node, running: false };
      const found = await look(pve, guest, signal);
      const node = found.kind === 'present' ? found.vm.node : undefined;
      return { address, vmid, name, standing: standingOf(known, found), node };
    }),
  );
}

function standingOf(known: VmRecord, found: Look): Standing['standing'] {
  if (found.kind !== 'present') return found.kind;
  if (known.uuid === undefined) return 'unfinished';
  return sameVm(known, found.vm) ? 'same' : 'another';
}

interface Guest {
  readonly vmid: number;
  readonly node: string;
  readonly running: boolean;
}

async function guestsOf({ pve, signal }: ClusterContext): Promise<(Guest & { type: string; template: boolean })[]> {
  await pve.authenticate({ signal });
  const rows = await pve.cluster.resources({ type: 'vm' }, { signal });
  return rows.flatMap(({ vmid, node, type, template, status }) =>
    vmid === undefined || node === undefined
      ? []
      : [{ vmid, node, type, template: template ?? false, running: status === 'running' }],
  );
}

async function look(pve: Pve, { node, vmid, running }: Guest, signal: AbortSignal | undefined): Promise<Look> {
  try {
    return { kind: 'present', vm: await readVm(pve, node, vmid, { running, signal }) };
  } catch (error) {
    if (hasCode(error, 'PRIVILEGE_MISSING')) return { kind: 'hidden' };
    if (isNotFound(error)) return { kind: 'gone' };
    throw error;
  }
}
