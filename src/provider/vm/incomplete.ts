/**
 * VMs whose creation did not end. A create that fails returns no state, because the host would destroy what it returns; the
 * VM stays, marked in its ownership line, and the next create of the same name by the same token goes on with it. Nothing
 * without that mark is ever taken over.
 */
import { ProxwrightError } from '../../base/errors.ts';
import { readVm } from '../../kinds/vm/observed.ts';
import { findOwnership, type Ownership } from '../../kinds/vm/ownership.ts';
import type { VmRecord } from '../../kinds/vm/record.ts';
import { isNotFound, type Pve } from '../../pve/index.ts';
import { ownerName } from './owner.ts';

export interface IncompleteVm {
  readonly vmid: number;
  readonly node: string;
  readonly name: string;
  readonly nonce: string;
  /** A task still works on it. */
  readonly lock: string | undefined;
  /** Absent while it is being made. */
  readonly uuid: string | undefined;
}

export interface IncompleteQuery {
  readonly name: string;
  readonly vmid?: number | undefined;
}

/** A VM as the list of its node has it: that list, unlike the cluster's, does not lag. */
export interface ListedVm {
  readonly vmid: number;
  readonly node: string;
  readonly name: string | undefined;
  readonly running: boolean;
  readonly template: boolean;
}

export async function listVms(pve: Pve, signal?: AbortSignal): Promise<ListedVm[]> {
  const nodes = await pve.nodes({ signal });
  const lists = await Promise.all(
    nodes
      .filter(({ status }) => status === 'online')
      .map(async ({ node }) => {
        const vms = await pve.node(node).vms.list({}, { signal });
        return vms.map(({ vmid, name, status, template }): ListedVm => {
          return { vmid, node, name, running: status === 'running', template: template ?? false };
        });
      }),
  );
  return lists.flat();
}

/** The one VM an earlier create left behind; undefined for a fresh start. */
export async function findIncomplete(
  pve: Pve,
  listed: readonly ListedVm[],
  { name, vmid }: IncompleteQuery,
  signal?: AbortSignal,
): Promise<IncompleteVm | undefined> {
  const candidates = listed.filter(
    (row) => row.name === name && !row.template && (vmid === undefined || row.vmid === vmid),
  );
  const matches = (await incompleteAmong(pve, candidates, signal)).filter((vm) => vm.name === name);
  const [only, second] = matches;
  if (second === undefined) return only;
  const places = matches.map((match) => `${match.vmid} on ${match.node}`).join(', ');
  throw new ProxwrightError({
    code: 'NOT_OURS',
    detail: `Earlier runs left several VMs called "${name}" incomplete: ${places}. Which of them is meant cannot be told.`,
    where: { field: 'vmid' },
    hint: 'Set vmid to the one that is to be completed, and remove the others by hand.',
  });
}

/** All marked VMs of this token among these, whatever their name. */
export async function incompleteAmong(
  pve: Pve,
  listed: readonly ListedVm[],
  signal?: AbortSignal,
): Promise<IncompleteVm[]> {
  const found = await Promise.all(listed.map((row) => incompleteIn(pve, row, signal)));
  return found.filter((vm) => vm !== undefined);
}

async function incompleteIn(
  pve: Pve,
  { vmid, node, running }: ListedVm,
  signal: AbortSignal | undefined,
): Promise<IncompleteVm | undefined> {
  const vm = await readVm(pve, node, vmid, { running, signal }).catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });
  const line = vm && findOwnership(vm.current.get('description') ?? '');
  if (!vm || !line || !isMark(line, vmid, ownerName(pve))) return undefined;
  const name = line.address.replace(/^vm\./, '');
  return { vmid, node, name, nonce: line.nonce, lock: vm.lock, uuid: vm.uuid };
}

export type Mark = Ownership & { readonly nonce: string };

/** A clone copies the line of its source, with the source's id. */
export function isMark(line: Ownership, vmid: number, owner: string): line is Mark {
  return line.incomplete === true && line.nonce !== undefined && line.vmid === vmid && line.stack === owner;
}

/** What a run that was making it would remember: settling it is the first thing the next run does. */
export function memoryOfIncomplete({ vmid, node, name, nonce }: IncompleteVm): VmRecord {
  return { vmid, node, name, nonce, phase: 'creating', lastApplied: {}, secrets: {}, macs: {}, addresses: {} };
}
