/**
 * A rehearsal: the real engine executes the real plan on a copy of the cluster and on virtual time. It reads the
 * cluster, learns durations from recorded runs, and says what will happen, how long it takes and what would fail.
 */
import type { Address } from '../base/address.ts';
import type { Clock } from '../base/clock.ts';
import type { Diagnostic } from '../base/diagnostics.ts';
import { describeRun, type RunRecord } from '../engine/record/run-record.ts';
import type { PlanOptions } from '../engine/session.ts';
import type { Plan } from '../kinds/change.ts';
import { canonicalJson } from '../kinds/fingerprint.ts';
import type { Observed } from '../kinds/observed.ts';
import type { StackState } from '../kinds/recorded.ts';
import { machinesOf, type ResolvedStack } from '../kinds/stack.ts';
import { buildWorld, type World, type WorldFile } from '../simulator/index.ts';
import type { RunEvent } from '../state/events.ts';
import { isUnfinished, listRuns, nameOfJournal, readRun } from '../state/journal.ts';
import type { StateStore } from '../state/store.ts';
import { copyCluster } from './copy/copy.ts';
import type { ClusterFacts } from './copy/read-cluster.ts';
import {
  type Durations,
  defaultDurations,
  IDLE_SPEEDS,
  median,
  mergedDurations,
  originOf,
  paceOf,
  type Side,
  speedsOf,
} from './learn/durations.ts';
import { correctedDurations, learnFromRuns, ownTimes, stretchedDurations } from './learn/from-runs.ts';
import { learnFromTasks } from './learn/from-tasks.ts';
import { type NodePeak, Peaks } from './peaks.ts';
import { placeholderSecrets, Stage, type StageInput, type TrialEnd } from './trial/stage.ts';

export interface RehearseInput {
  /** What was read from the live cluster. */
  readonly facts: ClusterFacts;
  readonly stack: ResolvedStack;
  readonly state: StackState;
  /** What the plan was made from. */
  readonly observed: Observed;
  /** The real one, to compare the rehearsed one with. */
  readonly plan: Plan;
  readonly options: PlanOptions;
  readonly secrets: StageInput['secrets'];
  readonly store: StateStore;
  readonly clock: Clock;
  readonly seed: string;
  /** Of a request to the live cluster. */
  readonly latencyMs: number;
}

export interface Rehearsal {
  readonly ok: boolean;
  /** How the rehearsed run went: a run like any other. */
  readonly run: RunRecord;
  readonly events: readonly RunEvent[];
  /** From the first step to the last, with the range that the durations leave open. */
  readonly tookMs: number;
  readonly fastestMs: number;
  readonly slowestMs: number;
  readonly peaks: readonly NodePeak[];
  /** VMs in the order in which they start, restart or stop. */
  readonly order: readonly Switch[];
  readonly warnings: readonly Diagnostic[];
  readonly problems: readonly Diagnostic[];
  /** Differences between the rehearsed plan and the real one. */
  readonly planDifferences: readonly string[];
  readonly durations: readonly string[];
  readonly assumptions: readonly string[];
  /** Method and path of every request of the run, in order. */
  readonly requests: readonly string[];
  readonly world: WorldFile;
  /** The starting point of further trials. */
  readonly stage: StageInput;
}

export interface Switch {
  readonly address: string;
  readonly what: 'start' | 'restart' | 'stop' | 'migrate' | 'destroy';
  /** Since the beginning of the run. */
  readonly afterMs: number;
}

const RUNS_LEARNED_FROM = 20;
/** Corrections of learned durations, each by one more rehearsal. */
const CORRECTIONS = 3;

