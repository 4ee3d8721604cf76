/**
 * The privileges that Proxmox VE knows and how it groups them. The built-in roles follow from this table, so the difference
 * between releases is data: VM.Monitor was removed, and the guest agent got its own privileges.
 */
import { isSince, type ReleaseNumber } from '../../base/values/release.ts';
import type { Role } from '../world/world.ts';

/** The intended holders of a privilege, from which the built-in roles follow. */
interface PrivilegeGroup {
  readonly root: readonly string[];
  readonly admin: readonly string[];
  readonly user: readonly string[];
  readonly audit: readonly string[];
}

type PrivilegeGroups = Readonly<Record<string, PrivilegeGroup>>;

/**
 * Rule [source AC AccessControl.pm privgroups]: every privilege that any release has, by area and by the kind of role that
 * gets it.
 */
const GROUPS: PrivilegeGroups = {
  Sys: {
    root: ['Sys.PowerMgmt', 'Sys.Modify', 'Sys.Incoming', 'Sys.AccessNetwork'],
    admin: ['Sys.Console', 'Sys.Syslog'],
    user: [],
    audit: ['Sys.Audit'],
  },
  Datastore: {
    root: [],
    admin: ['Datastore.Allocate', 'Datastore.AllocateTemplate'],
    user: ['Datastore.AllocateSpace'],
    audit: ['Datastore.Audit'],
  },
  SDN: { root: [], admin: ['SDN.Allocate', 'SDN.Audit'], user: ['SDN.Use'], audit: ['SDN.Audit'] },
  User: {
    root: ['Realm.Allocate'],
    admin: ['User.Modify', 'Group.Allocate', 'Realm.AllocateUser'],
    user: [],
    audit: [],
  },
  Pool: { root: [], admin: ['Pool.Allocate'], user: ['Pool.Audit'], audit: ['Pool.Audit'] },
  Mapping: { root: [], admin: ['Mapping.Modify'], user: ['Mapping.Use'], audit: ['Mapping.Audit'] },
  VM: {
    root: [],
    admin: [
      'VM.Config.Disk',
      'VM.Config.CPU',
      'VM.Config.Memory',
      'VM.Config.Network',
      'VM.Config.HWType',
      'VM.Config.Options',
      'VM.Allocate',
      'VM.Clone',
      'VM.GuestAgent.Unrestricted',
      'VM.Migrate',
      'VM.Monitor',
      'VM.Replicate',
      'VM.Snapshot',
      'VM.Snapshot.Rollback',
    ],
    user: [
      'VM.Config.CDROM',
      'VM.Config.Cloudinit',
      'VM.Console',
      'VM.Backup',
      'VM.GuestAgent.FileRead',
      'VM.GuestAgent.FileSystemMgmt',
      'VM.GuestAgent.FileWrite',
      'VM.PowerMgmt',
    ],
    audit: ['VM.Audit', 'VM.GuestAgent.Audit'],
  },
};

/** Rule [source AC AccessControl.pm valid_privs]: one privilege belongs to no group. */
const UNGROUPED = ['Permissions.Modify'];

/**
 * Rule [source AC AccessControl.pm privgroups of 8.1.3]: the network got its privilege in time for 8.2.
 * Rule [source AC AccessControl.pm privgroups of 9.0.2]: the guest agent and replication got theirs with 9.0.
 */
const SINCE: Readonly<Record<string, ReleaseNumber>> = {
  'Sys.AccessNetwork': '8.2',
  'VM.GuestAgent.Audit': '9.0',
  'VM.GuestAgent.FileRead': '9.0',
  'VM.GuestAgent.FileSystemMgmt': '9.0',
  'VM.GuestAgent.FileWrite': '9.0',
  'VM.GuestAgent.Unrestricted': '9.0',
  'VM.Replicate': '9.0',
};

/** Rule [source AC AccessControl.pm privgroups of 9.0.3]: and the one that had covered them all was removed. */
const UNTIL: Readonly<Record<string, ReleaseNumber>> = { 'VM.Monitor': '9.0' };

/** The groups as a server of this version (`8.4.1`) has them. */
function privilegeGroupsOf(version: string): PrivilegeGroups {
  const left = (privileges: readonly string[]) => privileges.filter((privilege) => isKnown(privilege, version));
  return Object.fromEntries(
    Object.entries(GROUPS).map(([area, { root, admin, user, audit }]) => [
      area,
      { root: left(root), admin: left(admin), user: left(user), audit: left(audit) },
    ]),
  );
}

export function privilegesOf(version: string): ReadonlySet<string> {
  const grouped = Object.values(privilegeGroupsOf(version)).flatMap((group) => [
    ...group.root,
    ...group.admin,
    ...group.user,
    ...group.audit,
  ]);
  return new Set([...UNGROUPED, ...grouped].sort());
}

function isKnown(privilege: string, version: string): boolean {
  const [since, until] = [SINCE[privilege], UNTIL[privilege]];
  return (since === undefined || isSince(version, since)) && (until === undefined || !isSince(version, until));
}

export const ADMINISTRATOR = 'Administrator';
export const NO_ACCESS = 'NoAccess';

/** Rule [source AC AccessControl.pm create_roles]: per area an admin and a user role, and the four cross-cutting ones. */
export function builtInRoles(version: string): Map<string, Role> {
  const privileges = new Map<string, Set<string>>([
    [NO_ACCESS, new Set()],
    [ADMINISTRATOR, new Set(privilegesOf(version))],
    ['PVETemplateUser', new Set(['VM.Clone', 'VM.Audit'])],
  ]);
  const grant = (roleid: string, ...lists: (readonly string[])[]) => {
    const set = privileges.get(roleid) ?? new Set<string>();
    for (const privilege of lists.flat()) set.add(privilege);
    privileges.set(roleid, set);
  };
  for (const [area, group] of Object.entries(privilegeGroupsOf(version))) {
    grant(`PVE${area}Admin`, group.admin, group.user, group.audit);
    grant('PVEAdmin', group.admin, group.user, group.audit);
    if (group.user.length > 0) grant(`PVE${area}User`, group.user, group.audit);
    grant('PVEAuditor', group.audit);
  }
  // Rule [source AC AccessControl.pm create_roles]: mappings are not for PVEAdmin, it may only use them.
  privileges.get('PVEAdmin')?.delete('Mapping.Modify');
  return new Map([...privileges].map(([roleid, set]) => [roleid, { roleid, privileges: set, special: true }]));
}
