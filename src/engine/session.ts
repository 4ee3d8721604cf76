/**
 * Work on a stack, from the lock to its release: settles what an earlier run left, plans, executes plans, and records the
 * result. Each executed plan is a run with its own journal, unless an earlier plan of the session is still open: one that was
 * canceled, or lost its connection, is continued in its journal.
 */
import { setMaxListeners } from 'node:events';
import type { Address } from '../base/address.ts';
import type { Clock } from '../base/clock.ts';
import { isFamily, type ProxwrightError } from '../base/errors.ts';
import { advice, command } from '../base/hint.ts';
import type { Logger } from '../base/log.ts';
import type { Processes } from '../base/processes.ts';
import type { Random } from '../base/random.ts';
import type { PortProbe } from '../base/transport.ts';
import type { Settled } from '../kinds/action.ts';
import { type Fingerprints, isEmpty, type Plan } from '../kinds/change.ts';
import type { GuestRow } from '../kinds/cluster.ts';
import { GuestSigns } from '../kinds/guest-signs.ts';
import { IdReservations } from '../kinds/ids.ts';
import type { PlanOptions as KindPlanOptions, Secrets } from '../kinds/kind.ts';
import type { Observed } from '../kinds/observed.ts';
import type { StackState } from '../kinds/recorded.ts';
import { actionNamed, chosenNodes, KINDS, type StepContext, secretPathOf } from '../kinds/registry.ts';
import type { ResolvedStack } from '../kinds/stack.ts';
import type { Pve } from '../pve/client.ts';
import { type OpenStep, openSteps, type RunSource } from '../state/events.ts';
import { closeRun, JournalWriter, lockRun, nextRunId, pruneRuns, runsSince } from '../state/journal.ts';
import { readRecorded, withLineage } from '../state/recorded.ts';
import { writeState } from '../state/state-file.ts';
import type { LockOwner, StateStore, StoreLock } from '../state/store.ts';
import { evidenceOf } from './evidence/record.ts';
import { type ExecuteResult, executePlan } from './execute.ts';
import type { RunLimits } from './limits.ts';
import { observe } from './observe.ts';
import { type AskedPlan, type DestroyInput, fingerprintsOf, type PlanResult, planDestroy, planStack } from './plan.ts';
import { checkPrivileges, type PrivilegeCheck } from './privileges/check.ts';
import { explainUnseen } from './privileges/unseen.ts';
import { type RunListener, RunMemory } from './run-memory.ts';
import { type RunDeps, stepContext } from './run-step.ts';
import { assertPlanned, assertSameSteps, staleInputs, stalePlan } from './stale.ts';

export interface SessionDeps {
  readonly pve: Pve;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly store: StateStore;
  readonly ports: PortProbe;
  /** Sources of uploaded images: local files and downloads. */
  readonly sources?: StepContext['imageSource'] | undefined;
  /** Where hooks run. */
  readonly processes?: Processes | undefined;
  readonly signal: AbortSignal;
  /** Receives every event of the run once it is on disk, and transient progress. */
  readonly onEvent?: RunListener;
  /** Shared with other sessions of the process that work on the same cluster. */
  readonly limits?: RunLimits;
  readonly ids?: IdReservations;
}

export interface SessionInput extends SessionDeps {
  readonly stack: ResolvedStack;
  readonly secrets: Secrets;
  readonly owner: Omit<LockOwner, 'runId' | 'since'>;
  /** Recorded at the start of each run. */
  readonly source?: RunSource;
  /** How many runs to keep in the store; all of them by default. */
  readonly keepRuns?: number;
  /** `none` if the host keeps the state: it does not say which state a resource belongs to. */
  readonly lineage?: 'none';
}

export interface PlanOptions extends KindPlanOptions {
  /** Off: the plan is made whatever the token may do; the server may then refuse it halfway. */
  readonly checkPrivileges?: boolean;
  /** Off: addresses are not compared with those of other VMs, because an earlier plan did that. */
  readonly checkAddresses?: boolean;
  /** Guests from a list that does not lag, which the list of the cluster may not have yet. */
  readonly listed?: readonly GuestRow[];
}

/** For reading the cluster without a new plan. */
const NOTHING_NEW = { neighbours: 'never', chooseIds: false } as const;

export class Session {
  readonly #input: SessionInput;
  readonly #lock: StoreLock;
  #run: RunDeps;
  #observed: Observed | undefined;
  /** With the nodes that the last plan chose. */
  #placed: ResolvedStack | undefined;
  /** Steps of the plans that this session made. */
  readonly #made = new WeakSet<Plan['steps']>();
  #hasExecuted = false;

