/**
 * What the supported releases of Proxmox VE added and removed, as one table: privileges, roles, endpoints and behaviours. A
 * release that is newer than all known ones counts as the newest.
 */
import { compareReleases, isSince, minorRelease, type ReleaseNumber } from '../base/values/release.ts';

export type { ReleaseNumber } from '../base/values/release.ts';

export const OLDEST_RELEASE: ReleaseNumber = '8.0';
export const NEWEST_RELEASE: ReleaseNumber = '9.2';

interface Lifetime {
  /** The first release that has it; by default every supported one. */
  readonly since?: ReleaseNumber;
  /** The first release without it. */
  readonly until?: ReleaseNumber;
  /** What replaced it. */
  readonly instead?: string;
}

type Table<Name extends string = string> = Readonly<Record<Name, Lifetime>>;

const ALWAYS: Lifetime = {};

/** Every privilege that any supported release knows. */
export const PRIVILEGES: Table = {
  'Datastore.Allocate': ALWAYS,
  'Datastore.AllocateSpace': ALWAYS,
  'Datastore.AllocateTemplate': ALWAYS,
  'Datastore.Audit': ALWAYS,
  'Group.Allocate': ALWAYS,
  'Mapping.Audit': ALWAYS,
  'Mapping.Modify': ALWAYS,
  'Mapping.Use': ALWAYS,
  'Permissions.Modify': ALWAYS,
  'Pool.Allocate': ALWAYS,
  'Pool.Audit': ALWAYS,
  'Realm.Allocate': ALWAYS,
  'Realm.AllocateUser': ALWAYS,
  'SDN.Allocate': ALWAYS,
  'SDN.Audit': ALWAYS,
  'SDN.Use': ALWAYS,
  'Sys.AccessNetwork': { since: '8.2' },
  'Sys.Audit': ALWAYS,
  'Sys.Console': ALWAYS,
  'Sys.Incoming': ALWAYS,
  'Sys.Modify': ALWAYS,
  'Sys.PowerMgmt': ALWAYS,
  'Sys.Syslog': ALWAYS,
  'User.Modify': ALWAYS,
  'VM.Allocate': ALWAYS,
  'VM.Audit': ALWAYS,
  'VM.Backup': ALWAYS,
  'VM.Clone': ALWAYS,
  'VM.Config.CDROM': ALWAYS,
  'VM.Config.CPU': ALWAYS,
  'VM.Config.Cloudinit': ALWAYS,
  'VM.Config.Disk': ALWAYS,
  'VM.Config.HWType': ALWAYS,
  'VM.Config.Memory': ALWAYS,
  'VM.Config.Network': ALWAYS,
  'VM.Config.Options': ALWAYS,
  'VM.Console': ALWAYS,
  'VM.GuestAgent.Audit': { since: '9.0' },
  'VM.GuestAgent.FileRead': { since: '9.0' },
  'VM.GuestAgent.FileSystemMgmt': { since: '9.0' },
  'VM.GuestAgent.FileWrite': { since: '9.0' },
  'VM.GuestAgent.Unrestricted': { since: '9.0' },
  'VM.Migrate': ALWAYS,
  'VM.Monitor': {
    until: '9.0',
    instead: 'VM.GuestAgent.Audit, .FileRead, .FileWrite, .FileSystemMgmt and .Unrestricted',
  },
  'VM.PowerMgmt': ALWAYS,
  'VM.Replicate': { since: '9.0' },
  'VM.Snapshot': ALWAYS,
  'VM.Snapshot.Rollback': ALWAYS,
};

/** Built-in roles. */
export const ROLES: Table = {
  Administrator: ALWAYS,
  NoAccess: ALWAYS,
  PVEAdmin: ALWAYS,
  PVEAuditor: ALWAYS,
  PVEDatastoreAdmin: ALWAYS,
  PVEDatastoreUser: ALWAYS,
  PVEMappingAdmin: ALWAYS,
  PVEMappingUser: ALWAYS,
  PVEPoolAdmin: ALWAYS,
  PVEPoolUser: ALWAYS,
  PVESDNAdmin: ALWAYS,
  PVESDNUser: ALWAYS,
  PVESysAdmin: ALWAYS,
  PVETemplateUser: ALWAYS,
  PVEUserAdmin: ALWAYS,
  PVEVMAdmin: ALWAYS,
  PVEVMUser: ALWAYS,
};

