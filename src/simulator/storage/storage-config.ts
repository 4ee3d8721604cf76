/** storage.cfg: the simulated types of storages, where each keeps its data, and how an entry is shown, created and changed. */
import { createHash } from 'node:crypto';
import { dieFault } from '../http/response.ts';
import type { ContentType, Storage, StorageType, World } from '../world/world.ts';
import { filesystemAt, withDataOf, withSharing } from './places.ts';

export function isStorageType(type: string): type is StorageType {
  return type in STORAGE_TYPES;
}

/** Rule [recorded storage-list-status]: the content types come in no particular order; booleans and integers as numbers. */
export function storageEntry(world: World, storage: Storage): Record<string, unknown> {
  const entry: Record<string, unknown> = {
    storage: storage.id,
    type: storage.type,
    content: contentText(storage),
    digest: storageConfigDigest(world),
  };
  if (storage.path !== undefined) entry.path = storage.path;
  for (const [key, value] of storage.options) entry[key] = shownOption(key, value);
  if (storage.nodes) entry.nodes = [...storage.nodes].sort().join(',');
  if (storage.shared) entry.shared = 1;
  if (storage.disabled) entry.disable = 1;
  return entry;
}

/** Rule [recorded storage-define]: booleans and integers are numbers, directories by content an object, all else is text. */
function shownOption(key: string, value: string): unknown {
  if (key === 'content-dirs') return Object.fromEntries(splitList(value).map((pair) => pair.split('=')));
  return NUMERIC_OPTIONS.has(key) ? Number(value) : value;
}

export function contentText(storage: Storage): string {
  return storage.content.size === 0 ? 'none' : [...storage.content].join(',');
}

/**
 * One digest for the whole file. Rule [recorded storage-define]: every write puts the content types into a new order, so
 * the digest changes even where nothing else does.
 */
export function storageConfigDigest(world: World): string {
  const hash = createHash('sha1');
  const hasLists = [...world.storages.values()].some(
    ({ content, nodes }) => content.size > 1 || (nodes?.size ?? 0) > 1,
  );
  if (hasLists) hash.update(`${world.storageConfigWrites}\n`);
  for (const storage of world.storages.values()) {
    const lines = [...storage.options].map(([key, value]) => `\t${key} ${value}\n`).join('');
    const nodes = storage.nodes ? [...storage.nodes].sort().join(',') : '';
    hash.update(`${storage.type}: ${storage.id}\n\tpath ${storage.path ?? ''}\n\tcontent ${contentText(storage)}\n`);
    hash.update(`\tnodes ${nodes}\n\tshared ${storage.shared}\n\tdisable ${storage.disabled}\n${lines}`);
  }
  return hash.digest('hex');
}

/** Rule [source PC SectionConfig.pm check_config]: options of other kinds of storage are refused, required ones demanded. */
export function newStorage(
  world: World,
  id: string,
  type: StorageType,
  settings: ReadonlyMap<string, string>,
): Storage {
  const rules = STORAGE_TYPES[type];
  for (const key of settings.keys()) {
    if (!isOption(rules, key)) throw dieFault(`unexpected property '${key}'`);
  }
  for (const key of rules.required) {
    if (!settings.has(key)) throw dieFault(`missing value for required option '${key}'`);
  }
  // Rule [source ST Storage/DirPlugin.pm check_config].
  if (type === 'dir' && !/^\/[-/a-zA-Z0-9_.@]+$/.test(settings.get('path') ?? '')) {
    throw dieFault(`illegal path for directory storage: ${settings.get('path')}`);
  }
  const path = type === 'nfs' ? (settings.get('path') ?? `/mnt/pve/${id}`) : settings.get('path');
  const template: Storage = {
    id,
    type,
    content: new Set(rules.defaultContents),
    shared: rules.isAlwaysShared,
    disabled: false,
    nodes: undefined,
    path,
    filesystem: filesystemFor(world, type, path, settings),
    bandwidthBytesPerSecond: world.storages.get('local')?.bandwidthBytesPerSecond ?? DEFAULT_BANDWIDTH,
    options: new Map(),
    volumes: new Map(),
  };
  return withDataOf(world, withSettings(world, template, settings));
}

/** Rule [assumed]: storages made through the API are as fast as `local`, or as an ordinary disk. */
const DEFAULT_BANDWIDTH = 500_000_000;

