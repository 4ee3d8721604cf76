/**
 * Formats of users, groups, tokens, roles, privileges and pools.
 * [source AC AccessControl.pm, Auth/Plugin.pm; the privileges are those of libpve-access-control 9.1.1]
 */
import { splitLikePerl, textLength } from '../perl-text.ts';
import { matching, type Verifier } from './format.ts';

const USER = '[^\\s:/]+';
const REALM = '[A-Za-z][A-Za-z0-9.\\-_]+';
const USER_ID = new RegExp(`^${USER}@${REALM}\\n?$`);
const LONGEST_USER_ID = 64;

/** Every privilege a role may hold. */
export const PRIVILEGES: ReadonlySet<string> = new Set([
  'Datastore.Allocate',
  'Datastore.AllocateSpace',
  'Datastore.AllocateTemplate',
  'Datastore.Audit',
  'Group.Allocate',
  'Mapping.Audit',
  'Mapping.Modify',
  'Mapping.Use',
  'Permissions.Modify',
  'Pool.Allocate',
  'Pool.Audit',
  'Realm.Allocate',
  'Realm.AllocateUser',
  'SDN.Allocate',
  'SDN.Audit',
  'SDN.Use',
  'Sys.AccessNetwork',
  'Sys.Audit',
  'Sys.Console',
  'Sys.Incoming',
  'Sys.Modify',
  'Sys.PowerMgmt',
  'Sys.Syslog',
  'User.Modify',
  'VM.Allocate',
  'VM.Audit',
  'VM.Backup',
  'VM.Clone',
  'VM.Config.CDROM',
  'VM.Config.CPU',
  'VM.Config.Cloudinit',
  'VM.Config.Disk',
  'VM.Config.HWType',
  'VM.Config.Memory',
  'VM.Config.Network',
  'VM.Config.Options',
  'VM.Console',
  'VM.GuestAgent.Audit',
  'VM.GuestAgent.FileRead',
  'VM.GuestAgent.FileSystemMgmt',
  'VM.GuestAgent.FileWrite',
  'VM.GuestAgent.Unrestricted',
  'VM.Migrate',
  'VM.PowerMgmt',
  'VM.Replicate',
  'VM.Snapshot',
  'VM.Snapshot.Rollback',
]);

const verifyUserId: Verifier = (text) => {
  const name = text === '0' ? '' : text;
  const length = textLength(name);
  if (length < 3) return `user name '${name}' is too short\n`;
  if (length > LONGEST_USER_ID) return `user name '${name}' is too long (${length} > ${LONGEST_USER_ID})\n`;
  return USER_ID.test(name) ? undefined : `value '${name}' does not look like a valid user name\n`;
};

const verifyPoolCharacters = matching(
  /^[A-Za-z0-9.\-_]+(?:\/[A-Za-z0-9.\-_]+){0,2}$/,
  (text) => `pool name '${text}' contains invalid characters`,
);

const verifyPoolId: Verifier = (text) =>
  splitLikePerl(text, '/').length > 3
    ? `pool name '${text}' nested too deeply (max levels = 3)\n`
    : verifyPoolCharacters(text);

export const accessFormats: Readonly<Record<string, Verifier>> = {
  'pve-userid': verifyUserId,
  'pve-tokenid': matching(
    new RegExp(`^${USER}@${REALM}!${REALM}$`),
    (text) => `value '${text}' does not look like a valid token ID`,
  ),
  'pve-realm': matching(new RegExp(`^${REALM}$`), 'value does not look like a valid realm'),
  'pve-groupid': matching(/^[A-Za-z0-9.\-_]+$/, (text) => `group name '${text}' contains invalid characters`),
  'pve-roleid': matching(/^[A-Za-z0-9.\-_]+$/, (text) => `role name '${text}' contains invalid characters`),
  'pve-poolid': verifyPoolId,
  'pve-priv': (text) => (PRIVILEGES.has(text) ? undefined : `invalid privilege '${text}'\n`),
};
