/** `proxwright plan`: what apply would change, and why. It changes nothing and takes no lock. */
import type { HookChoice, Plan } from '../../../kinds/change.ts';
import { badOption, type CommandDeps, type ExitCode, type StackOptions } from '../../command.ts';
import { PLAN_FORMATS } from '../../options.ts';
import { writePlan } from '../../stack/plan-file.ts';
import { hasChanges, openAndPlan } from '../../stack/planning.ts';
import { toType } from '../../terminal.ts';
import { COMMENT_LIMIT, planMarkdown, SMALLEST_COMMENT } from '../../views/plan/markdown.ts';
import { planView } from '../../views/plan/plan.ts';

export interface HookOptions {
  /** False: `--no-hooks`. */
  readonly hooks?: boolean;
  readonly hookAgain?: readonly string[];
  readonly hookDone?: readonly string[];
}

/** What a plan may do beyond following the file. */
export interface PlanningOptions extends StackOptions, HookOptions {
  readonly only?: readonly string[];
  readonly allowDelete?: boolean;
  readonly allowRestart?: boolean;
  readonly replace?: readonly string[];
  readonly destroyData?: readonly string[];
}

export interface PlanCommandOptions extends PlanningOptions {
  readonly out?: string;
  readonly exitCode?: boolean;
  readonly format?: string;
  readonly maxSize?: string;
  readonly summary?: boolean;
}

export async function runPlan(options: PlanCommandOptions, deps: CommandDeps): Promise<ExitCode> {
  const show = viewOf(options, deps);
  const { plan } = await openAndPlan(options, deps, { ...planOptions(options), checkPrivileges: true });
  if (options.out !== undefined) await writePlan(options.out, plan, deps);
  show(plan);
  if (options.out !== undefined) {
    deps.terminal.log(
      'info',
      `Wrote the plan to ${options.out}. To apply it: ${toType(deps.terminal, 'apply', options.out)}`,
    );
  }
  return options.exitCode && hasChanges(plan) ? 2 : 0;
}

/** Chosen before the cluster is read, so that a mistyped option costs nothing. */
function viewOf(options: PlanCommandOptions, deps: CommandDeps): (plan: Plan) => void {
  const { format = 'text', maxSize, json, summary = false } = options;
  const known = PLAN_FORMATS.find((each) => each === format);
  if (!known) {
    throw badOption('--format', `There is no format "${format}".`, `Choose one of ${PLAN_FORMATS.join(', ')}.`);
  }
  if (known === 'text') return planView(deps, { isSummary: summary }).plan;
  if (summary)
    throw badOption('--summary', '--summary and --format cannot be used together.', 'Leave one of them out.');
  if (json) throw badOption('--format', '--json and --format cannot be used together.', 'Leave one of them out.');
  const limit = maxSize === undefined ? COMMENT_LIMIT : Number(maxSize);
  if (!Number.isInteger(limit) || limit < SMALLEST_COMMENT) {
    throw badOption(
      '--max-size',
      `"${maxSize}" is not a number of bytes from ${SMALLEST_COMMENT}.`,
      'GitLab takes 1000000.',
    );
  }
  // Before anything is escaped, which could hide a secret from the search for it.
  return (plan) => {
    for (const line of planMarkdown(deps.secrets.redactIn(plan), limit)) deps.terminal.result(line);
  };
}

export function planOptions(options: PlanningOptions) {
  const { only = [], allowDelete = false, allowRestart = false, replace = [], destroyData = [] } = options;
  return { only, allowDelete, allowRestart, replace, destroyData, hooks: hookChoice(options) };
}

export function hookChoice({ hooks, hookAgain = [], hookDone = [] }: HookOptions): HookChoice {
  return {
    ...(hooks === false && { off: true }),
    ...(hookAgain.length > 0 && { again: hookAgain }),
    ...(hookDone.length > 0 && { done: hookDone }),
  };
}
