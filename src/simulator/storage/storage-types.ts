/** The kinds of storage and the options that storage.cfg knows for each. */
import type { ContentType, StorageType } from '../world/world.ts';

export interface StorageTypeRules {
  readonly contents: readonly ContentType[];
  readonly defaultContents: readonly ContentType[];
  readonly required: readonly string[];
  /** Cannot be changed later. */
  readonly fixed: readonly string[];
  readonly optional: readonly string[];
  readonly isAlwaysShared: boolean;
}

const EVERY_CONTENT: readonly ContentType[] = ['images', 'rootdir', 'vztmpl', 'iso', 'backup', 'snippets', 'import'];
const COMMON = ['nodes', 'disable', 'content', 'bwlimit'];
const FILE_OPTIONS = [
  ...COMMON,
  'content-dirs',
  'prune-backups',
  'max-protected-backups',
  'format',
  'mkdir',
  'create-base-path',
  'create-subdirs',
  'preallocation',
  'snapshot-as-volume-chain',
];

/** Rule [source ST Storage/*Plugin.pm plugindata, options]. */
export const STORAGE_TYPES: Readonly<Record<StorageType, StorageTypeRules>> = {
  dir: {
    contents: EVERY_CONTENT,
    defaultContents: ['images', 'rootdir'],
    required: ['path'],
    fixed: ['path', 'snapshot-as-volume-chain'],
    optional: [...FILE_OPTIONS, 'shared', 'is_mountpoint'],
    isAlwaysShared: false,
  },
  nfs: {
    contents: EVERY_CONTENT,
    defaultContents: ['images'],
    required: ['server', 'export'],
    fixed: ['path', 'server', 'export', 'snapshot-as-volume-chain'],
    optional: [...FILE_OPTIONS, 'path', 'options'],
    isAlwaysShared: true,
  },
  lvmthin: {
    contents: ['images', 'rootdir'],
    defaultContents: ['images', 'rootdir'],
    required: ['thinpool', 'vgname'],
    fixed: ['thinpool', 'vgname'],
    optional: COMMON,
    isAlwaysShared: false,
  },
  lvm: {
    contents: ['images', 'rootdir'],
    defaultContents: ['images'],
    required: ['vgname'],
    fixed: ['vgname', 'base'],
    optional: [
      ...COMMON,
      'shared',
      'base',
      'saferemove',
      'saferemove-stepsize',
      'saferemove_throughput',
      'tagged_only',
      'snapshot-as-volume-chain',
    ],
    isAlwaysShared: false,
  },
  zfspool: {
    contents: ['images', 'rootdir'],
    defaultContents: ['images', 'rootdir'],
    required: ['pool'],
    fixed: ['pool'],
    optional: [...COMMON, 'blocksize', 'sparse', 'mountpoint'],
    isAlwaysShared: false,
  },
  rbd: {
    contents: ['images', 'rootdir'],
    defaultContents: ['images'],
    required: [],
    fixed: [],
    optional: [...COMMON, 'monhost', 'pool', 'data-pool', 'namespace', 'username', 'krbd', 'keyring'],
    isAlwaysShared: true,
  },
};

export const NUMERIC_OPTIONS = new Set([
  'mkdir',
  'create-base-path',
  'create-subdirs',
  'max-protected-backups',
  'snapshot-as-volume-chain',
  'saferemove',
  'saferemove-stepsize',
  'tagged_only',
  'sparse',
  'krbd',
]);
