/**
 * What an act needs of whoever asks for it, as data: privileges on paths of the access control tree, or a login that no
 * token can replace. Which release asks for what comes in as rules.
 */

/** At least one; any one of them is enough. */
export type OneOf<Item> = readonly [Item, ...Item[]];

/** A place in the access control tree. */
export interface AclPath {
  /** `/vms/101`. */
  readonly path: string;
  /** It must be passed on to everything below: which id or entry it will be is not known yet. */
  readonly below?: true;
}

/** What of the stack asks for it: a key of the configuration, or a field of the file. */
export type Cause = { readonly key: string; readonly part?: string } | { readonly field: string };

export interface PrivilegeNeed {
  readonly kind: 'privilege';
  readonly privileges: OneOf<string>;
  readonly paths: OneOf<AclPath>;
  readonly cause: Cause;
  /** Whoever has all of these needs it not. */
  readonly instead?: OneOf<PrivilegeNeed>;
}

/** Only a login of root@pam with a password may do it; no privilege replaces that. */
export interface RootNeed {
  readonly kind: 'root';
  readonly cause: Cause;
  /** What can be done instead, as a sentence. */
  readonly instead: string;
}

/** Tags that come or go: the datacenter may reserve some of them. */
export interface TagNeed {
  readonly kind: 'tags';
  readonly tags: readonly string[];
  readonly cause: Cause;
}

export type Need = PrivilegeNeed | RootNeed | TagNeed;

/** What differs between releases. */
export interface PrivilegeRules {
  /** What guards questions to the guest agent. */
  readonly agent: 'VM.Monitor' | 'VM.GuestAgent';
  /** Whether the tags of a VM that is created, not cloned, are looked at. */
  readonly tagsOfNewVms: boolean;
  /** Whether custom processor models have paths of their own, or go with a look at the nodes. */
  readonly cpuModels: 'mapping' | 'nodes';
  /** Whether anybody but root may give a VM a random number generator. */
  readonly randomNumbers: boolean;
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
