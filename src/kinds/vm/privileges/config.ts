/** What writing a configuration needs, key by key: for an existing VM, a new one, and a clone. */
import type { Secret } from '../../../base/secret.ts';
import { splitList } from '../../../pve/wire/index.ts';
import { type AclPath, type Need, need, type OneOf, on, type PrivilegeRules, rootOnly } from '../../privileges/need.ts';
import { isDriveKey } from '../config/disks.ts';
import type { ConfigWrite } from '../config/writes.ts';
import {
  bridgeNeeds,
  copyNeeds,
  cpuModelNeeds,
  driveClassNeeds,
  hostDeviceNeeds,
  isHostDevice,
  mappingNeeds,
  removalNeeds,
  serialNeeds,
  volumeNeeds,
} from './devices.ts';

export interface ConfigSubject {
  readonly vmid: number;
  /** The VM itself, or its pool. */
  readonly paths: OneOf<AclPath>;
  readonly rules: PrivilegeRules;
}

/**
 * `current`: the values in effect, which Proxmox checks besides the new ones. Since some update of 8.0 it also checks
 * the bridge that a NIC leaves; on older releases it is required here anyway, so that it is in place for the next
 * update.
 */
export function writeNeeds(subject: ConfigSubject, write: ConfigWrite, current: ReadonlyMap<string, string>): Need[] {
  const set = Object.entries(write.set).flatMap(([key, value]) => [
    ...keyNeeds(key, subject.paths),
    ...changedValueNeeds(subject, key, textOf(value), current.get(key)),
  ]);
  const deleted = write.delete.flatMap((key) => [
    ...keyNeeds(key, subject.paths),
    ...deletedValueNeeds(subject, key, current.get(key) ?? '', write.destroysVolumes),
  ]);
  return [...set, ...deleted];
}

function changedValueNeeds(subject: ConfigSubject, key: string, text: string, before: string | undefined): Need[] {
  const { paths, rules } = subject;
  const texts = before === undefined ? [text] : [before, text];
  if (isDriveKey(key)) {
    return [...texts.flatMap((each) => driveClassNeeds(key, each, paths)), ...volumeNeeds(key, text)];
  }
  if (/^net\d+$/.test(key)) return texts.flatMap((each) => bridgeNeeds(key, each));
  if (/^serial\d+$/.test(key)) return serialNeeds(key, texts, paths);
  if (isHostDevice(key)) return texts.flatMap((each) => hostDeviceNeeds(key, each, paths, rules));
  if (key === 'cpu') return cpuModelNeeds(text, before, rules);
  if (key === 'tags') return tagNeeds(before ?? '', text);
  return stateStorageNeeds(key, text);
}

function deletedValueNeeds(subject: ConfigSubject, key: string, before: string, destroysVolumes: boolean): Need[] {
  const { paths, rules, vmid } = subject;
  if (isDriveKey(key)) return removalNeeds(key, before, paths, { vmid, destroysVolumes });
  if (/^net\d+$/.test(key)) return bridgeNeeds(key, before);
  if (/^serial\d+$/.test(key)) return serialNeeds(key, [before], paths);
  if (isHostDevice(key)) return hostDeviceNeeds(key, before, paths, rules);
  return key === 'tags' ? tagNeeds(before, '') : [];
}

/** For a new VM, Proxmox does not check the kind of a drive, and it checks tags before the VM is in its pool. */
export function creationNeeds(
  subject: ConfigSubject,
  values: Readonly<Record<string, string | Secret>>,
  own: OneOf<AclPath>,
): Need[] {
  const { paths, rules } = subject;
  return Object.entries(values).flatMap(([key, value]): Need[] => {
    const text = textOf(value);
    if (key === 'tags') return rules.tagsOfNewVms ? [...keyNeeds(key, own), ...tagNeeds('', text)] : [];
    const byName = keyNeeds(key, paths);
    if (isDriveKey(key)) return volumeNeeds(key, text);
    if (/^net\d+$/.test(key)) return [...byName, ...bridgeNeeds(key, text)];
    if (/^serial\d+$/.test(key)) return serialNeeds(key, [text], paths);
    if (isHostDevice(key)) return [...byName, ...hostDeviceNeeds(key, text, paths, rules)];
    if (key === 'cpu') return [...byName, ...cpuModelNeeds(text, undefined, rules)];
    return [...byName, ...stateStorageNeeds(key, text)];
  });
}

