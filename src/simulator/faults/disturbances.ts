/** Conditions of the cluster that last for a while: locks in use, a full disk, a guest agent that does not answer. */
import { USER_CONFIG_LOCK } from '../access/user-config.ts';
import type { Runtime } from '../core/runtime.ts';
import { withStorageLock } from '../storage/lock.ts';
import { withVmLock } from '../vm/locking.ts';
import type { Vm } from '../world/world.ts';

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

/** Things outside this world fill the file system below a storage, or all of the node's when no storage is named. */
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

/** The agent is there but busy with something endless: whoever asks finds nobody. */
export function silenceAgent(runtime: Runtime, vm: Vm, forMs: number): void {
  if (vm.process) vm.process.agentBusyUntil = Math.max(vm.process.agentBusyUntil, runtime.clock.now() + forMs);
}
