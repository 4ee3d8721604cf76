/**
 * Executes a plan: each resource step by step, resources concurrently within limits and dependencies. A failure stops
 * its own resource; its siblings continue or stop as the stack says. Only the steps steer it: it ignores what a plan
 * holds for display.
 */
import { setMaxListeners } from 'node:events';
import { type Address, covers } from '../base/address.ts';
import { throwIfCanceled } from '../base/clock.ts';
import type { Diagnostic } from '../base/diagnostics.ts';
import { isFamily, ProxwrightError, toDiagnostic } from '../base/errors.ts';
import { advice, command } from '../base/hint.ts';
import type { Occupancy } from '../kinds/action.ts';
import type { Plan } from '../kinds/change.ts';
import type { StepContext } from '../kinds/registry.ts';
import { type Rollout, waitOrder } from '../kinds/stack.ts';
import type { Outage, Step } from '../kinds/step.ts';
import type { ResourceOutcome } from '../state/events.ts';
import { isStoreFailure } from '../state/store.ts';
import { RunLimits } from './limits.ts';
import { definitionOf, isCancel, type RunDeps, runStep } from './run-step.ts';

export interface ExecuteInput {
  readonly run: RunDeps;
  readonly plan: Pick<Plan, 'steps'>;
  readonly rollout: Rollout;
  readonly signal: AbortSignal;
  /** Shared with other plans of the process; a plan has its own by default. */
  readonly limits?: RunLimits | undefined;
}

export interface ExecuteResult {
  readonly outcomes: ReadonlyMap<Address, ResourceOutcome>;
  readonly problems: ReadonlyMap<Address, Diagnostic>;
}

export async function executePlan(input: ExecuteInput): Promise<ExecuteResult> {
  const execution = new Execution(input);
  return execution.run();
}

class Execution {
  readonly #input: ExecuteInput;
  readonly #limits: RunLimits;
  readonly #ended = new Map<Address, Promise<ResourceOutcome>>();
  readonly #problems = new Map<Address, Diagnostic>();
  readonly #addressOf: ReadonlyMap<string, Address>;
  readonly #byAddress: ReadonlyMap<Address, readonly Step[]>;
  #stopping = false;
  /** Set once the store failed to save an event. */
  readonly #storeLost = new AbortController();
  /** Aborted by the caller, or because the store is lost: nothing more can be recorded, so no resource continues. */
  readonly #signal: AbortSignal;

