/** What drives, NICs, host devices and CPU models need: on the VM, on storages, on networks and on mappings. */
import { parseVolume, storageOfVolume } from '../../../pve/wire/index.ts';
import {
  type AclPath,
  type Cause,
  LOCAL_ZONE,
  type Need,
  need,
  type OneOf,
  on,
  type PrivilegeRules,
  rootOnly,
} from '../../privileges/need.ts';
import { type Drive, drivesOf, parseDrive } from '../config/disks.ts';
import { propertyOf } from '../config/parts.ts';

const ALLOCATE = 'Datastore.AllocateSpace';
/** A token that may read or fill a storage sees its files; one that may only remove files does not. */
const READ_FILES: OneOf<string> = [ALLOCATE, 'Datastore.Audit'];

/** What adding, changing or removing this drive needs on the VM; a new VM needs nothing. */
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

/** What the value of a drive needs on its storages. */
export function volumeNeeds(key: string, text: string): Need[] {
  const drive = parseDrive(key, text);
  const source = drive.value.get('import-from');
  return [...fileNeeds(drive), ...(source === undefined ? [] : importNeeds(source, { key, part: 'import-from' }))];
}

/** A cloud-init drive, an empty CD drive and the VM's own volumes need nothing. */
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

/** The disk of another VM is cloned; an image file is read. */
function importNeeds(source: string, cause: Cause): Need[] {
  const volume = parseVolume(source);
  if (volume?.kind === 'image') return [need('VM.Clone', on(`/vms/${volume.vmid}`), cause)];
  if (volume?.kind === 'path') return [rootOnly(cause, 'Put the image on a storage with the content type import.')];
  const storage = volume && storageOfVolume(volume);
  return storage === undefined ? [] : [need(READ_FILES, on(`/storage/${storage}`), cause)];
}

/** A drive that is removed, with its volume if the VM owns it. */
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

/** For growing a disk; the task checks the storage. */
export function growthNeeds(key: string, text: string | undefined, vm: OneOf<AclPath>): Need[] {
  const cause = { key, part: 'size' };
  const volume = text === undefined ? undefined : parseDrive(key, text).volume;
  const storage = volume && storageOfVolume(volume);
  return [
    need('VM.Config.Disk', vm, cause),
    ...(storage === undefined ? [] : [need(ALLOCATE, on(`/storage/${storage}`), cause)]),
  ];
}

/** What a clone needs on storages: on its target, or on each that holds a disk of the source. */
export function copyNeeds(source: ReadonlyMap<string, string>, target: string | undefined): Need[] {
  const cause = { field: target === undefined ? 'clone.template' : 'clone.storage' };
  const needs = drivesOf(source).flatMap((drive): Need[] => {
    if (drive.volume?.kind === 'cdrom') return [need('Sys.Console', on('/'), cause)];
    // Drives marked as a CD, including the cloud-init drive, are copied without a check.
    if (drive.value.get('media') === 'cdrom' || !drive.volume) return [];
    const storage = target ?? storageOfVolume(drive.volume);
    return storage === undefined ? [] : [need(ALLOCATE, on(`/storage/${storage}`), cause)];
  });
  const state = source.get('vmstatestorage');
  return state === undefined ? needs : [...needs, need(ALLOCATE, on(`/storage/${state}`), cause)];
}

/** A tag or trunks need their VLANs, and then not the bridge itself. */
export function bridgeNeeds(key: string, text: string | undefined): Need[] {
  const nic = propertyOf(key, text);
  const bridge = nic.get('bridge');
  if (bridge === undefined) return [];
  const path = `${LOCAL_ZONE}/${bridge}`;
  const tag = nic.get('tag');
  const vlans = vlansOf(nic.get('trunks') ?? '');
  const use = (at: string, part: string) => need('SDN.Use', on(at), { key, part });
  const tagged = [
    ...(tag === undefined ? [] : [use(`${path}/${tag}`, 'tag')]),
    ...vlans.map((vlan) => use(`${path}/${vlan}`, 'trunks')),
  ];
  return tagged.length > 0 ? tagged : [use(path, 'bridge')];
}

/** `2;10-12` → 2, 10, 11, 12. */
function vlansOf(trunks: string): number[] {
  return trunks
    .split(';')
    .filter(Boolean)
    .flatMap((range) => {
      const [first = 0, last = first] = range.split('-').map(Number);
      return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index);
    });
}

const HOST_DEVICE = /^(usb|hostpci|virtiofs)\d+$|^rng0$/;

export function isHostDevice(key: string): boolean {
  return HOST_DEVICE.test(key);
}

/** What the device itself needs, also if a clone inherits it. */
export function mappingNeeds(key: string, text: string): Need[] {
  const device = propertyOf(key, text);
  if (key === 'rng0') {
    const isHardware = device.get('source') === '/dev/hwrng';
    return isHardware ? [need('Mapping.Use', on('/mapping/hwrng'), { key, part: 'source' })] : [];
  }
  if (key.startsWith('virtiofs')) {
    return [need('Mapping.Use', on(`/mapping/dir/${device.get('dirid') ?? ''}`), { key, part: 'dirid' })];
  }
  const kind = key.startsWith('usb') ? 'usb' : 'pci';
  const mapping = device.get('mapping');
  if (mapping !== undefined) {
    return [need('Mapping.Use', on(`/mapping/${kind}/${mapping}`), { key, part: 'mapping' })];
  }
  if (kind === 'usb' && device.get('host')?.toLowerCase() === 'spice') return [];
  return [
    rootOnly(
      { key, part: 'host' },
      `Create a mapping for the device under Datacenter, Resource Mappings, and name it in the file: ${kind}.${key}.mapping`,
    ),
  ];
}

/** Setting, changing or removing a device of the host. */
export function hostDeviceNeeds(key: string, text: string, vm: OneOf<AclPath>, rules: PrivilegeRules): Need[] {
  if (key === 'rng0' && !rules.randomNumbers) {
    return [
      rootOnly({ key }, 'Have root set it on the template that is cloned, or update Proxmox VE to 8.4 or newer.'),
    ];
  }
  const own = need(key.startsWith('virtiofs') ? 'VM.Config.Disk' : 'VM.Config.HWType', vm, { key });
  const romFile = propertyOf(key, text).get('romfile');
  return [
    own,
    ...mappingNeeds(key, text),
    ...(key.startsWith('hostpci') && romFile !== undefined
      ? [rootOnly({ key, part: 'romfile' }, 'Leave romfile out, or have root set it on the node: qm set.')]
      : []),
  ];
}

/** Sockets are allowed; a port of the host needs root. */
export function serialNeeds(key: string, texts: readonly string[], vm: OneOf<AclPath>): Need[] {
  return texts.every((text) => text === 'socket')
    ? [need('VM.Config.HWType', vm, { key })]
    : [rootOnly({ key }, `Write ${key}: socket; a port of the host is for root alone.`)];
}

/** Only a change to another custom model is checked. */
export function cpuModelNeeds(text: string, before: string | undefined, rules: PrivilegeRules): Need[] {
  const model = propertyOf('cpu', text).get('cputype');
  if (!model?.startsWith('custom-') || propertyOf('cpu', before).get('cputype') === model) return [];
  const cause = { key: 'cpu', part: 'cputype' };
  if (rules.cpuModels === 'nodes') return [need('Sys.Audit', on('/nodes'), cause)];
  return [need('Mapping.Use', on(`/mapping/cpu/${model.slice('custom-'.length)}`), cause)];
}
