/** `proxwright drain` and `proxwright rebalance`: plans that move VMs to other nodes; shown, asked about, and carried out. */
import { canceled } from '../../base/errors.ts';
import { observe } from '../../engine/observe.ts';
import { planRelocation } from '../../engine/plan.ts';
import { isEmpty, type Plan } from '../../kinds/change.ts';
import type { RelocateOptions, Relocation } from '../../kinds/kind.ts';
import { recallState } from '../../state/recall.ts';
import type { CommandDeps, ExitCode, StackOptions } from '../command.ts';
import { isYes, needsYes } from '../consent.ts';
import { connect } from '../stack/connect.ts';
import { type OpenedStack, openStack } from '../stack/open.ts';
import { checkPlanning, privilegeWarnings, requirePlan } from '../stack/planning.ts';
import { conclusionOf, withStackRun } from '../stack/run.ts';
import { resolveSecrets } from '../stack/secrets.ts';
import { applyView } from '../views/apply.ts';
import { planView } from '../views/plan/plan.ts';
import { showProblems } from '../views/view.ts';

export interface RelocateCommandOptions extends StackOptions {
  readonly yes?: boolean;
  readonly only?: readonly string[];
  readonly dryRun?: boolean;
  readonly allowRestart?: boolean;
  readonly targetStorage?: string;
}

export function runDrain(node: string, options: RelocateCommandOptions, deps: CommandDeps): Promise<ExitCode> {
  return relocate({ kind: 'drain', node }, options, deps);
}

export function runRebalance(options: RelocateCommandOptions, deps: CommandDeps): Promise<ExitCode> {
  return relocate({ kind: 'rebalance' }, options, deps);
}

async function relocate(
  relocation: Relocation,
  options: RelocateCommandOptions,
  outerDeps: CommandDeps,
): Promise<ExitCode> {
  const { only = [], allowRestart = false, targetStorage } = options;
  const request: RelocateOptions = { relocation, only, allowRestart, targetStorage };
  const typed = relocation.kind === 'drain' ? `drain ${relocation.node}` : 'rebalance';
  if (!options.yes && !options.dryRun && !outerDeps.canAsk) {
    throw needsYes(typed, `Check the plan first, with --dry-run. Then, with --yes: ${typed}`);
  }
  const opened = await openStack(options, outerDeps);
  if (options.dryRun) return show(request, opened, outerDeps);
  return withStackRun(opened, outerDeps, typed, async (run) => {
    const { session, deps } = run;
    checkPlanning({ only }, opened.stack, session.state);
    const plan = requirePlan(await session.planRelocation(request), deps);
    showProblems(plan.warnings, deps);
    const view = applyView(deps);
    view.plan(plan);
    if (isEmpty(plan)) {
      deps.terminal.success(nothingToDo(relocation));
      return 0;
    }
    if (!options.yes && !isYes(await deps.ask('\nMove these VMs? [y/N] '))) throw canceled('Nothing was moved.');
    const conclusion = conclusionOf(relocation.kind, await run.execute(plan), opened, session.state, plan);
    // The same command resumes it, whichever group is moved in part.
    view.concluded({ ...conclusion, typed, rolls: [] });
    return conclusion.code;
  });
}

/** Without the lock: what an unfinished run left is taken into account, but not settled. */
async function show(request: RelocateOptions, opened: OpenedStack, deps: CommandDeps): Promise<ExitCode> {
  const { stack, store } = opened;
  const pve = await connect(opened, deps);
  const { state, unfinished } = await recallState(store, stack.name);
  checkPlanning({ only: request.only ?? [] }, stack, state);
  const secrets = await resolveSecrets(opened, deps);
  const observed = await observe({
    pve,
    stack,
    state,
    secrets,
    relocates: true,
    neighbours: 'never',
    chooseIds: false,
  });
  const result = planRelocation({ stack, state, observed, secrets, now: deps.clock.now(), ...request });
  if (unfinished.length > 0) {
    deps.terminal.log('warn', 'An earlier run is unfinished or still running. To resume it, run its command again.');
  }
  const made: Plan = requirePlan(result, deps);
  const rights = isEmpty(made) ? [] : await privilegeWarnings(pve, made, stack, observed);
  const plan = { ...made, warnings: [...made.warnings, ...rights] };
  showProblems(plan.warnings, deps);
  planView(deps).plan(plan);
  return 0;
}

function nothingToDo(relocation: Relocation): string {
  return relocation.kind === 'drain'
    ? `Nothing to move: no VM of this stack is on ${relocation.node}.`
    : 'Nothing to move: every VM is where the file wants it.';
}
