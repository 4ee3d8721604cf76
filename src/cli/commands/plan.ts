/** `proxwright plan`: what would change and why. It changes nothing and takes no lock. */
import type { CommandHost, ExitCode } from '../command-host.ts';
import { writePlan } from '../plan-file.ts';
import { hasChanges, openAndLook } from '../read-only-plan.ts';
import type { StackOptions } from '../stack-options.ts';
import { paintFor } from '../views/paint.ts';
import { renderPlan } from '../views/plan-view.ts';

/** What a plan may do beyond following the file. */
export interface PlanningOptions extends StackOptions {
  readonly only?: readonly string[];
  readonly allowDelete?: boolean;
  readonly allowRestart?: boolean;
  readonly replace?: readonly string[];
}

export interface PlanCommandOptions extends PlanningOptions {
  readonly out?: string;
  readonly exitCode?: boolean;
}

export async function runPlan(options: PlanCommandOptions, host: CommandHost): Promise<ExitCode> {
  const { plan } = await openAndLook(options, host, { ...planOptions(options), checkPrivileges: true });
  if (options.out !== undefined) await writePlan(options.out, plan, host);
  if (host.json) host.terminal.result(JSON.stringify(plan));
  else for (const line of renderPlan(plan, paintFor(host.stdout))) host.terminal.result(line);
  if (options.out !== undefined) {
    host.terminal.log('info', `The plan is in ${options.out}. Carry it out: proxwright apply ${options.out}`);
  }
  return options.exitCode && hasChanges(plan) ? 2 : 0;
}

export function planOptions({ only = [], allowDelete = false, allowRestart = false, replace = [] }: PlanningOptions) {
  return { only, allowDelete, allowRestart, replace };
}
