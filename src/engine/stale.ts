/**
 * Explains why a plan that was made earlier can no longer be executed: which VM, which field, its old and its new
 * value. Compares the plan with one that was made from the present inputs. Pure.
 */
import { ProxwrightError } from '../base/errors.ts';
import { advice, command } from '../base/hint.ts';
import type { Change, Fingerprints, Plan } from '../kinds/change.ts';
import { fingerprint } from '../kinds/fingerprint.ts';
import { printed } from './evidence/text.ts';
import type { PlanResult } from './plan.ts';

export interface StaleInputs {
  readonly stack: boolean;
  readonly state: boolean;
  /** The plan was made from the state of another stack of this name, in another store perhaps. */
  readonly lineage: boolean;
  readonly vms: readonly string[];
}

/** Undefined if the inputs of the plan are unchanged. */
export function staleInputs({ fingerprints: then }: Plan, now: Fingerprints): StaleInputs | undefined {
  const stale = {
    stack: now.stack !== then.stack,
    state: now.state !== then.state,
    // The first plan of a stack is made before its state has a lineage.
    lineage: then.lineage !== undefined && now.lineage !== undefined && now.lineage !== then.lineage,
    vms: Object.keys({ ...now.vms, ...then.vms }).filter((address) => now.vms[address] !== then.vms[address]),
  };
  return stale.stack || stale.state || stale.lineage || stale.vms.length > 0 ? stale : undefined;
}

/** What is known besides the stale plan. */
export interface StaleContext {
  readonly now: Fingerprints;
  /** As it would be made today; undefined if none can be made. */
  readonly fresh: Plan | undefined;
  /** Runs since the plan was made: `20260101T… (apply by alice)`. */
  readonly runs: readonly string[];
}

const SHOWN = 12;

export function stalePlan(given: Plan, stale: StaleInputs, context: StaleContext): ProxwrightError {
  const { now, fresh, runs } = context;
  const vms = vmLines(given, stale, now, fresh);
  const serials = given.fingerprints.serial === undefined ? '' : `, at serial ${given.fingerprints.serial}`;
  const lines = [
    ...(stale.lineage
      ? ['the state is another one: the plan was made from a state that this store does not have']
      : []),
    ...(stale.state && !stale.lineage
      ? [`the state: it is at serial ${now.serial ?? '?'}, and the plan was made earlier${serials}${runWords(runs)}`]
      : []),
    ...(stale.stack ? ['the stack file or its variables'] : []),
    ...vms,
  ];
  const left = lines.length - SHOWN;
  const shown = [...lines.slice(0, SHOWN), ...(left > 0 ? [`and ${left} more`] : [])].map((line) => `- ${line}`);
  const [only] = stale.vms.length === 1 && !stale.stack && !stale.state ? stale.vms : [];
  return new ProxwrightError({
    code: 'PLAN_STALE',
    ...(only !== undefined && { where: { address: only } }),
    detail: [`Since this plan was made (${given.createdAt}), this has changed:`, ...shown].join('\n'),
    hint: advice`Nothing was changed. Make a new plan, and check it: ${command('plan')}`,
  });
}

const runWords = (runs: readonly string[]) => (runs.length === 0 ? '' : `; runs since: ${runs.join(', ')}`);

function vmLines(given: Plan, stale: StaleInputs, now: Fingerprints, fresh: Plan | undefined): string[] {
  const changeOf = (plan: Plan | undefined, address: string) => plan?.changes.find((each) => each.address === address);
  const planned = [...given.changes, ...(fresh?.changes ?? [])].map((each) => each.address);
  const addresses = new Set<string>([...planned, ...stale.vms]);
  return [...addresses].flatMap((address) => {
    const [before, after] = [changeOf(given, address), changeOf(fresh, address)];
    const words = [
      ...lifeWords(given.fingerprints.vms[address], now.vms[address]),
      ...(fresh ? changeWords(before, after) : []),
    ];
    if (words.length === 0 && stale.vms.includes(address)) {
      words.push(fresh ? 'a field that the file does not set' : 'its configuration');
    }
    return words.map((each) => `${address}: ${each}`);
  });
}

