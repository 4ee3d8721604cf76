/** For unit tests: a runtime over the recorded world, and calls in the name of any user. */
import { silentLogger } from '../../base/log.ts';
import { seededRandom } from '../../base/random.ts';
import { VirtualClock } from '../../base/virtual-clock.ts';
import { setAclEntry } from '../access/acl.ts';
import { makeCheckers } from '../access/checks.ts';
import { parseTokenName, ROOT } from '../access/names.ts';
import type { Call, Caller } from '../core/call.ts';
import { LockTable } from '../core/locks.ts';
import type { Runtime } from '../core/runtime.ts';
import { TaskRunner } from '../core/tasks.ts';
import { ApiFault } from '../http/response.ts';
import { buildWorld } from '../world/build-world.ts';
import { RECORDED_WORLD } from '../world/recorded-world.ts';

export function testRuntime(): Runtime & { readonly clock: VirtualClock } {
  const clock = new VirtualClock();
  const random = seededRandom('access');
  const world = buildWorld(RECORDED_WORLD, { now: clock.now(), file: 'recorded' });
  const locks = new LockTable(clock);
  return { world, clock, random, locks, tasks: new TaskRunner(world, clock, random, {}), log: silentLogger };
}

export function callerOf(authid: string): Caller {
  const token = parseTokenName(authid);
  return { userid: token?.userid ?? authid, tokenid: token?.tokenid, authid, isRoot: authid === ROOT };
}

export function testCall(runtime: Runtime, authid: string): Call {
  const caller = callerOf(authid);
  return {
    runtime,
    caller,
    params: {},
    texts: {},
    node: runtime.world.entryNode,
    ...makeCheckers(runtime.world, caller),
    request: refuseRequest,
    fork: (type, id, job) => runtime.tasks.fork(runtime.world.entryNode, type, id, authid, job),
  };
}

/** A call to a single handler has no API. */
export async function refuseRequest(method: string, path: string): Promise<never> {
  throw new Error(`${method} ${path}: ask a whole simulator`);
}

/** A user with a role of exactly these privileges on the path, in addition to its own. */
export function grant(
  runtime: Runtime,
  authid: string,
  path: string,
  privileges: readonly string[],
  propagate = true,
): void {
  const { access } = runtime.world;
  const token = parseTokenName(authid);
  const userid = token?.userid ?? authid;
  if (!access.users.has(userid)) {
    const details = new Map<string, string>();
    access.users.set(userid, { userid, enable: true, expire: 0, details, groups: new Set(), password: undefined });
  }
  const role = `Test-${privileges.join('-') || 'Nothing'}`;
  access.roles.set(role, { roleid: role, privileges: new Set(privileges), special: false });
  setAclEntry(access, { path, kind: token ? 'token' : 'user', ugid: authid, role, propagate });
}

/** The refusal as the server would send it: `403 Permission check failed (…)`, or undefined if there is none. */
export function refusalOf(work: () => unknown): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (error instanceof ApiFault) return `${error.status} ${error.asTaskError().replace(/^(400|401|403) /, '')}`;
    throw error;
  }
}

export async function asyncRefusalOf(work: () => Promise<unknown> | unknown): Promise<string | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    return refusalOf(() => {
      throw error;
    });
  }
}
