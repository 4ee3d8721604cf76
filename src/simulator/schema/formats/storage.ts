/**
 * Formats of storages, volumes and sizes. [source ST Storage/Plugin.pm, Storage/DirPlugin.pm, Storage/ZFSPoolPlugin.pm;
 * PC JSONSchema.pm parse_size; GC Mapping/Dir.pm]
 */
import { splitLikePerl, withoutFinalNewline } from '../perl-text.ts';
import type { PropertyValues } from '../property-grammar.ts';
import type { ParamSchema, PropertyFormat } from '../types.ts';
import { matching, type RegisteredFormat, type Verifier } from './format.ts';

/** What a directory storage may hold: every content type. */
const CONTENT_TYPES = new Set(['images', 'rootdir', 'vztmpl', 'iso', 'backup', 'snippets', 'none', 'import']);
const LARGEST_BLOCK = 16 * 1024 * 1024;
const BLOCK_UNITS: Readonly<Record<string, number>> = { '': 1, k: 1024, m: 1024 * 1024 };

const verifyContent: Verifier = (text) => (CONTENT_TYPES.has(text) ? undefined : `invalid content type '${text}'\n`);

/** `iso=some/directory`: no `..`, no dot at the end, no overlong names. */
const verifyDirectoryOverride: Verifier = (text) => {
  const [, content = '', directory = ''] = /^([a-z]+)=(.+)$/s.exec(withoutFinalNewline(text)) ?? [];
  const isRelativePath = directory !== '' && !directory.includes('..') && !directory.endsWith('.');
  if (!isRelativePath) return `invalid override '${text}'\n`;
  const complaint = verifyContent(content);
  if (complaint !== undefined) return complaint;
  const fits = directory.length < 1023 && splitLikePerl(directory, '/').every((name) => name.length < 255);
  return fits ? undefined : `invalid override '${text}'\n`;
};

const verifyBlockSize: Verifier = (text) => {
  if (text === '') return undefined;
  const match = /^([1-9][0-9]*)([km])?\n?$/i.exec(text);
  if (!match) {
    return (
      `invalid ZFS blocksize format '${text}'. Use a positive number ` +
      `(no leading zeros) with an optional 'k' or 'm' suffix.\n`
    );
  }
  const sizeBytes = Number(match[1]) * (BLOCK_UNITS[(match[2] ?? '').toLowerCase()] ?? 1);
  if (sizeBytes >= 512 && sizeBytes <= LARGEST_BLOCK && Number.isInteger(Math.log2(sizeBytes))) return undefined;
  return (
    `value '${text}' is not a valid ZFS blocksize. Must be a power of 2 ` +
    `between 512B and 16MiB (e.g., 4k, 8k, 16k, 64k, 1m).\n`
  );
};

export const verifyVolumeId = matching(
  /^[a-z][a-z0-9\-_.]*[a-z0-9]:[^\n]+$/i,
  (text) => `unable to parse volume ID '${text}'`,
);

const verifyVolumeIdOrPath: Verifier = (text) => (text.startsWith('/') ? undefined : verifyVolumeId(text));

export const storageFormats: Readonly<Record<string, Verifier>> = {
  'disk-size': matching(
    /^\d+(\.\d+)?([KMGT](?:iB)?)?$/,
    (text) => `value does not look like a valid disk size: ${text}`,
  ),
  'pve-volume-id': verifyVolumeId,
  'pve-volume-id-or-absolute-path': verifyVolumeIdOrPath,
  'pve-volume-id-or-qm-path': (text) => (text === 'none' || text === 'cdrom' ? undefined : verifyVolumeIdOrPath(text)),
  'pve-storage-content': verifyContent,
  'pve-storage-path': (text) =>
    /^\/[^;()]/.test(text) ? undefined : 'value does not look like a valid absolute path\n',
  'pve-storage-path-in-property-string': (text) =>
    /^\/[^;,=()]/.test(text)
      ? undefined
      : 'Value does not look like a valid absolute path. These symbols are currently not allowed in path: ;,=()\n',
  'pve-storage-vgname': matching(
    /^[a-z0-9][a-z0-9\-_.]*[a-z0-9]$/i,
    (text) => `lvm name '${text}' contains illegal characters`,
  ),
  'pve-storage-options': matching(/^\S+$/, (text) => `invalid options '${text}'`),
  'pve-dir-override': verifyDirectoryOverride,
  'pve-storage-zfs-blocksize': verifyBlockSize,
};

const keepCount: ParamSchema = { type: 'integer', optional: true, minimum: 0 };

const pruneBackups: PropertyFormat = {
  'keep-all': { type: 'boolean', optional: true },
  'keep-daily': keepCount,
  'keep-hourly': keepCount,
  'keep-last': keepCount,
  'keep-monthly': keepCount,
  'keep-weekly': keepCount,
  'keep-yearly': keepCount,
};

function validatePruneBackups(values: PropertyValues): string | undefined {
  const keepsSome = [...values].some(([key, value]) => key !== 'keep-all' && Number(value) > 0);
  return keepsSome && values.get('keep-all') === '1'
    ? 'keep-all cannot be set together with other options.\n'
    : undefined;
}

export const storageProperties: Readonly<Record<string, RegisteredFormat>> = {
  'prune-backups': { kind: 'property', properties: pruneBackups, validate: validatePruneBackups },
};
