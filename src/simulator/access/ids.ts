/** Names of users, realms and tokens: `user@realm`, `user@realm!token`. */
import { dieFault } from '../http/response.ts';

export const ROOT = 'root@pam';

const REALM = '[A-Za-z][A-Za-z0-9._-]+';
const USER_ID = new RegExp(`^([^\\s:/]+)@(${REALM})$`);
const TOKEN_ID = new RegExp(`^([^\\s:/]+@${REALM})!(${REALM})$`);

export interface UserName {
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

export interface TokenName {
  readonly userid: string;
  readonly tokenid: string;
}

/** Rule [source AC AccessControl.pm split_tokenid]. */
export function parseTokenName(authid: string): TokenName | undefined {
  // Asked at every check of every user, so the usual answer comes without the pattern.
  if (!authid.includes('!')) return undefined;
  const match = TOKEN_ID.exec(authid);
  return match ? { userid: match[1] ?? '', tokenid: match[2] ?? '' } : undefined;
}

export function joinTokenName(userid: string, tokenid: string): string {
  return `${userid}!${tokenid}`;
}
