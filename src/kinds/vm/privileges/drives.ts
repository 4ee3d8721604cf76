/** Needs of drives: by what stands in the slot and what is to stand there, and by the storages that hold the volumes. */
import { parseVolume, storageOfVolume } from '../../../pve/wire/index.ts';
import { type Drive, drivesOf, parseDrive } from '../disks.ts';
import { type AclPath, type Cause, type Need, need, type OneOf, on, rootOnly } from './need.ts';

const ALLOCATE = 'Datastore.AllocateSpace';
/** Files of a storage are open to whoever may see or fill it; who may only remove them does not see the storage. */
const READ_FILES: OneOf<string> = [ALLOCATE, 'Datastore.Audit'];

/** What a VM must grant so that this drive may be put there, changed or taken away; a new VM is not asked. */
export function driveClassNeeds(key: string, text: string, vm: OneOf<AclPath>): Need[] {
  const cause = { key };
  switch (parseDrive(key, text).kind) {
    case 'cloud-init':
      return [need('VM.Config.Cloudinit', vm, cause), need('VM.Config.CDROM', vm, cause)];
    case 'cdrom':
      return [need('VM.Config.CDROM', vm, cause)];
    case 'disk':
      return [need('VM.Config.Disk', vm, cause)];
  }
}

/** What the storages must grant for the text of a drive that is sent. */
export function volumeNeeds(key: string, text: string): Need[] {
  const drive = parseDrive(key, text);
  const source = drive.value.get('import-from');
  return [...fileNeeds(drive), ...(source === undefined ? [] : importNeeds(source, { key, part: 'import-from' }))];
}

/** A cloud-init drive and an empty CD drive ask for nothing, and a VM's own volumes are its own. */
function fileNeeds({ key, volume }: Drive): Need[] {
  switch (volume?.kind) {
    case 'new': {
      const { storage } = volume;
      return storage === undefined ? [] : [need(ALLOCATE, on(`/storage/${storage}`), { key, part: 'storage' })];
    }
    case 'file':
      return [need(READ_FILES, on(`/storage/${volume.storage}`), { key, part: 'file' })];
    case 'cdrom':
      return [need('Sys.Console', on('/'), { key, part: 'file' })];
    case 'path':
      return [rootOnly({ key, part: 'file' }, 'Name a volume of a storage instead of a path of the node.')];
    default:
      return [];
  }
}

/** Another VM's disk is cloned; an image file is read. */
function importNeeds(source: string, cause: Cause): Need[] {
  const volume = parseVolume(source);
  if (volume?.kind === 'image') return [need('VM.Clone', on(`/vms/${volume.vmid}`), cause)];
  if (volume?.kind === 'path') return [rootOnly(cause, 'Put the image on a storage with the content type import.')];
  const storage = volume && storageOfVolume(volume);
  return storage === undefined ? [] : [need(READ_FILES, on(`/storage/${storage}`), cause)];
}

/** A drive that goes, with its volume where that is this VM's. */
export function removalNeeds(
  key: string,
  text: string,
  vm: OneOf<AclPath>,
  options: { readonly vmid: number; readonly destroysVolumes: boolean },
): Need[] {
  const own = driveClassNeeds(key, text, vm);
  if (!options.destroysVolumes) return own;
  const { volume, kind } = parseDrive(key, text);
  const isOwn = volume?.kind === 'image' && volume.vmid === options.vmid && kind !== 'cdrom';
  return [
    ...own,
    need('VM.Config.Disk', vm, { key }),
    ...(isOwn ? [need(ALLOCATE, on(`/storage/${volume.storage}`), { key })] : []),
  ];
}

/** Growing it; the storage is asked inside the task. */
export function growthNeeds(key: string, text: string | undefined, vm: OneOf<AclPath>): Need[] {
  const cause = { key, part: 'size' };
  const volume = text === undefined ? undefined : parseDrive(key, text).volume;
  const storage = volume && storageOfVolume(volume);
  return [
    need('VM.Config.Disk', vm, cause),
    ...(storage === undefined ? [] : [need(ALLOCATE, on(`/storage/${storage}`), cause)]),
  ];
}

/** What a clone asks of storages: of the one it is told to use, else of each that holds a disk of the source. */
export function copyNeeds(source: ReadonlyMap<string, string>, target: string | undefined): Need[] {
  const cause = { field: target === undefined ? 'clone.template' : 'clone.storage' };
  const needs = drivesOf(source).flatMap((drive): Need[] => {
    if (drive.volume?.kind === 'cdrom') return [need('Sys.Console', on('/'), cause)];
    // What is marked as a CD, the cloud-init drive among them, is copied without asking.
    if (drive.value.get('media') === 'cdrom' || !drive.volume) return [];
    const storage = target ?? storageOfVolume(drive.volume);
    return storage === undefined ? [] : [need(ALLOCATE, on(`/storage/${storage}`), cause)];
  });
  const state = source.get('vmstatestorage');
  return state === undefined ? needs : [...needs, need(ALLOCATE, on(`/storage/${state}`), cause)];
}
