/**
 * The privileges Proxmox VE knows and how it sorts them. The built-in roles follow from this table (`roles.ts`), so the
 * difference between PVE 8 and PVE 9 is data: VM.Monitor went, the guest agent got privileges of its own.
 */

/** Who is meant to hold a privilege: everybody's roles are cut along these lines. */
export interface PrivilegeGroup {
  readonly root: readonly string[];
  readonly admin: readonly string[];
  readonly user: readonly string[];
  readonly audit: readonly string[];
}

export type PveMajor = 8 | 9;

type PrivilegeGroups = Readonly<Record<string, PrivilegeGroup>>;

const COMMON_GROUPS: PrivilegeGroups = {
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
};

const COMMON_VM_ADMIN = [
  'VM.Config.Disk',
  'VM.Config.CPU',
  'VM.Config.Memory',
  'VM.Config.Network',
  'VM.Config.HWType',
  'VM.Config.Options',
  'VM.Allocate',
  'VM.Clone',
  'VM.Migrate',
  'VM.Snapshot',
  'VM.Snapshot.Rollback',
] as const;

const COMMON_VM_USER = ['VM.Config.CDROM', 'VM.Config.Cloudinit', 'VM.Console', 'VM.Backup', 'VM.PowerMgmt'] as const;

/** Rule [source AC AccessControl.pm privgroups]: privileges by area and by the kind of role that gets them. */
export const PRIVILEGE_GROUPS: Readonly<Record<PveMajor, PrivilegeGroups>> = {
  9: {
    ...COMMON_GROUPS,
    VM: {
      root: [],
      admin: [...COMMON_VM_ADMIN, 'VM.GuestAgent.Unrestricted', 'VM.Replicate'],
      user: [...COMMON_VM_USER, 'VM.GuestAgent.FileRead', 'VM.GuestAgent.FileSystemMgmt', 'VM.GuestAgent.FileWrite'],
      audit: ['VM.Audit', 'VM.GuestAgent.Audit'],
    },
  },
  8: {
    ...COMMON_GROUPS,
    VM: { root: [], admin: [...COMMON_VM_ADMIN, 'VM.Monitor'], user: COMMON_VM_USER, audit: ['VM.Audit'] },
  },
};

/** Rule [source AC AccessControl.pm valid_privs]: one privilege belongs to no group. */
const UNGROUPED = ['Permissions.Modify'];

export const PRIVILEGES: Readonly<Record<PveMajor, ReadonlySet<string>>> = { 8: allOf(8), 9: allOf(9) };

function allOf(major: PveMajor): ReadonlySet<string> {
  const grouped = Object.values(PRIVILEGE_GROUPS[major]).flatMap((group) => [
    ...group.root,
    ...group.admin,
    ...group.user,
    ...group.audit,
  ]);
  return new Set([...UNGROUPED, ...grouped].sort());
}

/** Which set of privileges a version such as `9.2.11` has. */
export function majorOf(version: string): PveMajor {
  return version.startsWith('8') ? 8 : 9;
}
