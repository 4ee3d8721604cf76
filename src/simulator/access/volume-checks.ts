/**
 * Storages and volumes: who may allocate, attach, import and clone. Mirrors $check_storage_access and
 * $check_storage_access_clone of qemu-server's src/PVE/API2/Qemu.pm and check_volume_access of pve-storage's
 * src/PVE/Storage.pm.
 */
import { byCodeUnit } from '../../pve/wire/index.ts';
import type { Call } from '../core/call.ts';
import { dieFault, paramFault } from '../http/response.ts';
import {
  type ParsedVolumeName,
  parseVolumeName,
  type SplitVolid,
  splitVolid,
  trySplitVolid,
} from '../storage/names.ts';
import { storageConfig } from '../storage/volumes.ts';
import { type Drive, drivesOf, newVolumeOf, parseDrive } from '../vm/disks/drive.ts';
import { isServerSince } from '../world/releases.ts';
import type { ContentType, World } from '../world/world.ts';

type Config = ReadonlyMap<string, string>;

/**
 * For create and update. `settings` are the keys given in the request, `defaultStorage` is the parameter `storage` of the
 * create call, `extractionStorage` the parameter `import-working-storage`.
 */
export function checkStorageAccess(
  call: Call,
  vmid: number,
  settings: Config,
  defaultStorage: string | undefined,
  extractionStorage?: string,
): void {
  for (const drive of drivesOf(settings)) {
    checkDriveFile(call, vmid, drive, defaultStorage);
    const source = drive.options.get('import-from');
    if (source !== undefined) checkImportSource(call, vmid, drive.key, source, extractionStorage);
  }
  for (const key of [...settings.keys()].filter((each) => /^unused\d+$/.test(each)).sort(byCodeUnit)) {
    checkUnusedVolume(call, vmid, key, settings.get(key) ?? '');
  }
  const stateStorage = settings.get('vmstatestorage');
  if (stateStorage !== undefined) call.require(`/storage/${stateStorage}`, ['Datastore.AllocateSpace']);
}

/**
 * For a clone, on the source's configuration. Returns whether all its volumes are on shared storage.
 * Rule [recorded perm-life-minus-one-a]: with a target storage only that one is checked; CDs with an image need nothing.
 */
export function checkStorageAccessClone(call: Call, config: Config, targetStorage: string | undefined): boolean {
  let isShared = true;
  for (const drive of drivesOf(config)) {
    if (drive.file === 'none') continue;
    if (drive.isCdrom && drive.file === 'cdrom') {
      call.require('/', ['Sys.Console']);
      continue;
    }
    const id = splitVolid(drive.file);
    if (!storageConfig(call.runtime.world, id.storage).shared) isShared = false;
    if (!drive.isCdrom) call.require(`/storage/${targetStorage ?? id.storage}`, ['Datastore.AllocateSpace']);
  }
  const stateStorage = config.get('vmstatestorage');
  if (stateStorage !== undefined) call.require(`/storage/${stateStorage}`, ['Datastore.AllocateSpace']);
  return isShared;
}

/**
 * Whether the caller may touch an existing volume on behalf of a VM. Rule [source ST Storage.pm check_volume_access]:
 * Datastore.Allocate allows everything; files must be readable; the guest's own images need nothing; those of another
 * guest need Datastore.Audit and VM.Config.Disk on that guest.
 */
export function checkVolumeAccess(call: Call, vmid: number | undefined, volid: string, type?: ContentType): void {
  const id = trySplitVolid(volid);
  if (!id) {
    // Rule [recorded import-from]: the server forgot the line feed, so Perl adds where it happened.
    if (!call.caller.isRoot) {
      throw dieFault('Only root can pass arbitrary filesystem paths. at /usr/share/perl5/PVE/Storage.pm line 651.');
    }
    return;
  }
  const volume = volumeNameOf(call.runtime.world, id);
  if (type !== undefined && volume.content !== type) {
    throw dieFault(`unable to use volume ${volid} - content type needs to be '${type}'`);
  }
  const path = `/storage/${id.storage}`;
  if (call.may(path, ['Datastore.Allocate'])) return;
  const { content, vmid: owner } = volume;
  if (content === 'iso' || content === 'vztmpl' || content === 'import') {
    call.require(path, ['Datastore.AllocateSpace', 'Datastore.Audit'], { any: true });
  } else if (owner !== undefined && owner === vmid) {
    return;
  } else if (content === 'backup' && owner !== undefined) {
    call.require(path, ['Datastore.AllocateSpace']);
    call.require(`/vms/${owner}`, ['VM.Backup']);
  } else if (content === 'images' && owner !== undefined) {
    call.require(path, ['Datastore.Audit']);
    call.require(`/vms/${owner}`, ['VM.Config.Disk']);
  } else {
    throw dieFault(`missing privileges to access ${volid}`);
  }
}

