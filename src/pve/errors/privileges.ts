/** Turns "Permission check failed (…)" into the command that mends it. */

/** The smallest built-in role that holds a privilege; those missing here are in no small one. */
const ROLE_WITH: readonly (readonly [RegExp, string])[] = [
  [/^VM\.Clone$/, 'PVETemplateUser'],
  [/^VM\./, 'PVEVMAdmin'],
  [/^Datastore\.(AllocateSpace|Audit)$/, 'PVEDatastoreUser'],
  [/^Datastore\./, 'PVEDatastoreAdmin'],
  [/^SDN\.(Use|Audit)$/, 'PVESDNUser'],
  [/^SDN\./, 'PVESDNAdmin'],
  [/^Pool\.Audit$/, 'PVEPoolUser'],
  [/^Pool\./, 'PVEPoolAdmin'],
  [/^Mapping\.(Use|Audit)$/, 'PVEMappingUser'],
  [/^Mapping\./, 'PVEMappingAdmin'],
  [/^Sys\.(Audit|Console|Syslog)$/, 'PVESysAdmin'],
];

export interface MissingPrivilege {
  readonly path: string;
  /** Any one of them is enough. */
  readonly privileges: readonly string[];
}

/** `undefined` where the server names neither path nor privilege. */
export function missingPrivilege(text: string): MissingPrivilege | undefined {
  const match = /Permission check failed \((\/[^\s,]*), ([A-Za-z.|]+)/.exec(text);
  const [, path, alternatives] = match ?? [];
  return path && alternatives ? { path, privileges: alternatives.split('|') } : undefined;
}

export function privilegeHint(text: string, principal: string): string {
  const missing = missingPrivilege(text);
  const privilege = missing?.privileges[0];
  if (!missing || !privilege) {
    const [user = principal, token] = principal.split('!');
    const command = token ? `pveum user token permissions ${user} ${token}` : `pveum user permissions ${user}`;
    return `Proxmox does not say which privilege is missing. What there is now: ${command}`;
  }
  const known = ROLE_WITH.find(([pattern]) => pattern.test(privilege))?.[1];
  const role = known ?? 'ProxwrightExtra';
  const grant = `pveum acl modify ${missing.path} ${holderOptions(principal)} --roles ${role}`;
  return known ? `Grant it: ${grant}` : `Grant it: pveum role add ${role} --privs ${privilege}\n${grant}`;
}

/** A token with privilege separation needs the grant for itself and for its owner. */
function holderOptions(principal: string): string {
  const user = principal.split('!')[0] ?? principal;
  if (user === principal) return `--users ${shellQuoted(user)}`;
  // root@pam has every privilege; its tokens do not.
  return user === 'root@pam'
    ? `--tokens ${shellQuoted(principal)}`
    : `--users ${shellQuoted(user)} --tokens ${shellQuoted(principal)}`;
}

const shellQuoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
