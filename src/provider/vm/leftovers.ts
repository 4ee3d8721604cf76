/**
 * What processes before this one left behind, looked at once for all resources: first their creations that still run are
 * waited for, because a VM shows its mark only when it has been made; then the VMs are listed.
 */
import { Canceled, ProxwrightError, TaskError } from '../../base/errors.ts';
import { type Pve, parseUpid, type Upid } from '../../pve/index.ts';
import type { Surroundings } from '../surroundings.ts';
import { findIncomplete, type IncompleteQuery, type IncompleteVm, type ListedVm, listVms } from './incomplete.ts';

export class Leftovers {
  readonly #surroundings: Surroundings;
  #settled: Promise<readonly ListedVm[]> | undefined;

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
  }

  /** For a plan: nothing is waited for. */
  async glance(query: IncompleteQuery): Promise<IncompleteVm | undefined> {
    const { looks, signal } = this.#surroundings;
    return findIncomplete(looks, await listVms(looks, signal), query, signal);
  }

  /** Before a creation: what may still be on its way is waited for. */
  async find(query: IncompleteQuery): Promise<IncompleteVm | undefined> {
    const { work, signal } = this.#surroundings;
    this.#settled ??= this.#settle();
    this.#settled.catch(() => {
      this.#settled = undefined;
    });
    return findIncomplete(work, await this.#settled, query, signal);
  }

  async #settle(): Promise<readonly ListedVm[]> {
    const { work, signal } = this.#surroundings;
    const nodes = (await work.nodes({ signal })).filter(({ status }) => status === 'online');
    const running = await Promise.all(nodes.map(({ node }) => runningCreations(work, node, signal)));
    await Promise.all(running.flat().map((upid) => this.#waitForEnd(upid)));
    return listVms(work, signal);
  }

  /** How it ended shows at the VM. */
  async #waitForEnd(upid: Upid): Promise<void> {
    const { work, log, rollout, signal } = this.#surroundings;
    log.log('info', 'Waiting for a creation that an earlier run began.', { upid });
    try {
      await work.tasks.wait(upid, { timeoutMs: rollout.timeouts.cloneMs, signal });
    } catch (error) {
      if (!(error instanceof ProxwrightError) || error instanceof Canceled) throw error;
      if (error instanceof TaskError && error.code === 'TASK_TIMEOUT') throw error;
      log.log('debug', 'It had failed.', { upid, code: error.code });
    }
  }
}

/** By this very token. Called before this process creates anything, so they are not its own. */
async function runningCreations(pve: Pve, node: string, signal: AbortSignal): Promise<Upid[]> {
  const tasks = await pve.node(node).tasks.list({ source: 'active', limit: 500 }, { signal });
  return tasks
    .filter(({ type, status }) => (type === 'qmclone' || type === 'qmcreate') && (status ?? 'RUNNING') === 'RUNNING')
    .map(({ upid }) => upid)
    .filter((upid) => parseUpid(upid)?.user === pve.principal);
}
