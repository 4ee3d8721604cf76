/**
 * What the cluster holds, as far as the token sees it: the nodes and the VMs of each. Every data source asks the same
 * questions through the client that shares its answers, so that one inventory serves them all.
 */

import { didYouMean } from '../../base/closest.ts';
import { ProxwrightError } from '../../base/errors.ts';
import type { NodeEntry, Permissions, Pve } from '../../pve/index.ts';
import { parseTags } from '../../pve/index.ts';

/** How a data source looks. */
export interface Look {
  readonly pve: Pve;
  readonly signal: AbortSignal;
}

export interface Guest {
  readonly vmid: number;
  readonly node: string;
  /** Absent while it is being made. */
  readonly name: string | undefined;
  readonly status: string;
  readonly tags: readonly string[];
  readonly lock: string | undefined;
  readonly template: boolean;
}

export async function readNodes({ pve, signal }: Look): Promise<NodeEntry[]> {
  const nodes = await pve.nodes({ signal });
  return nodes.sort((a, b) => byText(a.node, b.node));
}

/** By id. The list of a node does not lag, unlike that of the cluster, which is asked only for nodes that are away. */
export async function readGuests(look: Look, node?: string): Promise<Guest[]> {
  const nodes = await nodesAt(look, node);
  const lists = await Promise.all(
    nodes.filter(isOnline).map(async (each) => {
      const vms = await look.pve.node(each.node).vms.list({}, { signal: look.signal });
      return vms.map((vm) => guestOf(vm, each.node));
    }),
  );
  const away = nodes.filter((each) => !isOnline(each)).map((each) => String(each.node));
  const hidden = away.length === 0 ? [] : await lastKnownOn(away, look);
  return [...lists.flat(), ...hidden].sort((a, b) => a.vmid - b.vmid);
}

async function lastKnownOn(away: readonly string[], { pve, signal }: Look): Promise<Guest[]> {
  const rows = await pve.cluster.resources({ type: 'vm' }, { signal });
  return rows.flatMap((row) => {
    const { vmid, node, type, status = 'unknown' } = row;
    if (vmid === undefined || node === undefined || type !== 'qemu' || !away.includes(node)) return [];
    return [guestOf({ ...row, vmid, status }, node)];
  });
}

interface GuestFacts {
  readonly vmid: number;
  readonly name?: string | undefined;
  readonly status: string;
  readonly tags?: string | undefined;
  readonly lock?: string | undefined;
  readonly template?: boolean | undefined;
}

function guestOf({ vmid, name, status, tags = '', lock, template = false }: GuestFacts, node: string): Guest {
  // The server stores them as its datacenter wants them; they are shown as they are.
  return { vmid, node, name, status, tags: parseTags(tags, { caseSensitive: true, keepOrder: false }), lock, template };
}

/** All nodes, or the one of this name, which must be there. */
export async function nodesAt(look: Look, name: string | undefined): Promise<NodeEntry[]> {
  const nodes = await readNodes(look);
  if (name === undefined) return nodes;
  const found = nodes.find(({ node }) => node === name);
  if (found) return [found];
  const hint = didYouMean(
    name,
    nodes.map(({ node }) => node),
  );
  throw new ProxwrightError({
    code: 'MISSING_REFERENCE',
    where: { field: 'node' },
    detail: `The cluster has no node "${name}".`,
    ...(hint !== undefined && { hint }),
  });
}

export function isOnline({ status }: NodeEntry): boolean {
  return status === 'online';
}

/**
 * An empty list is what a token without rights sees and what an empty cluster shows; the privileges tell them apart. Asked
 * only where nothing is seen.
 */
export async function seesNoVms(guests: readonly Guest[], { pve, signal }: Look): Promise<boolean> {
  if (guests.length > 0) return false;
  return !maySeeVms(await pve.access.permissions({}, { signal }));
}

function maySeeVms(permissions: Permissions): boolean {
  return Object.entries(permissions).some(([path, privileges]) => {
    const isPassedOn = privileges['VM.Audit'];
    if (isPassedOn === undefined) return false;
    return path === '/vms' || path === '/pool' ? isPassedOn : /^\/(vms|pool)\//.test(path);
  });
}

/** The empty list of somebody who may not look; a warning, because a list may well be meant to be empty. */
export function blindTo(things: string, privilege: string, path: string) {
  const { diagnostic } = new ProxwrightError({
    code: 'PRIVILEGE_MISSING',
    detail: `The token sees no ${things} at all, so the list is empty whatever there is: it lacks ${privilege} everywhere.`,
    hint: `Grant it to the user and, with privilege separation, to the token as well: pveum acl modify ${path} --roles PVEAuditor …`,
  });
  return { ...diagnostic, severity: 'warning' as const };
}

export function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
