/** The flock on a VM's configuration file, with the waits and messages of the real server. */

import type { LockMode } from '../../core/locks.ts';
import type { Runtime } from '../../core/runtime.ts';
import type { Task } from '../../core/tasks.ts';
import { dieFault } from '../../http/response.ts';

export interface VmLockOptions {
  readonly mode?: LockMode;
  /** Rule [source GC AbstractConfig.pm lock_config]: 10 s unless the operation says otherwise. */
  readonly waitMs?: number;
  /** Inside a worker the task log shows the wait. */
  readonly task?: Task | undefined;
}

export function vmLockName(node: string, vmid: number): string {
  return `flock:${node}:${vmid}`;
}

export async function withVmLock<T>(
  runtime: Runtime,
  node: string,
  vmid: number,
  options: VmLockOptions,
  work: () => Promise<T> | T,
): Promise<T> {
  const { mode = 'exclusive', waitMs = 10_000, task } = options;
  const name = vmLockName(node, vmid);
  const mustWait = !runtime.locks.isFree(name, mode);
  // Rule [recorded clone-busy-config]: a worker that has to wait says so, and says ` OK` once it has the lock.
  if (mustWait) task?.log('trying to acquire lock...');
  const release = await runtime.locks.acquire(name, mode, waitMs);
  if (!release) throw dieFault(`can't lock file '/var/lock/qemu-server/lock-${vmid}.conf' - got timeout`);
  if (mustWait) task?.log(' OK');
  try {
    return await work();
  } finally {
    release();
  }
}
