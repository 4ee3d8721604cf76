/**
 * What changing a VM's configuration needs. create_vm, update_vm_api and clone_vm of qemu-server's src/PVE/API2/Qemu.pm
 * make these checks, in this order:
 *
 * create   checkPoolExists (`user-config.ts`), checkVmPermission for `start`, VM.Allocate; if any key was given
 *          checkStorageAccess, checkVmModifyPermissions, checkCreateDevicePermissions, checkBridgeAccess,
 *          checkCpuModelAccess; in the worker, before the file is written, checkTagPermissions with no old tags.
 * update   checkVmModifyPermissions for the deleted and for the given keys, checkStorageAccess, checkBridgeAccess;
 *          with the configuration at hand checkCpuModelAccess; then, key by key as they are applied, for the old and
 *          the new value: checkDrivePermission, check{Usb,HostPci,Rng,Dir}Permission, checkTagPermissions, and
 *          checkBridgeAccess for an old NIC.
 * clone    checkPoolExists, checkStorageAccessClone, checkMappingAccess, checkBridgeAccess, checkCpuModelAccess, all on
 *          the source's configuration or that of the snapshot.
 *
 * Here: checkVmModifyPermissions ($check_vm_modify_config_perm), checkDrivePermission ($check_drive_perms), and
 * checkTagPermissions (get_allowed_tags and assert_tag_permissions of pve-guest-common's src/PVE/GuestHelpers.pm). Storages
 * and volumes are in `volume-checks.ts`, devices in `device-checks.ts`.
 */

import { splitList, splitProperty } from '../../pve/wire/index.ts';
import type { Call } from '../core/call.ts';
import { dieFault, permFault } from '../http/response.ts';
import { isDriveKey, parseDrive } from '../vm/disks/drive.ts';
import { isServerSince } from '../world/releases.ts';
import { checkVmPermission } from './checks.ts';

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
    // Rule [recorded perm-admin-limits]: the start order affects the host, too.
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

interface TagRules {
  readonly allowed: ReadonlySet<string>;
  /** Registered tags: reserved for users with Sys.Modify on `/`. */
  readonly privileged: ReadonlySet<string>;
  /** Any tag that is not privileged is allowed. */
  readonly isFreeForm: boolean;
}

/** Rule [source GC GuestHelpers.pm assert_tag_permissions]: only added and removed tags are checked. */
export function checkTagPermissions(call: Call, vmid: number, oldTags: string, newTags: string): void {
  checkVmPermission(call, vmid, undefined, ['VM.Config.Options']);
  if (call.may('/', ['Sys.Modify'])) return;
  const [before, after] = [counted(oldTags), counted(newTags)];
  let rules: TagRules | undefined;
  for (const tag of new Set([...after.keys(), ...before.keys()])) {
    if (before.get(tag) === after.get(tag)) continue;
    rules ??= tagRules(call);
    if ((!rules.allowed.has(tag) && !rules.isFreeForm) || rules.privileged.has(tag)) {
      throw permFault(`/, Sys.Modify for modifying tag '${tag}'`);
    }
  }
}

/**
 * Rule [observed 9.2.11]: a creation hands over an empty Perl hash as the old tags, and its address counts as one of them;
 * so where tags are restricted, creating a VM with tags needs Sys.Modify.
 */
export const OLD_TAGS_OF_A_NEW_VM = 'HASH(0x5626c1a3f2d8)';

/** What GET /cluster/options offers the caller as `allowed-tags`. */
export function allowedTags(call: Call): string[] {
  return [...tagRules(call).allowed].sort();
}

/** Rule [source GC GuestHelpers.pm get_allowed_tags]: the datacenter's lists, and tags of the VMs one can see. */
function tagRules(call: Call): TagRules {
  const { datacenter, vms } = call.runtime.world;
  const isPrivileged = call.may('/', ['Sys.Modify']);
  const access = new Map(splitProperty(datacenter.get('user-tag-access') ?? '').map((part) => [part.key, part.value]));
  const userAllow = access.get('user-allow') ?? 'free';
  const allowed = new Set<string>();
  if (userAllow !== 'none' || isPrivileged) {
    for (const tag of splitList(access.get('user-allow-list') ?? '')) allowed.add(tag);
  }
  if (userAllow === 'free' || userAllow === 'existing' || isPrivileged) {
    for (const vm of vms.values()) {
      const tags = vm.config.current.get('tags');
      if (!tags || !(isPrivileged || call.may(`/vms/${vm.vmid}`, ['VM.Audit']))) continue;
      for (const tag of splitList(tags)) allowed.add(tag);
    }
  }
  const privileged = new Set(splitList(datacenter.get('registered-tags') ?? ''));
  for (const tag of privileged) {
    if (isPrivileged) allowed.add(tag);
    else allowed.delete(tag);
  }
  return { allowed, privileged, isFreeForm: userAllow === 'free' };
}

/** A tag given twice is not the same as given once: only then does a repetition count as a change. */
function counted(tags: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const tag of splitList(tags)) counts.set(tag, (counts.get(tag) ?? 0) + 1);
  return counts;
}
