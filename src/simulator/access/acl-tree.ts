/**
 * The access control list arranged as a tree of paths, so that a check costs a few lookups however long the list is.
 * Only the arrangement is remembered; roles, groups, tokens and pools are always read from the world. The functions
 * here that change the list keep its tree in step; a list that grew or shrank behind their back is arranged anew.
 */
import type { AccessState, AclEntry } from '../world/world.ts';
import { ROOT } from './ids.ts';
import { levelsOf } from './paths.ts';

export type AclKind = AclEntry['kind'];

export interface AclNode {
  readonly path: string;
  readonly children: Map<string, AclNode>;
  /** Entries on exactly this path: user, group or token id → role → entry. */
  readonly members: Readonly<Record<AclKind, Map<string, Map<string, AclEntry>>>>;
}

interface Arranged {
  readonly root: AclNode;
  entryCount: number;
}

const trees = new WeakMap<AclEntry[], Arranged>();

export function aclTree(access: AccessState): AclNode {
  return arrange(access.acl).root;
}

/** Parents before children, children by name. */
export function* aclNodes(node: AclNode): Generator<AclNode> {
  yield node;
  for (const name of [...node.children.keys()].sort()) {
    const child = node.children.get(name);
    if (child) yield* aclNodes(child);
  }
}

/**
 * Rule [source AC AccessControl.pm write_user_config]: entries of root@pam are never stored.
 */
export function setAclEntry(access: AccessState, entry: AclEntry): void {
  if (entry.kind === 'user' && entry.ugid === ROOT) return;
  const tree = arrange(access.acl);
  const existing = nodeAt(tree.root, entry.path).members[entry.kind].get(entry.ugid)?.get(entry.role);
  if (existing) {
    existing.propagate = entry.propagate;
    return;
  }
  access.acl.push(entry);
  insert(tree, entry);
}

/** Takes out every entry for which `unwanted` holds. */
export function removeAclEntries(access: AccessState, unwanted: (entry: AclEntry) => boolean): void {
  const kept = access.acl.filter((entry) => !unwanted(entry));
  if (kept.length === access.acl.length) return;
  access.acl.length = 0;
  for (const entry of kept) access.acl.push(entry);
  trees.delete(access.acl);
}

/** All entries on the path and below it. */
export function removeAclSubtree(access: AccessState, path: string): void {
  removeAclEntries(access, (entry) => entry.path === path || entry.path.startsWith(`${path}/`));
}

function arrange(acl: AclEntry[]): Arranged {
  const known = trees.get(acl);
  if (known && known.entryCount === acl.length) return known;
  const tree: Arranged = { root: newNode('/'), entryCount: 0 };
  for (const entry of acl) insert(tree, entry);
  trees.set(acl, tree);
  return tree;
}

function insert(tree: Arranged, entry: AclEntry): void {
  const members = nodeAt(tree.root, entry.path).members[entry.kind];
  const roles = members.get(entry.ugid) ?? new Map<string, AclEntry>();
  roles.set(entry.role, entry);
  members.set(entry.ugid, roles);
  tree.entryCount++;
}

function nodeAt(root: AclNode, path: string): AclNode {
  let node = root;
  for (const level of levelsOf(path)) {
    if (level === '') continue;
    const child = node.children.get(level) ?? newNode(node.path === '/' ? `/${level}` : `${node.path}/${level}`);
    node.children.set(level, child);
    node = child;
  }
  return node;
}

function newNode(path: string): AclNode {
  return { path, children: new Map(), members: { user: new Map(), group: new Map(), token: new Map() } };
}
