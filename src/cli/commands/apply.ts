/** `proxwright apply`: shows the plan, asks, carries it out with live progress, says what stands, and proves it if asked to. */
import { counted } from '../../base/count.ts';
import { canceled, isCanceled } from '../../base/errors.ts';
import { stackOutputs } from '../../engine/outputs/outputs.ts';
import { type Change, isEmpty, type Plan } from '../../engine/plan-types.ts';
import { type CommandHost, EXIT_CANCELED, type ExitCode } from '../command-host.ts';
import { conclude } from '../conclusion.ts';
import { isYes, needsYes } from '../consent.ts';
import { partOf } from '../counted-kinds.ts';
import { passDoctor, passValidate, requireHealth } from '../evidence/first-stages.ts';
import type { StageEnd } from '../evidence/gate.ts';
import { draftIncident, problemOfRun } from '../evidence/incident-file.ts';
import { type EvidenceOptions, Proof } from '../evidence/proof.ts';
import { withLocalImages } from '../local-images.ts';
import type { StackHost } from '../opened-stack.ts';
import { writeOutputFiles } from '../output-files.ts';
import { readPlan } from '../plan-file.ts';
import { checkPlanning, hasChanges, requirePlan } from '../read-only-plan.ts';
import { type StackRun, withStackRun } from '../stack-session.ts';
import { paintFor } from '../views/paint.ts';
import { renderPlan } from '../views/plan-view.ts';
import { type PlanningOptions, planOptions } from './plan.ts';
import { concludeVerification } from './verify.ts';

export interface ApplyOptions extends PlanningOptions, EvidenceOptions {
  readonly yes?: boolean;
  readonly verify?: boolean;
  /** The command that was typed, where it was another one. */
  readonly typed?: string;
}

export async function runApply(
  planFile: string | undefined,
  options: ApplyOptions,
  outerHost: CommandHost,
): Promise<ExitCode> {
  const typed = options.typed ?? (planFile === undefined ? 'apply' : `apply ${planFile}`);
  if (!options.yes && !outerHost.canAsk) throw needsYes(typed);
  // Evidence is kept of what was proven; an apply alone proves nothing.
  const proof = new Proof('apply', options.verify ? options : { ...options, evidence: false }, outerHost, planFile);
  return proof.recorded(async () => {
    const stackHost = await passValidate(proof, options, outerHost);
    const givenPlan = planFile === undefined ? undefined : await readPlan(planFile, stackHost.stack.name, outerHost);
    return withStackRun(stackHost, outerHost, 'apply', async (run) => {
      const { version } = await run.pve.authenticate();
      Object.assign(proof.known, { server: run.pve, proxmox: version, secrets: run.secrets, runId: run.session.runId });
      if (options.verify) requireHealth(await passDoctor(proof, stackHost, run.host), run.host);
      return planAndApply({ proof, options, stackHost, run, givenPlan });
    });
  });
}

interface Work {
  readonly proof: Proof;
  readonly options: ApplyOptions;
  readonly stackHost: StackHost;
  readonly run: StackRun;
  readonly givenPlan: Plan | undefined;
}

async function planAndApply(work: Work): Promise<ExitCode> {
  const { proof, options, stackHost, run, givenPlan } = work;
  const { host, session } = run;
  const plan = await proof.gate.pass('plan', host, async (stageHost) => {
    checkPlanning(options, stackHost.stack, session.state);
    const watched = { ...run, host: stageHost };
    const made = givenPlan ? await permitted(givenPlan, watched) : await makePlan(options, stackHost, watched);
    return { value: made, words: isEmpty(made) ? 'Nothing to do.' : `${counted(made.steps.length, 'step')} to do.` };
  });
  proof.known.plan = plan;
  for (const warning of plan.warnings) host.terminal.diagnostic(warning);
  showPlan(plan, host);
  if (!hasChanges(plan)) {
    await proof.gate.pass('apply', host, async () => ({ value: undefined, words: 'Nothing to do.' }));
    await writeOutputs(stackHost, run);
    return options.verify ? verifyAfter(work, plan) : 0;
  }
  if (!options.yes && !isYes(await host.ask('\nCarry this out? [y/N] '))) throw canceled('Nothing was changed.');
  const code = await carryOut(work, plan);
  if (code === EXIT_CANCELED) return code;
  await writeOutputs(stackHost, run);
  if (!options.verify) return code;
  const verified = await verifyAfter(work, plan, code);
  return code === 0 ? verified : code;
}

/** What fails is drafted as an incident; what somebody stopped is none. */
async function carryOut({ proof, stackHost, run }: Work, plan: Plan): Promise<ExitCode> {
  const { host, session } = run;
  return proof.gate.pass('apply', host, async (): Promise<StageEnd<ExitCode>> => {
    const execution = await run.execute(plan).catch(async (error: unknown) => {
      if (!isCanceled(error)) {
        await draftIncident({ plan, problems: problemOfRun(error) }, proof, stackHost, run);
      }
      throw error;
    });
    const { outcomes, problems } = execution;
    proof.known.outcomes = outcomes;
    const code = conclude(stackHost, session.state, execution, host, 'apply');
    if (code === 1) await draftIncident({ plan, problems }, proof, stackHost, run);
    const done = [...outcomes.values()].filter((outcome) => outcome === 'done').length;
    const stopped = code === EXIT_CANCELED ? ', then it was stopped' : '';
    const words = `${partOf(done, outcomes.keys())} done${stopped}.`;
    return { value: code, words, isFailed: code !== 0, problems: [...problems.values()] };
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
async function makePlan(options: ApplyOptions, stackHost: StackHost, { session, host }: StackRun): Promise<Plan> {
  const plan = requirePlan(await withLocalImages(await session.plan(planOptions(options)), stackHost), host);
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

/** The end of the gate: a last plan, which must be empty. What a failed apply left open is its own incident already. */
async function verifyAfter(
  { proof, options, stackHost, run }: Work,
  plan: Plan,
  applied: ExitCode = 0,
): Promise<ExitCode> {
  const { session, pve } = run;
  const lastPlan = await proof.gate.pass('last plan', run.host, async (host) => {
    const made = requirePlan(await session.plan({ only: options.only ?? [] }), host);
    const compared = session.evidence();
    Object.assign(proof.known, { lastPlan: made, compared });
    const { value: code, ...end } = concludeVerification({ plan: made, compared, pve }, host);
    return { ...end, value: { made, code } };
  });
  if (applied === 0 && lastPlan.code !== 0) {
    await draftIncident({ plan, problems: new Map(), lastPlan: lastPlan.made }, proof, stackHost, run);
  }
  return lastPlan.code;
}
