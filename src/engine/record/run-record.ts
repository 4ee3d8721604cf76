/**
 * A run, computed from its events: what was done to which resource, how long it took, what failed. The only fold of the
 * journal for people: the live view follows it event by event, `runs`, metrics and incident drafts read a whole
 * journal. Pure.
 */
import type { PlannedRoll, ResourceOutcome, RunEvent, RunSource } from '../../state/events.ts';
import type { RunJournal } from '../../state/journal.ts';
import type { Activity } from '../run-memory.ts';

export type RunOutcome =
  | 'done'
  | 'failed'
  | 'canceled'
  /** It died or was stopped. A later run resumed what it had started, or no process is left that could end it. */
  | 'interrupted'
  /** It is still running, or no later run has resumed what it had started. */
  | 'unfinished';

export interface StepRecord {
  readonly step: string;
  readonly address: string;
  /** `vm.clone`. */
  readonly action: string;
  /** ISO 8601, like all times here. */
  readonly startedAt: string;
  readonly endedAt: string | undefined;
  readonly durationMs: number | undefined;
  readonly outcome: 'done' | 'failed' | 'open';
  readonly problem?: { readonly code: string; readonly detail: string };
  /** Tasks it waited for. */
  readonly tasks: readonly { readonly upid: string; readonly at: string; readonly timeoutMs?: number }[];
  /** If it only waits: how long at most. Journals of earlier versions do not say. */
  readonly timeoutMs?: number;
}

export interface ResourceRecord {
  readonly address: string;
  readonly status: 'waiting' | 'working' | ResourceOutcome;
  readonly steps: readonly StepRecord[];
  /** When its first step started. */
  readonly startedAt: string | undefined;
  readonly endedAt: string | undefined;
  /** From the start of its first step to the end of its last. */
  readonly durationMs: number | undefined;
  readonly failed: boolean;
  /** Resources that had to be done first, according to the plan. Journals of earlier versions do not name them. */
  readonly after: readonly string[];
  /** The group whose members become unavailable in turn. Journals of earlier versions do not name it. */
  readonly roll?: PlannedRoll;
  /** Why it was not done, if the run could tell. */
  readonly problem?: ResourceProblem;
  /** What it is doing right now; known only while the run is followed live. */
  readonly activity: { readonly text: string; readonly percent: number | undefined } | undefined;
}

export interface ResourceProblem {
  readonly code: string;
  readonly summary: string;
  readonly detail: string;
  readonly hint?: string;
}

export interface NoteRecord {
  readonly at: string;
  readonly address: string | undefined;
  readonly text: string;
  /** Absent if it only reports, such as the output of a hook. */
  readonly isWarning?: true;
  /** It announces a pause before another attempt: how long, why, and the message of the server. */
  readonly wait?: { readonly ms: number; readonly code: string; readonly said?: string | undefined };
}

/** How many requests the process had sent by then. */
export interface RequestSample {
  readonly at: string;
  readonly sent: number;
}

export interface RunRecord {
  readonly runId: string;
  readonly command: string;
  readonly who: string | undefined;
  /** Absent in journals of earlier versions, and for runs of the provider. */
  readonly source?: RunSource;
  readonly startedAt: string | undefined;
  readonly endedAt: string | undefined;
  readonly durationMs: number | undefined;
  readonly outcome: RunOutcome;
  /** How many steps its plan had. */
  readonly planned: number;
  /** In the order of their start. */
  readonly steps: readonly StepRecord[];
  /** In the order of the plan, then of their first step. */
  readonly resources: readonly ResourceRecord[];
  readonly notes: readonly NoteRecord[];
  /** In the order of time; empty for journals of earlier versions. */
  readonly requests: readonly RequestSample[];
}

/** Of a run that no process is left to end. A journal does not show that by itself. */
export function describeDeadRun(journal: RunJournal): RunRecord {
  return describeEvents(journal, true);
}

export function describeRun(journal: RunJournal): RunRecord {
  return describeEvents(journal, false);
}

