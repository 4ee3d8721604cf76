/**
 * What the steps of VMs and templates need, each judged on the machine as the steps before it leave it. Templates come
 * first, because their clones depend on the result. Pure.
 */
import { type Address, kindOf } from '../../../base/address.ts';
import type { Change } from '../../change.ts';
import type { NeedsContext, StepNeeds } from '../../kind.ts';
import type { Observed } from '../../observed.ts';
import {
  ANY_VM,
  type Need,
  need,
  on,
  type PrivilegeRules,
  privilegeRules,
  UNKNOWN_VMID,
} from '../../privileges/need.ts';
import { machinesOf } from '../../stack.ts';
import type { Step } from '../../step.ts';
import { isTemplateStep, TEMPLATE_PRIVILEGES } from '../../template/steps.ts';
import { mergedText } from '../diff/merge.ts';
import { snapshotPolicy } from '../snapshot/before-change.ts';
import type { ResolvedVm } from '../stack.ts';
import { type ConfigureInput, type ReserveInput, type VmActionName, vmSteps } from '../steps.ts';
import { writeNeeds } from './config.ts';
import { growthNeeds } from './devices.ts';
import { fieldFinder } from './field-finder.ts';
import { desiredValuesOf, emptyVm, type VmForecast } from './forecast.ts';
import { STEP_PRIVILEGES, type StepContext } from './steps.ts';

export function needsOfMachines(context: NeedsContext): StepNeeds[] {
  const { plan, stack, observed, version } = context;
  const shared = {
    ...context,
    rules: privilegeRules(version),
    ids: new FreeIds(observed),
    built: new Map<number, ReadonlyMap<string, string>>(),
  };
  const machines = new Map(machinesOf(stack).map((vm) => [vm.address, vm]));
  const changes = new Map(plan.changes.map((change) => [change.address, change]));
  return [...stepsByAddress(plan.steps)].flatMap(([address, steps]) =>
    followMachine({ ...shared, address, steps, vm: machines.get(address), change: changes.get(address) }),
  );
}

function stepsByAddress(steps: readonly Step[]): Map<Address, Step[]> {
  const byAddress = new Map<Address, Step[]>();
  for (const step of steps) {
    if (!isTemplateStep(step) && !(step.action in STEP_PRIVILEGES)) continue;
    const known = byAddress.get(step.address);
    if (known) known.push(step);
    else byAddress.set(step.address, [step]);
  }
  return byAddress;
}

interface Journey extends NeedsContext {
  readonly rules: PrivilegeRules;
  readonly address: Address;
  readonly steps: readonly Step[];
  /** Undefined if it left the file. */
  readonly vm: ResolvedVm | undefined;
  readonly change: Change | undefined;
  readonly ids: FreeIds;
  /** Templates that the plan creates, by their ids, as their clones will find them. */
  readonly built: Map<number, ReadonlyMap<string, string>>;
}

function followMachine(journey: Journey): StepNeeds[] {
  const { address, steps, vm, rules, stack, observed, built } = journey;
  const { whereOf } = fieldFinder(vm, address, observed);
  const context: StepContext = {
    rules,
    owner: { stack: stack.name, address },
    templateValues: (vmid) => built.get(vmid) ?? templateValues(observed, vmid),
  };
  const found: StepNeeds[] = [];
  let forecast = firstForecast(journey);
  for (const step of steps) {
    if (isTemplateStep(step)) {
      const formerId = step.action === 'template.retire' ? holderOfName(vm, observed) : undefined;
      const needs = TEMPLATE_PRIVILEGES[step.action] as (input: unknown, subject: object) => readonly Need[]; // of its own input
      found.push({ needs: needs(step.input, { paths: forecast.paths, formerId }), step: step.action, whereOf });
      continue;
    }
    const privileges = STEP_PRIVILEGES[step.action as VmActionName]; // steps were chosen by these names
    const input = step.input as never; // and each step carries the input of its action
    found.push({ needs: privileges.needs(input, forecast, context), step: step.action, whereOf });
    forecast = privileges.after?.(input, forecast, context) ?? forecast;
  }
  if (kindOf(address) === 'template') built.set(forecast.vm.vmid, forecast.vm.current);
  if (vm && journey.lifecycle) {
    const canMove = observed.nodes.size > 1;
    found.push({ needs: laterNeeds({ vm, steps, forecast, canMove }, context), step: 'later', whereOf });
  }
  return found;
}

/** The VM before the first step: as it was read, or a free place. */
function firstForecast({ address, steps, change, vm, observed, ids }: Journey): VmForecast {
  const found = observed.vms.get(address);
  const node = vm?.fields.node ?? change?.node ?? '';
  const [reserve] = vmSteps(steps, 'vm.reserve');
  const isNew = reserve !== undefined && !steps.some(({ action }) => action === 'vm.destroy');
  if (isNew) {
    const vmid = ids.choose(reserve.input);
    return { paths: [vmid === undefined ? ANY_VM : { path: `/vms/${vmid}` }], vm: emptyVm(vmid ?? UNKNOWN_VMID, node) };
  }
  if (found?.kind === 'present') return { paths: [{ path: `/vms/${found.vm.vmid}` }], vm: found.vm };
  const vmid = change?.vmid ?? UNKNOWN_VMID;
  return {
    paths: [{ path: `/vms/${vmid}` }],
    vm: emptyVm(vmid, node),
    ...(found?.kind === 'hidden' && { hidden: true as const }),
  };
}

/** As apply chooses: a fixed ID, the first free one of a list; otherwise it is not known yet. */
class FreeIds {
  readonly #observed: Observed;
  readonly #given = new Set<number>();

  constructor(observed: Observed) {
    this.#observed = observed;
  }

  choose({ vmid, vmids, planned }: ReserveInput): number | undefined {
    const isFree = (id: number) => !this.#observed.guests.has(id) && !this.#given.has(id);
    // Without a fixed id or a list, the plan's choice may still change.
    const chosen = vmid ?? (vmids && (planned ?? vmids.find(isFree)));
    if (chosen !== undefined) this.#given.add(chosen);
    return chosen;
  }
}

/** The template that has the name now. */
function holderOfName(vm: ResolvedVm | undefined, { templates }: Observed): number | undefined {
  return templates.get(vm?.group ?? '')?.find(({ node }) => node === vm?.fields.node)?.vmid;
}

function templateValues({ templates }: Observed, vmid: number): ReadonlyMap<string, string> | undefined {
  const found = [...templates.values()].flat().find((candidate) => candidate.vmid === vmid);
  return found?.vm.ok ? found.vm.value.current : undefined;
}

interface LaterInput {
  readonly vm: ResolvedVm;
  readonly steps: readonly Step[];
  /** The VM after the steps that create it. */
  readonly forecast: VmForecast;
  /** Whether the cluster has another node. */
  readonly canMove: boolean;
}

/** After it was created: any field may change, disks may grow, the VM may be restarted, moved and finally destroyed. */
function laterNeeds({ vm: { fields }, steps, forecast, canMove }: LaterInput, deps: StepContext): Need[] {
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