/** A VM that came or went; its fingerprint is a word then. */
function lifeWords(then = 'absent', now = 'absent'): string[] {
  const isThere = (mark: string) => mark !== 'gone' && mark !== 'absent';
  if (isThere(then) && !isThere(now)) return ['it no longer exists'];
  return !isThere(then) && isThere(now) ? ['it exists now'] : [];
}

function changeWords(before: Change | undefined, after: Change | undefined): string[] {
  if (!before || !after) return before ? ['a new plan leaves it out'] : after ? ['it is not in the plan'] : [];
  const paths = new Set([...before.differences, ...after.differences].map(({ path }) => path));
  const find = ({ differences }: Change, path: string) => differences.find((each) => each.path === path);
  return [
    ...(before.node === after.node ? [] : [`it was on ${before.node} and is on ${after.node} now`]),
    ...(before.vmid === after.vmid ? [] : [`its ID was ${before.vmid ?? 'open'} and is ${after.vmid ?? 'open'} now`]),
    ...[...paths].flatMap((path) => differenceWords(path, find(before, path), find(after, path))),
    ...(before.kind === after.kind ? [] : [`the plan says "${before.kind}", and a new one says "${after.kind}"`]),
  ];
}

function differenceWords(
  path: string,
  then: Change['differences'][number] | undefined,
  now: Change['differences'][number] | undefined,
): string[] {
  if (then?.secret || now?.secret) return fingerprint(then) === fingerprint(now) ? [] : [`${path} changed`];
  if (!then && now) {
    return now.by === 'file'
      ? [`the file now sets ${path} to ${printed(now.after)}`]
      : [`${path} is ${printed(now.before)} now, and the plan was made before that`];
  }
  if (then && !now) return [`${path} need no longer be set to ${printed(then.after)}`];
  if (!then || !now) return [];
  return [
    ...(same(then.before, now.before) ? [] : [`${path} was ${printed(then.before)} and is ${printed(now.before)} now`]),
    ...(same(then.after, now.after)
      ? []
      : [`the file now sets ${path} to ${printed(now.after)}, and the plan to ${printed(then.after)}`]),
  ];
}

const same = (a: unknown, b: unknown) => fingerprint(a ?? null) === fingerprint(b ?? null);

/** A plan file can be edited, and a template or storage can change without a VM of the stack changing. */
export function assertSameSteps(given: Plan, made: Plan): void {
  const stepsOf = ({ steps }: Plan) => new Map(steps.map((step) => [step.id, fingerprint(step)]));
  const [before, now] = [stepsOf(given), stepsOf(made)];
  const differing = [...given.steps, ...made.steps].filter(({ id }) => before.get(id) !== now.get(id));
  const addresses = [...new Set(differing.map(({ address }) => address))];
  const isReordered = given.steps.map(({ id }) => id).join() !== made.steps.map(({ id }) => id).join();
  if (addresses.length === 0 && !isReordered) return;
  throw new ProxwrightError({
    code: 'PLAN_STALE',
    detail: `${addresses.length > 0 ? `The steps for ${addresses.join(', ')} are` : 'The order of the steps is'} not what a new plan has: the plan file was edited, or what the VMs are made from has changed. Nothing was changed.`,
    hint: advice`Make a new plan, and check it: ${command('plan')}`,
  });
}

export function assertPlanned(result: PlanResult): void {
  if (result.ok) return;
  const [problem] = result.problems;
  throw new ProxwrightError({
    code: 'PLAN_STALE',
    where: problem?.where,
    detail: `This plan can no longer be made: ${problem?.detail ?? 'the cluster has changed.'}`,
    hint: problem?.hint ?? advice`Make a new plan: ${command('plan')}`,
  });
}