  constructor(input: ExecuteInput) {
    this.#input = input;
    this.#signal = AbortSignal.any([input.signal, this.#storeLost.signal]);
    // Every resource that waits listens to it.
    setMaxListeners(0, this.#signal);
    const { run, plan, rollout } = input;
    this.#addressOf = new Map(plan.steps.map(({ id, address }) => [id, address]));
    this.#byAddress = this.#inOrder();
    const waiting = [...this.#byAddress].filter(([, steps]) => steps.some((step) => occupancyOf(step).kind === 'wait'));
    const order = waiting.map(([address]) => address);
    this.#limits = input.limits ?? RunLimits.ofPlan(rollout, run, order);
  }

  /**
   * The order of the plan, except that a resource comes after those it depends on. Turns, in readiness and in outages, are
   * taken in this order, so that no two resources wait for each other.
   */
  #inOrder(): Map<Address, readonly Step[]> {
    const byAddress = stepsByAddress(this.#input.plan.steps);
    const order = waitOrder(
      [...byAddress].map(([address, steps]) => ({ address, after: this.#dependenciesOf(steps) })),
    );
    return new Map(order.map((address) => [address, byAddress.get(address) ?? []]));
  }

  async run(): Promise<ExecuteResult> {
    for (const [address, steps] of this.#byAddress) this.#ended.set(address, this.#runOne(address, steps));
    const outcomes = new Map<Address, ResourceOutcome>();
    for (const [address, ended] of this.#ended) outcomes.set(address, await ended);
    return { outcomes, problems: this.#problems };
  }

  async #runOne(address: Address, steps: readonly Step[]): Promise<ResourceOutcome> {
    // Every resource is entered in `#ended` before any of them looks there.
    await Promise.resolve();
    let outcome: ResourceOutcome;
    try {
      outcome = await this.#inTurn(address, steps);
    } catch (error) {
      outcome = this.#endOf(address, error);
    } finally {
      this.#limits.readiness.skip(address);
    }
    await this.#recordEnd(address, outcome);
    return outcome;
  }

  #endOf(address: Address, error: unknown): ResourceOutcome {
    if (isStoreFailure(error)) this.#storeLost.abort(error);
    const stoppedBy: unknown = this.#storeLost.signal.reason;
    const isStopped = stoppedBy !== undefined && isCancel(error, this.#storeLost.signal);
    if (!isStopped && isCancel(error, this.#input.signal)) return 'canceled';
    this.#problems.set(address, toDiagnostic(isStopped ? stoppedBy : error));
    return 'failed';
  }

  /** A resource that becomes unavailable begins when its group allows one more unavailable member. */
  async #inTurn(address: Address, steps: readonly Step[]): Promise<ResourceOutcome> {
    const [outage] = steps.flatMap((step) => step.outage ?? []);
    if (!outage) return this.#whenPossible(address, steps);
    const work = () => this.#whenPossible(address, steps, outage);
    const end = await this.#limits.outages.run(address, outage, work, this.#signal);
    if ('outcome' in end) return end.outcome;
    this.#problems.set(address, this.#stoppedRoll(address, end.stoppedBy, outage));
    return 'skipped';
  }

  async #whenPossible(address: Address, steps: readonly Step[], outage?: Outage): Promise<ResourceOutcome> {
    const missing = await this.#missingDependency(steps, outage);
    if (missing === undefined) return this.#work(address, steps);
    if (outage) this.#problems.set(address, this.#stoppedRoll(address, missing, outage));
    return 'skipped';
  }

  /** The resource keeps running: taking it down, too, would make the outage larger. */
  #stoppedRoll(address: Address, by: Address, { again, isAsked }: Outage): Diagnostic {
    const isHook = this.#problems.get(by)?.code === 'HOOK_FAILED';
    return new ProxwrightError({
      code: 'ROLL_STOPPED',
      where: { address },
      detail: `${isHook ? `A hook of ${by} failed` : `${by} did not become ready`}, so ${address} was not taken down and stays as it is.`,
      hint: isAsked
        ? `Repair ${by}, then continue with the command that this run names at its end.`
        : advice`Repair ${by}, then continue: ${command('apply', ...again)}. To change ${address} alone: ${command('apply', '--only', address, ...again)}`,
    }).diagnostic;
  }

  async #recordEnd(address: Address, outcome: ResourceOutcome): Promise<void> {
    const problem = this.#problems.get(address);
    const end = { address, outcome, ...(problem && { problem: JSON.parse(JSON.stringify(problem)) }) };
    try {
      await this.#input.run.memory.record({ event: 'resourceEnded', ...end });
    } catch (error) {
      // The run waits for the other resources: each fails at its next event, and the end of the run reports the journal.
      if (!isFamily(error, 'state')) throw error;
    }
  }

  /** Steps that need a step of another resource start once that resource is done, and not at all if it fails. */
  async #missingDependency(steps: readonly Step[], outage?: Outage): Promise<Address | undefined> {
    throwIfCanceled(this.#signal);
    for (const dependency of this.#dependenciesOf(steps)) {
      const outcome = await this.#ended.get(dependency);
      // Waits for members of its own group; the group decides whether their failure matters.
      if (outage?.onFailure === 'continue' && covers(outage.group, dependency)) continue;
      if (outcome !== undefined && outcome !== 'done') return dependency;
    }
    return undefined;
  }

  #dependenciesOf(steps: readonly Step[]): Address[] {
    const needed = steps.flatMap(({ address, needs }) =>
      needs.flatMap((id) => this.#addressOf.get(id) ?? []).filter((other) => other !== address),
    );
    return [...new Set(needed)];
  }

  async #work(address: Address, steps: readonly Step[]): Promise<ResourceOutcome> {
    const { rollout } = this.#input;
    const signal = this.#signal;
    const observed: StepContext['observed'] = { last: undefined };
    const firstWait = steps.findIndex((step) => occupancyOf(step).kind === 'wait');
    const [work, waits] = firstWait < 0 ? [steps, []] : [steps.slice(0, firstWait), steps.slice(firstWait)];
    const hasStarted = await this.#inPlace(work, async () => {
      if (this.#stopping) return false;
      try {
        for (const step of work) await this.#runStep(step, observed);
      } catch (error) {
        // Set before the place is released: otherwise the next in line would have started by then.
        this.#stopping ||= rollout.onFailure === 'stop' && !isCancel(error, signal);
        throw error;
      }
      return true;
    });
    if (!hasStarted) return 'skipped';
    try {
      for (const step of waits) await this.#runStep(step, observed);
    } catch (error) {
      if (isCancel(error, signal)) throw error;
      // A guest that does not come up in time is kept, and reported.
      this.#problems.set(address, toDiagnostic(error));
      return 'notReady';
    }
    return 'done';
  }

  /** Guests that shut down to be destroyed need no place: together they take only as long as the slowest. */
  #inPlace(steps: readonly Step[], work: () => Promise<boolean>): Promise<boolean> {
    const onlyDestroys = steps.every((step) => occupancyOf(step).kind === 'destroy');
    return onlyDestroys ? work() : this.#limits.places.run(work, this.#signal);
  }

  async #runStep(step: Step, observed: StepContext['observed']): Promise<void> {
    const { run } = this.#input;
    const signal = this.#signal;
    const { address } = step;
    throwIfCanceled(signal);
    const deps = { ...run, warn: (problem: Diagnostic) => this.#problems.set(address, problem) };
    const { signs, deletions } = this.#limits;
    const work = () => runStep(deps, step, { observed, signs, deletions, signal });
    await this.#limits.run(address, occupancyOf(step), work, signal);
  }
}

function stepsByAddress(steps: readonly Step[]): ReadonlyMap<Address, readonly Step[]> {
  const byAddress = new Map<Address, Step[]>();
  for (const step of steps) {
    const known = byAddress.get(step.address);
    if (known) known.push(step);
    else byAddress.set(step.address, [step]);
  }
  return byAddress;
}

function occupancyOf(step: Step): Occupancy {
  return definitionOf(step).occupies?.(step.input as never) ?? { kind: 'none' }; // the input of its action
}
