/**
 * Changes of user.cfg, which holds users, tokens, groups, roles, the access control list and the pools: all of them happen
 * under one cluster-wide lock.
 */
import type { Runtime } from '../core/runtime.ts';
import { ApiFault, dieFault } from '../http/response.ts';
import type { World } from '../world/world.ts';
import { removeAclEntries } from './acl-tree.ts';

export const USER_CONFIG_LOCK = 'cfs:file-user_cfg';
const LOCK_WAIT_MS = 10_000;

/**
 * Rule [source AC AccessControl.pm lock_user_config]: every error inside, also a refusal or a wrong parameter, becomes a
 * plain 500 that begins with what was being done.
 */
export async function changeUserConfig<T>(runtime: Runtime, whatFailed: string, change: () => T): Promise<T> {
  const release = await runtime.locks.acquire(USER_CONFIG_LOCK, 'exclusive', LOCK_WAIT_MS);
  if (!release) throw dieFault(`${whatFailed}: cfs-lock 'file-user_cfg' error: got lock request timeout`);
  try {
    const result = change();
    dropDanglingEntries(runtime.world);
    return result;
  } catch (error) {
    if (error instanceof ApiFault) throw dieFault(`${whatFailed}: ${asText(error)}`);
    throw error;
  } finally {
    release();
  }
}

/** Rule [source PC Exception.pm stringify]: status and message, then one line per complaint. */
function asText(fault: ApiFault): string {
  const head = fault.status === 500 ? fault.message : `${fault.status} ${fault.message}`;
  const complaints = Object.entries(fault.errors ?? {}).map(([name, complaint]) => `${name}: ${complaint}\n`);
  return `${head}${complaints.join('')}`.replace(/\n$/, '');
}

/**
 * Rule [source AC AccessControl.pm parse_user_config]: on reading, entries with an unknown role or token are dropped
 * (recorded perm-roles); those of unknown users and groups stay.
 */
function dropDanglingEntries({ access }: World): void {
  removeAclEntries(
    access,
    (entry) => !access.roles.has(entry.role) || (entry.kind === 'token' && !access.tokens.has(entry.ugid)),
  );
}
