/** Credentials for Proxmox: an API token, or a user with a password. Secret parts are in `Secret`. */

import { ProxwrightError } from '../../base/errors.ts';
import { Secret } from '../../base/secret.ts';
import { nodeCommand } from '../../base/text/node-command.ts';

export type Credentials = TokenCredentials | PasswordCredentials;

export interface TokenCredentials {
  readonly kind: 'token';
  /** `user@realm!id`, which is also how ACL commands name it. */
  readonly tokenId: string;
  readonly secret: Secret;
}

export interface PasswordCredentials {
  readonly kind: 'password';
  /** `user@realm`. */
  readonly username: string;
  readonly password: Secret;
  /** One-time password of a second factor; usable for one login only. */
  readonly otp?: Secret;
}

const TOKEN_HINT = `A token looks like deploy@pve!ci=xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx (${nodeCommand('pveum user token add', ['deploy@pve', 'ci'])}).`;

/** Reads `user@realm!id=secret`, also with the `PVEAPIToken=` of the header in front. */
export function parseToken(text: string): TokenCredentials {
  const bare = text.trim().replace(/^PVEAPIToken[= ]/, '');
  const separator = bare.indexOf('=');
  if (separator < 0) {
    // The text may be the secret itself, so the message does not quote it.
    throw malformed('The API token has no "=" between its name and its secret.');
  }
  return tokenFrom(bare.slice(0, separator), bare.slice(separator + 1));
}

export function tokenFrom(tokenId: string, secret: string): TokenCredentials {
  const parts = /^([^\s:/@!]+)@([A-Za-z][\w.-]*)!([A-Za-z][\w.-]+)$/.exec(tokenId.trim());
  if (!parts) throw malformed(whyNotTokenId(tokenId.trim()));
  if (!/^[\w-]+$/.test(secret.trim())) {
    throw malformed(`The secret of token "${tokenId}" is ${secret.trim() === '' ? 'empty' : 'not a UUID'}.`);
  }
  return { kind: 'token', tokenId: tokenId.trim(), secret: new Secret(secret.trim()) };
}

export function passwordCredentials(input: {
  readonly username: string;
  readonly password: string | Secret;
  readonly realm?: string | undefined;
  readonly otp?: string | Secret | undefined;
}): PasswordCredentials {
  const username = input.username.includes('@') || !input.realm ? input.username : `${input.username}@${input.realm}`;
  if (!/^[^\s:/@]+@[A-Za-z][\w.-]*$/.test(username)) {
    throw malformed(`"${username}" is not a user name with its realm, such as root@pam.`);
  }
  return {
    kind: 'password',
    username,
    password: secretOf(input.password),
    ...(input.otp !== undefined && { otp: secretOf(input.otp) }),
  };
}

/** The user or token as Proxmox names it, for messages and ACL commands. */
export function principalOf(credentials: Credentials): string {
  return credentials.kind === 'token' ? credentials.tokenId : credentials.username;
}

export function secretsIn(credentials: Credentials): Secret[] {
  if (credentials.kind === 'token') return [credentials.secret];
  return [credentials.password, ...(credentials.otp ? [credentials.otp] : [])];
}

const secretOf = (value: string | Secret) => (typeof value === 'string' ? new Secret(value) : value);

function whyNotTokenId(tokenId: string): string {
  // Quotes the text only if it looks like a name and not like a secret.
  const isName = /[@!]/.test(tokenId) && !/[\da-f]{8}-[\da-f]{4}-/i.test(tokenId);
  const shown = isName ? ` "${tokenId}"` : '';
  if (!tokenId.includes('@')) return `The name of the API token${shown} has no realm. Write user@realm!id.`;
  if (!tokenId.includes('!')) return `The name of the API token${shown} has no "!" and token id. Write user@realm!id.`;
  return `The name of the API token${shown} is malformed. Write user@realm!id.`;
}

function malformed(detail: string): ProxwrightError {
  return new ProxwrightError({ code: 'BAD_CREDENTIALS', detail, hint: TOKEN_HINT });
}
