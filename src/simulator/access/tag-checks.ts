/**
 * Tags: which ones a caller may give and take. Mirrors get_allowed_tags and assert_tag_permissions of pve-guest-common's
 * src/PVE/GuestHelpers.pm.
 */
import { splitList, splitProperty } from '../../pve/wire/index.ts';
import type { Call } from '../core/call.ts';
import { permFault } from '../http/response.ts';
import { checkVmPermission } from './vm-permission.ts';

interface TagRules {
  readonly allowed: ReadonlySet<string>;
  /** Registered tags: reserved for those with Sys.Modify on `/`. */
  readonly privileged: ReadonlySet<string>;
  /** Any tag that is not privileged will do. */
  readonly isFreeForm: boolean;
}

/** Rule [source GC GuestHelpers.pm assert_tag_permissions]: only tags that come or go are looked at. */
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
 * so where tags are restricted, nobody without Sys.Modify can create a VM with tags.
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
