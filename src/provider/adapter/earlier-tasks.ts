/**
 * Tasks that a process of the same token started and left running when it died. Waiting for them keeps this process from
 * starting the same work twice.
 */
import { orCanceled } from '../../base/clock.ts';
import { hasCode, isCanceled, ProxwrightError } from '../../base/errors.ts';
import { parseUpid, type Upid } from '../../pve/index.ts';
import type { Deps } from './deps.ts';

/** Remembers, for each node, which tasks were running before this process started any there. */
export class EarlierTasks {
  readonly #deps: Deps;
  readonly #isOurs: (type: string) => boolean;
  readonly #byNode = new Map<string, Promise<readonly Upid[]>>();

  /** `isOurs`: whether the engine starts tasks of this type. A backup by the same token is not one of them. */
  constructor(deps: Deps, isOurs: (type: string) => boolean) {
    this.#deps = deps;
    this.#isOurs = isOurs;
  }

  /** Waits until the tasks that `isMeant` selects have ended, and returns them. */
  async end(node: string, isMeant: (upid: Upid) => boolean, signal: AbortSignal): Promise<readonly Upid[]> {
    const running = this.#byNode.get(node) ?? this.#running(node);
    this.#byNode.set(node, running);
    running.catch(() => this.#byNode.delete(node));
    const meant = (await orCanceled(running, signal)).filter(isMeant);
    const { cloneMs } = this.#deps.rollout.timeouts;
    await Promise.all(meant.map((upid) => endOfTask({ ...this.#deps, signal }, upid, cloneMs)));
    return meant;
  }

  /** Calls share this list, so no single call's signal may end the request. */
  async #running(node: string): Promise<readonly Upid[]> {
    const { work, stop } = this.#deps;
    const tasks = await work.node(node).tasks.list({ source: 'active', limit: 500 }, { signal: stop });
    return tasks
      .filter(({ type, status }) => this.#isOurs(type) && (status ?? 'RUNNING') === 'RUNNING')
      .map(({ upid }) => upid)
      .filter((upid) => parseUpid(upid)?.user === work.principal);
  }
}

/** Waits for a task of an earlier process; false where it failed. How it ended shows in what it worked on. */
export async function endOfTask({ work, log, signal }: Deps, upid: Upid, timeoutMs: number): Promise<boolean> {
  log.log('info', 'Waiting for a task that an earlier run started.', { upid });
  try {
    await work.tasks.wait(upid, { timeoutMs, signal });
    return true;
  } catch (error) {
    if (!(error instanceof ProxwrightError) || isCanceled(error) || hasCode(error, 'TASK_TIMEOUT')) throw error;
    log.log('debug', 'The task had failed.', { upid, code: error.code });
    return false;
  }
}
