/**
 * Formats of users, groups, tokens, roles, privileges and pools.
 * [source AC AccessControl.pm, Auth/Plugin.pm]
 */
import { privilegesOf } from '../../access/privileges.ts';
import { NEWEST_RELEASE } from '../../world/releases.ts';
import { splitLikePerl, textLength } from '../perl-text.ts';
import { type ContextVerifier, matching, type Verifier } from './format.ts';

const NEWEST_PRIVILEGES = privilegesOf(NEWEST_RELEASE);
const USER = '[^\\s:/]+';
const REALM = '[A-Za-z][A-Za-z0-9.\\-_]+';
const USER_ID = new RegExp(`^${USER}@${REALM}\\n?$`);
const LONGEST_USER_ID = 64;

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

export const accessFormats: Readonly<Record<string, ContextVerifier>> = {
  'pve-userid': verifyUserId,
  'pve-tokenid': matching(
    new RegExp(`^${USER}@${REALM}!${REALM}$`),
    (text) => `value '${text}' does not look like a valid token ID`,
  ),
  'pve-realm': matching(new RegExp(`^${REALM}$`), 'value does not look like a valid realm'),
  'pve-groupid': matching(/^[A-Za-z0-9.\-_]+$/, (text) => `group name '${text}' contains invalid characters`),
  'pve-roleid': matching(/^[A-Za-z0-9.\-_]+$/, (text) => `role name '${text}' contains invalid characters`),
  'pve-poolid': verifyPoolId,
  // Rule [recorded perm-roles]: a role can only hold what the release knows.
  'pve-priv': (text, { privileges = NEWEST_PRIVILEGES }) =>
    privileges.has(text) ? undefined : `invalid privilege '${text}'\n`,
};