/** Rule [source QS API2/Qemu.pm check_storage_access]: a new cloud-init drive and an empty CD drive need nothing. */
function checkDriveFile(call: Call, vmid: number, drive: Drive, defaultStorage: string | undefined): void {
  const { file } = drive;
  const id = trySplitVolid(file);
  if (file === 'none' || file === 'cloudinit' || id?.name === 'cloudinit') return;
  if (drive.isCdrom && file === 'cdrom') {
    call.require('/', ['Sys.Console']);
    return;
  }
  const allocation = drive.isCdrom ? undefined : newVolumeOf(file);
  if (allocation) {
    const storage = allocation.storage ?? defaultStorage;
    if (storage === undefined) throw dieFault('no storage ID specified (and no default storage)');
    call.require(`/storage/${storage}`, ['Datastore.AllocateSpace']);
    if (!storageConfig(call.runtime.world, storage).content.has('images')) {
      throw paramFault({ storage: `storage '${storage}' does not support vm images` });
    }
    return;
  }
  checkVolumeAccess(call, vmid, file);
  if (!id) return;
  const { content } = volumeNameOf(call.runtime.world, id);
  if (content !== 'images' && content !== 'iso') {
    throw paramFault({ [drive.key]: "content type needs to be 'images' or 'iso'" });
  }
}

function checkImportSource(
  call: Call,
  vmid: number,
  key: string,
  source: string,
  extractionStorage: string | undefined,
): void {
  const id = trySplitVolid(source);
  const volume = id && volumeNameOf(call.runtime.world, id);
  if (id && volume) {
    if (volume.content !== 'images' && volume.content !== 'import') {
      // Rule [source QS API2/Qemu.pm $check_storage_access of 8.2.0]: only images of VMs could be imported before 8.3.
      const allowed = isServerSince(call.runtime.world, '8.3') ? "needs to be 'images' or 'import'" : 'not an image';
      throw paramFault({ [key]: `${source} has wrong type '${volume.content}' - ${allowed}` });
    }
    if (volume.format.startsWith('ova+')) checkExtraction(call, key, extractionStorage, id.storage);
  }
  // Rule [source QS API2/Qemu.pm check_storage_access]: another VM's disk is cloned, so VM.Clone is required.
  if (volume?.vmid !== undefined) call.require(`/vms/${volume.vmid}`, ['VM.Clone']);
  else checkVolumeAccess(call, vmid, source);
}

/** An image inside an OVA is unpacked somewhere first. */
function checkExtraction(call: Call, key: string, extractionStorage: string | undefined, sourceStorage: string): void {
  const id = extractionStorage ?? sourceStorage;
  const storage = storageConfig(call.runtime.world, id);
  if (!storage.content.has('images') || storage.path === undefined) {
    throw paramFault({
      [extractionStorage === undefined ? key : 'import-working-storage']:
        `import working storage '${id}' does not support 'images' content type or is not file based.`,
    });
  }
  call.require(`/storage/${id}`, ['Datastore.AllocateSpace']);
}

function checkUnusedVolume(call: Call, vmid: number, key: string, text: string): void {
  const drive = parseDrive(key, text);
  if (!drive) throw paramFault({ [key]: `failed to parse value '${text}'` });
  if (!trySplitVolid(drive.file)) throw paramFault({ [key]: `not a valid volid: ${drive.file}` });
  checkVolumeAccess(call, vmid, drive.file, 'images');
}

function volumeNameOf(world: World, id: SplitVolid): ParsedVolumeName {
  const parsed = parseVolumeName(storageConfig(world, id.storage), id.name);
  // Rule [source ST Storage/Plugin.pm parse_volname of 8.2.1]: such files are unknown before 8.3.
  if (parsed.content === 'import' && !isServerSince(world, '8.3')) {
    throw dieFault(`unable to parse directory volume name '${id.name}'`);
  }
  return parsed;
}
