/** /nodes/{node}/storage/{storage}/content: lists of volumes, single volumes. [source ST API2/Storage/Content.pm] */
import { checkVolumeAccess } from '../../../access/volume-checks.ts';
import type { Call, CallTo, Routes } from '../../../core/call.ts';
import { ApiFault, dieFault, paramFault } from '../../../http/response.ts';
import { allocateVolume, freeVolume } from '../../../storage/allocate.ts';
import { volumesOfGuest } from '../../../storage/catalogue.ts';
import { isFileBased, parseVolumeName, splitVolid } from '../../../storage/names.ts';
import { volumePath } from '../../../storage/paths.ts';
import { activateStorage } from '../../../storage/space.ts';
import { findVolume, imageFormat, storageConfig, volidOf, volumesOf } from '../../../storage/volumes.ts';
import type { ContentType, Storage, Volume } from '../../../world/world.ts';

export const nodeStorageContentRoutes: Routes = {
  'GET /nodes/{node}/storage/{storage}/content': list,
  'POST /nodes/{node}/storage/{storage}/content': allocate,
  'GET /nodes/{node}/storage/{storage}/content/{volume}': info,
  'PUT /nodes/{node}/storage/{storage}/content/{volume}': updateAttributes,
  'DELETE /nodes/{node}/storage/{storage}/content/{volume}': remove,
};

/** Rule [recorded storage-content]: about how long a listing takes. */
const LIST_MS = 25;

/** Rule [source ST Storage.pm volume_list]: only content the storage is configured for is ever listed. */
async function list(call: CallTo<'GET /nodes/{node}/storage/{storage}/content'>): Promise<unknown> {
  const { world, clock } = call.runtime;
  const { storage: id, content: only, vmid } = call.params;
  storageConfig(world, id);
  const storage = activateStorage(world, id, call.node);
  await clock.sleep(LIST_MS);
  return [...candidates(storage, call.node, vmid)]
    .filter((volume) => storage.content.has(volume.content) && (only === undefined || volume.content === only))
    .filter((volume) => isListed(volume, vmid))
    .filter((volume) => isVisible(call, volume))
    .map((volume) => contentEntry(storage, volume))
    .sort((left, right) => compareVolids(left.volid, right.volid));
}

/** A guest's own volumes are known; files without an owner have to be searched. */
function candidates(storage: Storage, node: string, vmid: number | undefined): Iterable<Volume> {
  if (vmid === undefined || isFileBased(storage)) return volumesOf(storage, node).values();
  return volumesOfGuest(storage, node, vmid);
}

/** Rule [recorded storage-content]: `vmid` hides ISO images and templates, but neither import files nor snippets. */
function isListed(volume: Volume, vmid: number | undefined): boolean {
  if (vmid === undefined) return true;
  switch (volume.content) {
    case 'images':
    case 'rootdir':
    case 'backup':
      return volume.vmid === vmid;
    case 'iso':
    case 'vztmpl':
      return false;
    case 'snippets':
    case 'import':
      return true;
  }
}

function isVisible(call: Call, volume: Volume): boolean {
  try {
    checkVolumeAccess(call, undefined, volidOf(volume));
    return true;
  } catch (error) {
    if (error instanceof ApiFault) return false;
    throw error;
  }
}

interface ContentEntry {
  readonly volid: string;
  readonly [key: string]: unknown;
}

/**
 * Rule [source ST plugins' list_images and Storage/Plugin.pm list_volumes]: each kind of storage reports other fields.
 */
function contentEntry(storage: Storage, volume: Volume): ContentEntry {
  const common = { volid: volidOf(volume), content: volume.content, format: volume.format, size: volume.sizeBytes };
  const ctime = Math.floor(volume.ctime / 1000);
  if (volume.content !== 'images' && volume.content !== 'rootdir') {
    return { ...common, ctime, ...(volume.vmid !== undefined && { vmid: volume.vmid }) };
  }
  const owner = volume.vmid === undefined ? {} : { vmid: volume.vmid };
  const { base, file } = parseVolumeName(storage, volume.name);
  switch (storage.type) {
    case 'dir':
    case 'nfs': {
      const parent = base ? `../${base.vmid}/${base.name}` : null;
      return { ...common, ...owner, ctime, used: volume.usedBytes, parent };
    }
    case 'lvm':
    case 'lvmthin':
      return { ...common, ...owner, ctime };
    case 'zfspool':
    case 'rbd': {
      return { ...common, ...owner, name: file, parent: base ? `${base.name}@__base__` : null };
    }
  }
}

/** Rule [source ST Storage.pm volume_list]: sorted without regard to case. */
function compareVolids(left: string, right: string): number {
  const [a, b] = [left.toLowerCase(), right.toLowerCase()];
  return a < b ? -1 : a > b ? 1 : 0;
}

async function allocate(call: CallTo<'POST /nodes/{node}/storage/{storage}/content'>): Promise<string> {
  const { filename: name, size: sizeText, format: asked } = call.params;
  const size = /^(\d+)([MG]?)$/.exec(sizeText);
  if (!size) throw paramFault({ size: `unable to parse size '${sizeText}'` });
  const sizeKiB = Number(size[1]) * (size[2] === 'G' ? 1024 ** 2 : size[2] === 'M' ? 1024 : 1);
  // Rule [source ST API2/Storage/Content.pm create]: the extension decides, and the format must not contradict it.
  const named = /\.(raw|qcow2|vmdk)$/.exec(name)?.[1];
  if (named !== undefined && asked !== undefined && asked !== named) {
    throw paramFault({ format: `different storage formats (${asked} != ${named})` });
  }
  const format = named ?? asked;
  const volume = await allocateVolume(call.runtime, {
    node: call.node,
    storageId: call.params.storage,
    vmid: call.params.vmid,
    format: format === undefined ? undefined : imageFormat(format),
    name,
    sizeKiB,
    log: () => {},
  });
  return volidOf(volume);
}