export async function rehearse(input: RehearseInput): Promise<Rehearsal> {
  const { facts, stack, observed, store, latencyMs } = input;
  const runs = await recordedRuns(store);
  const take = await rehearser(input);
  const { world: still } = copyCluster({ facts, observed, stack, speeds: IDLE_SPEEDS });
  const learning = { runs, stack, observed, dataBytes: dataIn(still) };
  const idle = await take(defaultDurations(new Map(), latencyMs), 'idle');
  const own = ownTimes(idle.run);
  const history = [...facts.nodes.values()].flatMap(({ history: tasks }) => tasks);
  const first: Durations = {
    ...defaultDurations(own, latencyMs),
    ...mergedDurations(
      defaultDurations(own, latencyMs),
      learnFromTasks({ ...learning, history, ownMs: taskTimes(idle.stage.world) }),
      learnFromRuns(learning, own),
    ),
  };
  const tried = { durations: first, middle: await take(first, 'value') };
  const byStep = await closest(take, tried, ({ durations, middle }) =>
    correctedDurations(durations, middle.run, learning),
  );
  const { durations, middle } = await closest(take, byStep, ({ durations, middle }) =>
    stretchedDurations(durations, middle.run, runs),
  );
  const fastest = await take(durations, 'fastest');
  const slowest = await take(durations, 'slowest');
  const problems = problemsOf(middle.end, stack);
  const rehearsed = middle.end.kind === 'ended' ? middle.end.plan : undefined;
  const tookMs = middle.run.durationMs ?? 0;
  return {
    ok: problems.length === 0,
    run: middle.run,
    events: middle.stage.events,
    tookMs,
    fastestMs: Math.min(tookMs, fastest.run.durationMs ?? tookMs),
    slowestMs: Math.max(tookMs, slowest.run.durationMs ?? tookMs),
    peaks: middle.peaks.of(middle.stage.world, (node) => observed.nodes.get(node)?.memory?.usedBytes),
    order: switchesOf(middle.run),
    warnings: rehearsed?.warnings ?? [],
    problems,
    planDifferences: rehearsed ? planDifferences(input.plan, rehearsed) : [],
    durations: originOf(durations, stack),
    assumptions: [...new Set(middle.assumptions)],
    requests: middle.stage.requests,
    world: middle.world,
    stage: steady(middle.begin),
  };
}

type Take = Awaited<ReturnType<typeof rehearser>>;

/** Carries the apply out on a copy of the cluster that has these durations. */
async function rehearser({ facts, stack, observed, clock, store, ...input }: RehearseInput) {
  const documents = await documentsOf(store);
  const now = clock.now();
  return async (durations: Durations, side: Side) => {
    const { world, assumptions } = copyCluster({ facts, observed, stack, speeds: speedsOf(durations, side) });
    const begin: StageInput = {
      world: buildWorld(world, { now, file: 'the copy of the cluster' }),
      now,
      documents,
      stack,
      secrets: placeholderSecrets(stack, input.secrets),
      principal: facts.principal,
      options: input.options,
      seed: input.seed,
      pace: paceOf(durations, side),
    };
    const stage = new Stage(begin);
    const peaks = new Peaks();
    // Only those of the expected course are shown; looking at 300 VMs after each request is a tenth of a rehearsal.
    if (side === 'value') {
      peaks.observe(stage.world);
      stage.onChange = (each) => peaks.observe(each);
    }
    const end = await stage.run();
    const run = describeRun({ runId: stage.runId, events: stage.events });
    return { world, assumptions, begin, stage, end, peaks, run };
  };
}

interface Tried {
  readonly durations: Durations;
  readonly middle: Awaited<ReturnType<Take>>;
}

interface Correction {
  readonly next: Durations | undefined;
  readonly offMs: number;
}

/** The rehearsal that a correction calls closest to the recorded runs. */
async function closest(take: Take, first: Tried, correct: (tried: Tried) => Correction): Promise<Tried> {
  let best = { tried: first, offMs: Number.POSITIVE_INFINITY };
  let tried = first;
  for (let round = 0; ; round++) {
    const { next, offMs } = correct(tried);
    if (offMs < best.offMs) best = { tried, offMs };
    if (!next || round === CORRECTIONS) return best.tried;
    tried = { durations: next, middle: await take(next, 'value') };
  }
}

/** The latency differs a little each time it is measured; rounded, the point or seed of a failure repeats it. */
function steady(begin: StageInput): StageInput {
  const { latencyMs } = begin.pace;
  const rounded = latencyMs < 1 ? 0 : 2 ** Math.round(Math.log2(latencyMs));
  return { ...begin, pace: { ...begin.pace, latencyMs: rounded } };
}

