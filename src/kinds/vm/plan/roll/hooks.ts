/** Which hooks the steps of a VM get: before it goes down, and after it is ready again. Pure. */
import { type Address, covers } from '../../../../base/address.ts';
import type { HookChoice, PlannedHook } from '../../../change.ts';
import type { HookChange, HookMoment, OutageRecord } from '../../../outage.ts';
import type { Step } from '../../../step.ts';
import type { VmFields } from '../../fields/index.ts';
import { type HookFields, hookTimeoutMs, withHookValues } from '../../fields/lifecycle.ts';
import { type HookInput, vmStep, vmSteps } from '../../steps.ts';

export interface HookedVm {
  readonly address: Address;
  /** `vm.worker`. */
  readonly group: string;
  readonly name: string;
  readonly hooks: HookFields | undefined;
  readonly nics: VmFields['nics'] | undefined;
  readonly change: HookChange;
  /** Begun by an earlier run that did not finish. */
  readonly open: OutageRecord | undefined;
  /** `before_stop` is about the old VM of a create-first replacement. */
  readonly ofReplaced?: boolean;
}

/** Undefined if the file has none, an earlier run finished it, or hooks are switched off. */
export function hookStep(vm: HookedVm, moment: HookMoment, choice: HookChoice = {}): Step | undefined {
  const hook = vm.hooks?.[moment];
  const status = vm.open?.hooks[moment];
  if (!hook || choice.off || status === 'done') return undefined;
  const names = (selectors: readonly string[] = []) => selectors.some((selector) => covers(selector, vm.address));
  const isUnknown = status === 'started' && hook.repeatable !== true && !names(choice.again);
  const input: HookInput = {
    moment,
    run: hook.run,
    timeoutMs: hookTimeoutMs(hook),
    group: vm.group,
    change: vm.change,
    ...(vm.nics && { nics: vm.nics }),
    ...(vm.ofReplaced && { ofReplaced: true as const }),
    ...(isUnknown && (names(choice.done) ? { countsAsDone: true as const } : { endUnknown: true as const })),
  };
  return vmStep(vm.address, 'vm.hook', input, { part: moment });
}

/** For display: with the name of the VM, and other variables as written in the file. */
export function plannedHooks(steps: readonly Step[], name: string): readonly PlannedHook[] {
  return vmSteps(steps, 'vm.hook').map(({ input: { moment, run, timeoutMs, endUnknown, countsAsDone } }) => ({
    moment,
    run: run.map((argument) => withHookValues(argument, (each) => (each === 'name' ? name : undefined))),
    timeoutMs,
    ...(endUnknown && { endUnknown }),
    ...(countsAsDone && { countsAsDone }),
  }));
}
