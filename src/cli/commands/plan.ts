/** `proxwright plan`: what apply would change, and why. It changes nothing and takes no lock. */
import { commandText } from '../../base/hint.ts';
import type { CommandDeps, ExitCode, StackOptions } from '../command.ts';
import { writePlan } from '../stack/plan-file.ts';
import { hasChanges, openAndPlan } from '../stack/planning.ts';
import { planView } from '../views/plan.ts';

/** What a plan may do beyond following the file. */
export interface PlanningOptions extends StackOptions {
  readonly only?: readonly string[];
  readonly allowDelete?: boolean;
  readonly allowRestart?: boolean;
  readonly replace?: readonly string[];
  readonly destroyData?: readonly string[];
}

export interface PlanCommandOptions extends PlanningOptions {
  readonly out?: string;
  readonly exitCode?: boolean;
}

export async function runPlan(options: PlanCommandOptions, deps: CommandDeps): Promise<ExitCode> {
  const { plan } = await openAndPlan(options, deps, { ...planOptions(options), checkPrivileges: true });
  if (options.out !== undefined) await writePlan(options.out, plan, deps);
  planView(deps).plan(plan);
  if (options.out !== undefined) {
    deps.terminal.log('info', `Wrote the plan to ${options.out}. To apply it: ${commandText('apply', options.out)}`);
  }
  return options.exitCode && hasChanges(plan) ? 2 : 0;
}

export function planOptions(options: PlanningOptions) {
  const { only = [], allowDelete = false, allowRestart = false, replace = [], destroyData = [] } = options;
  return { only, allowDelete, allowRestart, replace, destroyData };
}
