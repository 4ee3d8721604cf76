/**
 * What the rest of a VM's life needs, beyond the plan that makes it: any field of the file may change, disks may grow, the
 * VM is switched on and off, moved where there is another node, and one day destroyed.
 */

import type { ResolvedVm } from '../../stack.ts';
import type { Step } from '../../step.ts';
import type { SeedInput } from '../actions/seed.ts';
import { mergedText } from '../diff/merge.ts';
import type { ConfigureInput } from '../steps.ts';
import { writeNeeds } from './config.ts';
import { growthNeeds } from './devices.ts';
import { desiredValuesOf, type VmForecast } from './forecast.ts';
import { type Need, need, on } from './need.ts';
import { STEP_PRIVILEGES, type StepSurroundings } from './steps.ts';

export interface LaterInput {
  readonly vm: ResolvedVm;
  readonly steps: readonly Step[];
  /** The VM as the steps that make it will have left it. */
  readonly forecast: VmForecast;
  /** Whether there is another node that its file could name one day. */
  readonly canMove: boolean;
}

export function laterNeeds({ vm: { fields }, steps, forecast, canMove }: LaterInput, around: StepSurroundings): Need[] {
  const running: VmForecast = { ...forecast, vm: { ...forecast.vm, running: true } };
  return [
    ...steps.flatMap((step) =>
      // Each step carries the input of its action.
      step.action === 'vm.configure' ? changeNeeds(step.input as ConfigureInput, running, around) : [],
    ),
    ...Object.entries(fields.disks ?? {}).flatMap(([slot, { size, remove }]) =>
      size === undefined || remove ? [] : growthNeeds(slot, running.vm.current.get(slot), running.paths),
    ),
    ...STEP_PRIVILEGES['vm.start'].needs({}, running, around),
    ...(canMove ? STEP_PRIVILEGES['vm.migrate'].needs({ target: '' }, running, around) : []),
    ...STEP_PRIVILEGES['vm.destroy'].needs({ stop: 'shutdown' }, running, around),
    ...documentNeeds(steps),
  ];
}

/** Without it apply and destroy do their work, and say which files they had to leave. */
function documentNeeds(steps: readonly Step[]): Need[] {
  return steps.flatMap((step) => {
    if (step.action !== 'vm.seed') return [];
    const { storage, fields } = step.input as SeedInput; // the input of this action
    return [need('Datastore.Allocate', on(`/storage/${storage}`), { field: `cloud_init.${fields.own[0]}` })];
  });
}

/** Every wish is written once more, whatever stands there. */
function changeNeeds(input: ConfigureInput, { vm, paths }: VmForecast, around: StepSurroundings): Need[] {
  const subject = { vmid: vm.vmid, paths, rules: around.rules };
  return desiredValuesOf(input.desired, around.owner, vm).flatMap(({ key, desired }) => {
    const text = desired.kind === 'secret' ? '' : mergedText(key, desired, vm.current.get(key));
    if (text === undefined) return [];
    const write = { set: { [key]: text }, delete: [], destroysVolumes: false, touchesDrives: false };
    return writeNeeds(subject, write, vm.current);
  });
}
