/**
 * The [PENDING] section: changes that a stopped VM applies immediately and a running one at its next stop or start.
 * Also handles volumes that a change detaches.
 */
import { shuffled } from '../../../base/random.ts';
import type { Runtime } from '../../core/runtime.ts';
import { dieFault } from '../../http/response.ts';
import { freeVolume } from '../../storage/allocate.ts';
import { trySplitVolid } from '../../storage/names.ts';
import { parseVolumeName, splitVolid, storageConfig } from '../../storage/volumes.ts';
import type { Vm } from '../../world/world.ts';
import { applyCloudInit } from '../cloudinit.ts';
import { draftOf, saveConfig } from '../config/config-file.ts';
import { isDriveKey, isUnusedKey } from '../config/config-keys.ts';
import type { ConfigDraft } from '../config/config-text.ts';
import { type Drive, drivesOf, isPlainCdrom, parseDrive, printDrive } from '../disks/drive.ts';
import { changedEfiDisk } from '../disks/firmware.ts';
import { errorText } from '../error-text.ts';

/** What applying a change may need. */
export interface ApplyContext {
  readonly runtime: Runtime;
  readonly node: string;
  readonly vmid: number;
  readonly log: (line: string) => void;
  /** A warning that a task counts. */
  readonly warn: (text: string) => void;
  /** Refuses the deletion of a volume on a storage where the caller has no Datastore.AllocateSpace. */
  readonly requireSpace: (storageId: string) => void;
  readonly requireDiskRight: () => void;
}

/**
 * Applies all pending changes of a stopped VM without permission checks: at start and after stop the server itself does
 * it.
 */
export async function applyPending(runtime: Runtime, vm: Vm, log: (line: string) => void = () => {}): Promise<void> {
  if (vm.config.pending.size === 0 && vm.config.pendingDeletes.size === 0) return;
  await applyPendingCold(
    {
      runtime,
      node: vm.node,
      vmid: vm.vmid,
      log,
      warn: (text) => log(`WARN: ${text}`),
      requireSpace: () => {},
      requireDiskRight: () => {},
    },
    vm,
  );
}

/**
 * Rule [source QS QemuServer.pm vmconfig_apply_pending]: deletes first, then values in random order; what fails stays
 * pending and is reported per key, the rest is applied.
 */
export async function applyPendingCold(context: ApplyContext, vm: Vm): Promise<Record<string, string>> {
  const draft = draftOf(vm.config);
  const errors: Record<string, string> = {};
  const attempt = async (key: string, work: () => Promise<void>): Promise<boolean> => {
    try {
      await work();
      return true;
    } catch (error) {
      const problem = `unable to apply pending change ${key} : ${errorText(error)}\n`;
      errors[key] = problem;
      context.log(problem);
      return false;
    }
  };
  for (const key of [...draft.pendingDeletes.keys()].sort()) {
    const force = draft.pendingDeletes.get(key) ?? false;
    const done = await attempt(key, async () => {
      const value = draft.current.get(key);
      if (value !== undefined && isDriveKey(key)) await deleteOrDetach(context, draft, key, value, force);
    });
    if (!done) continue;
    draft.pendingDeletes.delete(key);
    draft.current.delete(key);
  }
  cleanupPending(draft);
  let needsCloudInit = false;
  for (const [key, pendingValue] of shuffled(context.runtime.random, [...draft.pending])) {
    let value = pendingValue;
    const done = await attempt(key, async () => {
      const old = draft.current.get(key);
      const drive = old !== undefined && isDriveKey(key) ? parseDrive(key, old) : undefined;
      if (!drive) return;
      await registerUnused(context, draft, drive);
      const requested = key === 'efidisk0' ? parseDrive(key, value) : undefined;
      if (requested) value = printDrive(changedEfiDisk(drive, requested, context.log));
    });
    if (!done) continue;
    draft.pending.delete(key);
    draft.current.set(key, value);
    needsCloudInit ||= isDriveKey(key) && (parseDrive(key, value)?.isCloudInit ?? false);
  }
  saveConfig(vm, draft);
  // Rule [source QS QemuServer.pm vmconfig_apply_pending]: attaching a cloud-init drive generates its image, and only after
  // the configuration is written, so a failure there leaves everything applied.
  if (needsCloudInit) {
    const written = draftOf(vm.config);
    await applyCloudInit(context, written);
    saveConfig(vm, written);
  }
  return errors;
}