function describeEvents({ runId, events }: RunJournal, isDead: boolean): RunRecord {
  const fold = new RunFold(runId, isDead);
  for (const event of events) fold.follow(event);
  return fold.record;
}

function hookNote({ at, address, moment, status, output }: Extract<RunEvent, { event: 'hook' }>): NoteRecord {
  return { at, address, text: `${moment} ${status}${output === undefined ? '' : `: ${output}`}` };
}

interface ResourceState {
  readonly steps: string[];
  outcome: ResourceOutcome | undefined;
  endedAt: string | undefined;
  activity: ResourceRecord['activity'];
  readonly after: Set<string>;
  roll: PlannedRoll | undefined;
  problem: ResourceProblem | undefined;
}

export class RunFold {
  readonly #runId: string;
  readonly #steps = new Map<string, StepRecord>();
  readonly #resources = new Map<string, ResourceState>();
  readonly #notes: NoteRecord[] = [];
  readonly #requests: RequestSample[] = [];
  #started: Extract<RunEvent, { event: 'runStarted' }> | undefined;
  #ended: Extract<RunEvent, { event: 'runEnded' }> | undefined;
  #lastAt: string | undefined;
  #planned = 0;

  readonly #isDead: boolean;

  constructor(runId: string, isDead = false) {
    this.#isDead = isDead;
    this.#runId = runId;
  }

