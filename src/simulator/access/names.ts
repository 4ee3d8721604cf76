/** Names in access control: users, realms and tokens (`user@realm!token`), and the paths that privileges are granted on. */
import { dieFault } from '../http/response.ts';

export const ROOT = 'root@pam';

const REALM = '[A-Za-z][A-Za-z0-9._-]+';
const USER_ID = new RegExp(`^([^\\s:/]+)@(${REALM})$`);
const TOKEN_ID = new RegExp(`^([^\\s:/]+@${REALM})!(${REALM})$`);

interface UserName {
  readonly userid: string;
  readonly name: string;
  readonly realm: string;
}

/** Rule [source AC Auth/Plugin.pm verify_username]: 3 to 64 characters, `name@realm`. Refuses with HTTP 500. */
export function verifyUserName(text: string): UserName {
  const checked = checkUserName(text);
  if (typeof checked === 'string') throw dieFault(checked);
  return checked;
}

export function parseUserName(text: string): UserName | undefined {
  const checked = checkUserName(text);
  return typeof checked === 'string' ? undefined : checked;
}

/** The name, or what is wrong with it. */
function checkUserName(text: string): UserName | string {
  if (text.length < 3) return `user name '${text}' is too short`;
  if (text.length > 64) return `user name '${text}' is too long (${text.length} > 64)`;
  const match = USER_ID.exec(text);
  if (!match) return `value '${text}' does not look like a valid user name`;
  return { userid: text, name: match[1] ?? '', realm: match[2] ?? '' };
}

interface TokenName {
  readonly userid: string;
  readonly tokenid: string;
}

/** Rule [source AC AccessControl.pm split_tokenid]. */
export function parseTokenName(authid: string): TokenName | undefined {
  // Runs at every check of every user, so the usual case avoids the pattern.
  if (!authid.includes('!')) return undefined;
  const match = TOKEN_ID.exec(authid);
  return match ? { userid: match[1] ?? '', tokenid: match[2] ?? '' } : undefined;
}

export function joinTokenName(userid: string, tokenid: string): string {
  return `${userid}!${tokenid}`;
}

/** Rule [source AC AccessControl.pm normalize_path]: single slashes, none at the end, one at the start; else invalid. */
export function normalizePath(path: string | undefined): string | undefined {
  if (path === undefined || path === '' || path === '0') return undefined;
  const joined = path.replace(/\/+/g, '/').replace(/\/$/, '') || '/';
  const absolute = joined.startsWith('/') ? joined : `/${joined}`;
  return /^[A-Za-z0-9._\-/]+$/.test(absolute) ? absolute : undefined;
}

const NAME = '[A-Za-z0-9._-]+';

/** Rule [source AC AccessControl.pm check_path]: where an entry may be added. */
const ACL_PATH = new RegExp(
  `^(?:${[
    '/',
    `/access(?:/groups(?:/${NAME})?|/realm(?:/${NAME})?)?`,
    `/nodes(?:/${NAME})?`,
    `/pool(?:/${NAME}(?:/${NAME}){0,2})?`,
    '/sdn',
    '/sdn/controllers(?:/[A-Za-z0-9_-]+)?',
    '/sdn/(?:dns|fabrics|ipams|prefix-lists|route-maps)(?:/[A-Za-z0-9]+)?',
    `/sdn/zones(?:/${NAME}(?:/${NAME}(?:/[1-9][0-9]{0,3})?)?)?`,
    `/storage(?:/${NAME})?`,
    '/vms(?:/[1-9][0-9]{2,})?',
    `/mapping(?:/${NAME}(?:/${NAME})?)?`,
  ].join('|')})$`,
);

export function isAclPath(path: string): boolean {
  return ACL_PATH.test(path);
}

/**
 * The levels that an evaluation visits. The empty first level is the root; a path sent without its leading slash has
 * none, and then entries on `/` do not count. Rule [source AC AccessControl.pm roles]: the path is split as Perl does
 * it, empty levels at the end fall off.
 */
export function levelsOf(path: string): string[] {
  if (path === '/') return [''];
  const levels = path.split('/');
  while (levels.at(-1) === '') levels.pop();
  return levels;
}
