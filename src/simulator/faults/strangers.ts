/**
 * Another client at work on the same cluster: edits a configuration, locks a VM, takes an id; and conditions that last for a
 * while: a lock in use, a full disk, a silent guest agent. It follows the same rules as every client: it waits for the file
 * lock, and what it writes is parsed again.
 */
import { USER_CONFIG_LOCK } from '../access/user-config.ts';
import type { Runtime } from '../core/runtime.ts';
import { withStorageLock } from '../storage/space.ts';
import { createVm, draftOf, emptyDraft, saveConfig, writtenConfig } from '../vm/config/config-file.ts';
import type { ConfigDraft } from '../vm/config/config-text.ts';
import { vmLockName, withVmLock } from '../vm/config/locking.ts';
import type { Vm } from '../world/world.ts';

/** Keys that take effect immediately while the VM runs; the others would wait in [PENDING]. */
const IMMEDIATE_KEYS = new Set(['description', 'tags', 'onboot', 'protection', 'name']);

export function editConfig(runtime: Runtime, vm: Vm, values: Readonly<Record<string, string>>): void {
  change(runtime, vm, (draft) => {
    if (draft.current.has('lock')) return;
    for (const [key, value] of Object.entries(values)) {
      (vm.process && !IMMEDIATE_KEYS.has(key) ? draft.pending : draft.current).set(key, value);
    }
  });
}

/** The user of another client's tasks. */
export const OTHER_USER = 'operator@pve';

/** The tasks that set these locks. */
const LOCKING_TASKS: Readonly<Record<string, string>> = {
  backup: 'vzdump',
  snapshot: 'qmsnapshot',
  migrate: 'qmigrate',
};

/** Ends the task that holds the lock of a VM. */
const releases = new WeakMap<Vm, () => void>();

/** Sets the `lock` property for a task, as a backup does, and removes it after `forMs`, if that is finite. */
export function lockVm(runtime: Runtime, vm: Vm, lock: string, forMs?: number): void {
  change(runtime, vm, (draft) => {
    if (draft.current.has('lock')) return;
    draft.current.set('lock', lock);
    const released = new Promise<void>((resolve) => releases.set(vm, resolve));
    runtime.tasks.fork(vm.node, LOCKING_TASKS[lock] ?? lock, String(vm.vmid), OTHER_USER, () => released);
    if (forMs !== undefined) {
      runtime.clock.sleep(forMs).then(
        () => unlockVm(runtime, vm, lock),
        () => {},
      );
    }
  });
}

export function unlockVm(runtime: Runtime, vm: Vm, lock: string): void {
  releases.get(vm)?.();
  change(runtime, vm, (draft) => {
    if (draft.current.get('lock') === lock) draft.current.delete('lock');
  });
}

/** Another client's VM appears under an id that was free a moment ago. */
export function takeId(runtime: Runtime, node: string, vmid: number): void {
  if (runtime.world.vms.has(vmid)) return;
  const draft = emptyDraft();
  draft.current = new Map([
    ['name', `another-clients-${vmid}`],
    ['memory', '512'],
    ['ostype', 'l26'],
  ]);
  createVm(runtime, node, vmid, writtenConfig(draft));
}

/** Immediately when the flock is free, so that the request that triggered it finds the change; otherwise as soon as it is free. */
function change(runtime: Runtime, vm: Vm, edit: (draft: ConfigDraft) => void): void {
  const save = () => {
    if (runtime.world.vms.get(vm.vmid) !== vm) return;
    const draft = draftOf(vm.config);
    edit(draft);
    saveConfig(vm, draft);
  };
  if (runtime.locks.isFree(vmLockName(vm.node, vm.vmid), 'exclusive')) save();
  // A stranger who waits too long gives up, like any client.
  else withVmLock(runtime, vm.node, vm.vmid, {}, save).catch(() => {});
}

/** Some other process holds the flock of the VM's configuration file. */
export function holdVmLock(runtime: Runtime, node: string, vmid: number, forMs: number): void {
  withVmLock(runtime, node, vmid, {}, () => runtime.clock.sleep(forMs)).catch(() => {});
}

export function holdStorageLock(runtime: Runtime, node: string, storageId: string, forMs: number): void {
  const storage = runtime.world.storages.get(storageId);
  if (!storage) return;
  withStorageLock(runtime, { storage, node, log: () => {} }, () => runtime.clock.sleep(forMs)).catch(() => {});
}

export function holdUserConfigLock(runtime: Runtime, forMs: number): void {
  const hold = async () => {
    const release = await runtime.locks.acquire(USER_CONFIG_LOCK, 'exclusive', forMs);
    if (!release) return;
    await runtime.clock.sleep(forMs);
    release();
  };
  hold().catch(() => {});
}

/** Other data fills the file system below a storage, or all file systems of the node if no storage is named. */
export function fillDisk(runtime: Runtime, node: string, storageId: string | undefined, forMs: number): void {
  const { world } = runtime;
  const storage = storageId === undefined ? undefined : world.storages.get(storageId);
  if (storageId !== undefined && !storage) return;
  const filesystems = world.nodes.get(storage?.shared ? world.entryNode : node)?.filesystems;
  for (const filesystem of [...(filesystems?.values() ?? [])]) {
    if (storage && filesystem.name !== storage.filesystem) continue;
    if (filesystem.foreignBytes === filesystem.totalBytes) continue; // full already
    filesystems?.set(filesystem.name, { ...filesystem, foreignBytes: filesystem.totalBytes });
    runtime.clock.sleep(forMs).then(
      () => filesystems?.set(filesystem.name, filesystem),
      () => {},
    );
  }
}

/** The agent runs but hangs: every ping times out. */
export function silenceAgent(runtime: Runtime, vm: Vm, forMs: number): void {
  if (vm.process) vm.process.agentBusyUntil = Math.max(vm.process.agentBusyUntil, runtime.clock.now() + forMs);
}
