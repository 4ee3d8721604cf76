/** `proxwright apply`: shows the plan, asks, executes it with live progress, and reports the result; `--verify` proves it. */
import { type CommandDeps, EXIT_CANCELED, type ExitCode } from '../../command.ts';
import { needsYes } from '../../consent.ts';
import { draftIncident } from '../../evidence/incident-file.ts';
import { typedCommand } from '../../evidence/typed-command.ts';
import { openStack } from '../../stack/open.ts';
import { hasChanges } from '../../stack/planning.ts';
import { withStackRun } from '../../stack/run.ts';
import {
  type ApplyOptions,
  askToProceed,
  executePlan,
  makePlan,
  readGivenPlan,
  showPlan,
  writeOutputs,
} from './apply-steps.ts';

export async function runApply(
  planFile: string | undefined,
  options: ApplyOptions,
  outerDeps: CommandDeps,
): Promise<ExitCode> {
  const typed = options.typed ?? (planFile === undefined ? 'apply' : `apply ${planFile}`);
  if (!options.yes && !outerDeps.canAsk) throw needsYes(typed);
  if (!options.verify) return applyPlain(planFile, options, outerDeps);
  const { applyVerified } = await import('../../evidence/verified-apply.ts');
  return applyVerified(planFile, options, outerDeps);
}

async function applyPlain(
  planFile: string | undefined,
  options: ApplyOptions,
  outerDeps: CommandDeps,
): Promise<ExitCode> {
  const opened = await openStack(options, outerDeps);
  const givenPlan = await readGivenPlan(planFile, opened, outerDeps);
  return withStackRun(opened, outerDeps, 'apply', async (run) => {
    const { deps } = run;
    const { version } = await run.pve.authenticate();
    const incident = {
      typed: typedCommand('apply', options, planFile),
      proxmox: version,
    };
    const draft = async (failure: Parameters<typeof draftIncident>[0]) => {
      await draftIncident(failure, incident, opened, run);
    };
    const work = { options, opened, run, draft };
    const plan = await makePlan(work, givenPlan, deps);
    showPlan(plan, deps);
    if (!hasChanges(plan)) {
      await writeOutputs(work);
      return 0;
    }
    await askToProceed(options, plan, deps);
    const { code } = await executePlan(work, plan);
    if (code !== EXIT_CANCELED) await writeOutputs(work);
    return code;
  });
}
