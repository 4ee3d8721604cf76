/** For tests beside the code: the recorded world with one storage of every other kind added, and a log to look at. */
import type { VirtualClock } from '../../base/virtual-clock.ts';
import type { Runtime } from '../core/runtime.ts';
import type { FileSystem, Storage, StorageType } from '../world/world.ts';
import { testRuntime } from './access.ts';

export const NODE = 'pve1';
const GIB = 1024 ** 3;

export type StorageRuntime = Runtime & { readonly clock: VirtualClock };

export function storageRuntime(): StorageRuntime {
  const runtime = testRuntime();
  addStorage(runtime, 'thin', 'lvmthin', { vgname: 'pve', thinpool: 'data' });
  addStorage(runtime, 'thick', 'lvm', { vgname: 'vg0' });
  addStorage(runtime, 'tank', 'zfspool', { pool: 'tank' });
  addStorage(runtime, 'ceph', 'rbd', { pool: 'vms' });
  addStorage(runtime, 'share', 'nfs', { server: 'nas', export: '/vms' });
  return runtime;
}

export function addStorage(
  runtime: Runtime,
  id: string,
  type: StorageType,
  options: Readonly<Record<string, string>>,
  totalBytes = 100 * GIB,
): Storage {
  const filesystem: FileSystem = { name: id, totalBytes, foreignBytes: 0, reservedBytes: 0 };
  runtime.world.nodes.get(NODE)?.filesystems.set(id, filesystem);
  const storage: Storage = {
    id,
    type,
    content: new Set(['images']),
    shared: type === 'nfs' || type === 'rbd',
    disabled: false,
    nodes: undefined,
    path: type === 'nfs' ? `/mnt/pve/${id}` : type === 'dir' ? `/srv/${id}` : undefined,
    filesystem: id,
    bandwidthBytesPerSecond: 100 * 1024 ** 2,
    options: new Map(Object.entries(options)),
    volumes: new Map(),
  };
  runtime.world.storages.set(id, storage);
  return storage;
}

export const ignored = () => {};
