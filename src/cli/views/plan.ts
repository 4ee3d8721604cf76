/** A plan: for people what happens to each VM and why, field by field, then the totals; for programs the plan itself. */
import { isDeepStrictEqual } from 'node:util';
import { type AddressKind, kindOf } from '../../base/address.ts';
import type { Change, ChangeKind, Plan } from '../../kinds/change.ts';
import { isPciMapStep, type PciMapStep } from '../../kinds/pci-mapping/mapping.ts';
import type { Step } from '../../kinds/step.ts';
import type { Difference } from '../../kinds/vm/diff/diff.ts';
import type { MigrateInput } from '../../kinds/vm/steps.ts';
import { type Paint, padVisible, type Style } from './paint.ts';
import { chooseView, type ViewDeps } from './view.ts';

/** What `plan` shows. */
export interface PlanView {
  plan(plan: Plan): void;
}

export function planView(deps: ViewDeps): PlanView {
  return chooseView<PlanView>(deps, {
    human: ({ print, paint }) => ({ plan: (plan) => print(renderPlan(plan, paint)) }),
    json: ({ print }) => ({ plan: (plan) => print(plan) }),
  });
}

const MARKS: Readonly<Record<ChangeKind, readonly [mark: string, verb: string, style: Style]>> = {
  create: ['+', 'create', 'green'],
  complete: ['+', 'complete', 'green'],
  update: ['~', 'change', 'yellow'],
  supersede: ['±', 'new version of', 'magenta'],
  replace: ['±', 'replace', 'magenta'],
  delete: ['-', 'delete', 'red'],
  forget: ['-', 'forget', 'red'],
  keep: ['=', 'keep', 'dim'],
  none: [' ', 'unchanged', 'dim'],
};

/** Verbs of kinds that are not created as a VM is. */
const VERBS: Partial<Record<AddressKind, Partial<Record<ChangeKind, string>>>> = {
  template: { create: 'build', complete: 'finish' },
  image: { create: 'download', update: 'check', replace: 'download again' },
};

/** An image that Proxmox does not download itself is uploaded. */
const UPLOADS: Partial<Record<ChangeKind, string>> = { create: 'upload', replace: 'upload again' };

const WHO: Readonly<Record<Difference['by'], string>> = {
  file: 'changed in the file',
  others: 'changed outside Proxwright',
  both: 'changed in the file and outside Proxwright',
};

const WHEN: Readonly<Record<Difference['effect'], string>> = {
  live: 'live',
  restart: 'after a restart',
  impossible: 'impossible',
};

/** Leaves out VMs that stay as they are. */
export function renderPlan(plan: Plan, paint: Paint): string[] {
  const shown = plan.changes.filter(isWorthShowing);
  const blocks = shown.map((change) => {
    const steps = plan.steps.filter(({ address }) => address === change.address);
    return [...renderChange(change, paint, steps), ''];
  });
  const mappings = mappingSteps(plan).flatMap((step) => [...renderMapping(step, plan, paint), '']);
  return [...mappings, ...blocks.flat(), renderTotals(plan, paint)];
}

const mappingSteps = ({ steps }: Plan) => steps.filter(isPciMapStep);

/** No VM owns a mapping: it is created before the VMs that use it, and stays when they are deleted. */
function renderMapping({ id, address, input }: PciMapStep, plan: Plan, paint: Paint): string[] {
  const users = plan.steps.flatMap((step) => (step.needs.includes(id) ? [step.address] : []));
  return [
    `${paint('green', `+ ${address}`)}  create PCI mapping ${paint('bold', input.mapping)}`,
    ...(users.length > 0
      ? [paint('dim', `    ${users.join(', ')} names a device by its address, and no mapping exists for it.`)]
      : []),
    ...input.map.map((entry) => `    ${entry}`),
    paint('dim', '    stays when the VMs are deleted'),
  ];
}

