/**
 * The storages of a world, the volumes on them (those the file lists, and those its VMs refer to), and the files that nodes
 * can download.
 */
import type { Instant } from '../../base/clock.ts';
import { isSince } from '../../base/values/release.ts';
import { parseSize } from '../../pve/wire/index.ts';
import { addVolume } from '../storage/catalogue.ts';
import { type ParsedVolumeName, parseVolumeName } from '../storage/names.ts';
import { imageFormat } from '../storage/volumes.ts';
import { drivesOf } from '../vm/disks/drive.ts';
import type { Checksums, FileContents, GuestProfile, RemoteFile, Storage, Vm, Volume, VolumeFormat } from './world.ts';
import type { CompleteWorldFile } from './world-file.ts';

interface StorageDeps {
  readonly entryNode: string;
  readonly vms: ReadonlyMap<number, Vm>;
  readonly now: Instant;
  readonly guestNamed: (name: string, where: string) => GuestProfile;
  readonly fail: (detail: string) => never;
}

const SHARED_TYPES = new Set(['nfs', 'rbd']);

export function buildStorages(file: CompleteWorldFile, deps: StorageDeps): Map<string, Storage> {
  const storages = new Map<string, Storage>();
  // Rule [source ST Storage/DirPlugin.pm plugindata of 8.2.1]: no storage holds files to import before 8.3.
  const hasImports = isSince(file.version.version, '8.3');
  for (const [id, storage] of Object.entries(file.storages)) {
    if (!hasImports && storage.content.includes('import')) {
      deps.fail(`storages.${id}.content: there is no "import" before Proxmox VE 8.3.`);
    }
    const path =
      storage.path ?? (storage.type === 'dir' ? `/srv/${id}` : storage.type === 'nfs' ? `/mnt/pve/${id}` : undefined);
    storages.set(id, {
      id,
      type: storage.type,
      content: new Set(storage.content),
      shared: storage.shared ?? SHARED_TYPES.has(storage.type),
      disabled: storage.disabled,
      nodes: storage.nodes && new Set(storage.nodes),
      path,
      filesystem: storage.filesystem,
      bandwidthBytesPerSecond: storage.bandwidth,
      options: new Map(Object.entries(storage.options)),
      volumes: new Map(),
    });
  }
  for (const [id, storage] of Object.entries(file.storages)) {
    for (const listed of storage.volumes) addListed(storages, id, listed, deps);
  }
  for (const vm of deps.vms.values()) addReferenced(storages, vm, deps);
  return storages;
}

type ListedVolume = CompleteWorldFile['storages'][string]['volumes'][number];

function addListed(storages: Map<string, Storage>, id: string, listed: ListedVolume, deps: StorageDeps): void {
  const where = `storages.${id}.volumes "${listed.name}"`;
  const storage = storages.get(id) as Storage; // made from the same list
  const node = listed.node ?? deps.entryNode;
  const sizeBytes = listed.size ?? 0;
  addVolume(
    storage,
    node,
    newVolume(storage, listed.name, deps, where, {
      sizeBytes,
      usedBytes: listed.used ?? listed.data ?? sizeBytes,
      dataBytes: listed.data ?? listed.used ?? sizeBytes,
      ctime: listed.ctime === undefined ? deps.now : listed.ctime * 1000,
      guest: listed.guest === undefined ? undefined : deps.guestNamed(listed.guest, where),
      ...(listed.virtual_size !== undefined && { virtualSizeBytes: listed.virtual_size }),
      ...(listed.checksums !== undefined && { checksums: knownChecksums(listed.checksums) }),
    }),
  );
}