/** What a clone inherits from its source: storages, bridges, devices and CPU model. */
export function inheritedNeeds(
  source: ReadonlyMap<string, string>,
  target: string | undefined,
  rules: PrivilegeRules,
): Need[] {
  const along = [...source].flatMap(([key, text]): Need[] => {
    if (/^net\d+$/.test(key)) return bridgeNeeds(key, text);
    if (isHostDevice(key)) return mappingNeeds(key, text);
    return key === 'cpu' ? cpuModelNeeds(text, undefined, rules) : [];
  });
  // The line of the file that causes it is the one that names the template.
  const cause = { field: 'clone.template' };
  return [...copyNeeds(source, target), ...along.map((each) => ({ ...each, cause }))];
}

function tagNeeds(before: string, after: string): Need[] {
  const [old, now] = [new Set(splitList(before)), new Set(splitList(after))];
  const tags = [...new Set([...old, ...now])].filter((tag) => old.has(tag) !== now.has(tag));
  return tags.length === 0 ? [] : [{ kind: 'tags', tags, cause: { key: 'tags' } }];
}

function stateStorageNeeds(key: string, text: string): Need[] {
  return key === 'vmstatestorage' ? [need('Datastore.AllocateSpace', on(`/storage/${text}`), { key })] : [];
}

/** The value of a secret does not matter here. */
function textOf(value: string | Secret): string {
  return typeof value === 'string' ? value : '';
}

interface KeyClass {
  readonly keys: RegExp;
  readonly privileges: OneOf<string>;
}

const CLASSES: readonly KeyClass[] = [
  { keys: /^(cores|sockets|vcpus|cpu|cpulimit|cpuunits|numa\d*|smp)$/, privileges: ['VM.Config.CPU'] },
  { keys: /^(memory|balloon|shares|allow-ksm)$/, privileges: ['VM.Config.Memory'] },
  {
    keys: /^(acpi|audio0|hotplug|kvm|machine|rng0|scsihw|smbios1|tablet|vga|watchdog)$/,
    privileges: ['VM.Config.HWType'],
  },
  {
    keys: /^(agent|autostart|bios|description|keyboard|localtime|migrate_(downtime|speed)|name|onboot|ostype|protection|reboot|startdate|startup|tags|tdf|template)$/,
    privileges: ['VM.Config.Options'],
  },
  { keys: /^freeze$/, privileges: ['VM.PowerMgmt'] },
  { keys: /^(boot|bootdisk|vmstatestorage)$/, privileges: ['VM.Config.Disk'] },
  { keys: /^net\d+$/, privileges: ['VM.Config.Network'] },
  {
    keys: /^(cicustom|cipassword|citype|ciupgrade|ciuser|ipconfig\d+|nameserver|searchdomain|sshkeys)$/,
    privileges: ['VM.Config.Cloudinit', 'VM.Config.Network'],
  },
];

/** Keys whose value decides what they need. */
const BY_VALUE = /^((ide|sata|scsi|virtio|efidisk|tpmstate|unused|serial|usb|hostpci|virtiofs)\d+)$/;

const INSTEAD: Readonly<Record<string, string>> = {
  args: 'Most of what is passed to QEMU this way has its own field; if it has none, have root set it on the node: qm set.',
  hookscript: 'Have root set it on the node, or on the template that is cloned: clones keep it.',
};
const INSTEAD_OF_OTHERS =
  'Leave it out of the file and have root set it on the node (qm set), or on the template that is cloned: clones keep it.';

/** For a key that is set or deleted; `paths` are those of the VM. */
function keyNeeds(key: string, paths: OneOf<AclPath>): Need[] {
  if (BY_VALUE.test(key)) return [];
  const cause = { key };
  const rule = CLASSES.find(({ keys }) => keys.test(key));
  // Proxmox has a list of allowed keys, so unknown ones need root too.
  if (!rule) return [rootOnly(cause, INSTEAD[key] ?? INSTEAD_OF_OTHERS)];
  const own = need(rule.privileges, paths, cause);
  // The start order also affects the host.
  return key === 'startup' ? [own, need('Sys.Modify', on('/'), cause)] : [own];
}
