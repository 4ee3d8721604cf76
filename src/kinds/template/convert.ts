/** `template.convert`: the check of what its clones will rely on, then the conversion, which cannot be undone. */
import { ProxwrightError } from '../../base/errors.ts';
import type { Action, ActionContext } from '../action.ts';
import { forgetObserved, look } from '../vm/actions/look.ts';
import { inRounds } from '../vm/actions/rounds.ts';
import { runTask } from '../vm/actions/tasks.ts';
import { vmName } from '../vm/identity.ts';
import { effectiveValues, type VmObserved } from '../vm/observed.ts';
import { templateFaults } from './health.ts';
import type { ConvertInput } from './steps.ts';

export const convertToTemplate: Action<ConvertInput> = async (context, expected) => {
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