  follow(event: RunEvent | Activity): void {
    if (event.event === 'activity') {
      const { address, text, percent } = event;
      this.#resource(address).activity = { text, percent };
      return;
    }
    if (event.event !== 'runEnded') this.#lastAt = event.at;
    if ('requests' in event && event.requests !== undefined) {
      this.#requests.push({ at: event.at, sent: event.requests });
    }
    switch (event.event) {
      case 'runStarted':
        this.#started = event;
        break;
      case 'planned':
        this.#planned += event.steps.length;
        for (const { address, after = [], roll } of event.steps) {
          const resource = this.#resource(address);
          resource.roll ??= roll;
          for (const other of after) resource.after.add(other);
        }
        break;
      case 'stepStarted':
        this.#start(event);
        break;
      case 'taskAttached': {
        const { upid, at, timeoutMs } = event;
        const task = { upid, at, ...(timeoutMs !== undefined && { timeoutMs }) };
        this.#change(event.step, ({ tasks }) => ({ tasks: [...tasks, task] }));
        break;
      }
      case 'stepDone':
        this.#end(event, { outcome: 'done' });
        break;
      case 'stepFailed':
        this.#end(event, { outcome: 'failed', problem: { code: event.code, detail: event.detail } });
        break;
      case 'resourceEnded': {
        const resource = this.#resource(event.address);
        resource.outcome = event.outcome;
        resource.endedAt = event.at;
        resource.problem = event.problem && problemOf(event.problem);
        resource.activity = undefined;
        break;
      }
      case 'hook':
        if (event.status !== 'started') this.#notes.push(hookNote(event));
        break;
      case 'note':
        this.#notes.push({
          at: event.at,
          address: event.address,
          text: event.text,
          ...(event.level === 'warn' && { isWarning: true }),
          ...(event.wait && { wait: event.wait }),
        });
        break;
      case 'runEnded':
        this.#ended = event;
        break;
      default:
        break;
    }
  }

  get record(): RunRecord {
    const steps = [...this.#steps.values()];
    const outcome = this.#outcome(steps);
    const startedAt = this.#started?.at;
    // A dead run's journal is closed by a later run, long after its own last event.
    const endedAt = outcome === 'unfinished' ? undefined : outcome === 'interrupted' ? this.#lastAt : this.#ended?.at;
    return {
      runId: this.#runId,
      command: this.#started?.command ?? 'settle',
      who: this.#started?.who,
      ...(this.#started?.source && { source: this.#started.source }),
      startedAt,
      endedAt,
      durationMs: between(startedAt, endedAt),
      outcome,
      planned: this.#planned,
      steps,
      resources: this.resources,
      notes: this.#notes,
      requests: this.#requests,
    };
  }

  get resources(): readonly ResourceRecord[] {
    return [...this.#resources].map(([address, state]) => this.#describe(address, state));
  }

  resource(address: string): ResourceRecord | undefined {
    const state = this.#resources.get(address);
    return state && this.#describe(address, state);
  }

  step(id: string): StepRecord | undefined {
    return this.#steps.get(id);
  }

  #describe(address: string, state: ResourceState): ResourceRecord {
    const { steps: ids, outcome, endedAt, activity, after, roll, problem } = state;
    const steps = ids.flatMap((id) => this.#steps.get(id) ?? []);
    const startedAt = steps[0]?.startedAt;
    return {
      address,
      status: outcome ?? (steps.length === 0 ? 'waiting' : 'working'),
      steps,
      startedAt,
      endedAt,
      durationMs: between(startedAt, steps.at(-1)?.endedAt),
      failed: steps.some((step) => step.outcome === 'failed'),
      after: [...after],
      ...(roll && { roll }),
      ...(problem && { problem }),
      activity,
    };
  }

  #resource(address: string): ResourceState {
    const known = this.#resources.get(address);
    if (known) return known;
    const fresh: ResourceState = {
      steps: [],
      outcome: undefined,
      endedAt: undefined,
      activity: undefined,
      after: new Set(),
      roll: undefined,
      problem: undefined,
    };
    this.#resources.set(address, fresh);
    return fresh;
  }

  #start({ step, address, action, at, timeoutMs }: Extract<RunEvent, { event: 'stepStarted' }>): void {
    this.#steps.set(step, {
      step,
      address,
      action,
      startedAt: at,
      endedAt: undefined,
      durationMs: undefined,
      outcome: 'open',
      tasks: [],
      ...(timeoutMs !== undefined && { timeoutMs }),
    });
    const resource = this.#resource(address);
    if (!resource.steps.includes(step)) resource.steps.push(step);
    resource.activity = undefined;
  }

  #end(
    { step, at }: { readonly step: string; readonly at: string },
    facts: Pick<StepRecord, 'outcome' | 'problem'>,
  ): void {
    this.#change(step, ({ startedAt }) => ({ endedAt: at, durationMs: between(startedAt, at), ...facts }));
    const record = this.#steps.get(step);
    if (record) this.#resource(record.address).activity = undefined;
  }

  #change(step: string, changes: (record: StepRecord) => Partial<StepRecord>): void {
    const record = this.#steps.get(step);
    if (record) this.#steps.set(step, { ...record, ...changes(record) });
  }

  #outcome(steps: readonly StepRecord[]): RunOutcome {
    if (!this.#ended) return this.#isDead ? 'interrupted' : 'unfinished';
    if (this.#ended.outcome !== 'failed') return this.#ended.outcome;
    // A run that ended by itself closed its steps, or has one that failed.
    const isOpen = steps.some((step) => step.outcome === 'open');
    const wasCutShort =
      this.#planned > 0 && !steps.some((step) => step.outcome === 'failed') && steps.length < this.#planned;
    return isOpen || wasCutShort ? 'interrupted' : 'failed';
  }
}

/** The parts of a recorded Diagnostic that are shown. */
function problemOf(recorded: Readonly<Record<string, unknown>>): ResourceProblem {
  const text = (value: unknown) => (typeof value === 'string' ? value : '');
  const { hint } = recorded;
  const words = typeof hint === 'object' && hint !== null && 'text' in hint ? text(hint.text) : text(hint);
  return {
    code: text(recorded.code),
    summary: text(recorded.summary),
    detail: text(recorded.detail),
    ...(words !== '' && { hint: words }),
  };
}

/** Times in journals of earlier versions may go backwards, because the clock was set back. */
function between(from: string | undefined, to: string | undefined): number | undefined {
  return from === undefined || to === undefined ? undefined : Math.max(0, Date.parse(to) - Date.parse(from));
}
