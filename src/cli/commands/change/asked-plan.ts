/**
 * Commands whose plan does what the user requests, whatever the file says: moves, snapshots and rollbacks. The plan is
 * shown, confirmed and executed; or, with --dry-run, only shown.
 */
import { canceled } from '../../../base/errors.ts';
import { observe } from '../../../engine/observe.ts';
import type { AskedPlan } from '../../../engine/plan.ts';
import { isEmpty, type Plan } from '../../../kinds/change.ts';
import { readRecorded } from '../../../state/recorded.ts';
import type { CommandDeps, ExitCode, StackOptions } from '../../command.ts';
import { isYes, needsYes } from '../../consent.ts';
import { type ResumedOptions, resumingWords } from '../../evidence/typed-command.ts';
import { connect } from '../../stack/connect.ts';
import { type OpenedStack, openStack } from '../../stack/open.ts';
import { checkPlanning, privilegeWarnings, requirePlan } from '../../stack/planning.ts';
import { conclusionOf, withStackRun } from '../../stack/run.ts';
import { resolveSecrets } from '../../stack/secrets.ts';
import { applyView, type Conclusion } from '../../views/change/apply.ts';
import { planView } from '../../views/plan/plan.ts';
import { showProblems } from '../../views/view.ts';

export interface AskedOptions extends StackOptions {
  readonly yes?: boolean;
  readonly only?: readonly string[];
  readonly dryRun?: boolean;
}

export interface AskedCommand {
  readonly command: Exclude<Conclusion['command'], 'apply' | 'destroy'>;
  /** What resumes it: `drain pve1`. */
  readonly typed: string;
  /** Typed again, it would also repeat what is done. */
  readonly repeats?: true;
  /** The question unless --yes was given, with the message for a no; undefined for a command that destroys nothing. */
  readonly question?: { readonly text: string; readonly refused: string };
  /** The message if there is nothing to do. */
  readonly nothing: string;
  readonly asked: AskedPlan;
}

export async function runAsked(
  command: AskedCommand,
  options: AskedOptions & ResumedOptions,
  outerDeps: CommandDeps,
): Promise<ExitCode> {
  const { typed, question } = command;
  if (question && !options.yes && !options.dryRun && !outerDeps.canAsk) {
    throw needsYes(typed, `Check the plan first, with --dry-run. Then, with --yes: ${typed}`);
  }
  const opened = await openStack(options, outerDeps);
  if (options.dryRun) return show(command.asked, options, opened, outerDeps);
  return withStackRun(opened, outerDeps, typed, async (run) => {
    const { session, deps } = run;
    checkPlanning({ only: options.only ?? [] }, opened.stack, session.state);
    const plan = requirePlan(await session.planAsked(command.asked), deps);
    showProblems(plan.warnings, deps);
    const view = applyView(deps);
    view.plan(plan);
    if (isEmpty(plan)) {
      deps.terminal.success(command.nothing);
      return 0;
    }
    if (question && !options.yes && !isYes(await deps.ask(`\n${question.text} [y/N] `))) {
      throw canceled(question.refused);
    }
    const conclusion = conclusionOf(command.command, await run.execute(plan), opened, session.state, plan);
    // A command of its own resumes it, whichever group is only partly changed.
    view.concluded({ ...conclusion, resume: resumeOf(command, options, conclusion), rolls: [] });
    return conclusion.code;
  });
}

/** Exported for its test. */
export function resumeOf(
  { typed, repeats }: Pick<AskedCommand, 'typed' | 'repeats'>,
  options: ResumedOptions,
  { outcomes }: Pick<Conclusion, 'outcomes'>,
): string[] {
  const unfinished = [...outcomes].flatMap(([address, outcome]) => (outcome === 'done' ? [] : [address]));
  const again = options.allowRestart ? ['--allow-restart'] : [];
  return [...typed.split(' '), ...resumingWords(repeats ? { ...options, only: unfinished } : options, again)];
}

/** Without the lock: what an unfinished run left is taken into account, but not settled. */
async function show(
  asked: AskedPlan,
  options: AskedOptions,
  opened: OpenedStack,
  deps: CommandDeps,
): Promise<ExitCode> {
  const { stack, store } = opened;
  const pve = await connect(opened, deps);
  const { state, unfinished } = await readRecorded(store, stack.name);
  checkPlanning({ only: options.only ?? [] }, stack, state);
  const secrets = await resolveSecrets(opened, deps);
  const reading = { pve, stack, state, secrets, ...asked.reads };
  const observed = await observe({ ...reading, neighbours: 'never', chooseIds: false });
  const result = asked.plan({ stack, state, observed, secrets, now: deps.clock.now() });
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
