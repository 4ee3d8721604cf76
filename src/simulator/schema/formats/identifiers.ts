/**
 * Formats of ids and names: VMs, nodes, storages, tags, HA resources, tasks; users, groups, tokens, roles, privileges and
 * pools.
 * [source PC JSONSchema.pm; HA Tools.pm; AC AccessControl.pm, Auth/Plugin.pm]
 */
import { privilegesOf } from '../../access/privileges.ts';
import { NEWEST_RELEASE } from '../../world/releases.ts';
import { splitLikePerl, splitList, textLength, withoutFinalNewline } from '../perl-text.ts';
import type { PropertyFormat } from '../types.ts';
import { type ContextVerifier, matching, type Verifier } from './format.ts';

const NODE_NAME = '[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?';

/** Ids of storages: at least two characters, a letter first, no punctuation last. */
const verifyStorageId: Verifier = (text) => {
  if (text.length < 2) return `storage ID '${text}' cannot be shorter than 2 characters\n`;
  return /^[a-z][a-z0-9\-_.]*[a-z0-9]\n?$/i.test(text)
    ? undefined
    : `storage ID '${text}' contains illegal characters\n`;
};

const verifyBridgeId = matching(/^[\p{L}\p{M}\p{N}\p{Pc}.-]+$/u, (text) => `invalid bridge ID '${text}'`);

/**
 * One entry of a map: `1` for the identity, `source:target`, or a default target. Its messages accumulate line feeds.
 */
function pairOf(verify: Verifier): Verifier {
  return (text) => {
    if (text === '0') return undefined; // false to Perl: no map at all
    for (const entry of splitList(text)) {
      if (entry === '1') continue;
      const pair = /^([^:]+):([^:]+)$/.exec(entry);
      const ids = pair ? [pair[1] ?? '', pair[2] ?? ''] : [entry];
      const complaint = ids.map(verify).find((message) => message !== undefined);
      if (complaint !== undefined) return `entry '${entry}' contains invalid ID - ${complaint}\n\n`;
    }
    return undefined;
  };
}

/** Parts may come in any order and repeat; an empty text or `0` is not an order. */
const verifyStartupOrder: Verifier = (text) => {
  const parts = text.split(',').filter((part) => !/^\s*$/.test(part));
  const readable = parts.every((part) => /^(?:(?:order=)?|up=|down=)\d+$/.test(withoutFinalNewline(part)));
  return text !== '' && text !== '0' && readable ? undefined : 'unable to parse startup options\n';
};

export const identifierFormats: Readonly<Record<string, Verifier>> = {
  string: () => undefined,
  urlencoded: matching(/^[-%a-zA-Z0-9_.!~*'()]*$/, (text) => `invalid urlencoded string: ${text}`),
  'pve-configid': matching(/^[a-z][a-z0-9_-]+$/i, (text) => `invalid configuration ID '${text}'`),
  'pve-storage-id': verifyStorageId,
  'pve-bridge-id': verifyBridgeId,
  'pve-vmid': matching(/^[1-9][0-9]{2,8}$/, 'value does not look like a valid VM ID'),
  'pve-node': matching(new RegExp(`^${NODE_NAME}$`), 'value does not look like a valid node name'),
  'storage-pair': pairOf(verifyStorageId),
  'bridge-pair': pairOf(verifyBridgeId),
  'pve-startup-order': verifyStartupOrder,
  'pve-tag': matching(/^[a-z0-9_][a-z0-9_\-+.]*$/i, 'invalid characters in tag'),
  'pve-task-status-type': matching(/^(ok|error|warning|unknown)$/i, (text) => `invalid status '${text}'`),
  'pve-ha-resource-id': matching(/^[a-z]+:\S+$/, 'value does not look like a valid ha resource id'),
  'pve-ha-resource-or-vm-id': matching(/^([a-z]+:\S+|\d+)$/, 'value does not look like a valid ha resource id'),
  'pve-ha-node': matching(new RegExp(`^${NODE_NAME}(:\\d+)?$`), 'value does not look like a valid ha node'),
};

export const identifierProperties: Readonly<Record<string, PropertyFormat>> = {
  'pve-node-location': {
    latitude: { type: 'number', minimum: -90, maximum: 90 },
    longitude: { type: 'number', minimum: -180, maximum: 180 },
    name: { type: 'string', optional: true, maxLength: 128 },
  },
};

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
