/**
 * What processes before this one left behind, looked at once for all resources. A process that dies leaves tasks running:
 * they are waited for, so that nothing is begun a second time beside them, and because a VM that is being made shows its mark
 * only when it has been made.
 */
import { hasCode, isCanceled, ProxwrightError } from '../../base/errors.ts';
import { type Pve, parseUpid, type Upid } from '../../pve/index.ts';
import type { Surroundings } from '../surroundings.ts';
import { findIncomplete, type IncompleteQuery, type IncompleteVm, type ListedVm, listVms } from './incomplete.ts';

export class Leftovers {
  readonly #surroundings: Surroundings;
  #settled: Promise<readonly ListedVm[]> | undefined;
  /** By node: tasks that were running before this process began any there. */
  readonly #tasks = new Map<string, Promise<readonly Upid[]>>();

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
    const found = await findIncomplete(work, await this.list(), query, signal);
    if (found) await this.settle(found);
    return found;
  }

  /** What there was when everything on its way had ended, and nothing of this process had begun. */
  list(): Promise<readonly ListedVm[]> {
    this.#settled ??= this.#settleCreations();
    this.#settled.catch(() => {
      this.#settled = undefined;
    });
    return this.#settled;
  }

  /** Before anything else is done to a VM that is there; says which tasks had to end. */
  settle({ node, vmid }: { readonly node: string; readonly vmid: number }): Promise<readonly Upid[]> {
    return this.#waitForAll(node, (upid) => parseUpid(upid)?.id === String(vmid));
  }

  async #settleCreations(): Promise<readonly ListedVm[]> {
    const { work, signal } = this.#surroundings;
    const nodes = (await work.nodes({ signal })).filter(({ status }) => status === 'online');
    // A clone is filed under its source, so nothing tells which VM it makes.
    await Promise.all(nodes.map(({ node }) => this.#waitForAll(node, isCreation)));
    return listVms(work, signal);
  }

  async #waitForAll(node: string, isMeant: (upid: Upid) => boolean): Promise<readonly Upid[]> {
    const { work, signal } = this.#surroundings;
    const tasks = this.#tasks.get(node) ?? runningTasks(work, node, signal);
    this.#tasks.set(node, tasks);
    tasks.catch(() => this.#tasks.delete(node));
    const meant = (await tasks).filter(isMeant);
    await Promise.all(meant.map((upid) => this.#waitForEnd(upid)));
    return meant;
  }

  /** How it ended shows at the VM. */
  async #waitForEnd(upid: Upid): Promise<void> {
    const { work, log, rollout, signal } = this.#surroundings;
    log.log('info', 'Waiting for a task that an earlier run began.', { upid });
    try {
      await work.tasks.wait(upid, { timeoutMs: rollout.timeouts.cloneMs, signal });
    } catch (error) {
      if (!(error instanceof ProxwrightError) || isCanceled(error)) throw error;
      if (hasCode(error, 'TASK_TIMEOUT')) throw error;
      log.log('debug', 'It had failed.', { upid, code: error.code });
    }
  }
}

const isCreation = (upid: Upid) => /^qm(clone|create)$/.test(parseUpid(upid)?.type ?? '');

/** What the engine begins; a backup or a console by the same token is none of its business. */
const OWN_TYPES = /^(qm(clone|create|config|start|stop|shutdown|destroy|igrate|template)|resize)$/;

/** By this very token. */
async function runningTasks(pve: Pve, node: string, signal: AbortSignal): Promise<readonly Upid[]> {
  const tasks = await pve.node(node).tasks.list({ source: 'active', limit: 500 }, { signal });
  return tasks
    .filter(({ type, status }) => OWN_TYPES.test(type) && (status ?? 'RUNNING') === 'RUNNING')
    .map(({ upid }) => upid)
    .filter((upid) => parseUpid(upid)?.user === pve.principal);
}
