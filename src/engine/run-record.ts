/**
 * A run, told from its events: what was done to which resource, how long it took, what failed. The one fold of the journal
 * for people: the live view follows it event by event, `runs`, metrics and incident drafts read a whole journal. Pure.
 */
import { counted, printDuration } from '../base/values/units.ts';
import type { ResourceOutcome, RunEvent, RunSource } from '../state/events.ts';
import type { RunJournal } from '../state/journal.ts';
import { firstLine } from './evidence/text.ts';
import type { Activity } from './run-memory.ts';

export type RunOutcome =
  | 'done'
  | 'failed'
  | 'canceled'
  /** It died or was stopped; a later run resumed what it had started. */
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
  readonly tasks: readonly { readonly upid: string; readonly at: string }[];
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
  /** What it is doing right now; known only while the run is followed live. */
  readonly activity: { readonly text: string; readonly percent: number | undefined } | undefined;
}

export interface NoteRecord {
  readonly at: string;
  readonly address: string | undefined;
  readonly text: string;
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
}

export function describeRun({ runId, events }: RunJournal): RunRecord {
  const fold = new RunFold(runId);
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
}

export class RunFold {
  readonly #runId: string;
  readonly #steps = new Map<string, StepRecord>();
  readonly #resources = new Map<string, ResourceState>();
  readonly #notes: NoteRecord[] = [];
  #started: Extract<RunEvent, { event: 'runStarted' }> | undefined;
  #ended: Extract<RunEvent, { event: 'runEnded' }> | undefined;
  #lastAt: string | undefined;
  #planned = 0;

  constructor(runId: string) {
    this.#runId = runId;
  }

  follow(event: RunEvent | Activity): void {
    if (event.event === 'activity') {
      const { address, text, percent } = event;
      this.#resource(address).activity = { text, percent };
      return;
    }
    if (event.event !== 'runEnded') this.#lastAt = event.at;
    switch (event.event) {
      case 'runStarted':
        this.#started = event;
        break;
      case 'planned':
        this.#planned += event.steps.length;
        for (const { address } of event.steps) this.#resource(address);
        break;
      case 'stepStarted':
        this.#start(event);
        break;
      case 'taskAttached': {
        const { upid, at } = event;
        this.#change(event.step, ({ tasks }) => ({ tasks: [...tasks, { upid, at }] }));
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
        resource.activity = undefined;
        break;
      }
      case 'hook':
        if (event.status !== 'started') this.#notes.push(hookNote(event));
        break;
      case 'note':
        this.#notes.push({ at: event.at, address: event.address, text: event.text });
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

  #describe(address: string, { steps: ids, outcome, endedAt, activity }: ResourceState): ResourceRecord {
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
      activity,
    };
  }

  #resource(address: string): ResourceState {
    const known = this.#resources.get(address);
    if (known) return known;
    const fresh: ResourceState = { steps: [], outcome: undefined, endedAt: undefined, activity: undefined };
    this.#resources.set(address, fresh);
    return fresh;
  }

  #start({ step, address, action, at }: Extract<RunEvent, { event: 'stepStarted' }>): void {
    this.#steps.set(step, {
      step,
      address,
      action,
      startedAt: at,
      endedAt: undefined,
      durationMs: undefined,
      outcome: 'open',
      tasks: [],
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
  }

  #change(step: string, changes: (record: StepRecord) => Partial<StepRecord>): void {
    const record = this.#steps.get(step);
    if (record) this.#steps.set(step, { ...record, ...changes(record) });
  }

  #outcome(steps: readonly StepRecord[]): RunOutcome {
    if (!this.#ended) return 'unfinished';
    if (this.#ended.outcome !== 'failed') return this.#ended.outcome;
    // A run that ended by itself closed its steps, or has one that failed.
    const isOpen = steps.some((step) => step.outcome === 'open');
    const wasCutShort =
      this.#planned > 0 && !steps.some((step) => step.outcome === 'failed') && steps.length < this.#planned;
    return isOpen || wasCutShort ? 'interrupted' : 'failed';
  }
}

/** `vm.web: clone`, or the part that tells steps of one kind apart: `vm.web: resize scsi0`. */
export function nameOfStep({ step, action, address }: Pick<StepRecord, 'step' | 'action' | 'address'>): string {
  const rest = step.startsWith(`${address}/`) ? step.slice(address.length + 1).replaceAll('/', ' ') : '';
  return rest || action.replace(/^[a-z]+\./, '');
}

/** One line of the story of a run. */
export interface Moment {
  readonly at: string;
  readonly address: string;
  readonly what: string;
}

/** Everything a run recorded, in the order it happened. */
export function momentsOf(run: RunRecord): Moment[] {
  const moments: Moment[] = [
    ...run.steps.flatMap(momentsOfStep),
    ...run.notes.map(({ at, address = '', text }) => ({ at, address, what: text })),
  ];
  const inOrder = moments.toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at));
  const { startedAt, endedAt, planned, command, outcome } = run;
  const start =
    startedAt === undefined
      ? []
      : [{ at: startedAt, address: '', what: `${command} starts, ${counted(planned, 'step')} planned` }];
  const end = endedAt === undefined ? [] : [{ at: endedAt, address: '', what: `the run ends: ${outcome}` }];
  return [...start, ...inOrder, ...end];
}

function momentsOfStep(step: StepRecord): Moment[] {
  const { address, startedAt, endedAt, durationMs, outcome, problem, tasks } = step;
  const name = nameOfStep(step);
  const after = durationMs === undefined ? '' : ` after ${printDuration(durationMs)}`;
  const end = problem
    ? `**${name} failed${after}:** ${problem.code}: ${firstLine(problem.detail)}`
    : `${name} done${after}`;
  return [
    { at: startedAt, address, what: `${name} starts` },
    ...tasks.map(({ upid, at }) => ({ at, address, what: `waits for task ${upid}` })),
    ...(endedAt === undefined || outcome === 'open' ? [] : [{ at: endedAt, address, what: end }]),
  ];
}

/** Journals of earlier versions may have times that a clock set back between. */
function between(from: string | undefined, to: string | undefined): number | undefined {
  return from === undefined || to === undefined ? undefined : Math.max(0, Date.parse(to) - Date.parse(from));
}