/** Endpoints that not every supported release has. */
const ENDPOINTS_TABLE = {
  '/cluster/ha/groups': { until: '9.0', instead: '/cluster/ha/rules' },
  '/cluster/ha/rules': { since: '9.0' },
  '/cluster/mapping/dir': { since: '8.4' },
} as const satisfies Table;

export const ENDPOINTS: Table<keyof typeof ENDPOINTS_TABLE> = ENDPOINTS_TABLE;

const BEHAVIOURS_TABLE = {
  /** Errors have their text in the body, not only in the reason phrase. The package with it is newer than 8.3.3. */
  'error text in the body': { since: '8.3.4' },
  /** POST …/config takes the lock inside its task; before, during the request. */
  'configuration locked in the task': { since: '9.0' },
  /** The option of the agent has its new name; the old one still works. */
  'agent option freeze-fs': { since: '9.2' },
  /** Drives may still carry cyls, heads, secs and trans. */
  'geometry of drives': { until: '9.0' },
  'storage type glusterfs': { until: '9.0' },
  /** Users other than root may add a random number generator to a VM. */
  'random number generators without root': { since: '8.4' },
  /** Custom processor models have their own ACL paths; before, Sys.Audit on /nodes covered them. */
  'processor models with paths': { since: '9.2' },
  /** Downloads and uploads accept disk images, not only ISO images and container templates. */
  'images to import through the API': { since: '8.3' },
  /** A download may be compressed. */
  'downloads unpacked': { since: '8.1' },
  /** The server checks the tags of a new VM, before the VM is in its pool. */
  'tags of new VMs checked': { since: '9.2.5' },
} as const satisfies Table;

export type Behaviour = keyof typeof BEHAVIOURS_TABLE;
export const BEHAVIOURS: Table<Behaviour> = BEHAVIOURS_TABLE;

/** The version that the server reports: `9.2.11`, or the known part of it. */
export interface ServerVersion {
  readonly version: string;
}

export function privilegesOf(server: ServerVersion): ReadonlySet<string> {
  return namesIn(PRIVILEGES, server);
}

/** Whether the server has an endpoint that not every release has. */
export function hasEndpoint(server: ServerVersion, path: keyof typeof ENDPOINTS_TABLE): boolean {
  return isAlive(ENDPOINTS[path], server);
}

export function behaves(server: ServerVersion, behaviour: Behaviour): boolean {
  return isAlive(BEHAVIOURS[behaviour], server);
}

export type Support =
  | 'supported'
  /** Older than every tested release: features may be missing. */
  | 'too old'
  /** Newer than every tested release: a warning, not an error. */
  | 'unknown';

export function supportOf(server: ServerVersion): Support {
  const release = minorRelease(server.version);
  if (compareReleases(release, OLDEST_RELEASE) < 0) return 'too old';
  return compareReleases(release, NEWEST_RELEASE) > 0 ? 'unknown' : 'supported';
}

/** Everything that one release has and the other does not. */
export function lostBetween(table: Table, from: ServerVersion, to: ServerVersion): readonly string[] {
  const left = namesIn(table, to);
  return [...namesIn(table, from)].filter((name) => !left.has(name));
}

function namesIn(table: Table, server: ServerVersion): Set<string> {
  return new Set(Object.entries(table).flatMap(([name, lifetime]) => (isAlive(lifetime, server) ? [name] : [])));
}

function isAlive({ since, until }: Lifetime, { version }: ServerVersion): boolean {
  return (since === undefined || isSince(version, since)) && (until === undefined || !isSince(version, until));
}
