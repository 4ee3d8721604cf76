/** The lock around allocating, freeing and cloning on a storage. */

import type { Release } from '../core/locks.ts';
import type { Runtime } from '../core/runtime.ts';
import { dieFault } from '../http/response.ts';
import type { Storage } from '../world/world.ts';

export type LogLine = (line: string) => void;

/** Rule [source ST Storage/Plugin.pm cluster_lock_storage]: both kinds of lock are waited for 10 s. */
const WAIT_MS = 10_000;
const CFS_RETRY_MS = 1000;

export async function withStorageLock<T>(
  runtime: Runtime,
  target: { readonly storage: Storage; readonly node: string; readonly log: LogLine },
  work: () => Promise<T>,
): Promise<T> {
  const release = await (target.storage.shared ? clusterLock(runtime, target) : fileLock(runtime, target));
  try {
    return await work();
  } finally {
    release();
  }
}

/** Rule [recorded clone-parallel-different-ids]: who has to wait for the file lock says so, and ` OK` once he has it. */
async function fileLock(
  runtime: Runtime,
  { storage, node, log }: { readonly storage: Storage; readonly node: string; readonly log: LogLine },
): Promise<Release> {
  const file = `/var/lock/pve-manager/pve-storage-${storage.id}`;
  const name = `${node}:${file}`;
  const mustWait = !runtime.locks.isFree(name, 'exclusive');
  if (mustWait) log('trying to acquire lock...');
  const release = await runtime.locks.acquire(name, 'exclusive', WAIT_MS);
  if (!release) throw dieFault(`can't lock file '${file}' - got timeout`);
  if (mustWait) log(' OK');
  return release;
}

/** Rule [source CL PVE/Cluster.pm $cfs_lock]: tried once a second, each failure with a line in the log. */
async function clusterLock(
  runtime: Runtime,
  { storage, log }: { readonly storage: Storage; readonly log: LogLine },
): Promise<Release> {
  const name = `storage-${storage.id}`;
  for (let waitedMs = 0; waitedMs < WAIT_MS; waitedMs += CFS_RETRY_MS) {
    const release = runtime.locks.isFree(`cfs:${name}`, 'exclusive')
      ? await runtime.locks.acquire(`cfs:${name}`, 'exclusive', 0)
      : undefined;
    if (release) return release;
    log(`trying to acquire cfs lock '${name}' ...`);
    await runtime.clock.sleep(CFS_RETRY_MS);
  }
  throw dieFault(`cfs-lock '${name}' error: got lock request timeout`);
}
