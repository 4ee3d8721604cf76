/**
 * One run on a stack, from the lock to its release: takes up what an earlier run left, plans, carries the plan out, and
 * writes down what is now true.
 */
import { setMaxListeners } from 'node:events';
import type { Address } from '../base/address.ts';
import type { Clock } from '../base/clock.ts';
import { hasCode, isFamily, ProxwrightError } from '../base/errors.ts';
import { advice, command } from '../base/hint.ts';
import type { Logger } from '../base/log.ts';
import type { PortProbe } from '../base/port-probe.ts';
import type { Random } from '../base/random.ts';
import type { Pve } from '../pve/client.ts';
import { ACTIONS } from '../resources/actions.ts';
import { settleFile } from '../resources/file/actions/index.ts';
import type { ImageSources } from '../resources/file/context.ts';
import { settleCreation, settleOpenStep } from '../resources/vm/actions/index.ts';
import { removeAllSeeds } from '../resources/vm/actions/seed.ts';
import type { ResolvedSecret } from '../resources/vm/desired-config.ts';
import { secretPathOf } from '../resources/vm/fields/rows.ts';
import { IdReservations } from '../resources/vm/ids.ts';
import type { ResolvedStack } from '../spec/types.ts';
import { type OpenStep, openSteps } from '../state/events.ts';
import { closeRun, JournalWriter } from '../state/journal.ts';
import { recallState } from '../state/recall.ts';
import type { StackState } from '../state/stack-state.ts';
import { writeState } from '../state/state-file.ts';
import type { LockOwner, StateStore, StoreLock } from '../state/store.ts';
import { evidenceOf } from './evidence.ts';
import { type ExecuteResult, executePlan } from './execute.ts';
import type { Lanes } from './lanes.ts';
import { movesOf } from './moves.ts';
import { observe } from './observe.ts';
import type { Observed } from './observed.ts';
import { fingerprintsOf, type PlanResult, planStack } from './plan.ts';
import { type DestroyInput, planDestroy } from './plan-destroy.ts';
import { isEmpty, type Plan } from './plan-types.ts';
import { checkPrivileges, type PrivilegeCheck } from './privileges/check.ts';
import { explainUnseen } from './privileges/unseen.ts';
import type { ProgressListener } from './progress.ts';
import { nextRunId } from './run-id.ts';
import { RunMemory } from './run-memory.ts';
import { type RunSurroundings, stepContext } from './step-context.ts';
import { retiredAddress } from './templates/versions.ts';
import { unsaved } from './unsaved.ts';

export interface SessionDoors {
  readonly pve: Pve;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly store: StateStore;
  readonly ports: PortProbe;
  /** Bytes of our own that go into images: local files and downloads. */
  readonly sources?: ImageSources | undefined;
  readonly signal: AbortSignal;
  readonly onProgress?: ProgressListener;
  /** Shared with other sessions of the process that work on the same cluster. */
  readonly lanes?: Lanes;
  readonly ids?: IdReservations;
}

export interface SessionInput extends SessionDoors {
  readonly stack: ResolvedStack;
  readonly secrets: ReadonlyMap<Address, ReadonlyMap<string, ResolvedSecret>>;
  readonly owner: Omit<LockOwner, 'runId' | 'since'>;
}

export interface PlanOptions {
  readonly only?: readonly string[];
  readonly allowDelete?: boolean;
  /** Restart where a change needs it, also VMs whose file says `restart: never`. */
  readonly allowRestart?: boolean;
  readonly replace?: readonly string[];
  /** The ownership lines go on saying that the VMs are not complete. */
  readonly asIncomplete?: boolean;
  /** A VM counts as lost only where its line names the address and, where the file gives an id, the VM has it. */
  readonly strictClaims?: boolean;
  /** Off: the plan is made whatever the token may do; the server refuses then, perhaps halfway. */
  readonly checkPrivileges?: boolean;
}

export class Session {
  readonly runId: string;
  readonly #input: SessionInput;
  readonly #lock: StoreLock;
  readonly #memory: RunMemory;
  readonly #run: RunSurroundings;
  #observed: Observed | undefined;
  #hasExecuted = false;