function isWorthShowing({ kind, unmanaged, restartPending }: Change): boolean {
  return kind !== 'none' || unmanaged.length > 0 || restartPending.length > 0;
}

export function renderChange(change: Change, paint: Paint, steps: readonly Step[] = []): string[] {
  const [mark, usual, style] = MARKS[change.kind];
  const isUpload = steps.some(({ action }) => action === 'image.send');
  const verb = (isUpload ? UPLOADS : VERBS[kindOf(change.address) ?? 'vm'])?.[change.kind] ?? usual;
  const place = change.vmid === undefined ? `on ${change.node}` : `VM ${change.vmid} on ${change.node}`;
  const title = `${paint(style, `${mark} ${change.address}`)}  ${verb} ${paint('bold', change.name)} (${place})`;
  const notes = [
    ...(change.kind === 'update' ? steps.flatMap(({ action, input }) => MOVES[action]?.(input) ?? []) : []),
    ...(change.inherited.length > 0 && change.kind !== 'none'
      ? [`inherited, kept: ${change.inherited.join('; ')}`]
      : []),
    ...(change.unmanaged.length > 0 ? [`no longer managed, left unchanged: ${change.unmanaged.join(', ')}`] : []),
    ...(change.restarts ? ['the VM is restarted'] : []),
    ...(change.restartPending.length > 0 ? [`restart pending: ${change.restartPending.join(', ')}`] : []),
  ];
  return [
    title,
    paint('dim', `    ${change.reason}`),
    ...renderDifferences(change.differences, change.kind !== 'update', paint),
    ...notes.map((note) => paint('dim', `    ${note}`)),
  ];
}

/** What a change does beyond the fields, by the action of its step. */
const MOVES: Readonly<Record<string, (input: unknown) => string>> = {
  'vm.start': () => 'the VM is started',
  'vm.stop': () => 'the VM is shut down',
  'vm.migrate': (input) => `the VM moves to ${(input as MigrateInput).target}`, // the input of this action
};

/** A new VM has no earlier values: neither who changed them nor when they take effect matters. */
export function renderDifferences(differences: readonly Difference[], isNew: boolean, paint: Paint): string[] {
  const width = Math.max(0, ...differences.map(({ path }) => path.length));
  return differences.map((difference) => {
    const { path, before, after, by } = difference;
    const from = before === null || isDeepStrictEqual(before, after) ? '' : `${paint('dim', printValue(before))} → `;
    const remark = isNew ? '' : paint('cyan', `  [${WHO[by]}, ${WHEN[difference.effect]}]`);
    return `    ${padVisible(path, width)}  ${from}${printValue(after)}${remark}`;
  });
}

export function printValue(value: unknown): string {
  if (value === null || value === undefined) return '(nothing)';
  if (typeof value === 'string') return value === '' || /\s/.test(value) ? JSON.stringify(value) : value;
  if (Array.isArray(value)) return `[${value.map(printValue).join(', ')}]`;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

interface Totals {
  readonly create: number;
  readonly change: number;
  readonly delete: number;
}

function totalsOf({ changes }: Pick<Plan, 'changes'>): Totals {
  const count = (...kinds: ChangeKind[]) => changes.filter(({ kind }) => kinds.includes(kind)).length;
  return {
    create: count('create', 'complete', 'replace', 'supersede'),
    change: count('update'),
    delete: count('delete', 'forget', 'replace'),
  };
}

export function renderTotals(plan: Plan, paint: Paint): string {
  const { create, change, delete: removed } = totalsOf(plan);
  const mappings = mappingSteps(plan).length;
  if (create + change + removed + mappings === 0) return paint('bold', 'No changes.');
  const made = mappings === 0 ? '' : ` ${mappings === 1 ? 'One PCI mapping' : `${mappings} PCI mappings`} to create.`;
  return paint('bold', `${create} to create, ${change} to change, ${removed} to delete.${made}`);
}
