/** A plan: for people what happens to each VM and why, field by field, then the totals; for programs the plan itself. */
import { isDeepStrictEqual } from 'node:util';
import { groupAddress } from '../../../base/address.ts';
import { exactText, quotedText } from '../../../base/text/safe-text.ts';
import { shellWord } from '../../../base/text/shell.ts';
import { groupedBy, MOST_RANGES, shortRangesOf } from '../../../base/values/groups.ts';
import { counted, printByteSize, printDuration } from '../../../base/values/units.ts';
import {
  type Change,
  type ChangeKind,
  type DestroyedVolume,
  type Difference,
  type OutsideChange,
  type Plan,
  type PlannedHook,
  pendingRestarts,
  type Roll,
} from '../../../kinds/change.ts';
import { actionNamed, KINDS, kindOfAddress } from '../../../kinds/registry.ts';
import type { Step } from '../../../kinds/step.ts';
import { roomWords } from '../../../kinds/vm/placement/words.ts';
import { fitLines, type Paint, padVisible, plainPaint, type Style } from '../text/paint.ts';
import { chooseView, type ViewDeps } from '../view.ts';
import { type ChangeLine, foldChanges, type ShownChange } from './folded-changes.ts';

/** What `plan` shows. */
export interface PlanView {
  plan(plan: Plan): void;
}