  private constructor(input: SessionInput, lock: StoreLock, memory: RunMemory) {
    this.#input = input;
    this.#lock = lock;
    input.pve.fence.guardedBy(() => lock.assertHeld());
    this.#run = {
      pve: input.pve,
      clock: input.clock,
      random: input.random.fork(memory.runId),
      log: input.log,
      stackName: input.stack.name,
      rollout: input.stack.rollout,
      memory,
      lockedTicks: input.clock.ticks(),
      ids: input.ids ?? new IdReservations(),
      ports: input.ports,
      sources: input.sources,
      processes: input.processes,
      secret: (address, key) => input.secrets.get(address)?.get(secretPathOf(key))?.value,
    };
  }

  /** Takes the lock, which fails while another run holds it, and settles what earlier runs began. */
  static async open(input: SessionInput): Promise<Session> {
    const { clock, random, store, stack } = input;
    // Every waiting VM listens to it; that is not a leak.
    setMaxListeners(0, input.signal);
    const { lock, runId } = await lockRun(store, input, input.owner);
    try {
      const { state: recorded, unfinished } = await readRecorded(store, stack.name);
      const state = input.lineage === 'none' ? recorded : withLineage(recorded, random);
      const session = new Session(input, lock, memoryOf(input, runId, state));
      await input.pve.reach.duringRun(stack.rollout.timeouts.unreachableMs, () =>
        session.#settle(unfinished.flatMap(({ events }) => openSteps(events))),
      );
      await session.#save();
      // The earlier journals are closed only now that the state file has everything they recorded.
      for (const run of unfinished) await closeRun(store, clock, run.runId);
      return session;
    } catch (error) {
      await lock.release();
      throw error;
    }
  }

  get state(): StackState {
    return this.#memory.state;
  }

  /** Of the run in progress, or of the last one. */
  get runId(): string {
    return this.#memory.runId;
  }

  get #memory(): RunMemory {
    return this.#run.memory;
  }

  /**
   * A plan that can be executed: one for which the token lacks a privilege is refused, like one without its template.
   */
  async plan(options: PlanOptions = {}): Promise<PlanResult> {
    const { stack, pve, signal, secrets, clock } = this.#input;
    const neighbours = options.checkAddresses === false ? 'never' : 'as-needed';
    const { replace, chooseIds, listed } = options;
    const input = { pve, stack, state: this.state, signal, secrets };
    const observed = await observe({ ...input, replace, neighbours, chooseIds, listed });
    this.#observed = observed;
    const result = planStack({ stack, state: this.state, observed, secrets, now: clock.now(), ...options });
    return this.#permitted(result, options.checkPrivileges);
  }

  /**
   * Recomputes a plan that was made earlier: refused as stale if its inputs have changed, or if its steps differ from
   * those of the new plan. What is shown and executed comes from the new one.
   */
  async confirm(given: Plan): Promise<PlanResult> {
    await this.#assertFresh(given);
    const result = await this.plan({ ...given.options, keepNodes: chosenNodes(given.steps) });
    if (result.ok) assertSameSteps(given, result.plan);
    return result;
  }

  async planDestroy(
    options: Pick<DestroyInput, 'only' | 'running' | 'all' | 'destroyData'> & Pick<PlanOptions, 'checkPrivileges'>,
  ): Promise<PlanResult> {
    const { stack, clock } = this.#input;
    const observed = await this.#observeKnown();
    const result = planDestroy({ stack, state: this.state, observed, now: clock.now(), ...options });
    return this.#permitted(result, options.checkPrivileges);
  }

  /** The request of a command, whatever else the file says: moves, snapshots, rollbacks. */
  async planAsked({ reads, plan }: AskedPlan): Promise<PlanResult> {
    const { stack, clock, secrets } = this.#input;
    const observed = await this.#observeKnown(reads);
    return this.#permitted(plan({ stack, state: this.state, observed, secrets, now: clock.now() }));
  }

  /** Without a new plan. */
  async #observeKnown(more: AskedPlan['reads'] = {}): Promise<Observed> {
    const { stack, pve, signal, secrets } = this.#input;
    this.#observed = await observe({ pve, stack, state: this.state, signal, secrets, ...more, ...NOTHING_NEW });
    return this.#observed;
  }

  /** What a plan needs and what the token has; also for a plan that was made earlier. */
  async privilegesFor(plan: Plan): Promise<PrivilegeCheck> {
    const { pve, signal } = this.#input;
    const stack = this.#placed ?? this.#input.stack;
    const observed = this.#observed ?? (await this.#observeKnown());
    return checkPrivileges({ pve, plan, stack, version: observed.version, observed, signal });
  }

  async #permitted(result: PlanResult, isChecked = true): Promise<PlanResult> {
    const { stack, pve, signal } = this.#input;
    if (result.ok) this.#made.add(result.plan.steps);
    this.#placed = result.ok ? result.stack : undefined;
    if (!isChecked) return result;
    if (!result.ok) {
      return { ok: false, problems: await explainUnseen({ pve, stack, problems: result.problems, signal }) };
    }
    const { plan } = result;
    // An empty plan needs no privileges, so none are checked.
    if (isEmpty(plan)) return result;
    const { missing, notChecked } = await this.privilegesFor(plan);
    if (missing.length > 0) return { ok: false, problems: missing };
    return { ...result, plan: { ...plan, warnings: [...plan.warnings, ...notChecked] } };
  }

  /** What the last plan of this session was made from, field by field. */
  evidence(): ReturnType<typeof evidenceOf> {
    const { secrets } = this.#input;
    const stack = this.#placed ?? this.#input.stack;
    return this.#observed ? evidenceOf({ stack, state: this.state, observed: this.#observed, secrets }) : new Map();
  }

  /** Executes a plan of this session, or one made earlier if nothing has changed since. */
  async execute(plan: Plan): Promise<ExecuteResult> {
    const { stack, signal, limits } = this.#input;
    if (this.#made.has(plan.steps)) await this.#assertFresh(plan);
    else assertPlanned(await this.confirm(plan));
    refuseUndecided(plan);
    if (this.#memory.hasEnded) await this.#startRun();
    this.#hasExecuted = true;
    const after = dependenciesOf(plan);
    const steps = plan.steps.map(({ id, address, stage, action, outage }) => ({
      id,
      address,
      stage,
      action,
      ...after.get(id),
      ...(outage && { roll: { group: outage.group, pauseMs: outage.pauseMs } }),
    }));
    await this.#memory.record({ event: 'planned', steps });
    // Before any step runs: a step that has to choose again must not take what the plan gave to another.
    for (const { action, input, address } of plan.steps) {
      const vmid = actionNamed(action)?.claims?.(input as never); // the input of its action
      if (vmid !== undefined) this.#run.ids.reserve(vmid, address);
    }
    const { timeouts } = stack.rollout;
    const result = await this.#run.pve.reach.duringRun(timeouts.unreachableMs, () =>
      executePlan({ run: this.#run, plan, rollout: stack.rollout, signal, limits }),
    );
    await this.#conclude(result).catch((error: unknown) => {
      throw isFamily(error, 'state') ? unsaved(error, result) : error;
    });
    return result;
  }

  /** The run of an earlier plan has ended, and a run records nothing after its end. */
  async #startRun(): Promise<void> {
    const { store, clock, random } = this.#input;
    const runId = await nextRunId(store, clock.now(), random);
    this.#run = { ...this.#run, memory: memoryOf(this.#input, runId, this.state), random: random.fork(runId) };
  }

  async #conclude({ outcomes }: ExecuteResult): Promise<void> {
    await this.#save();
    // A journal with open steps stays open, so that the next run settles them.
    if (this.#memory.openSteps.length > 0 || [...outcomes.values()].includes('canceled')) return;
    const failed = [...outcomes.values()].some((outcome) => outcome !== 'done');
    await this.#memory.record({ event: 'runEnded', outcome: failed ? 'failed' : 'done' });
  }

  async close(): Promise<void> {
    try {
      // What an earlier run left is settled and saved; an open journal would announce work for the next run.
      if (!this.#hasExecuted && this.#memory.hasEvents && this.#memory.openSteps.length === 0) {
        await this.#memory.record({ event: 'runEnded', outcome: 'done' });
      }
      const { store, keepRuns, log } = this.#input;
      if (this.#memory.hasEvents) await pruneRuns(store, keepRuns, log);
    } finally {
      await this.#lock.release();
      if (this.#lock.leftLocked?.())
        this.#input.log.log('warn', advice`The lock could not be released. Remove it: ${command('state unlock')}`.text);
    }
  }

  async #save(): Promise<void> {
    await writeState(this.#input.store, this.#memory.state);
  }

  async #fingerprints(): Promise<Fingerprints> {
    const { stack } = this.#input;
    return fingerprintsOf({ stack, state: this.state, observed: this.#observed ?? (await this.#observeKnown()) });
  }

  async #assertFresh(given: Plan): Promise<void> {
    const now = await this.#fingerprints();
    const stale = staleInputs(given, now);
    if (!stale) return;
    // Only for the message: a plan that cannot be made today is stale as well.
    const made = await this.plan({ ...given.options, checkPrivileges: false }).catch(() => undefined);
    const runs = await runsSince(this.#input.store, Date.parse(given.createdAt)).catch(() => []);
    throw stalePlan(given, stale, { now, fresh: made?.ok ? made.plan : undefined, runs });
  }

  /** Waits for or looks up what a dead run started; nothing is started twice. */
  async #settle(open: readonly OpenStep[]): Promise<void> {
    const known = new Set(open.flatMap(({ action, address }) => (actionNamed(action)?.settle ? [address] : [])));
    const unseen = KINDS.flatMap((kind) => kind.unsettled(this.state)).filter(({ address }) => !known.has(address));
    for (const step of open) await this.#settleOne(step);
    for (const { address, action } of unseen) {
      await this.#settleOne({ step: `${address}/unseen`, address, action, intent: undefined, upid: undefined });
    }
  }

  async #settleOne(open: OpenStep): Promise<void> {
    const { settle, label } = actionNamed(open.action) ?? {};
    if (!settle) return;
    const { signal, log } = this.#input;
    const address = open.address as Address; // the journal holds addresses
    const step = { id: `${open.step}/settle`, address, action: 'settle' };
    // A download that is still running may take minutes.
    log.log('info', `${address}: an earlier run did not finish the step "${label}"; checking how it ended`);
    await this.#memory.record({ event: 'stepStarted', step: step.id, address, action: step.action });
    const signs = new GuestSigns(this.#run.pve, this.#run.clock);
    const context = stepContext(this.#run, step, { observed: { last: undefined }, signs, signal });
    const { outcome } = await settle(context, open);
    await this.#memory.record({ event: 'stepDone', step: step.id });
    log.log('info', `${address}: the step "${label}" of the earlier run ${HOW_IT_ENDED[outcome]}`);
  }
}

/** Completes "the step of the earlier run …". */
const HOW_IT_ENDED: Readonly<Record<Settled['outcome'], string>> = {
  made: 'succeeded',
  nothing: 'had no effect',
  ended: 'has ended',
  interrupted: 'was interrupted',
  gone: 'removed the VM',
  locked: 'left a lock',
};

function memoryOf(input: SessionInput, runId: string, state: StackState): RunMemory {
  const { store, clock, pve, owner, source, onEvent } = input;
  const journal = new JournalWriter(store, clock, runId, [], pve.secrets);
  return new RunMemory(state, journal, { ...owner, source }, onEvent, () => pve.requestsSent);
}

/** The resources that a step waits for, by its id; only of steps that wait for others. */
function dependenciesOf({ steps }: Plan): ReadonlyMap<string, { readonly after: string[] }> {
  const addressOf = new Map(steps.map(({ id, address }) => [id, address]));
  return new Map(
    steps.flatMap(({ id, address, needs }) => {
      const others = needs.flatMap((need) => addressOf.get(need) ?? []).filter((other) => other !== address);
      return others.length === 0 ? [] : [[id, { after: [...new Set(others)] }]];
    }),
  );
}

/** Asks for the user's decisions before anything starts. */
function refuseUndecided({ steps }: Plan): void {
  for (const { action, input, address } of steps) {
    const problem = actionNamed(action)?.undecided?.(input as never, address); // the input of its action
    if (problem) throw problem;
  }
}

/** The end of a run could not be saved: say what was done and how to continue. */
function unsaved(error: ProxwrightError, { outcomes }: ExecuteResult): ProxwrightError {
  const done = [...outcomes].filter(([, outcome]) => outcome === 'done').map(([address]) => address);
  const others = [...outcomes.keys()].filter((address) => !done.includes(address));
  const parts = [
    ...(done.length > 0 ? [`done: ${done.join(', ')}`] : []),
    ...(others.length > 0 ? [`failed or not started: ${others.join(', ')}`] : []),
  ];
  const hint = 'Free some space or restore write access, then run the same command again. It resumes from here.';
  return error.with({
    addedDetail: `Everything created so far is kept, and the journal lists the started steps (${parts.join('; ')}).`,
    ...(error.code === 'STATE_UNWRITABLE' && { hint }),
  });
}
