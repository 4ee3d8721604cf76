/** Waits for the lock of a VM only while a task may hold it, and names that task. */
import { hasCode, isCanceled, ProxwrightError, toDiagnostic } from '../../../../base/errors.ts';
import { advice, setting } from '../../../../base/hint.ts';
import { printDuration, upTo } from '../../../../base/values/units.ts';
import { vmName } from '../../identity.ts';
import { currentLock, type LockedVm, type LockTask, lockHolder, staleLock, taskName } from '../../lock.ts';
import type { VmContext } from '../context.ts';

/** A task that has just started or ended may be missing from the list, or still be in it, for some seconds. */
const RECHECK_MS = 8_000;

/** Repeats `work` while another client holds a lock, but not for a lock of this VM that no task holds. */
export function whileTaskLocks<T>(
  context: VmContext,
  subject: string,
  vm: () => { readonly node: string; readonly vmid: number } | undefined,
  work: () => Promise<T>,
): Promise<T> {
  const watch = new LockWatch(context);
  return context.whileBusy(subject, async () => {
    try {
      return await work();
    } catch (error) {
      const locked = vm();
      throw locked && hasCode(error, 'GUEST_LOCKED') ? await watch.judge(error, locked) : error;
    }
  });
}

export class LockWatch {
  readonly #context: VmContext;
  #task: string | undefined;

  constructor(context: VmContext) {
    this.#context = context;
  }

  /** The error to throw for a request that met a lock: the same one, with the task, where waiting may help. */
  async judge(error: ProxwrightError, vm: { readonly node: string; readonly vmid: number }): Promise<unknown> {
    try {
      const lock = await currentLock(this.#context, vm);
      if (lock !== undefined) await this.refuseStale({ ...vm, lock });
    } catch (problem) {
      if (isCanceled(problem) || hasCode(problem, 'STALE_LOCK')) return problem;
      this.#context.log.log('debug', `${this.#context.address}: cannot tell who holds the lock`, {
        code: toDiagnostic(problem).code,
      });
    }
    return this.#task === undefined ? error : error.with({ addedDetail: `It is locked by ${this.#task}.` });
  }

  /**
   * Throws if no task explains the lock, now and some seconds later. `isOwnTask`: only a task of ours, which the token
   * always sees, can hold this lock.
   */
  async refuseStale(vm: LockedVm, { isOwnTask = false } = {}): Promise<void> {
    const { address, clock, signal } = this.#context;
    this.#task = undefined;
    const checked = `twice within ${printDuration(RECHECK_MS)}`;
    for (let isSecond = false; ; isSecond = true) {
      const holder = await lockHolder(this.#context, vm);
      if (holder.kind === 'task') return this.#name(vm, holder.task);
      if (holder.kind === 'hidden' && !isOwnTask && vm.lock !== 'suspended') return;
      if ((await currentLock(this.#context, vm)) !== vm.lock) return;
      if (isSecond || vm.lock === 'suspended') {
        throw staleLock({ vm, holder, where: { address }, checked });
      }
      this.#context.progress(upTo(`locked (${vm.lock}), and no task works on it; checking again`, RECHECK_MS));
      await clock.sleep(RECHECK_MS, signal);
    }
  }

  /** The error for a wait that exceeded the limit of the stack. */
  stillLocked(vm: LockedVm): ProxwrightError {
    const { address } = this.#context;
    return new ProxwrightError({
      code: 'GUEST_LOCKED',
      detail: `${vmName(vm)} has been locked (${vm.lock}) for as long as rollout.timeouts.lock allows${this.#task === undefined ? '' : `, by ${this.#task}`}.`,
      where: { address },
      hint: advice`Run the command again when the task has ended, or allow more time: ${setting('rollout.timeouts.lock')}.`,
    });
  }

  #name(vm: LockedVm, task: LockTask): void {
    const { address, log, progress, timeouts } = this.#context;
    this.#task = taskName(task);
    const text = `locked (${vm.lock}): waiting up to ${printDuration(timeouts.lockMs)} for ${this.#task}`;
    progress(text);
    log.log('debug', `${address}: ${vmName(vm)} is ${text}`);
  }
}