export function planView(deps: ViewDeps, { isSummary = false } = {}): PlanView {
  const render = isSummary ? renderSummary : renderPlan;
  return chooseView<PlanView>(deps, {
    human: ({ print, paint }) => ({ plan: (plan) => print(render(plan, paint)) }),
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

export function renderPlan(plan: Plan, paint: Paint): string[] {
  const lines = [
    ...renderSharedSteps(plan, paint),
    ...renderChanges(plan, plan.changes, paint),
    ...renderRemarks(plan, paint),
    renderTotals(plan, paint),
  ];
  return fitLines(lines, paint);
}

/** One line for each change to members of a group; destroyed volumes are always named. */
export function renderSummary(plan: Plan, paint: Paint): string[] {
  const stepsOf = stepsByAddress(plan);
  const groups = groupedBy(
    plan.changes.filter(({ kind }) => kind !== 'none'),
    (change) => summaryTitle(change, stepsOf.get(change.address) ?? [], paint),
  );
  const lines = [...groups].flatMap(([title, members]) => [
    `${title} ${members.length}: ${namesAndPlaces(members)}`,
    ...members.flatMap((member) => renderDestroyed(member, paint)),
  ]);
  const shared = stepsWithoutChange(plan).flatMap((step) => renderStep(step, plan, paint).slice(0, 1));
  const gap = lines.length + shared.length > 0 ? [''] : [];
  return fitLines([...shared, ...lines, ...gap, ...renderRolls(plan, paint), renderTotals(plan, paint)], paint);
}

/** `~ vm.worker  change and restart`: the same for all members to which the same happens. */
function summaryTitle(change: Change, steps: readonly Step[], paint: Paint): string {
  const [mark, , style] = MARKS[change.kind];
  return `${paint(style, `${mark} ${groupAddress(change.address)}`)}  ${wordsOf(change, steps)}`;
}

/** `create`, or `change and restart`. */
export function wordsOf(change: Change, steps: readonly Step[]): string {
  const [, usual] = MARKS[change.kind];
  return `${verbOf(change, steps) ?? usual}${change.restarts ? ' and restart' : ''}`;
}

/** A group with more members is named by its first and last one. */
const MOST_NAMED = 6;

/** `db (100 on pve1)`, or `worker-1 … worker-60 (106–165; 30 on pve1, 30 on pve2)`. */
function namesAndPlaces(members: readonly Change[]): string {
  if (members.length <= MOST_NAMED) {
    return members
      .map(({ name, vmid, node }) => `${name} (${vmid === undefined ? '' : `${vmid} `}on ${node})`)
      .join(', ');
  }
  const ids = shortRangesOf(members.flatMap(({ vmid }) => vmid ?? []));
  const nodes = [...groupedBy(members, ({ node }) => node)].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const shares = nodes.map(([node, { length }]) => `${length} on ${node}`).join(', ');
  const where =
    nodes.length === 1 ? `on ${nodes[0]?.[0]}` : nodes.length > MOST_RANGES ? `on ${nodes.length} nodes` : shares;
  const place = ids === '' ? where : `${ids}${where === shares ? '; ' : ' '}${where}`;
  return `${members[0]?.name} … ${members.at(-1)?.name} (${place})`;
}

/** Some changes of a plan. Leaves out VMs that stay as they are, and folds equal changes. */
export function renderChanges(plan: Plan, changes: readonly Change[], paint: Paint): string[] {
  const stepsOf = stepsByAddress(plan);
  const blocks = changes.filter(isWorthShowing).map((change): ShownChange => {
    const steps = stepsOf.get(change.address) ?? [];
    const [title = '', ...painted] = renderChange(change, paint, steps);
    const lines = linesBelow(change, plainPaint, steps);
    const sort = `${change.kind} ${verbOf(change, steps)}`;
    return { title, sort, name: change.name, address: change.address, lines, painted };
  });
  return foldChanges(blocks, paint);
}

export function stepsByAddress({ steps }: Plan): ReadonlyMap<string, readonly Step[]> {
  return groupedBy(steps, ({ address }) => address);
}

/** What was checked, and how groups take turns. */
export function renderRemarks(plan: Plan, paint: Paint): string[] {
  const checked = (plan.checked ?? []).flatMap((line) => [paint('dim', line), '']);
  return [...renderRoom(plan, paint), ...checked, ...renderRolls(plan, paint)];
}

/** What the nodes have free, before and after. */
function renderRoom({ room = [] }: Plan, paint: Paint): string[] {
  const lines = room.map((each) => paint('dim', `${each.node}: ${roomWords(each)}`));
  return lines.length === 0 ? [] : [paint('dim', 'Free on the nodes, before and after:'), ...lines, ''];
}

export function renderSharedSteps(plan: Plan, paint: Paint): string[] {
  return stepsWithoutChange(plan).flatMap((step) => [...renderStep(step, plan, paint), '']);
}

/** Groups of which more members become unavailable than may be at once. */
function renderRolls({ rolls = [] }: Plan, paint: Paint): string[] {
  return rolls.filter(({ waves }) => waves.length > 1).flatMap((roll) => [paint('dim', describeRoll(roll)), '']);
}

function describeRoll({ group, atMost, size, pauseMs, onFailure, waves, order: way }: Roll): string {
  const members = waves.flat();
  const pause = pauseMs > 0 ? `, with a pause of ${printDuration(pauseMs)}` : '';
  const failure = onFailure === 'stop' ? '' : ' A member that fails does not stop the others.';
  const named = waves.slice(0, SHOWN_WAVES).map((wave) => wave.map((address) => memberOf(address, group)).join(', '));
  const order = [...named, ...(waves.length > SHOWN_WAVES ? ['…'] : [])].join('; then ');
  if (way === 'create_first') {
    return `${group}: ${counted(members.length, 'VM is', 'VMs are')} replaced, ${atMost} at a time: ${order}. The new VM is created first; the old one is destroyed when it is ready${pause}.${failure}`;
  }
  return `${group}: ${counted(members.length, 'VM becomes', 'VMs become')} unavailable, ${atMost} of ${size} at a time: ${order}. Each must be ready before the next one${pause}.${failure}`;
}

const SHOWN_WAVES = 8;

/** `[3]` of `vm.worker[3]`: the line begins with the group. */
function memberOf(address: string, group: string): string {
  return address.startsWith(`${group}[`) ? address.slice(group.length) : address;
}

/** Steps that belong to no resource alone, such as a mapping that several VMs share. */
function stepsWithoutChange({ steps, changes }: Plan): Step[] {
  const changed = new Set(changes.map(({ address }) => address));
  return steps.filter(({ address }) => !changed.has(address));
}

function renderStep(step: Step, plan: Plan, paint: Paint): string[] {
  const users = plan.steps.flatMap(({ needs, address }) => (needs.includes(step.id) ? [address] : []));
  const [title = '', ...rest] = KINDS.flatMap(({ words }) => words.describeStep?.(step, users) ?? []);
  const [kind = 'create'] = KINDS.flatMap(({ words }) => words.changeOf?.(step) ?? []);
  const [mark, , style] = MARKS[kind];
  return [`${paint(style, `${mark} ${step.address}`)}  ${title}`, ...rest.map((line) => paint('dim', `    ${line}`))];
}

function isWorthShowing({ kind, unmanaged, restartPending, notes = [], outside = [] }: Change): boolean {
  return kind !== 'none' || [unmanaged, restartPending, notes, outside].some((each) => each.length > 0);
}

export function renderChange(change: Change, paint: Paint, steps: readonly Step[] = []): string[] {
  const [mark, usual, style] = MARKS[change.kind];
  const verb = verbOf(change, steps) ?? usual;
  const place = change.vmid === undefined ? `on ${change.node}` : `VM ${change.vmid} on ${change.node}`;
  const title = `${paint(style, `${mark} ${change.address}`)}  ${verb} ${paint('bold', change.name)} (${place})`;
  return [title, ...linesBelow(change, paint, steps).map(({ text }) => text)];
}

/** What there is to say about a change beside its fields. */
export function notesOf(change: Change, steps: readonly Step[]): string[] {
  return [
    ...(change.kind === 'update' ? steps.flatMap(describeStep) : []),
    ...(change.inherited.length > 0 && change.kind !== 'none'
      ? [`${change.kind === 'replace' ? 'from the template' : 'inherited, kept'}: ${change.inherited.join('; ')}`]
      : []),
    ...(change.unmanaged.length > 0 ? [`no longer managed, left unchanged: ${change.unmanaged.join(', ')}`] : []),
    ...(change.restarts ? ['the VM is restarted'] : []),
    ...(change.hooks ?? []).map(hookLine),
    ...(change.restartPending.length > 0 ? [`restart pending: ${change.restartPending.join(', ')}`] : []),
    ...(change.notes ?? []),
    ...(change.outside ?? []).map(outsideLine),
  ];
}

function linesBelow(change: Change, paint: Paint, steps: readonly Step[]): ChangeLine[] {
  return [
    { text: paint('dim', `    ${change.reason}`) },
    ...differenceLines(change.differences, change.kind !== 'update', paint),
    ...notesOf(change, steps).map((note) => ({ text: paint('dim', `    ${note}`) })),
    ...renderDestroyed(change, paint).map((text) => ({ text })),
  ];
}

function renderDestroyed({ destroys = [] }: Change, paint: Paint): string[] {
  return destroys.map((volume) => paint('red', `    destroys ${printDestroyed(volume)}`));
}

function hookLine({ moment, run, timeoutMs, endUnknown, countsAsDone }: PlannedHook): string {
  const note = endUnknown
    ? '; an earlier run started it, and whether it ended is unknown: apply asks'
    : countsAsDone
      ? '; it counts as done, and does not run'
      : '';
  return `hook ${moment}: ${run.map(shellWord).join(' ')} (at most ${printDuration(timeoutMs)}${note})`;
}

export function printDestroyed({ slot, volume, sizeBytes }: DestroyedVolume): string {
  return `${slot}: ${volume}${sizeBytes === undefined ? '' : ` (${printByteSize(sizeBytes)})`}`;
}

function outsideLine({ path, applied, actual, by }: OutsideChange): string {
  if (by !== undefined) {
    return `it is on ${actual} because of ${by}; the file says ${applied}. An apply leaves it there. To move it back: proxwright rebalance`;
  }
  const what = path === 'power' ? `it is ${actual}` : `it is on ${actual} now`;
  return `${what}, changed outside Proxwright; the last apply left it ${path === 'power' ? applied : `on ${applied}`}. An apply leaves it unchanged.`;
}

/** Kinds that are not created like a VM have their own verbs, and so do some of their actions. */
function verbOf({ address, kind }: Change, steps: readonly Step[]): string | undefined {
  const [own] = steps.flatMap(({ action }) => actionNamed(action)?.verbs?.[kind] ?? []);
  return own ?? kindOfAddress(address)?.words.verbs?.[kind];
}

/** What a step does beyond the fields. */
function describeStep({ action, input }: Step): string[] {
  const line = actionNamed(action)?.describe?.(input as never); // the input of its action
  return line === undefined ? [] : [line];
}

/** A new VM has no earlier values, so origin and effect of a change do not matter. */
export function renderDifferences(differences: readonly Difference[], isNew: boolean, paint: Paint): string[] {
  return differenceLines(differences, isNew, paint).map(({ text }) => text);
}

function differenceLines(differences: readonly Difference[], isNew: boolean, paint: Paint): ChangeLine[] {
  const width = Math.max(0, ...differences.map(({ path }) => path.length));
  return differences.map((difference) => {
    const { path, before, after, by } = difference;
    const from = before === null || isDeepStrictEqual(before, after) ? '' : `${paint('dim', printValue(before))} → `;
    const remark = isNew ? '' : paint('cyan', `  [${WHO[by]}, ${WHEN[difference.effect]}]`);
    const value = `${from}${printValue(after)}${remark}`;
    return { text: `    ${padVisible(path, width)}  ${value}`, field: { path, value } };
  });
}

export function printValue(value: unknown): string {
  if (value === null || value === undefined) return '(nothing)';
  if (typeof value === 'string' && SSH_KEY.test(value)) return printSshKey(value);
  if (typeof value === 'string') return /\s/.test(value) ? quotedText(value) : exactText(value);
  if (Array.isArray(value)) return `[${value.map(printValue).join(', ')}]`;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

const SSH_KEY = /^(ssh-|ecdsa-|sk-)[\w@.-]+ [A-Za-z0-9+/]{32,}=*/;
const KEY_TAIL = 8;

/** Type and comment tell people more than the key; without a comment, its last characters. */
function printSshKey(key: string): string {
  const [type = '', body = '', ...comment] = key.trim().split(/\s+/);
  return `${type} ${comment.length > 0 ? comment.join(' ') : `…${body.slice(-KEY_TAIL)}`}`;
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

/** Also if nothing has to be done: the VM runs with other values than the file has. */
function pendingNote({ changes }: Plan): string {
  const pending = pendingRestarts(changes);
  return pending.length === 0 ? '' : ` Restart pending: ${pending.join(', ')}.`;
}

export function renderTotals(plan: Plan, paint: Paint): string {
  const { create, change, delete: removed } = totalsOf(plan);
  const lone = stepsWithoutChange(plan);
  if (create + change + removed + lone.length === 0) return paint('bold', `No changes.${pendingNote(plan)}`);
  const made = KINDS.flatMap(({ words, actions }) => {
    const own = lone.filter(({ action }) => action in actions);
    return own.length > 0 && words.countSteps ? [` ${words.countSteps(own.length)}`] : [];
  });
  return paint('bold', `${create} to create, ${change} to change, ${removed} to delete.${made.join('')}`);
}
