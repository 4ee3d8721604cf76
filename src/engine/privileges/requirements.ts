/**
 * Everything a plan needs, from its own steps: each VM is followed through its steps as they will leave it, then through the
 * wait for its guest. Pure.
 */
import { type Address, kindOf } from '../../base/address.ts';
import type { Diagnostic } from '../../base/diagnostics.ts';
import { ProxwrightError } from '../../base/errors.ts';
import type { Change, Plan } from '../../kinds/change.ts';
import { needsOfFileStep } from '../../kinds/image/privileges.ts';
import { isFileStep } from '../../kinds/image/steps.ts';
import { machinesOf } from '../../kinds/machines.ts';
import type { Observed } from '../../kinds/observed.ts';
import { pciMapNeeds } from '../../kinds/pci-mapping/map-device.ts';
import { isPciMapStep } from '../../kinds/pci-mapping/mapping.ts';
import type { ResolvedStack, ResolvedVm } from '../../kinds/stack.ts';
import type { Step } from '../../kinds/step.ts';
import { TEMPLATE_PRIVILEGES } from '../../kinds/template/privileges.ts';
import { isTemplateStep } from '../../kinds/template/steps.ts';
import { ANY_VM, emptyVm, UNKNOWN_VMID, type VmForecast } from '../../kinds/vm/privileges/forecast.ts';
import type { Need, PrivilegeRules, RootNeed, TagNeed } from '../../kinds/vm/privileges/need.ts';
import { STEP_PRIVILEGES, type StepSurroundings } from '../../kinds/vm/privileges/steps.ts';
import type { ReserveInput, VmActionName } from '../../kinds/vm/steps.ts';
import { privilegeRules, privilegesOf, type ServerVersion } from '../compatibility.ts';
import { type FieldFinder, fieldFinder, imageFinder } from './fields.ts';
import { laterNeeds } from './lifecycle.ts';
import { type Because, type Requirement, RequirementList } from './requirement.ts';

export interface RequirementsInput {
  readonly plan: Plan;
  readonly stack: ResolvedStack;
  readonly observed: Observed;
  readonly version: ServerVersion;
  /** Also what the VMs of the file will need later: changes, power, moves between nodes, their end. */
  readonly lifecycle?: boolean;
}

export interface PlanNeeds {
  readonly requirements: readonly Requirement[];
  /** What no token may do, with the ways out. */
  readonly rootOnly: readonly Diagnostic[];
  /** Tags that come or go: whether they are reserved only the server knows. */
  readonly tags: readonly { readonly tags: readonly string[]; readonly because: Because }[];
}

export function requirementsOf(input: RequirementsInput): PlanNeeds {
  const collected = new Collected();
  const { plan, stack, observed } = input;
  for (const step of plan.steps.filter(isPciMapStep)) {
    const user = stack.vms.find((vm) =>
      plan.steps.some((each) => each.address === vm.address && each.needs.includes(step.id)),
    );
    collected.add(pciMapNeeds(), step.action, fieldFinder(user, step.address, observed));
  }
  for (const step of plan.steps.filter(isFileStep)) {
    const needs = needsOfFileStep(step).flatMap((need) => knownNeeds(need, input.version));
    collected.add(needs, step.action, imageFinder(stack, step.address));
  }
  const rules = privilegeRules(input.version);
  const ids = new FreeIds(observed);
  const built = new Map<number, ReadonlyMap<string, string>>();
  for (const [address, steps] of stepsByAddress(plan)) {
    const vm = machinesOf(stack).find((each) => each.address === address);
    const change = plan.changes.find((each) => each.address === address);
    followVm({ ...input, rules, address, steps, vm, change, ids, built }, collected);
  }
  return { requirements: collected.list.all, rootOnly: collected.rootOnly, tags: collected.tags };
}

/** A release that does not know a privilege asks for what stood in its place. */
function knownNeeds(need: Need, version: ServerVersion): readonly Need[] {
  if (need.kind !== 'privilege' || !need.instead) return [need];
  const known = privilegesOf(version);
  return need.privileges.some((name) => known.has(name)) ? [need] : need.instead;
}

function stepsByAddress({ steps }: Plan): Map<Address, Step[]> {
  const byAddress = new Map<Address, Step[]>();
  for (const step of steps) {
    if (!isPciMapStep(step) && !isFileStep(step))
      byAddress.set(step.address, [...(byAddress.get(step.address) ?? []), step]);
  }
  return byAddress;
}

interface VmJourney extends RequirementsInput {
  readonly rules: PrivilegeRules;
  readonly address: Address;
  readonly steps: readonly Step[];
  /** Undefined where it has left the file. */
  readonly vm: ResolvedVm | undefined;
  readonly change: Change | undefined;
  readonly ids: FreeIds;
  /** Templates that the plan makes, by their ids: what their clones will find. */
  readonly built: Map<number, ReadonlyMap<string, string>>;
}

