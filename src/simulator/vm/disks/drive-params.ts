/** The checks every drive parameter passes before anything is done with it. Mirrors `$check_drive_param`. */
import { dieFault, paramFault } from '../../http/response.ts';
import { isFalse } from '../../schema/perl-text.ts';
import { findImageFile, parseVolumeName, splitVolid, storageConfig, volidOf } from '../../storage/volumes.ts';
import type { World } from '../../world/world.ts';
import { isDriveKey } from '../config/config-keys.ts';
import { type Drive, newVolumeOf, parseDrive, printDrive, withOptions } from './drive.ts';

/** Rule [source QS API2/Qemu.pm $check_drive_param]: re-prints each drive, or refuses it. */
export function checkDriveParams(world: World, values: Map<string, string>): void {
  for (const key of [...values.keys()].filter(isDriveKey).sort()) {
    const drive = parseDrive(key, values.get(key) ?? '');
    if (!drive) throw paramFault({ [key]: 'unable to parse drive options' });
    checkImport(drive);
    const cleaned = cleanPath(world, drive);
    checkIsoMedia(world, cleaned);
    values.set(key, printDrive(cleaned));
  }
}

/** `cdrom` is another name of `ide2`. Rule [source QS API2/Qemu.pm $resolve_cdrom_alias]. */
export function resolveCdromAlias(values: Map<string, string>): void {
  const value = values.get('cdrom');
  if (value === undefined || isFalse(value)) return;
  values.delete('cdrom');
  values.set('ide2', value.includes('media=') ? value : `${value},media=cdrom`);
}

function checkImport(drive: Drive): void {
  if (!drive.options.has('import-from')) return;
  const requested = newVolumeOf(drive.file);
  if (requested?.sizeGiB !== 0) {
    throw paramFault({
      [drive.key]: "'import-from' requires special syntax - use <storage ID>:0,import-from=<source>",
    });
  }
  const required =
    drive.key === 'efidisk0' ? ['efitype', 'pre-enrolled-keys'] : drive.key === 'tpmstate0' ? ['version'] : [];
  for (const option of required) {
    if (!drive.options.has(option)) {
      throw paramFault({ [drive.key]: `need to specify '${option}' when using 'import-from'` });
    }
  }
}

/** Rule [source QS QemuServer.pm cleanup_drive_path]: a bare path must belong to a storage; `none` is a CD-ROM. */
function cleanPath(world: World, drive: Drive): Drive {
  const isKnownForm = /^(cdrom|none)$|^\/dev\/.+|^[^:]+:.+$|^\d+$/.test(drive.file);
  if (!isKnownForm) {
    const found = volumeOfPath(world, drive.file);
    if (!found) throw paramFault({ [drive.key]: `unable to associate path '${drive.file}' to any storage` });
    const media = drive.options.get('media') ?? (found.content === 'iso' ? 'cdrom' : undefined);
    const expected = media === 'cdrom' ? 'iso' : 'images';
    if (media !== undefined && found.content !== expected) {
      throw paramFault({ [drive.key]: `unexpected media type (${found.content} != ${expected})` });
    }
    return withOptions(drive, { media }, found.volid);
  }
  if (/^(cdrom|none)$/.test(drive.file) && !drive.options.has('media')) return withOptions(drive, { media: 'cdrom' });
  return drive;
}

interface FoundPath {
  readonly content: string;
  readonly volid: string;
}

/** Rule [source ST Storage.pm path_to_volume_id]: files of directory storages by where they lie; images must exist. */
function volumeOfPath(world: World, path: string): FoundPath | undefined {
  for (const storage of world.storages.values()) {
    if (!storage.path || !path.startsWith(`${storage.path}/`)) continue;
    const rest = path.slice(storage.path.length + 1);
    const image = /^images\/(\d+)\/([^/\s]+)$/.exec(rest);
    if (image) {
      const volume = findImageFile(storage, world.entryNode, Number(image[1]), image[2] ?? '');
      if (volume) return { content: 'images', volid: volidOf(volume) };
      continue;
    }
    for (const [pattern, content] of PATH_FORMS) {
      const file = pattern.exec(rest)?.[1];
      if (file) return { content, volid: `${storage.id}:${content}/${file}` };
    }
  }
  return undefined;
}

const PATH_FORMS: readonly (readonly [RegExp, string])[] = [
  [/^template\/iso\/([^/]+\.(?:iso|img))$/i, 'iso'],
  [/^template\/cache\/([^/]+\.tar(?:\.(?:gz|xz|zst|bz2))?)$/i, 'vztmpl'],
  [/^dump\/([^/]+\.(?:tgz|(?:tar|vma)(?:\.(?:gz|lzo|zst|bz2))?))$/, 'backup'],
  [/^snippets\/([^/]+)$/, 'snippets'],
  [/^import\/([ \w\-.+=]+\.(?:ova|ovf|qcow2|raw|vmdk))$/, 'import'],
];

function checkIsoMedia(world: World, drive: Drive): void {
  if (newVolumeOf(drive.file) || drive.file.startsWith('/') || !drive.file.includes(':')) return;
  const { storage, name } = splitVolid(drive.file);
  if (name === 'cloudinit') return;
  const { content } = parseVolumeName(storageConfig(world, storage), name);
  if (content === 'iso' && !drive.isCdrom) {
    throw paramFault({ [drive.key]: "explicit 'media=cdrom' is required for iso images" });
  }
}

/** Rule [source QS API2/Qemu.pm prohibit_tpm_version_change]. */
export function prohibitTpmVersionChange(before: string, after: string): void {
  const [old, requested] = [parseDrive('tpmstate0', before), parseDrive('tpmstate0', after)];
  if (!old || !requested || old.file !== requested.file) return;
  const version = (drive: Drive) => drive.options.get('version') ?? 'v1.2';
  if (version(old) !== version(requested)) throw dieFault('cannot change TPM state version after creation');
}