  private constructor(input: SessionInput, lock: StoreLock, runId: string, memory: RunMemory) {
    this.#input = input;
    this.#lock = lock;
    this.runId = runId;
    this.#memory = memory;
    this.#run = {
      pve: input.pve,
      clock: input.clock,
      random: input.random.fork(runId),
      log: input.log,
      stackName: input.stack.name,
      rollout: input.stack.rollout,
      memory,
      ids: input.ids ?? new IdReservations(),
      sources: input.sources,
      onProgress: input.onProgress ?? (() => {}),
      secret: (address, key) => input.secrets.get(address)?.get(secretPathOf(key) ?? key)?.value,
    };
  }

  /** Takes the lock — refused while another run lives — and settles what earlier runs began. */
  static async open(input: SessionInput): Promise<Session> {
    const { clock, random, store, stack } = input;
    // Every VM that waits listens to it; that is no leak to be warned of.
    setMaxListeners(0, input.signal);
    const since = new Date(clock.now()).toISOString();
    const runId = await nextRunId(store, clock.now(), random);
    const lock = await store.lock({ ...input.owner, runId, since });
    try {
      const { state, unfinished } = await recallState(store, stack.name);
      const memory = new RunMemory(state, new JournalWriter(store, clock, runId));
      const session = new Session(input, lock, runId, memory);
      await session.#settle(unfinished.flatMap(({ events }) => openSteps(events)));
      await session.#save();
      // Only now, with everything they knew in the state file, are the earlier journals closed.
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

  /** A plan that can be carried out: one for which the token lacks a privilege is refused like one without its template. */
  async plan(options: PlanOptions = {}): Promise<PlanResult> {
    const { stack, pve, signal, secrets, clock } = this.#input;
    const observed = await observe({ pve, stack, state: this.state, signal, secrets, replace: options.replace });
    this.#observed = observed;
    const result = planStack({ stack, state: this.state, observed, secrets, now: clock.now(), ...options });
    return options.checkPrivileges === false ? result : this.#permitted(result);
  }

  async planDestroy(
    options: Pick<DestroyInput, 'only' | 'running' | 'all'> & Pick<PlanOptions, 'checkPrivileges'>,
  ): Promise<PlanResult> {
    const { stack, pve, signal, clock } = this.#input;
    const observed = await observe({ pve, stack, state: this.state, signal, secrets: this.#input.secrets });
    this.#observed = observed;
    const result = planDestroy({ stack, state: this.state, observed, now: clock.now(), ...options });
    return options.checkPrivileges === false ? result : this.#permitted(result);
  }

  /** What a plan needs and what the token has; also for a plan that was made earlier. */
  async privilegesFor(plan: Plan): Promise<PrivilegeCheck> {
    const { stack, pve, signal } = this.#input;
    this.#observed ??= await observe({ pve, stack, state: this.state, signal, secrets: this.#input.secrets });
    const observed = this.#observed;
    return checkPrivileges({ pve, plan, stack, version: observed.version, observed, signal });
  }

  async #permitted(result: PlanResult): Promise<PlanResult> {
    const { stack, pve, signal } = this.#input;
    if (!result.ok) {
      return { ok: false, problems: await explainUnseen({ pve, stack, problems: result.problems, signal }) };
    }
    const { plan } = result;
    // Nobody has to be asked whether nothing may be done.
    if (isEmpty(plan)) return result;
    const { missing, notChecked } = await this.privilegesFor(plan);
    if (missing.length > 0) return { ok: false, problems: missing };
    return { ok: true, plan: { ...plan, warnings: [...plan.warnings, ...notChecked] } };
  }

  /** What the last plan of this session was made from, field by field. */
  evidence(): ReturnType<typeof evidenceOf> {
    const { stack, secrets } = this.#input;
    return this.#observed ? evidenceOf({ stack, state: this.state, observed: this.#observed, secrets }) : new Map();
  }

  /** Carries out a plan of this session, or one made earlier if nothing has changed since. */
  async execute(plan: Plan): Promise<ExecuteResult> {
    const { stack, signal, ports, owner, lanes } = this.#input;
    await this.#assertFresh(plan);
    this.#hasExecuted = true;
    await this.#memory.record({
      event: 'runStarted',
      runId: this.runId,
      command: owner.command,
      who: owner.who,
      steps: plan.steps.map(({ id, address, stage, action }) => ({ id, address, stage, action })),
    });
    for (const { from, to } of movesOf(stack, this.state)) {
      const moved = this.state.vms[from];
      await this.#memory.record({ event: 'learned', step: 'state/move', patch: { address: to, vm: moved ?? null } });
      await this.#memory.record({ event: 'learned', step: 'state/move', patch: { address: from, vm: null } });
    }
    for (const { address, kind, name } of plan.changes) {
      const old = this.state.vms[address];
      if (kind === 'supersede' && old) {
        // The old version is ours still, under an address of its own.
        const retired = retiredAddress(name, old.vmid);
        await this.#memory.record({ event: 'learned', step: 'state/retire', patch: { address: retired, vm: old } });
        await this.#memory.record({ event: 'learned', step: 'state/retire', patch: { address, vm: null } });
      }
      // It was removed outside: what is remembered of it would be taken for the VM that is to be made.
      if (kind === 'create' && this.state.vms[address]?.uuid !== undefined) {
        await this.#removeSeeds(address);
        await this.#memory.record({ event: 'learned', step: 'state/forget', patch: { address, vm: null } });
      }
    }
    this.#reserveIds(plan);
    const result = await executePlan({ run: this.#run, stack, plan, ports, signal, lanes });
    await this.#conclude(result).catch((error: unknown) => {
      throw isFamily(error, 'state') ? unsaved(error, result) : error;
    });
    return result;
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
      // What an earlier run left was settled and is saved; a journal that stays open would announce work for the next one.
      if (!this.#hasExecuted && this.#memory.hasEvents && this.#memory.openSteps.length === 0) {
        await this.#memory.record({ event: 'runEnded', outcome: 'done' });
      }
    } finally {
      await this.#lock.release();
    }
  }

  /** What was told to a VM that is gone is for nobody any more. */
  async #removeSeeds(address: Address): Promise<void> {
    const identity = { id: `${address}/forget`, address, action: 'vm.unseed' };
    await removeAllSeeds(stepContext(this.#run, identity, { last: undefined }, this.#input.signal));
  }

  /** Ids of guests that are there are not for new VMs, except those this very plan makes free. */
  #reserveIds(plan: Plan): void {
    const freed = new Set(plan.changes.filter(({ kind }) => kind === 'replace').map(({ vmid }) => vmid));
    for (const vmid of this.#observed?.guests.keys() ?? []) if (!freed.has(vmid)) this.#run.ids.markTaken(vmid);
  }

  async #save(): Promise<void> {
    await writeState(this.#input.store, this.#memory.state);
  }

  async #assertFresh(plan: Plan): Promise<void> {
    const { stack, pve, signal } = this.#input;
    this.#observed ??= await observe({ pve, stack, state: this.state, signal, secrets: this.#input.secrets });
    const now = fingerprintsOf({ stack, state: this.state, observed: this.#observed });
    const changed = [
      ...(now.stack === plan.fingerprints.stack ? [] : ['the stack file']),
      ...(now.state === plan.fingerprints.state ? [] : ['the state']),
      ...Object.keys({ ...now.vms, ...plan.fingerprints.vms }).filter(
        (address) => now.vms[address] !== plan.fingerprints.vms[address],
      ),
    ];
    if (changed.length === 0) return;
    throw new ProxwrightError({
      code: 'PLAN_STALE',
      detail: `Since this plan was made, something else changed ${changed.join(', ')}.`,
      hint: advice`Make a new plan to see both changes side by side: ${command('plan')}`,
    });
  }

  /** What a dead run began is waited for or looked up; nothing is started twice. */
  async #settle(open: readonly OpenStep[]): Promise<void> {
    const touched = new Set<string>();
    for (const step of open) {
      if (!(step.action in ACTIONS)) continue;
      touched.add(step.address);
      await this.#settleOne(step);
    }
    for (const [address, vm] of Object.entries(this.state.vms)) {
      if (vm.phase === 'creating' && !touched.has(address)) {
        await this.#settleOne({
          step: `${address}/create`,
          address,
          action: 'vm.create',
          intent: undefined,
          upid: undefined,
        });
      }
    }
  }

  async #settleOne(step: OpenStep): Promise<void> {
    const address = step.address as Address; // the journal holds addresses
    const identity = { id: `${step.step}/settle`, address, action: step.action };
    const context = stepContext(this.#run, identity, { last: undefined }, this.#input.signal);
    // A download that still runs may take minutes.
    this.#input.log.log('info', `${address}: an earlier run did not end ${step.action}; finding out what became of it`);
    if (step.action.startsWith('image.')) {
      const { outcome } = await settleFile(context, step);
      this.#input.log.log('info', `${address}: took up what an earlier run left (${step.action}): ${outcome}`);
      return;
    }
    const settled = await (step.upid === undefined && step.intent === undefined && isCreation(step.action)
      ? settleCreation(context)
      : settleOpenStep(context, step)
    ).catch((error: unknown) => {
      // What only root can mend stops this VM, whose own step says so again, and not its siblings.
      if (!hasCode(error, 'GUEST_LOCKED')) throw error;
      this.#input.log.log('warn', `${address}: ${error.diagnostic.detail} ${error.hint?.text ?? ''}`);
      return undefined;
    });
    if (!settled) return;
    this.#input.log.log('info', `${address}: took up what an earlier run left (${step.action}): ${settled.outcome}`);
    if (settled.outcome === 'nothing' || settled.outcome === 'gone') {
      await this.#memory.record({ event: 'learned', step: identity.id, patch: { address, vm: null } });
    }
  }
}

const isCreation = (action: string) => action === 'vm.clone' || action === 'vm.create';
