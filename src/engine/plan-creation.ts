/** The plan of a VM that is not there yet: cloned from a template, or created from nothing. Pure. */
import type { Step } from '../resources/step.ts';
import type { DesiredConfig } from '../resources/vm/desired.ts';
import { type Difference, diffVm } from '../resources/vm/diff/diff.ts';
import { drivesOf } from '../resources/vm/disks.ts';
import { diffHa } from '../resources/vm/ha.ts';
import { inheritedDevices } from '../resources/vm/inherited.ts';
import type { VmObserved } from '../resources/vm/observed.ts';
import { stripOwnership } from '../resources/vm/ownership.ts';
import { packDesired, withoutSeed } from '../resources/vm/packed.ts';
import { type CloneInput, vmStep } from '../resources/vm/steps.ts';
import type { ResolvedVm } from '../spec/types.ts';
import { checkVm, type Findings, hasNode } from './checks.ts';
import { chooseTemplate, type TemplateChoice } from './choose-template.ts';
import { applied, secretKeys, seedStep, type VmPlan, type VmPlanInput, wanted } from './vm-wishes.ts';

export function planCreation(input: VmPlanInput, findings: Findings, reason?: string): VmPlan | undefined {
  const { vm, observed } = input;
  const { fields } = vm;
  const template: TemplateChoice | undefined = fields.clone && chooseTemplate(vm, observed);
  if (template && !template.ok) {
    // Of a node that is not there, the node itself is all that can be said.
    if (!template.restsOnNode || hasNode(vm, observed)) findings.problems.push(template.problem);
    checkVm({ vm, base: undefined, creating: true }, observed, findings);
    return undefined;
  }
  const base = template?.vm.current ?? new Map<string, string>();
  const before = findings.problems.length;
  checkVm(
    { vm, base, creating: true, ...(input.freedId !== undefined && { freedId: input.freedId }) },
    observed,
    findings,
  );
  if (findings.problems.length > before) return undefined;
  const desired = wanted(input, undefined, base);
  const steps = template ? cloneSteps(vm, template, desired) : createSteps(vm, desired);
  return {
    change: {
      address: vm.address,
      kind: 'create',
      name: fields.name,
      node: fields.node,
      vmid: fields.vmid,
      reason: reason ?? creationReason(vm, template),
      differences: [...creationDifferences(desired, base), ...diffHa(fields.ha || undefined, undefined, undefined)],
      inherited: template ? inheritedDevices(desired, base).map(({ key, summary }) => `${key}: ${summary}`) : [],
      unmanaged: [],
      restartPending: [],
      restarts: false,
    },
    steps,
  };
}

function creationReason(vm: ResolvedVm, template: TemplateChoice | undefined): string {
  if (!template?.ok) return 'It is created from nothing.';
  const mode = vm.fields.clone?.mode ?? 'full';
  return `It is a ${mode} clone of ${template.template.name ?? 'template'} (${template.template.vmid} on ${template.template.node}).`;
}

/** What the file sets, beside what the template has. */
export function creationDifferences(desired: DesiredConfig, base: ReadonlyMap<string, string>): Difference[] {
  const asIfThere: VmObserved = {
    vmid: 0,
    node: '',
    uuid: undefined,
    digest: '',
    current: base,
    pending: new Map(),
    pendingDeletes: new Set(),
    running: false,
    lock: undefined,
    template: false,
  };
  return diffVm(desired, asIfThere, undefined).differences.filter(({ path }) => path !== 'ownership');
}

function cloneSteps(vm: ResolvedVm, template: TemplateChoice & { ok: true }, desired: DesiredConfig): Step[] {
  const { fields, address } = vm;
  const source = template.template;
  const clone: CloneInput = {
    source: { node: source.node, vmid: source.vmid, ...(source.address !== undefined && { address: source.address }) },
    name: fields.name,
    mode: fields.clone?.mode ?? 'full',
    ...idChoice(vm),
    ...(fields.clone?.storage !== undefined && { storage: fields.clone.storage }),
    storages: [
      ...new Set(
        drivesOf(template.vm.current).flatMap((drive) =>
          drive.kind === 'disk' ? [drive.file.split(':')[0] ?? ''] : [],
        ),
      ),
    ],
    ...(fields.clone?.format !== undefined && { format: fields.clone.format }),
    ...(fields.pool !== undefined && { pool: fields.pool }),
    ...(source.node !== fields.node && { target: fields.node }),
    ...notesOf(template.vm),
  };
  const steps: Step[] = [vmStep(address, 'vm.clone', clone)];
  return finishSteps(vm, desired, steps, sizesWanted(desired));
}

/** The template's own words go along; whose template it is does not. */
function notesOf({ current }: VmObserved): { notes?: string } {
  const notes = stripOwnership(current.get('description') ?? '');
  return notes === '' ? {} : { notes };
}

function createSteps(vm: ResolvedVm, desired: DesiredConfig): Step[] {
  const { fields, address } = vm;
  const steps: Step[] = [
    vmStep(address, 'vm.create', {
      node: fields.node,
      name: fields.name,
      ...idChoice(vm),
      ...(fields.pool !== undefined && { pool: fields.pool }),
      desired: withoutSeed(packDesired(desired.values())),
    }),
  ];
  return finishSteps(vm, desired, steps, sizesWanted(desired));
}

function idChoice(vm: ResolvedVm): { vmid?: number; vmids?: readonly number[] } {
  if (vm.fields.vmid !== undefined) return { vmid: vm.fields.vmid };
  if (!vm.vmids) return {};
  // Member n gets the nth id of its group where it can, so that names and ids go together.
  const own = vm.vmids[vm.number - 1];
  return { vmids: own === undefined ? vm.vmids : [own, ...vm.vmids.filter((vmid) => vmid !== own)] };
}

export function sizesWanted(desired: DesiredConfig): { slot: string; sizeBytes: number }[] {
  return [...desired.values()].flatMap(({ key, desired: wish }) =>
    wish.kind === 'disk' && wish.sizeBytes !== undefined ? [{ slot: key, sizeBytes: wish.sizeBytes }] : [],
  );
}

/** Configure, grow, read back, start: the part every new or unfinished VM goes through. */
function finishSteps(
  vm: ResolvedVm,
  desired: DesiredConfig,
  steps: Step[],
  sizes: readonly { readonly slot: string; readonly sizeBytes: number }[],
): Step[] {
  const { address, fields } = vm;
  const add = (step: Step) => {
    const last = steps.at(-1);
    steps.push({ ...step, needs: last ? [last.id] : [] });
  };
  const packed = packDesired(desired.values());
  const secrets = secretKeys(desired.values());
  const seed = seedStep(vm);
  // What the documents say of the cards, they must be there for.
  if (seed && fields.clone) add(vmStep(address, 'vm.configure', { desired: withoutSeed(packed) }, { part: 'devices' }));
  if (seed) add(seed);
  add(vmStep(address, 'vm.configure', { desired: packed, ...(secrets.length > 0 && { secrets }) }));
  for (const { slot, sizeBytes } of sizes) add(vmStep(address, 'vm.resize', { slot, sizeBytes }, { part: slot }));
  add(vmStep(address, 'vm.verify', { desired: packed, applied: applied(vm, desired) }));
  if (fields.power === 'running') add(vmStep(address, 'vm.start', {}));
  if (fields.ha !== undefined) add(vmStep(address, 'vm.ha', { ha: fields.ha }));
  return steps;
}