function followVm(journey: VmJourney, collected: Collected): void {
  const { address, steps, vm, rules, stack, observed, built } = journey;
  const fields = fieldFinder(vm, address, observed);
  const around: StepSurroundings = {
    rules,
    owner: { stack: stack.name, address },
    templateValues: (vmid) => built.get(vmid) ?? templateValues(observed, vmid),
  };
  let forecast = firstForecast(journey);
  for (const step of steps) {
    if (isTemplateStep(step)) {
      const formerId = step.action === 'template.retire' ? holderOfName(vm, observed) : undefined;
      const needs = TEMPLATE_PRIVILEGES[step.action] as (input: unknown, subject: object) => readonly Need[]; // of its own input
      collected.add(needs(step.input, { paths: forecast.paths, formerId }), step.action, fields);
      continue;
    }
    const privileges = STEP_PRIVILEGES[step.action as VmActionName]; // plans are made of these names only
    const input = step.input as never; // and each step carries the input of its action
    collected.add(privileges.needs(input, forecast, around), step.action, fields);
    forecast = privileges.after?.(input, forecast, around) ?? forecast;
  }
  if (kindOf(address) === 'template') built.set(forecast.vm.vmid, forecast.vm.current);
  if (vm && journey.lifecycle) {
    const canMove = observed.nodes.size > 1;
    collected.add(laterNeeds({ vm, steps, forecast, canMove }, around), 'later', fields);
  }
}

/** The VM before the first step: as it was read, or a free place. */
function firstForecast({ address, steps, change, vm, observed, ids }: VmJourney): VmForecast {
  const found = observed.vms.get(address);
  const node = vm?.fields.node ?? change?.node ?? '';
  const [reserve] = steps.filter(({ action }) => action === 'vm.reserve');
  const isNew = reserve !== undefined && !steps.some(({ action }) => action === 'vm.destroy');
  if (isNew) {
    const vmid = ids.choose(reserve.input as ReserveInput); // the input of its action
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

/** As apply chooses: a fixed id, the first free one of a list, and otherwise nobody knows yet. */
class FreeIds {
  readonly #observed: Observed;
  readonly #given = new Set<number>();

  constructor(observed: Observed) {
    this.#observed = observed;
  }

  choose({ vmid, vmids }: ReserveInput): number | undefined {
    const isFree = (id: number) => !this.#observed.guests.has(id) && !this.#given.has(id);
    const chosen = vmid ?? vmids?.find(isFree);
    if (chosen !== undefined) this.#given.add(chosen);
    return chosen;
  }
}

/** Whoever has the template's name now. */
function holderOfName(vm: ResolvedVm | undefined, { templates }: Observed): number | undefined {
  return templates.get(vm?.group ?? '')?.find(({ node }) => node === vm?.fields.node)?.vmid;
}

function templateValues({ templates }: Observed, vmid: number): ReadonlyMap<string, string> | undefined {
  const found = [...templates.values()].flat().find((candidate) => candidate.vmid === vmid);
  return found?.vm.ok ? found.vm.value.current : undefined;
}

class Collected {
  readonly list = new RequirementList();
  readonly rootOnly: Diagnostic[] = [];
  readonly tags: { tags: readonly string[]; because: Because }[] = [];

  add(needs: readonly Need[], step: string, fields: FieldFinder): void {
    for (const need of needs) {
      const because = { where: fields.whereOf(need.cause), step };
      switch (need.kind) {
        case 'privilege':
          this.list.add(need, because);
          break;
        case 'root':
          this.#refuse(need, because);
          break;
        case 'tags':
          this.#remember(need, because);
          break;
      }
    }
  }

  #refuse({ cause, instead }: RootNeed, { where }: Because): void {
    const subject = 'key' in cause ? [cause.key, cause.part].filter(Boolean).join('.') : cause.field;
    const { field = subject } = where;
    if (this.rootOnly.some((known) => known.where?.address === where.address && known.where?.field === field)) return;
    const detail = `Proxmox lets only root@pam, logged in with a password, set "${subject}"; no privilege of a token replaces that.`;
    this.rootOnly.push(new ProxwrightError({ code: 'ROOT_ONLY', where, detail, hint: instead }).diagnostic);
  }

  /** A VM that is created and then configured asks twice about the same tags. */
  #remember({ tags }: TagNeed, because: Because): void {
    const { address } = because.where;
    if (!this.tags.some((known) => known.because.where.address === address)) this.tags.push({ tags, because });
  }
}
