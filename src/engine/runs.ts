/** Earlier runs, told from their journals: what was done to which VM, how long it took, and what failed. Pure. */
import type { RunEvent } from '../state/events.ts';
import type { RunJournal } from '../state/journal.ts';

export type RunOutcome =
  | 'done'
  | 'failed'
  | 'canceled'
  /** It died, or was stopped; a later run took up what it began. */
  | 'interrupted'
  /** It still lives, or nobody has taken up what it began. */
  | 'unfinished';

export interface StepRecord {
  readonly step: string;
  readonly address: string;
  /** `clone`, `configure`, `ready` … */
  readonly action: string;
  /** ISO 8601, like all times here. */
  readonly startedAt: string;
  readonly endedAt: string | undefined;
  readonly durationMs: number | undefined;
  readonly outcome: 'done' | 'failed' | 'open';
  readonly problem?: { readonly code: string; readonly detail: string };
  /** Tasks it waited for. */
  readonly tasks: readonly string[];
}

export interface RunRecord {
  readonly runId: string;
  readonly command: string;
  readonly who: string | undefined;
  readonly startedAt: string | undefined;
  readonly endedAt: string | undefined;
  readonly durationMs: number | undefined;
  readonly outcome: RunOutcome;
  readonly steps: readonly StepRecord[];
  /** By address, in the order they were begun. */
  readonly vms: readonly VmRecord[];
  readonly notes: readonly string[];
}

export interface VmRecord {
  readonly address: string;
  readonly steps: readonly StepRecord[];
  readonly durationMs: number | undefined;
  readonly failed: boolean;
}

export function describeRun({ runId, events }: RunJournal): RunRecord {
  const started = events.find((event) => event.event === 'runStarted');
  const ended = events.find((event) => event.event === 'runEnded');
  const steps = stepRecords(events);
  const outcome = outcomeOf(events, steps);
  // Whoever closes the journal of a dead run does so much later.
  const own = outcome === 'interrupted' ? events.filter((event) => event !== ended) : events;
  const [startedAt, endedAt] = [events[0]?.at, outcome === 'unfinished' ? undefined : own.at(-1)?.at];
  return {
    runId,
    command: started?.command ?? 'settle',
    who: started?.who,
    startedAt,
    endedAt,
    durationMs: between(startedAt, endedAt),
    outcome,
    steps,
    vms: vmRecords(steps),
    notes: events.flatMap((event) => (event.event === 'note' ? [event.text] : [])),
  };
}

function outcomeOf(events: readonly RunEvent[], steps: readonly StepRecord[]): RunOutcome {
  const ended = events.find((event) => event.event === 'runEnded');
  if (!ended) return 'unfinished';
  if (ended.outcome !== 'failed') return ended.outcome;
  // A run that ended by itself closed its steps, or says that one failed.
  const isOpen = steps.some((step) => step.outcome === 'open');
  const planned = events.find((event) => event.event === 'runStarted')?.steps.length ?? 0;
  const wasCutShort = planned > 0 && !steps.some((step) => step.outcome === 'failed') && steps.length < planned;
  return isOpen || wasCutShort ? 'interrupted' : 'failed';
}

function stepRecords(events: readonly RunEvent[]): StepRecord[] {
  const records = new Map<string, StepRecord>();
  for (const event of events) {
    switch (event.event) {
      case 'stepStarted':
        // A step says again what it is about to do; it began the first time.
        if (!records.has(event.step)) records.set(event.step, begun(event));
        break;
      case 'taskAttached':
        change(records, event.step, (record) => ({ tasks: [...record.tasks, event.upid] }));
        break;
      case 'stepDone':
        change(records, event.step, (record) => ({ ...endOf(record, event.at), outcome: 'done' }));
        break;
      case 'stepFailed':
        change(records, event.step, (record) => ({
          ...endOf(record, event.at),
          outcome: 'failed',
          problem: { code: event.code, detail: event.detail },
        }));
        break;
      case 'learned':
        if (event.step.endsWith('/ready')) records.set(event.step, readiness(records, event));
        break;
      default:
        break;
    }
  }
  return [...records.values()];
}

function begun({ step, address, action, at }: Extract<RunEvent, { event: 'stepStarted' }>): StepRecord {
  return {
    step,
    address,
    action: action.replace(/^vm\./, ''),
    startedAt: at,
    endedAt: undefined,
    durationMs: undefined,
    outcome: 'open',
    tasks: [],
  };
}

/** Readiness is no step of a plan: it lasts from the end of the VM's last one until all about it was learned. */
function readiness(
  records: ReadonlyMap<string, StepRecord>,
  { step, at, patch: { address } }: Extract<RunEvent, { event: 'learned' }>,
): StepRecord {
  const before = [...records.values()].filter((record) => record.address === address && record.step !== step).at(-1);
  const startedAt = before?.endedAt ?? at;
  return {
    step,
    address,
    action: 'ready',
    startedAt,
    endedAt: at,
    durationMs: between(startedAt, at),
    outcome: 'done',
    tasks: [],
  };
}

function change(
  records: Map<string, StepRecord>,
  step: string,
  changes: (record: StepRecord) => Partial<StepRecord>,
): void {
  const record = records.get(step);
  if (record) records.set(step, { ...record, ...changes(record) });
}

function endOf(record: StepRecord, at: string): Pick<StepRecord, 'endedAt' | 'durationMs'> {
  return { endedAt: at, durationMs: between(record.startedAt, at) };
}

function vmRecords(steps: readonly StepRecord[]): VmRecord[] {
  const addresses = [...new Set(steps.map(({ address }) => address))];
  return addresses.map((address) => {
    const own = steps.filter((step) => step.address === address);
    return {
      address,
      steps: own,
      durationMs: between(own[0]?.startedAt, own.at(-1)?.endedAt),
      failed: own.some((step) => step.outcome === 'failed'),
    };
  });
}

function between(from: string | undefined, to: string | undefined): number | undefined {
  return from === undefined || to === undefined ? undefined : Date.parse(to) - Date.parse(from);
}
