/**
 * What a VM needs after it was created: any field may change, disks may grow, the VM is started and stopped, moved to
 * another node if there is one, and finally destroyed.
 */

import { type Need, need, on } from '../../privileges/need.ts';
import type { Step } from '../../step.ts';
import { mergedText } from '../diff/merge.ts';
import { snapshotPolicy } from '../snapshot/before-change.ts';
import type { ResolvedVm } from '../stack.ts';
import { type ConfigureInput, vmSteps } from '../steps.ts';
import { writeNeeds } from './config.ts';
import { growthNeeds } from './devices.ts';
import { desiredValuesOf, type VmForecast } from './forecast.ts';
import { STEP_PRIVILEGES, type StepContext } from './steps.ts';

export interface LaterInput {
  readonly vm: ResolvedVm;
  readonly steps: readonly Step[];
  /** The VM after the steps that create it. */
  readonly forecast: VmForecast;
  /** Whether the cluster has another node. */
  readonly canMove: boolean;
}

export function laterNeeds({ vm: { fields }, steps, forecast, canMove }: LaterInput, deps: StepContext): Need[] {
  const running: VmForecast = { ...forecast, vm: { ...forecast.vm, running: true } };
  return [
    ...vmSteps(steps, 'vm.configure').flatMap(({ input }) => changeNeeds(input, running, deps)),
    ...Object.entries(fields.disks ?? {}).flatMap(([slot, { size, remove }]) =>
      size === undefined || remove ? [] : growthNeeds(slot, running.vm.current.get(slot), running.paths),
    ),
    ...STEP_PRIVILEGES['vm.start'].needs({}, running, deps),
    ...(canMove ? STEP_PRIVILEGES['vm.migrate'].needs({ target: '' }, running, deps) : []),
    ...(snapshotPolicy(fields) ? STEP_PRIVILEGES['vm.snapshot'].needs({ memory: false }, running, deps) : []),
    ...STEP_PRIVILEGES['vm.destroy'].needs({ stop: 'shutdown' }, running, deps),
    ...seedNeeds(steps),
  ];
}

/** Without it apply and destroy still work, but leave cloud-init files behind and report them. */
function seedNeeds(steps: readonly Step[]): Need[] {
  return vmSteps(steps, 'vm.seed').map(({ input: { storage, fields } }) =>
    need('Datastore.Allocate', on(`/storage/${storage}`), { field: `cloud_init.${fields.own[0]}` }),
  );
}

/** As if every desired value were written again. */
function changeNeeds(input: ConfigureInput, { vm, paths }: VmForecast, deps: StepContext): Need[] {
  const subject = { vmid: vm.vmid, paths, rules: deps.rules };
  return desiredValuesOf(input.desired, deps.owner, vm).flatMap(({ key, desired }) => {
    const text = desired.kind === 'secret' ? '' : mergedText(key, desired, vm.current.get(key));
    if (text === undefined) return [];
    const write = { set: { [key]: text }, delete: [], destroysVolumes: false, touchesDrives: false };
    return writeNeeds(subject, write, vm.current);
  });
}
