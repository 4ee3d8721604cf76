/** `vm.verify`: reads the VM back and compares everything; only then does it count as complete, and may be started. */
import { ProxwrightError } from '../../../base/errors.ts';
import type { Action } from '../../action.ts';
import type { DesiredValue } from '../desired.ts';
import { actualOf, mergedText, unsatisfied } from '../diff/merge.ts';
import { vmName } from '../identity.ts';
import { effectiveValues, type VmObserved } from '../observed.ts';
import { macsOf } from '../parts.ts';
import type { VerifyInput } from '../steps.ts';
import { desiredValuesOf } from './configure.ts';
import { look } from './look.ts';
import { patiently } from './rounds.ts';

export const verifyVm: Action<VerifyInput> = async (context, { desired, applied, finishes }) => {
  context.progress('verify');
  const vm = await patiently(context, () => look(context));
  const desiredValues = desiredValuesOf(context, desired);
  const differences = differencesOf(desiredValues, vm);
  if (differences.length > 0) {
    throw new ProxwrightError({
      code: 'CONFIG_CHANGED',
      detail: [`Read back, ${vmName(vm)} is not what was written:`, ...differences].join('\n'),
      where: { address: context.address },
      hint: 'Somebody else changed it meanwhile, or the server stored something else. Make a new plan to see which.',
    });
  }
  const template = finishes && context.recorded()?.template;
  await context.learn({
    phase: 'complete',
    macs: macsOf(vm.current),
    lastApplied: { ...applied, ...ownershipApplied(desiredValues) },
    ...(template && { template: { ...template, finished: true }, name: vm.current.get('name') ?? '' }),
  });
  context.log.log('debug', `${context.address}: read back and as wanted`, { vmid: vm.vmid, keys: desired.length });
};

function differencesOf(desiredValues: readonly DesiredValue[], vm: VmObserved): string[] {
  const values = effectiveValues(vm);
  return unsatisfied(desiredValues, values).map((one) => {
    const { key, desired } = one;
    const actual = actualOf(one, values);
    // A secret is open only when nothing stands there, so nothing of it can be shown.
    const expected = desired.kind === 'secret' ? '•••' : (mergedText(key, desired, actual) ?? '(nothing)');
    return `  ${key}: found ${actual ?? '(nothing)'}, wanted ${expected}${sizeOf(desired)}`;
  });
}

/** The line of a new VM was not known when the plan was made. */
function ownershipApplied(desiredValues: readonly DesiredValue[]): Record<string, unknown> {
  const notes = desiredValues.find(({ desired }) => desired.kind === 'notes')?.desired;
  return notes?.kind === 'notes' ? { ownership: notes.line ?? null } : {};
}

/** The size of an existing disk is not part of what is written. */
function sizeOf(desired: DesiredValue['desired']): string {
  return desired.kind === 'disk' && desired.sizeBytes !== undefined ? ` with at least ${desired.sizeBytes} bytes` : '';
}
