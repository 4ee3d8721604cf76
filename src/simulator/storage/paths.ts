/** Where a volume is found on the node: the path that task logs, error texts and `GET …/content/{volume}` show. */
import { dieFault } from '../http/response.ts';
import type { ContentType, Storage } from '../world/world.ts';
import { parseVolumeName } from './names.ts';

/** Rule [source ST Storage/Plugin.pm $vtype_subdirs]. */
const SUBDIRECTORIES: Readonly<Record<ContentType, string>> = {
  images: 'images',
  rootdir: 'private',
  iso: 'template/iso',
  vztmpl: 'template/cache',
  backup: 'dump',
  snippets: 'snippets',
  import: 'import',
};

/** Directory of a content type on a file-based storage. */
export function contentDirectory(storage: Storage, content: ContentType): string {
  const path = storage.path ?? storage.options.get('path');
  if (path === undefined) throw dieFault('storage definition has no path');
  // Rule [source ST Storage/Plugin.pm get_subdir]: `content-dirs` replaces the usual name.
  const override = (storage.options.get('content-dirs') ?? '')
    .split(',')
    .map((pair) => pair.split('='))
    .find(([key]) => key === content)?.[1];
  return `${path}/${override ?? SUBDIRECTORIES[content]}`;
}

export function volumePath(storage: Storage, name: string, snapshot?: string): string {
  const parsed = parseVolumeName(storage, name);
  switch (storage.type) {
    case 'dir':
    case 'nfs': {
      // Rule [source ST Storage/Plugin.pm filesystem_path]: snapshots of qcow2 live in the same file.
      if (snapshot !== undefined && parsed.format !== 'qcow2') throw dieFault("can't snapshot this image format");
      const owner = parsed.content === 'images' ? `/${parsed.vmid}` : '';
      const file = snapshot !== undefined && usesVolumeChain(storage) ? `snap-${snapshot}-${parsed.file}` : parsed.file;
      return `${contentDirectory(storage, parsed.content)}${owner}/${file}`;
    }
    case 'lvm':
      return `/dev/${volumeGroup(storage)}/${snapshot === undefined ? name : chainedSnapshotName(parsed.file, snapshot)}`;
    case 'lvmthin':
      return `/dev/${volumeGroup(storage)}/${snapshot === undefined ? name : `snap_${name}_${snapshot}`}`;
    case 'zfspool':
      return `${zfsPath(storage, parsed.file, parsed.format)}${snapshot === undefined ? '' : `@${snapshot}`}`;
    case 'rbd':
      return rbdPath(storage, `${parsed.file}${snapshot === undefined ? '' : `@${snapshot}`}`);
  }
}

export function volumeGroup(storage: Storage): string {
  return storage.options.get('vgname') ?? storage.filesystem;
}

export function zfsPool(storage: Storage): string {
  return storage.options.get('pool') ?? storage.filesystem;
}

export function usesVolumeChain(storage: Storage): boolean {
  return storage.options.get('snapshot-as-volume-chain') === '1';
}

/** Rule [source ST Storage/LVMPlugin.pm get_snap_name]. */
function chainedSnapshotName(file: string, snapshot: string): string {
  return `snap_${file.replace(/\.[^.]+$/, '')}_${snapshot}.qcow2`;
}

function zfsPath(storage: Storage, file: string, format: string): string {
  const pool = zfsPool(storage);
  if (format === 'subvol') return `${storage.options.get('mountpoint') ?? `/${pool}`}/${file}`;
  return `/dev/zvol/${pool}/${file}`;
}

/** Rule [source ST Storage/RBDPlugin.pm path]: a librbd address unless the kernel maps the image. */
function rbdPath(storage: Storage, image: string): string {
  const namespace = storage.options.get('namespace');
  const location = [storage.options.get('pool') ?? 'rbd', ...(namespace === undefined ? [] : [namespace]), image];
  if (storage.options.get('krbd') === '1') return `/dev/rbd/${location.join('/')}`;
  const user = storage.options.get('username') ?? 'admin';
  const keyring = `:id=${user}:keyring=/etc/pve/priv/ceph/${storage.id}.keyring`;
  const monitors = storage.options.get('monhost');
  if (monitors === undefined) return `rbd:${location.join('/')}:conf=/etc/pve/ceph.conf${keyring}`;
  const hosts = monitors
    .split(/[ ,;]+/)
    .join(';')
    .replaceAll(':', '\\:');
  return `rbd:${location.join('/')}:mon_host=${hosts}:auth_supported=cephx${keyring}`;
}
