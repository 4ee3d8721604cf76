/** `apply --verify`: an apply that passes the gate (validate, doctor, plan, apply, last plan) and leaves evidence of it. */
import { counted } from '../../base/values/units.ts';
import { isEmpty, type Plan } from '../../kinds/change.ts';
import { type CommandDeps, EXIT_CANCELED, type ExitCode } from '../command.ts';
import {
  type ApplyOptions,
  type ApplyWork,
  askToProceed,
  executePlan,
  makePlan,
  readGivenPlan,
  showPlan,
  writeOutputs,
} from '../commands/change/apply-steps.ts';
import { hasChanges, requirePlan } from '../stack/planning.ts';
import { withStackRun } from '../stack/run.ts';
import { partOf } from '../views/run/counted-kinds.ts';
import { draftIncident, type Failure } from './incident-file.ts';
import { Proof } from './proof.ts';
import { judged, passDoctor, passValidate, requireHealth } from './stages.ts';

interface VerifiedWork extends ApplyWork {
  readonly proof: Proof;
}

export async function applyVerified(
  planFile: string | undefined,
  options: ApplyOptions,
  outerDeps: CommandDeps,
): Promise<ExitCode> {
  const proof = new Proof('apply', options, outerDeps, planFile);
  return proof.recorded(async () => {
    const opened = await passValidate(proof, options, outerDeps);
    const givenPlan = await readGivenPlan(planFile, opened, outerDeps);
    return withStackRun(opened, outerDeps, 'apply', async (run) => {
      const { version } = await run.pve.authenticate();
      Object.assign(proof.known, { server: run.pve, proxmox: version, runId: run.session.runId, store: opened.store });
      requireHealth(await passDoctor(proof, opened, run.deps), run.deps);
      const draft = async (failure: Failure) => {
        const { typed, known } = proof;
        const incident = { typed, proxmox: known.proxmox };
        const file = await draftIncident(failure, incident, opened, run);
        if (file !== undefined) known.incident = file;
      };
      return planAndApply({ options, opened, run, draft, proof }, givenPlan);
    });
  });
}

async function planAndApply(work: VerifiedWork, givenPlan: Plan | undefined): Promise<ExitCode> {
  const { options, run, proof } = work;
  const { deps } = run;
  const plan = await proof.gate.pass('plan', deps, async (stageDeps) => {
    const made = await makePlan(work, givenPlan, stageDeps);
    return { value: made, words: isEmpty(made) ? 'Nothing to do.' : `${counted(made.steps.length, 'step')} to do.` };
  });
  proof.known.plan = plan;
  showPlan(plan, deps);
  if (!hasChanges(plan)) {
    await proof.gate.pass('apply', deps, async () => ({ value: undefined, words: 'Nothing to do.' }));
    await writeOutputs(work);
    return passLastPlan(work, plan, 0);
  }
  await askToProceed(options, plan, deps);
  const code = await passApply(work, plan);
  if (code === EXIT_CANCELED) return code;
  await writeOutputs(work);
  const verified = await passLastPlan(work, plan, code);
  return code === 0 ? verified : code;
}

async function passApply(work: VerifiedWork, plan: Plan): Promise<ExitCode> {
  const { proof, run } = work;
  return proof.gate.pass('apply', run.deps, async () => {
    const { code, outcomes, problems } = await executePlan(work, plan);
    proof.known.outcomes = outcomes;
    const done = [...outcomes.values()].filter((outcome) => outcome === 'done').length;
    const stopped = code === EXIT_CANCELED ? ', then it was stopped' : '';
    const words = `${partOf(done, outcomes.keys())} done${stopped}.`;
    return { value: code, words, isFailed: code !== 0, problems: [...problems.values()] };
  });
}

/** The last plan must be empty. What a failed apply left open belongs to its own incident. */
async function passLastPlan(work: VerifiedWork, plan: Plan, applied: ExitCode): Promise<ExitCode> {
  const { proof, options, run, draft } = work;
  const { lastPlan, code } = await proof.gate.pass('last plan', run.deps, async (deps) => {
    const made = requirePlan(await run.session.plan({ only: options.only ?? [] }), deps);
    const compared = run.session.evidence();
    Object.assign(proof.known, { lastPlan: made, compared });
    const { value, ...end } = judged({ plan: made, compared, server: run.pve }, deps);
    return { ...end, value: { lastPlan: made, code: value } };
  });
  if (applied === 0 && code !== 0) await draft({ plan, problems: new Map(), outcomes: proof.known.outcomes, lastPlan });
  return code;
}
