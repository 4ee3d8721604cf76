/** How each kind of storage names its volumes: volume ids, volume names and the facts in them. */
import { dieFault } from '../http/response.ts';
import type { ContentType, Storage } from '../world/world.ts';

export interface SplitVolid {
  readonly storage: string;
  readonly name: string;
}

export interface ParsedVolumeName {
  readonly content: ContentType;
  /** As the plugin reports it: `raw` also for ISO images and archives, `ova+vmdk` for an image inside an OVA. */
  readonly format: string;
  readonly vmid: number | undefined;
  readonly isBase: boolean;
  /** Named by linked clones: the base volume they need. */
  readonly base: { readonly name: string; readonly vmid: number } | undefined;
  /** The volume's own name, without owner directory and base. */
  readonly file: string;
}

/** Rule [source ST Storage/Plugin.pm parse_volume_id]: a storage id, a colon, and anything. */
const VOLID = /^([a-z][a-z0-9\-_.]*[a-z0-9]):(.+)$/i;

export function splitVolid(volid: string): SplitVolid {
  const split = trySplitVolid(volid);
  if (!split) throw dieFault(`unable to parse volume ID '${volid}'`);
  return split;
}

export function trySplitVolid(volid: string): SplitVolid | undefined {
  const match = VOLID.exec(volid);
  return match ? { storage: match[1] ?? '', name: match[2] ?? '' } : undefined;
}

export function isFileBased(storage: Storage): boolean {
  return storage.type === 'dir' || storage.type === 'nfs';
}

export function parseVolumeName(storage: Storage, name: string): ParsedVolumeName {
  switch (storage.type) {
    case 'dir':
    case 'nfs':
      return parseDirectoryName(name);
    case 'lvm':
      return parseLvmName(name, /^(vm)-(\d+)-\S+$/, name.endsWith('.qcow2') ? 'qcow2' : 'raw');
    case 'lvmthin':
      return parseLvmName(name, /^(vm|base)-(\d+)-\S+$/, 'raw');
    case 'zfspool':
      return parseZfsName(name);
    case 'rbd':
      return parseRbdName(name);
  }
}

/** Rule [source ST Storage.pm ISO_EXT_RE_0 and its neighbours]: the extension decides what a file may be. */
const ISO_FILE = /^iso\/([^/]+\.(?:iso|img))$/i;
const TEMPLATE_FILE = /^vztmpl\/([^/]+\.(?:tar|tar\.(?:gz|xz|zst|bz2)))$/i;
const BACKUP_FILE = /^backup\/([^/]+\.(?:tgz|(?:tar|vma)(?:\.(?:gz|lzo|zst|bz2))?))$/;
const SNIPPET_FILE = /^snippets\/([^/]+)$/;
const OVA_MEMBER = /^import\/([ a-zA-Z0-9\-.+=_]+\.ova\/[ a-zA-Z0-9\-.+=_]+\.(qcow2|raw|vmdk))$/;
const IMPORT_FILE = /^import\/([ a-zA-Z0-9\-.+=_]+\.(ova|ovf|qcow2|raw|vmdk))$/;

/** Rule [source ST Storage/Plugin.pm parse_volname]. */
function parseDirectoryName(name: string): ParsedVolumeName {
  const linked = /^(\d+)\/(\S+)\/(\d+)\/(\S+)$/.exec(name);
  if (linked) {
    const base = { name: linked[2] ?? '', vmid: Number(linked[1]) };
    parseImageFile(base.name);
    return imageName(linked[4] ?? '', Number(linked[3]), base);
  }
  const image = /^(\d+)\/(\S+)$/.exec(name);
  if (image) return imageName(image[2] ?? '', Number(image[1]), undefined);
  const plain = (content: ContentType, file: string, format = 'raw', vmid?: number): ParsedVolumeName => ({
    content,
    format,
    vmid,
    isBase: false,
    base: undefined,
    file,
  });
  const iso = ISO_FILE.exec(name);
  if (iso) return plain('iso', iso[1] ?? '');
  const template = TEMPLATE_FILE.exec(name);
  if (template) return plain('vztmpl', template[1] ?? '');
  const backup = BACKUP_FILE.exec(name);
  if (backup) {
    const file = backup[1] ?? '';
    const owner = /^vzdump-(?:openvz|lxc|qemu)-(\d+)-.+/.exec(file);
    return plain('backup', file, 'raw', owner ? Number(owner[1]) : undefined);
  }
  const snippet = SNIPPET_FILE.exec(name);
  if (snippet) return plain('snippets', snippet[1] ?? '');
  const member = OVA_MEMBER.exec(name);
  if (member) return plain('import', member[1] ?? '', `ova+${member[2]}`);
  const imported = IMPORT_FILE.exec(name);
  if (imported) return plain('import', imported[1] ?? '', imported[2]);
  throw dieFault(`unable to parse directory volume name '${name}'`);
}

