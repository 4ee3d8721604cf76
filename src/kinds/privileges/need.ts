/**
 * What a request needs, as data: privileges on paths of the access control tree, or a login that no token can replace.
 * Differences between releases are rules.
 */
import { behaves, privilegesOf, type ServerVersion } from '../../pve/compatibility.ts';

/** At least one; any one of them is enough. */
export type OneOf<Item> = readonly [Item, ...Item[]];

/** A place in the access control tree. */
export interface AclPath {
  /** `/vms/101`. */
  readonly path: string;
  /** It must propagate to everything below, because the id or entry is not known yet. */
  readonly below?: true;
}

/** The path of plain bridges in the access control tree; a VNet is below its own zone. */
export const LOCAL_ZONE = '/sdn/zones/localnetwork';

/** Stands for an id that is chosen later. */
export const UNKNOWN_VMID = 999_999_999;
/** Privileges on a VM whose id is not known, or whose ACL entries will be removed with the VM that has the id now. */
export const ANY_VM: AclPath = { path: '/vms', below: true };
/** Stands for the storage of disks that could not be read. */
export const UNKNOWN_STORAGE = 'unknown';

/** A placeholder in a path becomes everything of its kind. */
export function widened(place: AclPath): AclPath {
  if (place.path === `/vms/${UNKNOWN_VMID}`) return ANY_VM;
  return place.path === `/storage/${UNKNOWN_STORAGE}` ? { path: '/storage', below: true } : place;
}

/** What in the stack needs it: a key of the configuration, or a field of the file. */
export type Cause = { readonly key: string; readonly part?: string } | { readonly field: string };

export interface PrivilegeNeed {
  readonly kind: 'privilege';
  readonly privileges: OneOf<string>;
  readonly paths: OneOf<AclPath>;
  readonly cause: Cause;
  /** A token that has all of these does not need it. */
  readonly instead?: OneOf<PrivilegeNeed>;
}

/** Only a password login as root@pam may do it; no privilege replaces that. */
export interface RootNeed {
  readonly kind: 'root';
  readonly cause: Cause;
  /** What can be done instead, as a sentence. */
  readonly instead: string;
}

/** Tags that are added or removed: the datacenter may reserve some of them. */
export interface TagNeed {
  readonly kind: 'tags';
  readonly tags: readonly string[];
  readonly cause: Cause;
}

export type Need = PrivilegeNeed | RootNeed | TagNeed;

/** What differs between releases. */
export interface PrivilegeRules {
  /** The privilege for requests to the guest agent. */
  readonly agent: 'VM.Monitor' | 'VM.GuestAgent';
  /** Whether Proxmox checks the tags of a VM that is created, not cloned. */
  readonly tagsOfNewVms: boolean;
  /** Whether custom CPU models have their own paths, or are checked on /nodes. */
  readonly cpuModels: 'mapping' | 'nodes';
  /** Whether users other than root may give a VM a random number generator. */
  readonly randomNumbers: boolean;
}

export function privilegeRules(server: ServerVersion): PrivilegeRules {
  return {
    agent: privilegesOf(server).has('VM.Monitor') ? 'VM.Monitor' : 'VM.GuestAgent',
    tagsOfNewVms: behaves(server, 'tags of new VMs checked'),
    cpuModels: behaves(server, 'processor models with paths') ? 'mapping' : 'nodes',
    randomNumbers: behaves(server, 'random number generators without root'),
  };
}

export function need(privileges: string | OneOf<string>, paths: OneOf<AclPath>, cause: Cause): PrivilegeNeed {
  return { kind: 'privilege', privileges: typeof privileges === 'string' ? [privileges] : privileges, paths, cause };
}

export function on(path: string): OneOf<AclPath> {
  return [{ path }];
}

export function rootOnly(cause: Cause, instead: string): RootNeed {
  return { kind: 'root', cause, instead };
}

/** What a token needs in order to see something. */
export interface Visibility {
  readonly what: string;
  /** One of them is enough; the plan needs the first one anyway. */
  readonly privileges: OneOf<string>;
  readonly path: AclPath;
}

export function storageVisibility(storage: string, privileges: Visibility['privileges']): Visibility {
  return { what: `the storage "${storage}"`, privileges, path: { path: `/storage/${storage}` } };
}
