/** The actions of a template, by name; everything before them is made by the actions of a VM. */

import { invariant, isFamily, ProxwrightError } from '../../base/errors.ts';
import { advice, command, setting } from '../../base/hint.ts';
import { printDuration } from '../../base/units.ts';
import type { Action, ActionContext, ActionDefinition } from '../action.ts';
import { findVm, forgetObserved, inRounds, knownVm, look, patiently } from '../vm/actions/look.ts';
import { isRunning, startVm } from '../vm/actions/power.ts';
import { settleChange } from '../vm/actions/settle.ts';
import { runTask } from '../vm/actions/tasks.ts';
import { notOurs, sameVm, vmName } from '../vm/identity.ts';
import { effectiveValues, type VmObserved } from '../vm/observed.ts';
import { propertyOf } from '../vm/parts.ts';
import type { TemplateRecord } from '../vm/record.ts';
import { templateFaults } from './health.ts';
import type {
  ConvertInput,
  InstallInput,
  RetireInput,
  SetAsideInput,
  TemplateActionName,
  TemplateInputs,
} from './steps.ts';

/** An installation lasts minutes; to see its end some seconds late costs nothing. */
const POLL_MS = 5_000;

const installTemplate: Action<InstallInput> = async (context, { timeoutMs }) => {
  if (templateRecordOf(context).install === 'done') return;
  if (templateRecordOf(context).install === undefined) {
    if (!(await wasStarted(context))) await startOnce(context);
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
  await assertUntouched(context);
  await learnInstall(context, 'done');
  context.log.log('debug', `${context.address}: switched itself off`, { waitedMs: context.clock.now() - startedAt });
};

/** Off by its own hand is installed; off by somebody else's says nothing. */
async function assertUntouched(context: ActionContext): Promise<void> {
  const vm = await patiently(context, () => look(context));
  const { node, vmid } = vm;
  const tasks = await patiently(context, () =>
    context.pve.node(node).tasks.list({ source: 'all', vmid }, { signal: context.signal }),
  );
  const stop = tasks.find(({ type, starttime }) => /^qm(stop|shutdown)$/.test(type) && starttime >= madeAt(vm));
  if (!stop) return;
  throw new ProxwrightError({
    code: 'CHECK_FAILED',
    detail: `${vmName(vm)} was switched off by ${stop.user} (${stop.type}) while it installed itself, so nobody can say whether it had finished.`,
    where: { address: context.address },
    hint: advice`Build it anew: ${command('apply', '--replace', context.address)}`,
  });
}

/** A start that is said to have failed may have gone far enough; a second one would come when the work is done. */
async function startOnce(context: ActionContext): Promise<void> {
  try {
    await startVm(context, { mayBeUnderWay: true });
  } catch (error) {
    if (!isFamily(error, 'task')) throw error;
    const vm = await patiently(context, () => look(context));
    if (!(await patiently(context, () => isRunning(context, vm)))) throw error;
    context.log.log('warn', `${context.address}: its start failed, but it runs: ${error.diagnostic.detail}`);
  }
}

/**
 * By a run that died before it had written it down. It may be off again by now: then only the node's list of tasks knows
 * that it has done its work, and started once more it would boot what it has installed, and never switch itself off.
 */
async function wasStarted(context: ActionContext): Promise<boolean> {
  const vm = await patiently(context, () => look(context));
  if (await patiently(context, () => isRunning(context, vm))) return true;
  const { node, vmid } = vm;
  const tasks = await patiently(context, () =>
    context.pve.node(node).tasks.list({ source: 'all', vmid, typefilter: 'qmstart' }, { signal: context.signal }),
  );
  const isGood = (status: string | undefined) => /^(OK|WARNINGS)/.test(status ?? '');
  return tasks.some(({ starttime, status }) => starttime >= madeAt(vm) && isGood(status));
}

/** By the clock of its node, in seconds: whatever had the id before is not meant. */
function madeAt({ current }: VmObserved): number {
  return Number(propertyOf('meta', current.get('meta')).get('ctime') ?? Number.POSITIVE_INFINITY);
}

function templateRecordOf(context: ActionContext): TemplateRecord {
  const { template } = knownVm(context);
  invariant(template, `${context.address} is not being built as a template.`);
  return template;
}

async function learnInstall(context: ActionContext, install: TemplateRecord['install']): Promise<void> {
  await context.learn({ template: { ...templateRecordOf(context), install } });
}

function stillRunning(context: ActionContext, vm: { vmid: number; node: string }, timeoutMs: number): ProxwrightError {
  return new ProxwrightError({
    code: 'TASK_TIMEOUT',
    detail: `${vmName(vm)} was started to install itself and has not switched itself off within ${printDuration(timeoutMs)}.`,
    where: { address: context.address },
    hint: advice`Look at its console: an installer that asks questions, or reboots at its end, never gets there. The next apply goes on waiting; allow more time by ${setting('install', { timeout: '…' })}. To begin anew: ${command('apply', '--replace', context.address)}`,
  });
}

const convertToTemplate: Action<ConvertInput> = async (context, expected) => {
  await inRounds(context, 'convert', async () => {
    const vm = await look(context);
    if (vm.template) return 'done';
    assertFit(context, vm, expected);
    const { node, vmid } = vm;
    await context.intend({ vmid, node, template: true });
    context.progress('convert to a template');
    await runTask(context, {
      what: 'convert to a template',
      type: 'qmtemplate',
      node,
      vmid,
      timeoutMs: context.timeouts.cloneMs,
      send: () => context.pve.node(node).vm(vmid).template({ signal: context.signal }),
    });
    forgetObserved(context);
    return 'again';
  });
};

function assertFit(context: ActionContext, vm: VmObserved, expected: ConvertInput): void {
  const faults = templateFaults(effectiveValues(vm), expected);
  const [first] = faults;
  if (!first) return;
  throw new ProxwrightError({
    code: 'CHECK_FAILED',
    detail: `${vmName(vm)} is not fit to be a template. ${faults.map(({ detail }) => detail).join(' ')}`,
    where: { address: context.address, field: first.field },
    hint: first.hint,
  });
}

const setAside: Action<SetAsideInput> = async (context, { as }) => {
  if (context.recorded() !== undefined && context.recordedOf(as) === undefined) {
    await context.moveRecord(context.address, as);
  }
};

const retireTemplate: Action<RetireInput> = async (context, { former, name }) => {
  const known = context.recordedOf(former);
  invariant(known?.uuid !== undefined, `${former} is not remembered.`);
  await inRounds(context, 'retire', async () => {
    const vm = await findVm(context, known.node, known.vmid);
    if (!vm || vm.current.get('name') === name) return 'done';
    if (!sameVm(known, vm)) {
      const where = { address: context.address };
      throw notOurs({ address: former, recorded: known, observed: vm, acted: context.observed.acted, where });
    }
    await context.intend({ former, vmid: vm.vmid, node: vm.node, name });
    context.progress(`${vm.vmid} becomes ${name}`);
    await context.pve.node(vm.node).vm(vm.vmid).config.put({ name, digest: vm.digest }, { signal: context.signal });
    return 'again';
  });
};

export const TEMPLATE_ACTIONS: { readonly [Name in TemplateActionName]: ActionDefinition<TemplateInputs[Name]> } = {
  'template.set-aside': { label: 'prepare', run: setAside },
  'template.install': { label: 'install', run: installTemplate, settle: settleChange },
  'template.convert': { label: 'convert', run: convertToTemplate, settle: settleChange },
  'template.retire': { label: 'configure', run: retireTemplate, settle: settleChange },
};
