/** Drafts an incident report about a failed apply, in a file next to the stack file. */
import { mkdir, open, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Diagnostic } from '../../base/diagnostics.ts';
import { hasCode, toDiagnostic } from '../../base/errors.ts';
import { visibleText } from '../../base/text/safe-text.ts';
import { type IncidentInput, incidentName, renderIncident } from '../../engine/evidence/incident.ts';
import { differingOf } from '../../engine/evidence/record.ts';
import { describeRun } from '../../engine/record/run-record.ts';
import type { Plan } from '../../kinds/change.ts';
import type { ResourceOutcome } from '../../state/events.ts';
import { readRun } from '../../state/journal.ts';
import { packageVersion } from '../package.ts';
import type { OpenedStack } from '../stack/open.ts';
import type { StackRun } from '../stack/run.ts';

const FOLDER = 'incidents';
const PRIVATE = 0o600;
const PRIVATE_DIRECTORY = 0o700;

export interface Failure {
  readonly plan: Plan;
  readonly problems: ReadonlyMap<string, Diagnostic>;
  /** Absent if the run broke off. */
  readonly outcomes?: ReadonlyMap<string, ResourceOutcome> | undefined;
  /** The plan that should have been empty. */
  readonly lastPlan?: Plan;
}

/** What the report says about the command, besides its failure. */
export interface IncidentContext {
  /** The command, as it can be typed again. */
  readonly typed: string;
  /** The release of Proxmox VE. */
  readonly proxmox: string | undefined;
}

/**
 * Returns the name of the file. Only a run with a journal has something to report. If the draft cannot be written, a
 * warning says so; the run ends as it would have ended.
 */
export async function draftIncident(
  failure: Failure,
  context: IncidentContext,
  opened: OpenedStack,
  run: StackRun,
): Promise<string | undefined> {
  const { session, deps } = run;
  try {
    const journal = await readRun(opened.store, session.runId);
    if (!journal.events.some(({ event }) => event === 'planned')) return undefined;
    const input = incidentInput(failure, context, opened, run, describeRun(journal));
    const text = visibleText(deps.secrets.redact(renderIncident(input)));
    // As messages name it: relative to the stack file's directory.
    const shown = join(dirname(opened.file), FOLDER, incidentName(input));
    const path = resolve(deps.directory, shown);
    await mkdir(dirname(path), { recursive: true, mode: PRIVATE_DIRECTORY });
    // An existing one may have been edited by hand.
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
    deps.terminal.log(
      'info',
      `Drafted an incident report from the journal: ${shown}. Complete it with what only you know.`,
    );
    return shown;
  } catch (error) {
    // The failure that the run reports says so already.
    if (hasCode(error, 'STATE_UNREACHABLE')) return undefined;
    const reason = error instanceof Error ? error.message : String(error);
    deps.terminal.log('warn', `The incident report could not be drafted: ${reason}`);
    return undefined;
  }
}

function incidentInput(
  { plan, problems, outcomes = new Map(), lastPlan }: Failure,
  { typed, proxmox }: IncidentContext,
  { stack }: OpenedStack,
  { session, deps, pve }: StackRun,
  record: IncidentInput['run'],
): IncidentInput {
  return {
    runId: session.runId,
    stack: stack.name,
    typed,
    noticedAt: new Date(deps.clock.now()).toISOString(),
    versions: { proxwright: packageVersion(), proxmox },
    endpoint: pve.endpoint,
    run: record,
    planned: differingOf(plan),
    outcomes,
    problems,
    vms: session.state.vms,
    remaining: lastPlan ? differingOf(lastPlan) : [],
  };
}

/** A problem of the run as a whole has no address. */
export function problemOfRun(error: unknown): ReadonlyMap<string, Diagnostic> {
  return new Map([['', toDiagnostic(error)]]);
}