/** How long tasks of each type took in a copy. */
function taskTimes({ tasks }: World): Map<string, number> {
  const times = new Map<string, number[]>();
  for (const { type, startedAt, endedAt } of tasks.values()) {
    if (endedAt !== undefined) times.set(type, [...(times.get(type) ?? []), endedAt - startedAt]);
  }
  return new Map([...times].map(([type, found]) => [type, median(found)]));
}

function dataIn({ storages = {} }: WorldFile): (volid: string) => number | undefined {
  const volumes = Object.entries(storages).flatMap(([id, storage]) =>
    (storage.volumes ?? []).map(({ name, data }) => [`${id}:${name}`, Number(data ?? 0)] as const),
  );
  const known = new Map<string, number>(volumes);
  return (volid) => known.get(volid);
}

async function recordedRuns(store: StateStore): Promise<RunRecord[]> {
  const names = (await listRuns(store)).slice(-RUNS_LEARNED_FROM);
  const runs = await Promise.all(
    names.map(async (runId) => readRun(store, runId).catch(() => ({ runId, events: [] }))),
  );
  return runs.map(describeRun);
}

/** The state and what else a run needs; of the journals only those that a run has to resume. */
async function documentsOf(store: StateStore): Promise<Map<string, string>> {
  const journals = new Set((await listRuns(store)).map(nameOfJournal));
  const documents = new Map<string, string>();
  for (const name of await store.list()) {
    if (name.startsWith('rehearsals/')) continue;
    const text = await store.read(name);
    if (text === undefined || (journals.has(name) && !isUnfinished(name, text))) continue;
    documents.set(name, text);
  }
  return documents;
}

/** Problems with the line of the file that they are about. */
export function problemsOf(end: TrialEnd, stack: ResolvedStack): Diagnostic[] {
  switch (end.kind) {
    case 'killed':
      return [];
    case 'refused':
      return end.problems.map((problem) => located(problem, stack));
    case 'failed':
      return [located(end.problem, stack)];
    case 'ended':
      return [...(end.result?.problems ?? [])].map(([address, problem]) => located(problem, stack, address));
  }
}

function located(problem: Diagnostic, stack: ResolvedStack, at?: Address): Diagnostic {
  const { where } = problem;
  if (where?.line !== undefined) return problem;
  const address = at ?? where?.address;
  const position = machinesOf(stack).find((vm) => vm.address === address)?.positions[''];
  return position
    ? { ...problem, where: { ...position, ...where, ...(address !== undefined && { address }) } }
    : problem;
}

/** Differences between two plans, by address. Times and values that depend only on the digest of a file are ignored. */
export function planDifferences(real: Plan, rehearsed: Plan): string[] {
  const byAddress = (plan: Plan) => {
    const parts = new Map<string, { changes: unknown[]; steps: unknown[] }>();
    const of = (address: string) => {
      const known = parts.get(address) ?? { changes: [], steps: [] };
      parts.set(address, known);
      return known;
    };
    for (const change of plan.changes) if (change.kind !== 'complete') of(change.address).changes.push(change);
    for (const step of plan.steps) of(step.address).steps.push(step);
    return parts;
  };
  const [one, other] = [byAddress(real), byAddress(rehearsed)];
  return [...new Set([...one.keys(), ...other.keys()])].flatMap((address) => {
    const [was, is] = [one.get(address), other.get(address)];
    if (!was) return [`${address} is only in the rehearsed plan.`];
    if (!is) return [`${address} is only in the real plan.`];
    if (canonicalJson(was) === canonicalJson(is)) return [];
    const part = canonicalJson(was.steps) === canonicalJson(is.steps) ? 'Changes' : 'Steps';
    return [`${part} of ${address} differ from those of the real plan.`];
  });
}

const SWITCHES: Readonly<Record<string, Switch['what']>> = {
  'vm.start': 'start',
  'vm.restart': 'restart',
  'vm.stop': 'stop',
  'vm.migrate': 'migrate',
  'vm.destroy': 'destroy',
};

function switchesOf({ steps, startedAt = '' }: RunRecord): Switch[] {
  return steps.flatMap(({ action, address, startedAt: at }) => {
    const what = SWITCHES[action];
    return what === undefined ? [] : [{ address, what, afterMs: Date.parse(at) - Date.parse(startedAt) }];
  });
}
