/** Which privilege a configuration key asks for by its name alone. Keys whose value decides are in drives.ts and devices.ts. */

import type { AclPath, Need, OneOf } from './need.ts';
import { need, on, rootOnly } from './need.ts';

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

/** Their value says what they ask for. */
const BY_VALUE = /^((ide|sata|scsi|virtio|efidisk|tpmstate|unused|serial|usb|hostpci|virtiofs)\d+)$/;

const INSTEAD: Readonly<Record<string, string>> = {
  args: 'Most of what is passed to QEMU this way has a field of its own; without one, root sets it on the node: qm set.',
  hookscript: 'Root sets it on the node, or on the template that is cloned: clones keep it.',
};
const INSTEAD_OF_OTHERS =
  'Leave it out of the file and have root set it on the node (qm set), or on the template that is cloned: clones keep it.';

/** For a key that is set or deleted; `paths` stand for the VM. */
export function keyNeeds(key: string, paths: OneOf<AclPath>): Need[] {
  if (BY_VALUE.test(key)) return [];
  const cause = { key };
  const rule = CLASSES.find(({ keys }) => keys.test(key));
  // The server has a list of what it allows, so whatever it does not know is for root as well.
  if (!rule) return [rootOnly(cause, INSTEAD[key] ?? INSTEAD_OF_OTHERS)];
  const own = need(rule.privileges, paths, cause);
  // The order in which VMs start is the host's business, too.
  return key === 'startup' ? [own, need('Sys.Modify', on('/'), cause)] : [own];
}