/** A configured disk that the file does not list is created with the size in its drive. */
function addReferenced(storages: Map<string, Storage>, vm: Vm, deps: StorageDeps): void {
  for (const drive of drivesOf(vm.config.current, { unused: true })) {
    const [storageId = '', name] = drive.file.split(/:(.*)/s);
    const storage = name === undefined ? undefined : storages.get(storageId);
    const where = `vms.${vm.vmid}.config.${drive.key}`;
    if (name === undefined || drive.file.startsWith('/')) continue;
    if (!storage) deps.fail(`${where}: there is no storage "${storageId}".`);
    const volumes = storage.volumes.get(storage.shared ? '*' : vm.node);
    if (volumes?.has(name)) continue;
    const sizeBytes = parseSize(drive.options.get('size') ?? '4M') ?? 0;
    const contents = { sizeBytes, usedBytes: 0, dataBytes: 0, ctime: deps.now, guest: undefined };
    addVolume(storage, vm.node, newVolume(storage, name, deps, where, contents));
  }
}

type Contents = Pick<Volume, 'sizeBytes' | 'usedBytes' | 'dataBytes' | 'ctime' | 'guest'> & {
  virtualSizeBytes?: number;
  checksums?: Checksums;
};

function newVolume(storage: Storage, name: string, deps: StorageDeps, where: string, contents: Contents): Volume {
  try {
    const parsed = parseVolumeName(storage, name);
    return {
      storage: storage.id,
      name,
      content: parsed.content,
      format: fileFormat(parsed),
      vmid: parsed.vmid,
      parent: parsed.base?.name,
      snapshots: new Map(),
      ...contents,
    };
  } catch (error) {
    return deps.fail(`${where}: ${error instanceof Error ? error.message.trimEnd() : String(error)}.`);
  }
}

function fileFormat(parsed: ParsedVolumeName): VolumeFormat {
  switch (parsed.content) {
    case 'iso':
      return 'iso';
    case 'vztmpl':
      return 'tgz';
    case 'snippets':
      return 'snippet';
    default:
      return parsed.format === 'ova' ? 'ova' : imageFormat(parsed.format);
  }
}

type GuestNamed = (name: string, where: string) => GuestProfile;

export function buildDownloads(file: CompleteWorldFile, guestNamed: GuestNamed): Map<string, RemoteFile> {
  return new Map(
    Object.entries(file.downloads).map(([url, download]) => [
      url,
      {
        sizeBytes: download.size,
        virtualSizeBytes: download.virtual_size,
        mimetype: download.mimetype,
        format: download.format,
        compression: download.compression,
        unpackedBytes: download.unpacked_size,
        unpackedChecksums: knownChecksums(download.unpacked_checksums),
        checksums: knownChecksums(download.checksums),
        status: download.status,
        trouble: download.trouble,
        guest: download.guest === undefined ? undefined : guestNamed(download.guest, `downloads.${url}.guest`),
      },
    ]),
  );
}

/** Its SHA-256 identifies a file that is uploaded instead of downloaded. */
export function buildContents(file: CompleteWorldFile, guestNamed: GuestNamed): Map<string, FileContents> {
  const contents = new Map<string, FileContents>();
  for (const [url, download] of Object.entries(file.downloads)) {
    const sum = (download.compression === undefined ? download.checksums : download.unpacked_checksums).sha256;
    if (sum === undefined || download.guest === undefined) continue;
    contents.set(sum, {
      guest: guestNamed(download.guest, `downloads.${url}.guest`),
      virtualSizeBytes: download.virtual_size,
    });
  }
  for (const [sum, entry] of Object.entries(file.contents)) {
    contents.set(sum, {
      guest: entry.guest === undefined ? undefined : guestNamed(entry.guest, `contents.${sum}.guest`),
      virtualSizeBytes: entry.virtual_size,
    });
  }
  return contents;
}

/** Without the algorithms that have no value. */
function knownChecksums(sums: Readonly<Record<string, string | undefined>>): Checksums {
  return Object.fromEntries(
    Object.entries(sums).flatMap(([algorithm, sum]) => (sum === undefined ? [] : [[algorithm, sum.toLowerCase()]])),
  );
}
