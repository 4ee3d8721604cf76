/**
 * What a drive may refer to: volume ids of the different storage layouts, requests for a new volume, and the few words that
 * are not volumes. Mirrors the parse_volname functions of pve-storage, src/PVE/Storage/*Plugin.pm.
 */
import { assertNever } from '../../base/errors.ts';
import { isStorageId, type StorageId } from './ids.ts';
import { printDecimal } from './scalars.ts';

export const FILE_CONTENTS = ['iso', 'import', 'vztmpl', 'snippets', 'backup'] as const;
export type FileContent = (typeof FILE_CONTENTS)[number];

/** A disk image that belongs to a guest. */
export interface ImageVolume {
  readonly kind: 'image';
  readonly storage: StorageId;
  /** `directory` stores images as files in a folder named after the owner's id, `block` as volumes named after it. */
  readonly layout: 'directory' | 'block';
  readonly vmid: number;
  /** `vm-100-disk-0.qcow2`, `base-9000-disk-0`, … */
  readonly name: string;
  /** The template's image that a linked clone uses, if the storage shows it in the name. */
  readonly base?: { readonly vmid: number; readonly name: string };
}

export type Volume =
  | ImageVolume
  | { readonly kind: 'file'; readonly storage: StorageId; readonly content: FileContent; readonly name: string }
  /** `storage:32`: allocate a volume of this many GiB. Without a storage the server chooses. */
  | { readonly kind: 'new'; readonly storage: StorageId | undefined; readonly sizeGiB: number }
  /** `storage:cloudinit`: allocate a cloud-init drive. */
  | { readonly kind: 'new-cloudinit'; readonly storage: StorageId }
  /** An empty CD drive. */
  | { readonly kind: 'none' }
  /** The CD drive of the host. */
  | { readonly kind: 'cdrom' }
  | { readonly kind: 'path'; readonly path: string }
  /** A name in an unknown layout, such as an iSCSI unit; kept unchanged. */
  | { readonly kind: 'other'; readonly storage: StorageId; readonly name: string };

export function parseVolume(text: string): Volume | undefined {
  if (text === 'none' || text === 'cdrom') return { kind: text };
  if (text.startsWith('/')) return { kind: 'path', path: text };
  if (isDecimal(text)) return { kind: 'new', storage: undefined, sizeGiB: Number(text) };
  const colon = text.indexOf(':');
  const storage = text.slice(0, Math.max(colon, 0));
  const name = text.slice(colon + 1);
  if (!isStorageId(storage) || name === '') return undefined;
  if (isDecimal(name)) return { kind: 'new', storage, sizeGiB: Number(name) };
  if (name === 'cloudinit') return { kind: 'new-cloudinit', storage };
  return parseFile(storage, name) ?? parseImage(storage, name) ?? { kind: 'other', storage, name };
}

export function printVolume(volume: Volume): string {
  switch (volume.kind) {
    case 'none':
    case 'cdrom':
      return volume.kind;
    case 'path':
      return volume.path;
    case 'new':
      return `${volume.storage === undefined ? '' : `${volume.storage}:`}${printDecimal(volume.sizeGiB)}`;
    case 'new-cloudinit':
      return `${volume.storage}:cloudinit`;
    case 'file':
      return `${volume.storage}:${volume.content}/${volume.name}`;
    case 'other':
      return `${volume.storage}:${volume.name}`;
    case 'image': {
      const inDirectory = volume.layout === 'directory';
      const base = volume.base && `${inDirectory ? `${volume.base.vmid}/` : ''}${volume.base.name}/`;
      return `${volume.storage}:${base ?? ''}${inDirectory ? `${volume.vmid}/` : ''}${volume.name}`;
    }
    default:
      return assertNever(volume);
  }
}

export function storageOfVolume(volume: Volume): StorageId | undefined {
  return 'storage' in volume ? volume.storage : undefined;
}

/** Both the request for a cloud-init drive and the resulting image. */
export function isCloudInitVolume(volume: Volume): boolean {
  if (volume.kind === 'new-cloudinit') return true;
  return volume.kind === 'image' && /^vm-\d+-cloudinit(\.\w+)?$/.test(volume.name);
}

function isDecimal(text: string): boolean {
  return /^\d+(\.\d+)?$/.test(text);
}

function parseFile(storage: StorageId, text: string): Volume | undefined {
  const slash = text.indexOf('/');
  const content = FILE_CONTENTS.find((each) => each === text.slice(0, Math.max(slash, 0)));
  const name = text.slice(slash + 1);
  return content === undefined || name === '' ? undefined : { kind: 'file', storage, content, name };
}

function parseImage(storage: StorageId, text: string): ImageVolume | undefined {
  const file = /^(?:([1-9]\d*)\/([^\s/]+)\/)?([1-9]\d*)\/([^\s/]+)$/.exec(text);
  if (file) return image(storage, 'directory', file[3], file[4], file[1], file[2]);
  const block = /^(?:((?:base|basevol)-([1-9]\d*)-[^\s/]+)\/)?((?:base|basevol|vm|subvol)-([1-9]\d*)-[^\s/]+)$/.exec(
    text,
  );
  if (block) return image(storage, 'block', block[4], block[3], block[2], block[1]);
  return undefined;
}

function image(
  storage: StorageId,
  layout: ImageVolume['layout'],
  vmid = '',
  name = '',
  baseVmid?: string,
  baseName?: string,
): ImageVolume {
  const base = baseVmid !== undefined && baseName !== undefined && { vmid: Number(baseVmid), name: baseName };
  return { kind: 'image', storage, layout, vmid: Number(vmid), name, ...(base && { base }) };
}
