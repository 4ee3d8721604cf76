/**
 * What changing a VM's configuration needs: the one door to all checks that create_vm, update_vm_api and clone_vm of
 * qemu-server's src/PVE/API2/Qemu.pm make. They call them in the server's order:
 *
 * create   checkPoolExists (pools.ts), checkVmPermission for `start`, VM.Allocate; if any key was given
 *          checkStorageAccess, checkVmModifyPermissions, checkCreateDevicePermissions, checkBridgeAccess,
 *          checkCpuModelAccess; in the worker, before the file is written, checkTagPermissions with no old tags.
 * update   checkVmModifyPermissions for the deleted and for the given keys, checkStorageAccess, checkBridgeAccess;
 *          with the configuration at hand checkCpuModelAccess; then, key by key as they are applied, for the old and
 *          the new value: checkDrivePermission, check{Usb,HostPci,Rng,Dir}Permission, checkTagPermissions, and
 *          checkBridgeAccess for an old NIC.
 * clone    checkPoolExists, checkStorageAccessClone, checkMappingAccess, checkBridgeAccess, checkCpuModelAccess, all on
 *          the source's configuration or that of the snapshot.
 *
 * Here: checkVmModifyPermissions ($check_vm_modify_config_perm) and checkDrivePermission ($check_drive_perms). The files
 * behind the re-exports name what they mirror.
 */
import type { Call } from '../core/call.ts';
import { dieFault } from '../http/response.ts';
import { isDriveKey, parseDrive } from '../vm/drive.ts';
import { isServerSince } from '../world/releases.ts';
import { checkVmPermission } from './vm-permission.ts';

export {
  checkBridgeAccess,
  checkCpuModelAccess,
  checkCreateDevicePermissions,
  checkDirPermission,
  checkFormerBridgeAccess,
  checkHostPciPermission,
  checkMappingAccess,
  checkRngPermission,
  checkUsbPermission,
} from './device-checks.ts';
export { checkTagPermissions, OLD_TAGS_OF_A_NEW_VM } from './tag-checks.ts';
export { checkVmPermission } from './vm-permission.ts';
export { checkStorageAccess, checkStorageAccessClone, checkVolumeAccess } from './volume-checks.ts';

interface KeyClass {
  readonly keys: RegExp;
  readonly privileges: readonly string[];
  /** One of the privileges is enough. */
  readonly any?: true;
}

/** Rule [source QS API2/Qemu.pm check_vm_modify_config_perm]: the class of each key decides the privilege. */
const KEY_CLASSES: readonly KeyClass[] = [
  {
    keys: /^(cores|cpu|runningcpu|cpulimit|cpuunits|numa|numa\d+|smp|sockets|vcpus)$/,
    privileges: ['VM.Config.CPU'],
  },
  { keys: /^(memory|balloon|shares|allow-ksm)$/, privileges: ['VM.Config.Memory'] },
  {
    keys: /^(acpi|hotplug|kvm|machine|runningmachine|scsihw|smbios1|tablet|vga|watchdog|audio0|rng0)$/,
    privileges: ['VM.Config.HWType'],
  },
  {
    keys: /^(agent|autostart|bios|description|keyboard|localtime|migrate_downtime|migrate_speed|name|onboot|ostype|protection|reboot|startdate|startup|tdf|template)$/,
    privileges: ['VM.Config.Options'],
  },
  { keys: /^freeze$/, privileges: ['VM.PowerMgmt'] },
  { keys: /^(boot|bootdisk|vmstatestorage)$/, privileges: ['VM.Config.Disk'] },
  { keys: /^(net\d+|running-nets-host-mtu)$/, privileges: ['VM.Config.Network'] },
  {
    keys: /^(cicustom|cipassword|citype|ciuser|ciupgrade|nameserver|searchdomain|sshkeys|ipconfig\d+)$/,
    privileges: ['VM.Config.Cloudinit', 'VM.Config.Network'],
    any: true,
  },
  { keys: /^vmstate$/, privileges: ['VM.Config.Disk', 'VM.PowerMgmt'] },
];

/** Keys whose privilege depends on the value: checked where the value is known. */
const VALUE_DEPENDENT = /^(cdrom|tags|(unused|serial|usb|hostpci|virtiofs)\d+)$/;

export function checkVmModifyPermissions(
  call: Call,
  vmid: number,
  pool: string | undefined,
  keys: Iterable<string>,
): void {
  if (call.caller.isRoot) return;
  for (const key of keys) {
    if (isDriveKey(key) || VALUE_DEPENDENT.test(key)) continue;
    // Rule [source QS API2/Qemu.pm $hwtypeoptions of 8.2.7]: random numbers are for root@pam alone before 8.4.
    const isRootOnly = key === 'rng0' && !isServerSince(call.runtime.world, '8.4');
    const keyClass = isRootOnly ? undefined : KEY_CLASSES.find((each) => each.keys.test(key));
    // Rule [recorded perm-admin-limits]: every other key, and any the list does not know, is for root@pam alone.
    if (!keyClass) throw dieFault(`only root can set '${key}' config`);
    checkVmPermission(call, vmid, pool, keyClass.privileges, { any: keyClass.any ?? false });
    // Rule [recorded perm-admin-limits]: the start order is the host's business, too.
    if (key === 'startup') call.require('/', ['Sys.Modify']);
  }
}

/** Rule [source QS API2/Qemu.pm check_drive_perms]: what the value is decides: cloud-init, CD or disk. */
export function checkDrivePermission(call: Call, vmid: number, key: string, value: string): void {
  const drive = parseDrive(key, value);
  if (drive?.isCloudInit) checkVmPermission(call, vmid, undefined, ['VM.Config.Cloudinit', 'VM.Config.CDROM']);
  else if (drive?.isCdrom) checkVmPermission(call, vmid, undefined, ['VM.Config.CDROM']);
  else checkVmPermission(call, vmid, undefined, ['VM.Config.Disk']);
}
