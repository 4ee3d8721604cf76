/** Which VMs of the cluster will be adopted, which stay as they are, and why. Reads only. */

import { hasCode } from '../../../base/errors.ts';
import { nodeCommand, setUuid } from '../../../base/text/node-command.ts';
import type { Pve } from '../../../pve/client.ts';
import { isNotFound } from '../../../pve/errors/kinds.ts';
import type { StackState } from '../../recorded.ts';
import { vmFieldsSchema } from '../fields/index.ts';
import { sameVm } from '../identity.ts';
import { isHalfMade, readVm, type VmObserved } from '../observed.ts';
import { findOwnership, ownershipCounts } from '../ownership.ts';

/** What the user chose; each list that is not empty narrows the choice. */
export interface Choice {
  /** Names or ids, instead of both. */
  readonly either?: boolean;
  readonly pools: readonly string[];
  readonly tags: readonly string[];
  readonly nodes: readonly string[];
  /** Patterns with `*` and `?`. */
  readonly names: readonly string[];
  readonly ids: readonly (readonly [first: number, last: number])[];
}

export interface Guest {
  readonly vmid: number;
  readonly node: string;
  readonly name: string;
  readonly type: string;
  readonly isTemplate: boolean;
  readonly isRunning: boolean;
  readonly pool: string | undefined;
  readonly tags: readonly string[];
}

export interface LeftGuest {
  readonly vmid: number;
  readonly name: string;
  readonly node: string;
  readonly why: string;
}

export type Adoptable = VmObserved & { readonly uuid: string };

export interface Survey {
  readonly taken: readonly Adoptable[];
  readonly left: readonly LeftGuest[];
  /** Chosen VMs that the state has already. */
  readonly known: number;
  readonly guests: readonly Guest[];
  /** Those that can be read; empty if there is nothing to adopt. */
  readonly templates: readonly VmObserved[];
}

export async function readGuests(pve: Pve, signal: AbortSignal): Promise<Guest[]> {
  await pve.authenticate({ signal });
  const rows = await pve.cluster.resources({ type: 'vm' }, { signal });
  const guests = rows.flatMap(({ vmid, node, name, type, template, status, pool, tags = '' }): Guest[] => {
    if (vmid === undefined || node === undefined) return [];
    const [isTemplate, isRunning] = [template ?? false, status === 'running'];
    const split = tags.split(/[;, ]+/).filter((tag) => tag !== '');
    return [{ vmid, node, name: name ?? '', type, isTemplate, isRunning, pool, tags: split }];
  });
  const named = await withNames(pve, guests, signal);
  return named.sort((a, b) => a.vmid - b.vmid);
}

/** The list of the cluster lags: a VM that was just created has no name in it. The list of its node has the name. */
async function withNames(pve: Pve, guests: readonly Guest[], signal: AbortSignal): Promise<Guest[]> {
  const nodes = new Set(guests.filter(({ name, type }) => name === '' && type === 'qemu').map(({ node }) => node));
  const lists = await Promise.all([...nodes].map((node) => pve.node(node).vms.list({}, { signal })));
  const fresh = new Map<number, (typeof lists)[number][number]>(lists.flat().map((row) => [row.vmid, row]));
  return guests.map((guest) => {
    const row = fresh.get(guest.vmid);
    if (!row) return guest;
    const { name = '', status, template = false } = row;
    return { ...guest, name, isTemplate: template, isRunning: status === 'running' };
  });
}

export function isChosen(guest: Guest, { pools, tags, nodes, names, ids, either = false }: Choice): boolean {
  const allows = (list: readonly unknown[], isMet: () => boolean) => list.length === 0 || isMet();
  const isNamed = () => names.some((pattern) => globOf(pattern).test(guest.name));
  const isInRange = () => ids.some(([first, last]) => first <= guest.vmid && guest.vmid <= last);
  if (either) return isNamed() || isInRange();
  return (
    allows(pools, () => guest.pool !== undefined && pools.includes(guest.pool)) &&
    allows(tags, () => tags.some((tag) => guest.tags.includes(tag.toLowerCase()))) &&
    allows(nodes, () => nodes.includes(guest.node)) &&
    allows(names, isNamed) &&
    allows(ids, isInRange)
  );
}

