/** Writes the draft of an incident report about an apply that failed, beside its stack file. */
import { mkdir, open, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Diagnostic } from '../../base/diagnostics.ts';
import { toDiagnostic } from '../../base/errors.ts';
import { redact } from '../../base/secret.ts';
import { type IncidentInput, incidentName, renderIncident } from '../../engine/evidence/incident.ts';
import { differingOf } from '../../engine/evidence/record.ts';
import type { Plan } from '../../engine/plan-types.ts';
import { describeRun } from '../../engine/run-record.ts';
import { readRun } from '../../state/journal.ts';
import type { StackHost } from '../opened-stack.ts';
import { packageVersion } from '../package-version.ts';
import type { StackRun } from '../stack-session.ts';
import type { Proof } from './proof.ts';

const FOLDER = 'incidents';
const PRIVATE = 0o600;
const PRIVATE_DIRECTORY = 0o700;

export interface Failure {
  readonly plan: Plan;
  readonly problems: ReadonlyMap<string, Diagnostic>;
  /** The plan that should have been empty. */
  readonly lastPlan?: Plan;
}

/**
 * Only a run that began has something to report: its journal says so. A draft that cannot be written is said, and changes
 * nothing about how the run ends.
 */
export async function draftIncident(
  failure: Failure,
  proof: Proof,
  stackHost: StackHost,
  run: StackRun,
): Promise<void> {
  const { session, host } = run;
  try {
    const journal = await readRun(stackHost.store, session.runId);
    if (!journal.events.some(({ event }) => event === 'planned')) return;
    const input = incidentInput(failure, proof, stackHost, run, describeRun(journal));
    const text = redact(renderIncident(input), await proof.secrets());
    // As messages name it: where the stack file is.
    const shown = join(dirname(stackHost.file), FOLDER, incidentName(input));
    const path = resolve(host.directory, shown);
    await mkdir(dirname(path), { recursive: true, mode: PRIVATE_DIRECTORY });
    // One that is there may have been filled in by hand.
    const file = await open(path, 'wx', PRIVATE);
    try {
      await file.writeFile(text);
    } catch (error) {
      // Half a draft is worse than none.
      await rm(path, { force: true });
      throw error;
    } finally {
      await file.close();
    }
    proof.known.incident = shown;
    host.terminal.log('info', `What happened, from the journal, is drafted in ${shown}: fill in what only you know.`);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    host.terminal.log('warn', `No incident draft was written: ${reason}`);
  }
}

function incidentInput(
  { plan, problems, lastPlan }: Failure,
  { typed, known }: Proof,
  { stack }: StackHost,
  { session, host, pve }: StackRun,
  record: IncidentInput['run'],
): IncidentInput {
  return {
    runId: session.runId,
    stack: stack.name,
    typed,
    noticedAt: new Date(host.clock.now()).toISOString(),
    versions: { proxwright: packageVersion(), proxmox: known.proxmox },
    endpoint: pve.endpoint,
    run: record,
    planned: differingOf(plan),
    outcomes: known.outcomes ?? new Map(),
    problems,
    vms: session.state.vms,
    remaining: lastPlan ? differingOf(lastPlan) : [],
  };
}

/** What befell the run as a whole stands under no address. */
export function problemOfRun(error: unknown): ReadonlyMap<string, Diagnostic> {
  return new Map([['', toDiagnostic(error)]]);
}