/** Rule [source ST API2/Storage/Config.pm update]. */
export function changedStorage(
  world: World,
  storage: Storage,
  settings: ReadonlyMap<string, string>,
  deletions: readonly string[],
): Storage {
  const rules = STORAGE_TYPES[storage.type];
  for (const key of settings.keys()) {
    if (rules.fixed.includes(key)) throw dieFault(`can't change value of fixed parameter '${key}'`);
    if (!isOption(rules, key)) throw dieFault(`unexpected property '${key}'`);
  }
  for (const key of deletions) {
    if (!isOption(rules, key)) throw dieFault(`no such option '${key}'`);
    if (rules.required.includes(key)) throw dieFault(`unable to delete required option '${key}'`);
    if (rules.fixed.includes(key)) throw dieFault(`unable to delete fixed option '${key}'`);
    if (settings.has(key)) throw dieFault(`cannot set and delete property '${key}' at the same time!`);
  }
  const options = new Map(storage.options);
  for (const key of deletions) options.delete(key);
  const removed = (key: string) => deletions.includes(key);
  const isShared = (storage.shared && !removed('shared')) || rules.isAlwaysShared;
  const kept: Storage = {
    ...withSharing(world, storage, isShared),
    options,
    disabled: storage.disabled && !removed('disable'),
    nodes: removed('nodes') ? undefined : storage.nodes,
    content: removed('content') ? new Set(rules.defaultContents) : storage.content,
  };
  return withSettings(world, kept, settings);
}

function isOption(rules: StorageTypeRules, key: string): boolean {
  return rules.required.includes(key) || rules.optional.includes(key);
}

/**
 * Rule [recorded storage-define]: `disable=0` is not written, every other boolean is. Rule [source ST Storage/Plugin.pm
 * encode_value]: an empty list is not written either, which lifts a restriction to nodes and restores the default
 * content.
 */
function withSettings(world: World, storage: Storage, settings: ReadonlyMap<string, string>): Storage {
  const rules = STORAGE_TYPES[storage.type];
  const options = new Map(storage.options);
  for (const [key, value] of settings) {
    if (!['content', 'nodes', 'disable', 'path'].includes(key)) options.set(key, value);
  }
  const nodes = settings.get('nodes');
  const shared = settings.get('shared');
  const disable = settings.get('disable');
  const content = settings.get('content');
  const restriction = splitList(nodes ?? '');
  return {
    ...(shared === undefined ? storage : withSharing(world, storage, shared === '1' || rules.isAlwaysShared)),
    options,
    ...(nodes !== undefined && { nodes: restriction.length === 0 ? undefined : new Set(restriction) }),
    ...(disable !== undefined && { disabled: disable === '1' }),
    ...(content !== undefined && { content: contentSet(storage.type, content) }),
  };
}

/** Rule [source ST Storage/Plugin.pm decode_value]: content that the storage cannot hold is left out with a warning that clients do not see. */
function contentSet(type: StorageType, text: string): Set<ContentType> {
  const rules = STORAGE_TYPES[type];
  const asked = splitList(text);
  const contents = rules.contents.filter((content) => asked.includes(content));
  const allowsNone = type === 'dir' || type === 'nfs';
  if (asked.includes('none') && allowsNone && contents.length > 0) {
    throw dieFault("unable to combine 'none' with other content types");
  }
  if (contents.length === 0 && !allowsNone) throw dieFault("storage does not support content type 'none'");
  return new Set(contents.length === 0 && !asked.includes('none') ? rules.defaultContents : contents);
}

export function splitList(text: string): string[] {
  return text.split(/[,;\s]+/).filter((part) => part !== '');
}

/** Rule [assumed]: pools and volume groups must exist on the node under their own name. */
function filesystemFor(
  world: World,
  type: StorageType,
  path: string | undefined,
  settings: ReadonlyMap<string, string>,
): string {
  switch (type) {
    case 'dir':
      return filesystemAt(world, path ?? '');
    case 'nfs':
      return `${settings.get('server')}:${settings.get('export')}`;
    case 'lvmthin':
      return existingFilesystem(world, [
        `${settings.get('vgname')}/${settings.get('thinpool')}`,
        settings.get('thinpool') ?? '',
      ]);
    case 'lvm':
      return settings.get('vgname') ?? '';
    case 'zfspool':
    case 'rbd':
      return settings.get('pool') ?? 'rbd';
  }
}

function existingFilesystem(world: World, names: readonly string[]): string {
  const filesystems = world.nodes.get(world.entryNode)?.filesystems;
  return names.find((name) => filesystems?.has(name)) ?? names[0] ?? '';
}

interface StorageTypeRules {
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
const STORAGE_TYPES: Readonly<Record<StorageType, StorageTypeRules>> = {
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

const NUMERIC_OPTIONS = new Set([
  'mkdir',
  'create-base-path',
  'create-subdirs',
  'max-protected-backups',
  'snapshot-as-volume-chain',
  'saferemove',
  'saferemove-stepsize',
  'tagged_only',
  'shared',
  'sparse',
  'krbd',
]);
