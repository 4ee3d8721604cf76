/**
 * Commands that messages tell the reader to run on a Proxmox node. All of them are built here: the table says which
 * commands and options exist, and every word is quoted for a shell. `node-command.test.ts` compares the table with the
 * API.
 */
import { shellQuoted, shellWord } from './shell.ts';

interface CommandRow {
  /** The endpoint behind the command, where there is one: `DELETE /nodes/{node}/qemu/{vmid}`. */
  readonly endpoint?: string;
  /** Positional parameters of the command line. */
  readonly args: readonly string[];
  /** `any`: every parameter of the endpoint. */
  readonly options: readonly string[] | 'any';
}

const VM = '/nodes/{node}/qemu/{vmid}';

export const NODE_COMMANDS = {
  'ha-manager groupremove': { endpoint: 'DELETE /cluster/ha/groups/{group}', args: ['group'], options: [] },
  'ha-manager rules remove': { endpoint: 'DELETE /cluster/ha/rules/{rule}', args: ['rule'], options: [] },
  'ha-manager status': { args: [], options: [] },
  'pvecm status': { args: [], options: [] },
  'pvesh create': { args: ['path'], options: 'any' },
  'pvesh get': { args: ['path'], options: 'any' },
  'pvesh set': { args: ['path'], options: 'any' },
  'pvesm free': { endpoint: 'DELETE /nodes/{node}/storage/{storage}/content/{volume}', args: ['volume'], options: [] },
  'pvesm list': { endpoint: 'GET /nodes/{node}/storage/{storage}/content', args: ['storage'], options: [] },
  'pvesm set': { endpoint: 'PUT /storage/{storage}', args: ['storage'], options: ['content', 'disable'] },
  'pvesm status': { endpoint: 'GET /nodes/{node}/storage', args: [], options: ['storage'] },
  'pveum acl delete': { endpoint: 'PUT /access/acl', args: ['path'], options: ['users', 'groups', 'tokens', 'roles'] },
  'pveum acl modify': {
    endpoint: 'PUT /access/acl',
    args: ['path'],
    options: ['users', 'tokens', 'roles', 'propagate'],
  },
  'pveum pool add': { endpoint: 'POST /pools', args: ['poolid'], options: [] },
  'pveum role add': { endpoint: 'POST /access/roles', args: ['roleid'], options: ['privs'] },
  'pveum role modify': { endpoint: 'PUT /access/roles/{roleid}', args: ['roleid'], options: ['append', 'privs'] },
  'pveum user permissions': { endpoint: 'GET /access/permissions', args: ['userid'], options: [] },
  'pveum user token add': {
    endpoint: 'POST /access/users/{userid}/token/{tokenid}',
    args: ['userid', 'tokenid'],
    options: ['privsep'],
  },
  'pveum user token list': { endpoint: 'GET /access/users/{userid}/token', args: ['userid'], options: [] },
  'pveum user token modify': {
    endpoint: 'PUT /access/users/{userid}/token/{tokenid}',
    args: ['userid', 'tokenid'],
    options: ['expire'],
  },
  'pveum user token permissions': { args: ['userid', 'tokenid'], options: [] },
  'qm destroy': { endpoint: `DELETE ${VM}`, args: ['vmid'], options: ['purge', 'destroy-unreferenced-disks'] },
  'qm disk import': { args: ['vmid', 'source', 'storage'], options: [] },
  'qm disk rescan': { args: [], options: ['vmid'] },
  'qm disk unlink': { endpoint: `PUT ${VM}/unlink`, args: ['vmid'], options: ['idlist', 'force'] },
  'qm resume': { endpoint: `POST ${VM}/status/resume`, args: ['vmid'], options: [] },
  'qm rollback': { endpoint: `POST ${VM}/snapshot/{snapname}/rollback`, args: ['vmid', 'snapname'], options: [] },
  'qm set': { endpoint: `POST ${VM}/config`, args: ['vmid'], options: 'any' },
  'qm stop': { endpoint: `POST ${VM}/status/stop`, args: ['vmid'], options: [] },
  'qm template': { endpoint: `POST ${VM}/template`, args: ['vmid'], options: [] },
  'qm unlock': { args: ['vmid'], options: [] },
} as const satisfies Readonly<Record<string, CommandRow>>;

export type NodeCommand = keyof typeof NODE_COMMANDS;

/** A value, several of one option, or text for the shell itself, such as `$(uuidgen)`. */
type Value = string | number | readonly string[] | { readonly shell: string };

type EachOf<Names extends readonly string[]> = { readonly [Index in keyof Names]: string | number };
type Arguments<Name extends NodeCommand> = EachOf<(typeof NODE_COMMANDS)[Name]['args']>;

type Options<Name extends NodeCommand> = (typeof NODE_COMMANDS)[Name]['options'] extends readonly (infer Option)[]
  ? { readonly [Key in Option & string]?: Value | undefined }
  : Readonly<Record<string, Value | undefined>>;

/** `nodeCommand('qm destroy', [101], { purge: 1 })` is `qm destroy 101 --purge 1`. Options without a value are left out. */
export function nodeCommand<Name extends NodeCommand>(
  name: Name,
  args: Arguments<Name>,
  options?: Options<Name>,
): string {
  const words: readonly (string | number)[] = args;
  const given = Object.entries<Value | undefined>({ ...options }).flatMap(([option, value]) =>
    wordsOf(value, NAMES.has(option) ? shellQuoted : shellWord).map((word) => `--${option} ${word}`),
  );
  return [name, ...words.map((word) => shellWord(String(word))), ...given].join(' ');
}

/** Lists of names, quoted in every case: `!` of a token means something to a shell. */
const NAMES: ReadonlySet<string> = new Set(['users', 'groups', 'tokens', 'privs']);

function wordsOf(value: Value | undefined, quoted: (text: string) => string): readonly string[] {
  if (value === undefined) return [];
  if (typeof value !== 'object') return [quoted(String(value))];
  return 'shell' in value ? [value.shell] : value.map(quoted);
}

/**
 * Removes a VM that Proxmox did not finish creating or destroying. Its configuration does not name the disk that was
 * being copied yet, so volumes that only carry its id are removed, too.
 */
export function removeRemains(vmid: number | string): string {
  const destroy = nodeCommand('qm destroy', [vmid], { purge: 1, 'destroy-unreferenced-disks': 1 });
  return `${nodeCommand('qm unlock', [vmid])} && ${destroy}`;
}

/** Gives a VM the uuid that it lacks, and keeps the rest of its SMBIOS table. */
export function setUuid(vmid: number, smbios1: string | undefined): string {
  const others = smbios1 ? shellWord(`${smbios1},`) : '';
  return nodeCommand('qm set', [vmid], { smbios1: { shell: `${others}uuid=$(uuidgen)` } });
}

/** Placeholders for messages that do not know the user and token. */
export const GRANTEES = { users: 'USER@REALM', tokens: 'USER@REALM!TOKEN' } as const;
