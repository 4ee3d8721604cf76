/**
 * What earlier processes left behind, looked up once for all resources. A process that dies leaves tasks running. Waiting for
 * them keeps us from starting the same work twice, and a VM shows our mark only when its creation is complete.
 */
import { orCanceled } from '../../base/clock.ts';
import { hasCode, isCanceled, ProxwrightError } from '../../base/errors.ts';
import { type Pve, parseUpid, type Upid } from '../../pve/index.ts';
import type { Surroundings } from '../surroundings.ts';
import { findIncomplete, type IncompleteQuery, type IncompleteVm, type ListedVm, listVms } from './incomplete.ts';

export class Leftovers {
  /** Those of the process: lookups that calls share end with none of them. */
  readonly #surroundings: Surroundings;
  #settled: Promise<readonly ListedVm[]> | undefined;
  /** By node: tasks that were running before this process began any there. */
  readonly #tasks = new Map<string, Promise<readonly Upid[]>>();

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
  }

  /** For a plan: nothing is waited for. */
  async glance(query: IncompleteQuery, signal: AbortSignal): Promise<IncompleteVm | undefined> {
    const { looks } = this.#surroundings;
    return findIncomplete(looks, await listVms(looks, signal), query, signal);
  }

  /** Before a creation: what may still be on its way is waited for. */
  async find(query: IncompleteQuery, signal: AbortSignal): Promise<IncompleteVm | undefined> {
    const { work } = this.#surroundings;
    const found = await findIncomplete(work, await this.list(signal), query, signal);
    if (found) await this.settle(found, signal);
    return found;
  }

  /** What there was when everything on its way had ended, and nothing of this process had begun. */
  list(signal: AbortSignal): Promise<readonly ListedVm[]> {
    this.#settled ??= this.#settleCreations();
    this.#settled.catch(() => {
      this.#settled = undefined;
    });
    return orCanceled(this.#settled, signal);
  }

  /** Before anything else is done to a VM that is there; says which tasks had to end. */
  settle(
    { node, vmid }: { readonly node: string; readonly vmid: number },
    signal: AbortSignal,
  ): Promise<readonly Upid[]> {
    return this.#waitForAll(node, (upid) => parseUpid(upid)?.id === String(vmid), signal);
  }

  async #settleCreations(): Promise<readonly ListedVm[]> {
    const { work, signal } = this.#surroundings;
    const nodes = (await work.nodes({ signal })).filter(({ status }) => status === 'online');
    // A clone is filed under its source, so nothing tells which VM it makes.
    await Promise.all(nodes.map(({ node }) => this.#waitForAll(node, isCreation, signal)));
    return listVms(work, signal);
  }

  async #waitForAll(node: string, isMeant: (upid: Upid) => boolean, signal: AbortSignal): Promise<readonly Upid[]> {
    const { work, signal: processSignal } = this.#surroundings;
    const tasks = this.#tasks.get(node) ?? runningTasks(work, node, processSignal);
    this.#tasks.set(node, tasks);
    tasks.catch(() => this.#tasks.delete(node));
    const meant = (await orCanceled(tasks, signal)).filter(isMeant);
    await Promise.all(meant.map((upid) => this.#waitForEnd(upid, signal)));
    return meant;
  }

  /** How it ended shows at the VM. */
  async #waitForEnd(upid: Upid, signal: AbortSignal): Promise<void> {
    const { work, log, rollout } = this.#surroundings;
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
