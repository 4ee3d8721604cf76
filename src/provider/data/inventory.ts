/**
 * The nodes of the cluster and the VMs of each, if the token can see them. Every data source reads them through the
 * client that shares its answers, so that each list is read once for all of them.
 */

import { ProxwrightError } from '../../base/errors.ts';
import { didYouMean } from '../../base/text/closest.ts';
import { GRANTEES, nodeCommand } from '../../base/text/node-command.ts';
import type { Rollout } from '../../kinds/stack.ts';
import type { NodeEntry, Permissions, Pve } from '../../pve/index.ts';
import { parseTags } from '../../pve/index.ts';

/** How a data source reads the cluster. */
export interface Look {
  readonly pve: Pve;
  readonly signal: AbortSignal;
  readonly rollout: Rollout;
}

export interface Guest {
  readonly vmid: number;
  readonly node: string;
  /** Absent while Proxmox creates it. */
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

/** Sorted by id. The list of a node does not lag. The list of the cluster does, so it is used only for nodes that are offline. */
export async function readGuests(look: Look, node?: string): Promise<Guest[]> {
  const nodes = await nodesAt(look, node);
  const lists = await Promise.all(
    nodes.filter(isOnline).map(async (each) => {
      const vms = await look.pve.node(each.node).vms.list({}, { signal: look.signal });
      return vms.map((vm) => guestOf(vm, each.node));
    }),
  );
  const offline = nodes.filter((each) => !isOnline(each)).map((each) => String(each.node));
  const hidden = offline.length === 0 ? [] : await lastKnownOn(offline, look);
  return [...lists.flat(), ...hidden].sort((a, b) => a.vmid - b.vmid);
}

async function lastKnownOn(offline: readonly string[], { pve, signal }: Look): Promise<Guest[]> {
  const rows = await pve.cluster.resources({ type: 'vm' }, { signal });
  return rows.flatMap((row) => {
    const { vmid, node, type, status = 'unknown' } = row;
    if (vmid === undefined || node === undefined || type !== 'qemu' || !offline.includes(node)) return [];
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
  // The server stores tags in the order and case of the datacenter settings; they are shown as stored.
  return { vmid, node, name, status, tags: parseTags(tags, { caseSensitive: true, keepOrder: false }), lock, template };
}

/** All nodes, or the one of this name, which must exist. */
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
 * Both a token without privileges and an empty cluster give an empty list. The privileges tell them apart, and are read only
 * then.
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

/** For an empty list that comes from missing privileges. A warning, because an empty list may be what the user expects. */
export function blindTo(things: string, privilege: string, path: string) {
  const { diagnostic } = new ProxwrightError({
    code: 'PRIVILEGE_MISSING',
    detail: `The token cannot see any ${things}, so the list is empty: it lacks ${privilege} everywhere.`,
    hint: `Grant it to the user and, with privilege separation, to the token as well: ${nodeCommand('pveum acl modify', [path], { ...GRANTEES, roles: 'PVEAuditor' })}`,
  });
  return { ...diagnostic, severity: 'warning' as const };
}

export function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