function imageName(file: string, vmid: number, base: ParsedVolumeName['base']): ParsedVolumeName {
  return { content: 'images', ...parseImageFile(file), vmid, base, file };
}

/** Rule [source ST Storage/Plugin.pm parse_name_dir]: any name with a known extension is an image; `base-` marks a base. */
export function parseImageFile(file: string): { readonly format: string; readonly isBase: boolean } {
  const owned = /^(vm-|base-|subvol-)\d+-[^/\s]+\.(raw|qcow2|vmdk|subvol)$/.exec(file);
  if (owned) return { format: owned[2] ?? 'raw', isBase: owned[1] === 'base-' };
  if (/^snap-.*\.qcow2$/.test(file)) throw dieFault(`'${file}' is a snapshot filename, not a volume!`);
  const other = /^(base-)?[^/\s]+\.(raw|qcow2|vmdk|subvol)$/.exec(file);
  if (other) return { format: other[2] ?? 'raw', isBase: other[1] !== undefined };
  throw dieFault(`unable to parse volume filename '${file}'`);
}

/** Rule [source ST Storage/LVMPlugin.pm, Storage/LvmThinPlugin.pm parse_volname]: the base of a clone is not in its name. */
function parseLvmName(name: string, pattern: RegExp, format: string): ParsedVolumeName {
  if (!/^[a-z0-9][a-z0-9\-_.]*[a-z0-9]$/i.test(name)) {
    throw dieFault(`lvm name '${name}' contains illegal characters`);
  }
  const match = pattern.exec(name);
  if (!match) throw dieFault(`unable to parse lvm volume name '${name}'`);
  return {
    content: 'images',
    format,
    vmid: Number(match[2]),
    isBase: match[1] === 'base',
    base: undefined,
    file: name,
  };
}

/** Rule [source ST Storage/ZFSPoolPlugin.pm parse_volname]. */
function parseZfsName(name: string): ParsedVolumeName {
  const match = /^(?:((?:base|basevol)-(\d+)-\S+)\/)?((base|basevol|vm|subvol)-(\d+)-\S+)$/.exec(name);
  if (!match) throw dieFault(`unable to parse zfs volume name '${name}'`);
  const kind = match[4] ?? 'vm';
  return {
    content: 'images',
    format: kind === 'subvol' || kind === 'basevol' ? 'subvol' : 'raw',
    vmid: Number(match[5]),
    isBase: kind.startsWith('base'),
    base: match[1] === undefined ? undefined : { name: match[1], vmid: Number(match[2]) },
    file: match[3] ?? name,
  };
}

/** Rule [source ST Storage/RBDPlugin.pm parse_volname]. */
function parseRbdName(name: string): ParsedVolumeName {
  const match = /^(?:(base-(\d+)-\S+)\/)?((base)?(?:vm)?-(\d+)-\S+)$/.exec(name);
  if (!match) throw dieFault(`unable to parse rbd volume name '${name}'`);
  return {
    content: 'images',
    format: 'raw',
    vmid: Number(match[5]),
    isBase: match[4] !== undefined,
    base: match[1] === undefined ? undefined : { name: match[1], vmid: Number(match[2]) },
    file: match[3] ?? name,
  };
}
