/**
 * The actions that turn a VM into a template. `template.install` starts the VM once and waits until it has installed
 * itself and shut down; `template.convert` checks and converts it; `template.retire` renames the version it replaces. The
 * actions of a VM do everything before.
 */

import { invariant, isFamily, ProxwrightError } from '../../base/errors.ts';
import { advice, command, setting } from '../../base/hint.ts';
import { printDuration } from '../../base/values/units.ts';
import type { ActionDefinition } from '../action.ts';
import { patiently } from '../safety/rounds.ts';
import { runTask } from '../safety/tasks.ts';
import type { VmAction, VmContext } from '../vm/actions/context.ts';
import { isRunning, startVm } from '../vm/actions/power.ts';
import { findVm, forgetObserved, inRounds, knownVm, look, sendToOurs } from '../vm/actions/safety/look.ts';
import { settleChange } from '../vm/actions/settle.ts';
import { propertyOf } from '../vm/config/parts.ts';
import { notOurs, sameVm, vmName } from '../vm/identity.ts';
import { effectiveValues, type VmObserved } from '../vm/observed.ts';
import { templateFaults } from './health.ts';
import type { TemplateRecord } from './record.ts';
import type {
  ConvertInput,
  InstallInput,
  RetireInput,
  SetAsideInput,
  TemplateActionName,
  TemplateInputs,
} from './steps.ts';

/** An installation takes minutes; noticing its end a few seconds late costs nothing. */
const POLL_MS = 5_000;

const installTemplate: VmAction<InstallInput> = async (context, { timeoutMs }) => {
  if (templateRecordOf(context).install === 'done') return;
  if (templateRecordOf(context).install === undefined) {
    if (!(await wasStarted(context))) await startOnce(context);
    await learnInstall(context, 'running');
  }
  const startedAt = context.clock.ticks();
  const deadline = startedAt + timeoutMs;
  for (;;) {
    const vm = await patiently(context, () => look(context));
    if (!(await patiently(context, () => isRunning(context, vm)))) break;
    const waitedMs = context.clock.ticks() - startedAt;
    context.progress(`installing itself, ${printDuration(waitedMs)} of at most ${printDuration(timeoutMs)}`);
    if (context.clock.ticks() >= deadline) throw stillRunning(context, vm, timeoutMs);
    await context.clock.sleep(Math.min(POLL_MS, deadline - context.clock.ticks()), context.signal);
  }
  await assertUntouched(context);
  await learnInstall(context, 'done');
  context.log.log('debug', `${context.address}: shut itself down`, { waitedMs: context.clock.ticks() - startedAt });
};

/** A guest that shut itself down has finished. If another client stopped it, nothing is known. */
async function assertUntouched(context: VmContext): Promise<void> {
  const vm = await patiently(context, () => look(context));
  const { node, vmid } = vm;
  const tasks = await patiently(context, () =>
    context.pve.node(node).tasks.list({ source: 'all', vmid }, { signal: context.signal }),
  );
  const stop = tasks.find(({ type, starttime }) => /^qm(stop|shutdown)$/.test(type) && starttime >= madeAt(vm));
  if (!stop) return;
  throw new ProxwrightError({
    code: 'CHECK_FAILED',
    detail: `${vmName(vm)} was stopped by ${stop.user} (${stop.type}) while it installed itself, so it may not have finished.`,
    where: { address: context.address },
    hint: advice`Look at ${vmName(vm)} first. ${command('apply', '--replace', context.address)} destroys it with its disks and builds it again.`,
  });
}

/** A start that failed may still have started the guest; a second start would boot the finished system. */
async function startOnce(context: VmContext): Promise<void> {
  try {
    await startVm(context, { mayBeUnderWay: true });
  } catch (error) {
    if (!isFamily(error, 'task')) throw error;
    const vm = await patiently(context, () => look(context));
    if (!(await patiently(context, () => isRunning(context, vm)))) throw error;
    context.log.log('warn', `${context.address}: its start failed, but it is running: ${error.diagnostic.detail}`);
  }
}

/**
 * An interrupted run may have started it without recording that. If it is stopped again, only the node's task list
 * shows that it has finished; another start would boot the installed system, which never shuts itself down.
 */