/** Rule [source ST API2/Storage/Content.pm $real_volume_id]: a bare name belongs to the storage of the path. */
function volidFrom(call: Call<{ readonly storage: string; readonly volume: string }>): {
  readonly volid: string;
  readonly storage: Storage;
} {
  const { storage: id, volume } = call.params;
  const volid = volume.includes(':') ? volume : `${id}:${volume}`;
  let owner: string;
  try {
    owner = splitVolid(volid).storage;
  } catch (error) {
    throw error instanceof ApiFault ? paramFault({ volume: error.message }) : error;
  }
  if (owner !== id) throw paramFault({ volume: `storage ID mismatch (${owner} != ${id})\n` });
  return { volid, storage: storageConfig(call.runtime.world, id) };
}

/** Rule [recorded storage-content]: every file counts as an image here: sizes in sectors, space in blocks. */
async function info(call: CallTo<'GET /nodes/{node}/storage/{storage}/content/{volume}'>): Promise<unknown> {
  const { volid, storage } = volidFrom(call);
  checkVolumeAccess(call, undefined, volid);
  const { name } = splitVolid(volid);
  const path = volumePath(storage, name);
  const volume = findVolume(call.runtime.world, call.node, volid);
  await call.runtime.clock.sleep(LIST_MS);
  if (!volume) throw dieFault(missingVolume(storage, volid, path));
  const isImage = volume.content === 'images' || volume.content === 'rootdir';
  const size = isImage ? volume.sizeBytes : (volume.virtualSizeBytes ?? roundUp(volume.sizeBytes, 512));
  if (size === 0 && volume.format !== 'subvol') throw dieFault(`volume '${volid}' has size zero`);
  const used = isImage ? volume.usedBytes : roundUp(volume.sizeBytes, 4096);
  const isLvm = storage.type === 'lvm' || storage.type === 'lvmthin';
  return { path, size, used: isLvm ? 0 : used, format: parseVolumeName(storage, name).format };
}

const roundUp = (bytes: number, block: number) => Math.ceil(bytes / block) * block;

function missingVolume(storage: Storage, volid: string, path: string): string {
  if (isFileBased(storage)) return `volume_size_info on '${volid}' failed - no format`;
  if (storage.type === 'lvm' || storage.type === 'lvmthin') {
    return `can't get size of '${path}':   Failed to find logical volume "${path.replace('/dev/', '')}"`;
  }
  return storage.type === 'zfspool'
    ? `zfs error: cannot open '${path.replace('/dev/zvol/', '')}': dataset does not exist`
    : `rbd error: rbd: error opening image ${splitVolid(volid).name}: (2) No such file or directory`;
}

/** Rule [source ST Storage/DirPlugin.pm update_volume_attribute]: only backups have notes and protection, and there are none here. */
function updateAttributes(call: CallTo<'PUT /nodes/{node}/storage/{storage}/content/{volume}'>): null {
  const { volid, storage } = volidFrom(call);
  checkVolumeAccess(call, undefined, volid);
  for (const attribute of ['notes', 'protected'] as const) {
    if (call.params[attribute] === undefined) continue;
    if (!isFileBased(storage)) {
      throw dieFault(`attribute '${attribute}' is not supported for storage type '${storage.type}'`);
    }
    if (parseVolumeName(storage, splitVolid(volid).name).content === 'backup') {
      throw new ApiFault(501, 'Attributes of backups are not simulated');
    }
    throw dieFault(
      attribute === 'notes' ? 'only backups can have notes' : `only backups support attribute '${attribute}'`,
    );
  }
  return null;
}

/** Rule [recorded storage-content]: a UPID even for a volume that does not exist; the server does not check whether a VM still uses it. */
async function remove(call: CallTo<'DELETE /nodes/{node}/storage/{storage}/content/{volume}'>): Promise<string | null> {
  const { volid, storage } = volidFrom(call);
  const { content, vmid } = parseVolumeName(storage, splitVolid(volid).name);
  requireRemoval(call, storage, content, vmid);
  const id = `${vmid === undefined ? '' : `${vmid}@`}${storage.id}`;
  const upid = call.fork('imgdel', id, async (task) => {
    await freeVolume(call.runtime, { node: call.node, volid, log: task.log });
    task.log(`Removed volume '${volid}'`);
  });
  const delaySeconds = call.params.delay;
  return delaySeconds === undefined ? upid : waitForRemoval(call, upid, delaySeconds);
}

function requireRemoval(call: Call, storage: Storage, content: ContentType, vmid: number | undefined): void {
  const path = `/storage/${storage.id}`;
  if (content === 'backup' && vmid !== undefined) {
    call.require(path, ['Datastore.AllocateSpace']);
    call.require(`/vms/${vmid}`, ['VM.Backup']);
  } else {
    call.require(path, ['Datastore.Allocate']);
  }
}

/** Rule [source ST API2/Storage/Content.pm delete]: checked once a second; null if it succeeded in time. */
async function waitForRemoval(call: Call, upid: string, delaySeconds: number): Promise<string | null> {
  const { tasks, clock, world } = call.runtime;
  for (let waited = 0; waited < delaySeconds && tasks.isRunning(upid); waited++) await clock.sleep(1000);
  if (tasks.isRunning(upid)) return upid;
  const status = world.tasks.get(upid)?.exitStatus ?? 'OK';
  if (status !== 'OK' && !status.startsWith('WARNINGS: ')) throw dieFault(status);
  return null;
}