/** Whatever a choice names and no guest has, as sentences: most likely a typing error. */
export function unmatched(guests: readonly Guest[], { pools, tags, nodes, names, ids }: Choice): readonly string[] {
  const none = (is: (guest: Guest) => boolean) => !guests.some(is);
  return [
    ...pools.filter((pool) => none((guest) => guest.pool === pool)).map((pool) => `No VM is in the pool "${pool}".`),
    ...tags
      .filter((tag) => none((guest) => guest.tags.includes(tag.toLowerCase())))
      .map((tag) => `No VM has the tag "${tag}".`),
    ...nodes.filter((node) => none((guest) => guest.node === node)).map((node) => `No VM is on the node "${node}".`),
    ...names
      .filter((pattern) => none(({ name }) => globOf(pattern).test(name)))
      .map((pattern) => `No VM has a name like "${pattern}". Upper and lower case count.`),
    ...ids
      .filter(([first, last]) => none(({ vmid }) => first <= vmid && vmid <= last))
      .map(([first, last]) =>
        first === last ? `No VM has the id ${first}.` : `No VM has an id from ${first} to ${last}.`,
      ),
  ];
}

function globOf(pattern: string): RegExp {
  const escaped = pattern.replace(/[.+^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`^${escaped.replaceAll('*', '.*').replaceAll('?', '.')}$`);
}

/** Reads the configuration of every chosen VM, a few at a time: the client limits them. */
export async function survey(
  { pve, signal, state, stackName }: SurveyDeps,
  guests: readonly Guest[],
  choice: Choice,
): Promise<Survey> {
  const chosen = guests.filter((guest) => isChosen(guest, choice));
  const looked = await Promise.all(chosen.map((guest) => look(pve, guest, signal)));
  const recorded = new Map(Object.values(state.vms).map((vm) => [vm.vmid, vm]));
  const taken: Adoptable[] = [];
  const left: LeftGuest[] = [];
  let known = 0;
  for (const [index, found] of looked.entries()) {
    const guest = chosen[index];
    if (!guest) continue;
    const { vmid, node, name } = guest;
    if (typeof found === 'string') {
      left.push({ vmid, node, name, why: found });
      continue;
    }
    const own = recorded.get(vmid);
    if (own && sameVm(own, found)) {
      known++;
      continue;
    }
    const why = otherOwner(found, stackName);
    if (why === undefined) taken.push(found);
    else left.push({ vmid, node, name, why });
  }
  const templates = taken.length === 0 ? [] : await readTemplates(pve, guests, signal);
  return { taken, left, known, guests, templates };
}

/** What VMs may have been cloned from. One that cannot be read only means a longer file. */
async function readTemplates(pve: Pve, guests: readonly Guest[], signal: AbortSignal): Promise<VmObserved[]> {
  const found = await Promise.all(
    guests
      .filter(({ type, isTemplate }) => type === 'qemu' && isTemplate)
      .map(({ node, vmid }) =>
        readVm(pve, node, vmid, { running: false, signal }).catch((error: unknown) => {
          if (hasCode(error, 'PRIVILEGE_MISSING') || isNotFound(error)) return undefined;
          throw error;
        }),
      ),
  );
  return found.filter((template) => template !== undefined);
}

interface SurveyDeps {
  readonly pve: Pve;
  readonly signal: AbortSignal;
  readonly state: StackState;
  readonly stackName: string;
}

/** The VM, or why it cannot be adopted. */
async function look(pve: Pve, guest: Guest, signal: AbortSignal): Promise<Adoptable | string> {
  const { vmid, node } = guest;
  if (guest.type !== 'qemu') return 'a container; only VMs are managed';
  if (guest.isTemplate) return 'a template: VMs can be cloned from it as it is';
  try {
    const vm = await readVm(pve, node, vmid, { signal });
    if (vm.template) return 'a template: VMs can be cloned from it as it is';
    if (isHalfMade(vm)) return `locked (${vm.lock}): Proxmox has not finished creating it`;
    const { uuid } = vm;
    const name = vm.current.get('name');
    if (name === undefined) return `it has no name. On ${node}: ${nodeCommand('qm set', [vmid], { name: 'NAME' })}`;
    if (!vmFieldsSchema.shape.name.safeParse(name).success) return 'a stack file cannot have a VM with this name';
    if (uuid !== undefined) return { ...vm, uuid };
    return `it has no uuid in smbios1. On ${node}: ${setUuid(vmid, vm.current.get('smbios1'))}`;
  } catch (error) {
    if (hasCode(error, 'PRIVILEGE_MISSING')) return `the token needs VM.Audit on /vms/${vmid}`;
    if (isNotFound(error)) return 'it no longer exists';
    throw error;
  }
}

function otherOwner(vm: Adoptable, stackName: string): string | undefined {
  const owner = findOwnership(vm.current.get('description') ?? '');
  if (!owner || !ownershipCounts(owner, vm)) return undefined;
  if (owner.stack === stackName) {
    return `its notes say that it is ${owner.address} of this stack: proxwright state recover`;
  }
  return `it belongs to ${owner.address} of the stack "${owner.stack}"`;
}
