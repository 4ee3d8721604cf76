/** `proxwright apply`: shows the plan, asks, carries it out with live progress, and says what stands. */
import { counted } from '../../base/count.ts';
import { Canceled } from '../../base/errors.ts';
import { stackOutputs } from '../../engine/outputs/outputs.ts';
import { type Change, isEmpty, type Plan } from '../../engine/plan-types.ts';
import { type CommandHost, EXIT_CANCELED, type ExitCode } from '../command-host.ts';
import { conclude } from '../conclusion.ts';
import { isYes, needsYes } from '../consent.ts';
import type { StackHost } from '../opened-stack.ts';
import { writeOutputFiles } from '../output-files.ts';
import { readPlan } from '../plan-file.ts';
import { checkPlanning, hasChanges, requirePlan } from '../read-only-plan.ts';
import { openStack } from '../stack-host.ts';
import { type StackRun, withStackRun } from '../stack-session.ts';
import { paintFor } from '../views/paint.ts';
import { renderPlan } from '../views/plan-view.ts';
import { type PlanningOptions, planOptions } from './plan.ts';
import { concludeVerification } from './verify.ts';

export interface ApplyOptions extends PlanningOptions {
  readonly yes?: boolean;
  readonly verify?: boolean;
  readonly evidence?: string;
}

export async function runApply(
  planFile: string | undefined,
  options: ApplyOptions,
  outerHost: CommandHost,
): Promise<ExitCode> {
  if (!options.yes && !outerHost.canAsk) throw needsYes(planFile === undefined ? 'apply' : `apply ${planFile}`);
  const stackHost = await openStack(options, outerHost);
  const givenPlan = planFile === undefined ? undefined : await readPlan(planFile, stackHost.stack.name, outerHost);
  return withStackRun(stackHost, outerHost, 'apply', async (run) => {
    const { host, session } = run;
    checkPlanning(options, stackHost.stack, session.state);
    const plan = givenPlan ? await permitted(givenPlan, run) : await makePlan(options, run);
    for (const warning of plan.warnings) host.terminal.diagnostic(warning);
    showPlan(plan, host);
    if (!hasChanges(plan)) {
      await writeOutputs(stackHost, run);
      return options.verify ? verifyAfter(run, options) : 0;
    }
    if (!options.yes && !isYes(await host.ask('\nCarry this out? [y/N] '))) throw new Canceled('Nothing was changed.');
    const execution = await run.execute(plan);
    const code = conclude(stackHost, session.state, execution, host, 'apply');
    if (code === EXIT_CANCELED) return code;
    await writeOutputs(stackHost, run);
    if (!options.verify) return code;
    const verified = await verifyAfter(run, options);
    return code === 0 ? verified : code;
  });
}

/** A plan from a file was made with a token that may be another one, or had other rights then. */
async function permitted(plan: Plan, { session, host }: StackRun): Promise<Plan> {
  const { missing } = isEmpty(plan) ? { missing: [] } : await session.privilegesFor(plan);
  const warnings = plan.warnings.filter(({ code }) => code !== 'PRIVILEGE_MISSING' && code !== 'ROOT_ONLY');
  return requirePlan(
    missing.length > 0 ? { ok: false, problems: missing } : { ok: true, plan: { ...plan, warnings } },
    host,
  );
}

/** Whoever sits at a terminal is asked what the file does not allow by itself; everybody else says --allow-… */
async function makePlan(options: ApplyOptions, { session, host }: StackRun): Promise<Plan> {
  const plan = requirePlan(await session.plan(planOptions(options)), host);
  if (options.yes || !host.canAsk) return plan;
  const listed = (changes: readonly Change[]) => changes.map(({ address, name }) => `${address} (${name})`).join(', ');
  const kept = plan.changes.filter(({ kind }) => kind === 'keep');
  const waiting = plan.changes.filter(({ restartPending }) => restartPending.length > 0);
  const allowDelete =
    kept.length > 0 &&
    isYes(await host.ask(`No longer in the file: ${listed(kept)}. Delete what left the file? [y/N] `));
  const allowRestart =
    waiting.length > 0 && isYes(await host.ask(`Needs a restart: ${listed(waiting)}. Restart them now? [y/N] `));
  if (!allowDelete && !allowRestart) return plan;
  const wider = planOptions(options);
  return requirePlan(
    await session.plan({
      ...wider,
      allowDelete: wider.allowDelete || allowDelete,
      allowRestart: wider.allowRestart || allowRestart,
    }),
    host,
  );
}

function showPlan(plan: Plan, host: CommandHost): void {
  if (host.json) host.terminal.result(JSON.stringify({ type: 'plan', plan }));
  else for (const line of renderPlan(plan, paintFor(host.stdout))) host.terminal.result(line);
}

async function writeOutputs(stackHost: StackHost, { session, host }: StackRun): Promise<void> {
  const outputs = stackOutputs(stackHost.stack, session.state);
  const files = await writeOutputFiles(stackHost, outputs);
  if (files.length === 0) return;
  host.terminal.log('info', `Wrote ${counted(files.length, 'output file')} below ${stackHost.stack.outputs.files}.`);
}

/** The gate: a last plan, which must be empty. */
async function verifyAfter({ session, host, pve }: StackRun, options: ApplyOptions): Promise<ExitCode> {
  const plan = requirePlan(await session.plan({ only: options.only ?? [] }), host);
  return concludeVerification({ plan, evidence: session.evidence(), pve }, host, options.evidence);
}