async function wasStarted(context: VmContext): Promise<boolean> {
  const vm = await patiently(context, () => look(context));
  if (await patiently(context, () => isRunning(context, vm))) return true;
  const { node, vmid } = vm;
  const tasks = await patiently(context, () =>
    context.pve.node(node).tasks.list({ source: 'all', vmid, typefilter: 'qmstart' }, { signal: context.signal }),
  );
  const isGood = (status: string | undefined) => /^(OK|WARNINGS)/.test(status ?? '');
  return tasks.some(({ starttime, status }) => starttime >= madeAt(vm) && isGood(status));
}

/** Creation time by the clock of its node, in seconds: earlier tasks belong to an earlier VM with this id. */
function madeAt({ current }: VmObserved): number {
  return Number(propertyOf('meta', current.get('meta')).get('ctime') ?? Number.POSITIVE_INFINITY);
}

function templateRecordOf(context: VmContext): TemplateRecord {
  const { template } = knownVm(context);
  invariant(template, `${context.address} is not being built as a template.`);
  return template;
}

async function learnInstall(context: VmContext, install: TemplateRecord['install']): Promise<void> {
  await context.learn({ template: { ...templateRecordOf(context), install } });
}

function stillRunning(context: VmContext, vm: { vmid: number; node: string }, timeoutMs: number): ProxwrightError {
  return new ProxwrightError({
    code: 'TASK_TIMEOUT',
    detail: `${vmName(vm)} was started to install itself and has not shut itself down within ${printDuration(timeoutMs)}.`,
    where: { address: context.address },
    hint: advice`Check its console: an installer that asks questions, or that reboots at the end, never shuts down. The next apply continues to wait; to allow more time: ${setting('install', { timeout: '…' })}. ${command('apply', '--replace', context.address)} destroys ${vmName(vm)} with its disks and starts over.`,
  });
}

const convertToTemplate: VmAction<ConvertInput> = async (context, expected) => {
  await inRounds(context, 'convert', async () => {
    const vm = await look(context);
    if (vm.template) return 'done';
    assertFit(context, vm, expected);
    const { node, vmid } = vm;
    await context.intend({ vmid, node, template: true, sentAt: context.clock.now() });
    context.progress('convert to a template');
    await runTask(context, {
      what: 'convert to a template',
      type: 'qmtemplate',
      node,
      vmid,
      timeoutMs: context.timeouts.cloneMs,
      send: () => sendToOurs(context, vm, (options) => context.pve.node(node).vm(vmid).template(options)),
    });
    forgetObserved(context);
    return 'again';
  });
};

function assertFit(context: VmContext, vm: VmObserved, expected: ConvertInput): void {
  const faults = templateFaults(effectiveValues(vm), expected);
  const [first] = faults;
  if (!first) return;
  throw new ProxwrightError({
    code: 'CHECK_FAILED',
    detail: `${vmName(vm)} cannot become a template yet. ${faults.map(({ detail }) => detail).join(' ')}`,
    where: { address: context.address, field: first.field },
    hint: first.hint,
  });
}

const setAside: VmAction<SetAsideInput> = async (context, { as }) => {
  if (context.recorded() !== undefined && context.recordedOf(as) === undefined) {
    await context.moveRecord(context.address, as);
  }
};

const retireTemplate: VmAction<RetireInput> = async (context, { former, name }) => {
  const known = context.recordedOf(former);
  invariant(known?.uuid !== undefined, `${former} is not recorded.`);
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

export const TEMPLATE_ACTIONS: {
  readonly [Name in TemplateActionName]: ActionDefinition<TemplateInputs[Name], VmContext>;
} = {
  'template.set-aside': { label: 'prepare', run: setAside },
  'template.install': {
    label: 'install',
    run: installTemplate,
    settle: settleChange,
    waitsUpTo: ({ timeoutMs }) => timeoutMs,
  },
  'template.convert': { label: 'convert', run: convertToTemplate, settle: settleChange },
  'template.retire': { label: 'configure', run: retireTemplate, settle: settleChange },
};
