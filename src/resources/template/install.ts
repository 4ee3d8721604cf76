/**
 * `template.install`: the VM is started from its ISO, installs itself and switches itself off. That it was started is
 * written down before it is waited for: found switched off later, it has done its work and is not started again.
 */
import { invariant } from '../../base/assert.ts';
import { TaskError } from '../../base/errors.ts';
import { printDuration } from '../../base/units.ts';
import { isUpid } from '../../pve/index.ts';
import type { Action, ActionContext } from '../action.ts';
import { knownVm, look, vmName } from '../vm/actions/look.ts';
import { isRunning, startVm } from '../vm/actions/power.ts';
import { patiently } from '../vm/actions/rounds.ts';
import type { TemplateMemory } from '../vm/memory.ts';
import type { InstallInput } from './steps.ts';

/** An installation lasts minutes; to see its end some seconds late costs nothing. */
const POLL_MS = 5_000;

export const installTemplate: Action<InstallInput> = async (context, { timeoutMs }) => {
  if (memoryOf(context).install === 'done') return;
  if (memoryOf(context).install === undefined) {
    await startVm(context, { mayBeUnderWay: true });
    await learnInstall(context, 'running');
  }
  const startedAt = context.clock.now();
  const deadline = startedAt + timeoutMs;
  for (;;) {
    const vm = await patiently(context, () => look(context));
    if (!(await patiently(context, () => isRunning(context, vm)))) break;
    const waitedMs = context.clock.now() - startedAt;
    context.progress(`installing itself, ${printDuration(waitedMs)} of at most ${printDuration(timeoutMs)}`);
    if (context.clock.now() >= deadline) throw stillRunning(context, vm, timeoutMs);
    await context.clock.sleep(Math.min(POLL_MS, deadline - context.clock.now()), context.signal);
  }
  await learnInstall(context, 'done');
  context.log.log('debug', `${context.address}: switched itself off`, { waitedMs: context.clock.now() - startedAt });
};

/** A run that died between the start and writing it down: its task tells. */
export async function settleInstall(context: ActionContext, upid: string | undefined): Promise<void> {
  const memory = context.memory();
  if (!isUpid(upid) || memory?.template === undefined || memory.template.install !== undefined) return;
  const { exitstatus } = await context.pve.node(memory.node).tasks.status(upid, { signal: context.signal });
  if (exitstatus !== undefined && !/^(OK|WARNINGS)/.test(exitstatus)) return;
  await learnInstall(context, 'running');
}

function memoryOf(context: ActionContext): TemplateMemory {
  const { template } = knownVm(context);
  invariant(template, `${context.address} is not being built as a template.`);
  return template;
}

async function learnInstall(context: ActionContext, install: TemplateMemory['install']): Promise<void> {
  await context.learn({ template: { ...memoryOf(context), install } });
}

function stillRunning(context: ActionContext, vm: { vmid: number; node: string }, timeoutMs: number): TaskError {
  return new TaskError({
    code: 'TASK_TIMEOUT',
    detail: `${vmName(vm)} was started to install itself and has not switched itself off within ${printDuration(timeoutMs)}.`,
    where: { address: context.address },
    hint: 'Look at its console: an installer that asks questions, or reboots at its end, never gets there. The next apply goes on waiting; allow more time by install: { timeout: … }.',
  });
}