/** Rule [source GC AbstractConfig.pm cleanup_pending]: what is already so (as text), or already gone, is not pending. */
export function cleanupPending(draft: ConfigDraft): boolean {
  let changed = false;
  for (const [key, value] of draft.pending) {
    if (draft.current.get(key) === value) changed = draft.pending.delete(key) || changed;
  }
  for (const key of draft.pendingDeletes.keys()) {
    if (!draft.current.has(key)) changed = draft.pendingDeletes.delete(key) || changed;
  }
  return changed;
}

/** Rule [source QS QemuServer.pm vmconfig_delete_or_detach_drive]. */
export async function deleteOrDetach(
  context: ApplyContext,
  draft: ConfigDraft,
  key: string,
  value: string,
  force: boolean,
): Promise<void> {
  const drive = parseDrive(key, value);
  if (!drive) return;
  if (!force) return registerUnused(context, draft, drive);
  context.requireDiskRight();
  await deallocate(context, draft, drive, true);
}

/** Rule [source QS QemuServer.pm try_deallocate_drive]: true when the entry may go from the configuration. */
export async function deallocate(
  context: ApplyContext,
  draft: ConfigDraft,
  drive: Drive,
  force: boolean,
): Promise<boolean> {
  if (!(force || isUnusedKey(drive.key)) || isPlainCdrom(drive)) return false;
  if (!isOwner(context, drive.file)) return true;
  context.requireSpace(splitVolid(drive.file).storage);
  if (isInUse(draft, drive)) throw dieFault(`unable to delete '${drive.file}' - volume is still in use (snapshot?)`);
  await freeVolume(context.runtime, { node: context.node, volid: drive.file, log: context.log });
  return true;
}

/**
 * Rule [source QS QemuServer.pm vmconfig_register_unused_drive]: a detached disk of this VM becomes the lowest free
 * `unusedN`; a cloud-init drive is destroyed; a foreign volume just leaves the configuration.
 */
export async function registerUnused(context: ApplyContext, draft: ConfigDraft, drive: Drive): Promise<void> {
  if (drive.isCloudInit) {
    try {
      await freeVolume(context.runtime, { node: context.node, volid: drive.file, log: context.log });
    } catch (error) {
      context.log(errorText(error));
    }
    draft.cloudInit = undefined;
    return;
  }
  const storageId = drive.isCdrom ? undefined : trySplitVolid(drive.file)?.storage;
  if (storageId === undefined) return;
  if (!context.runtime.world.storages.has(storageId)) {
    context.warn(`storage '${storageId}' no longer exists, volume '${drive.file}' will be removed from config`);
  } else if (isOwner(context, drive.file)) {
    addUnused(draft, drive.file);
  }
}

const MAX_UNUSED = 256;

/** Rule [source GC AbstractConfig.pm add_unused_volume]: no duplicates, lowest free number. */
export function addUnused(draft: ConfigDraft, volid: string): void {
  let free: string | undefined;
  for (let index = MAX_UNUSED - 1; index >= 0; index--) {
    const key = `unused${index}`;
    const existing = draft.current.get(key);
    if (existing === volid) return;
    if (existing === undefined) free = key;
  }
  if (!free) throw dieFault('Too many unused volumes - please delete them first.');
  draft.current.set(free, volid);
}

/** Rule [source QS QemuServer.pm vm_is_volid_owner]: a volume that cannot be looked up has no owner, with a warning. */
function isOwner(context: ApplyContext, volid: string): boolean {
  if (volid.startsWith('/')) return false;
  try {
    return volumeOwner(context.runtime, volid) === context.vmid;
  } catch (error) {
    context.warn(`ownership of volume '${volid}' could not be determined: ${errorText(error)}`);
    return false;
  }
}

/** The owner of a volume, from its name; throws if the name or its storage is unknown. */
export function volumeOwner(runtime: Runtime, volid: string): number | undefined {
  const { storage, name } = splitVolid(volid);
  return parseVolumeName(storageConfig(runtime.world, storage), name).vmid;
}

/** Rule [source QS QemuServer/Drive.pm is_volume_in_use]: in another slot, or in a snapshot. */
export function isInUse(draft: ConfigDraft, drive: Drive): boolean {
  const uses = (config: ReadonlyMap<string, string>, except?: string) =>
    drivesOf(config).some((other) => other.key !== except && !other.isCdrom && other.file === drive.file);
  return uses(draft.current, drive.key) || [...draft.snapshots.values()].some((snapshot) => uses(snapshot));
}
