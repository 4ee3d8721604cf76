/**
 * Carries out a plan: each VM through its steps, VMs side by side as far as queues and dependencies allow. A failure stops
 * its own VM; its siblings go on or stop as the stack says. Fields kept for display never steer anything here.
 */
import { type Address, kindOf } from '../base/address.ts';
import { throwIfCanceled } from '../base/clock.ts';
import type { Diagnostic } from '../base/diagnostics.ts';
import { hasCode, isCanceled, ProxwrightError, toDiagnostic } from '../base/errors.ts';
import type { PortProbe } from '../base/port-probe.ts';
import { isSightLost } from '../pve/index.ts';
import type { Sight } from '../resources/action.ts';
import { ACTIONS, type ActionName } from '../resources/actions.ts';
import type { FileContext } from '../resources/file/context.ts';
import { isFileStep } from '../resources/file/steps.ts';
import { isPciMapStep, type PciMapStep } from '../resources/pci/mapping.ts';
import type { Step } from '../resources/step.ts';
import type { CloneInput } from '../resources/vm/steps.ts';
import type { ResolvedStack, ResolvedVm } from '../spec/types.ts';
import type { VmState } from '../state/stack-state.ts';
import { type Lanes, lanesOfStack } from './lanes.ts';
import { machinesOf } from './machines.ts';
import type { Plan } from './plan-types.ts';
import type { Occupancy } from './queues.ts';
import { readyChecks, readyTarget } from './ready/checks.ts';
import { waitUntilReady } from './ready/wait.ts';
import { type RunSurroundings, stepContext } from './step-context.ts';

export interface ExecuteInput {
  readonly run: RunSurroundings;
  readonly stack: ResolvedStack;
  readonly plan: Plan;
  readonly ports: PortProbe;
  readonly signal: AbortSignal;
  /** Lines shared with other plans of the process; a plan has its own by default. */
  readonly lanes?: Lanes | undefined;
}

export type VmOutcome = 'done' | 'failed' | 'notReady' | 'canceled' | 'skipped';

export interface ExecuteResult {
  readonly outcomes: ReadonlyMap<Address, VmOutcome>;
  readonly problems: ReadonlyMap<Address, Diagnostic>;
}

export async function executePlan(input: ExecuteInput): Promise<ExecuteResult> {
  const execution = new Execution(input);
  return execution.run();
}

class Execution {
  readonly #input: ExecuteInput;
  readonly #lanes: Lanes;
  readonly #vms: ReadonlyMap<Address, ResolvedVm>;
  readonly #ended = new Map<Address, Promise<VmOutcome>>();
  readonly #problems = new Map<Address, Diagnostic>();
  /** Steps of mappings that could not be made. */
  readonly #unmade = new Set<string>();
  readonly #addressOf: ReadonlyMap<string, Address>;
  #stopping = false;

  constructor(input: ExecuteInput) {
    this.#input = input;
    const { stack, run } = input;
    this.#lanes = input.lanes ?? lanesOfStack(stack, run);
    this.#vms = new Map(machinesOf(stack).map((vm) => [vm.address, vm]));
    this.#addressOf = new Map(input.plan.steps.map(({ id, address }) => [id, address]));
  }

  async run(): Promise<ExecuteResult> {
    const { steps: planned } = this.#input.plan;
    const outcomes = await this.#makeMappings(planned.filter(isPciMapStep));
    const byAddress = new Map<Address, Step[]>();
    for (const step of planned) {
      if (isPciMapStep(step)) continue;
      byAddress.set(step.address, [...(byAddress.get(step.address) ?? []), step]);
    }
    for (const address of this.#vms.keys()) if (!byAddress.has(address)) this.#lanes.readiness.skip(address);
    for (const [address, steps] of byAddress) this.#ended.set(address, this.#runOne(address, steps));
    for (const [address, ended] of this.#ended) outcomes.set(address, await ended);
    return { outcomes, problems: this.#problems };
  }

  /** What VMs share comes first. Only mappings that could not be made have an outcome: the others are no result. */
  async #makeMappings(steps: readonly PciMapStep[]): Promise<Map<Address, VmOutcome>> {
    const { signal, stack } = this.#input;
    const outcomes = new Map<Address, VmOutcome>();
    for (const step of steps) {
      try {
        await this.#runStep(step, { last: undefined });
      } catch (error) {
        const outcome = isCancel(error, signal) ? 'canceled' : 'failed';
        outcomes.set(step.address, outcome);
        this.#unmade.add(step.id);
        if (outcome === 'canceled') continue;
        this.#problems.set(step.address, toDiagnostic(error));
        this.#stopping ||= stack.rollout.onFailure === 'stop';
      }
    }
    return outcomes;
  }

  async #runOne(address: Address, steps: readonly Step[]): Promise<VmOutcome> {
    const { run, signal } = this.#input;
    // Everybody is entered in `#ended` before anybody looks there.
    await Promise.resolve();
    let outcome: VmOutcome;
    try {
      outcome = (await this.#dependenciesHold(address, steps)) ? await this.#work(address, steps) : 'skipped';
    } catch (error) {
      const isKept = isStillNeeded(address, error);
      outcome = isCancel(error, signal) ? 'canceled' : isKept ? 'done' : 'failed';
      const problem = toDiagnostic(error);
      if (outcome !== 'canceled') this.#problems.set(address, isKept ? { ...problem, severity: 'warning' } : problem);
    } finally {
      this.#lanes.readiness.skip(address);
    }
    const problem = this.#problems.get(address);
    run.onProgress({ kind: 'vmEnded', at: run.clock.now(), address, outcome, ...(problem && { problem }) });
    return outcome;
  }

  /**
   * A VM waits for those it names in `after`, and everybody for the images and templates they are made from; if one of
   * them or a mapping did not make it, it is not begun.
   */
  async #dependenciesHold(address: Address, steps: readonly Step[]): Promise<boolean> {
    throwIfCanceled(this.#input.signal);
    const needed = steps.flatMap(({ needs }) => needs);
    if (needed.some((id) => this.#unmade.has(id))) return false;
    const others = needed.flatMap((id) => this.#addressOf.get(id) ?? []).filter((other) => other !== address);
    for (const dependency of new Set([...others, ...(this.#vms.get(address)?.after ?? [])])) {
      const outcome = await this.#ended.get(dependency);
      if (outcome !== undefined && outcome !== 'done') return false;
    }
    return true;
  }

  async #work(address: Address, steps: readonly Step[]): Promise<VmOutcome> {
    const { run, signal, stack } = this.#input;
    run.onProgress({ kind: 'vm', at: run.clock.now(), address, status: 'waiting' });
    const begun = await this.#lanes.places.run(async () => {
      if (this.#stopping) return false;
      run.onProgress({ kind: 'vm', at: run.clock.now(), address, status: 'working' });
      const sight: Sight = { last: undefined };
      try {
        for (const step of steps) await this.#runStep(step, sight);
      } catch (error) {
        // Said before the place is given up, or the next in line would have begun by then.
        this.#stopping ||= stack.rollout.onFailure === 'stop' && !isCancel(error, signal);
        throw error;
      }
      return true;
    }, signal);
    if (!begun) return 'skipped';
    const outcome = await this.#waitForReadiness(address, steps);
    await this.#rememberPower(address);
    return outcome;
  }

  /** The last fact of a VM: it was switched as the file says, and waited for. */
  async #rememberPower(address: Address): Promise<void> {
    const { memory } = this.#input.run;
    const power = this.#vms.get(address)?.fields.power;
    const remembered = memory.vm(address);
    if (power === undefined || remembered?.phase !== 'complete' || remembered.lastApplied.power === power) return;
    const lastApplied = { ...remembered.lastApplied, power };
    await memory.record({ event: 'learned', step: `${address}/ready`, patch: { address, vm: { lastApplied } } });
  }

  async #runStep(step: Step, sight: Sight): Promise<void> {
    const { run, signal } = this.#input;
    throwIfCanceled(signal);
    const context = stepContext(run, step, sight, signal);
    const { id, address, action: name } = step;
    const announce = (status: 'started' | 'done') =>
      run.onProgress({ kind: 'step', at: run.clock.now(), address, step: id, action: name, status });
    await this.#lanes.queues.run(occupancyOf(step), signal, async () => {
      announce('started');
      await run.memory.record({ event: 'stepStarted', step: step.id, address: step.address, action: step.action });
      try {
        await act(context, step);
      } catch (error) {
        // A canceled step stays open in the journal: the next run takes it up.
        if (!isCancel(error, signal)) {
          const { code, detail } = toDiagnostic(error);
          const lost = isSightLost(error) && { lost: true as const };
          await run.memory.record({ event: 'stepFailed', step: step.id, code, detail, ...lost });
        }
        throw located(error, step);
      }
      await run.memory.record({
        event: 'stepDone',
        step: step.id,
        ...(step.action === 'vm.destroy' && { patch: { address: step.address, vm: null } }),
      });
      announce('done');
    });
  }

  /** A VM that does not come up in time is kept, and said so. */
  async #waitForReadiness(address: Address, steps: readonly Step[]): Promise<VmOutcome> {
    const { run, signal, ports } = this.#input;
    const vm = this.#vms.get(address);
    const remembered = run.memory.vm(address);
    if (!vm || !remembered || !isToBeAwaited(vm, remembered, steps)) return 'done';
    const target = readyTarget(address, vm.fields, remembered);
    const checks = readyChecks(vm.fields, this.#input.stack.rollout.timeouts.readyMs);
    try {
      const readiness = await this.#lanes.readiness.run(
        address,
        () =>
          waitUntilReady(
            {
              pve: run.pve,
              clock: run.clock,
              log: run.log,
              ports,
              signs: this.#lanes.signs,
              signal,
              progress: (text) =>
                run.onProgress({ kind: 'activity', at: run.clock.now(), address, text, percent: undefined }),
            },
            target,
            checks,
          ),
        signal,
      );
      const addresses = Object.fromEntries(Object.entries(readiness.addresses).map(([nic, list]) => [nic, [...list]]));
      await run.memory.record({ event: 'learned', step: `${address}/ready`, patch: { address, vm: { addresses } } });
      return 'done';
    } catch (error) {
      if (isCancel(error, signal)) throw error;
      this.#problems.set(address, toDiagnostic(error));
      return 'notReady';
    }
  }
}

function act(context: FileContext, step: Step): Promise<void> {
  const action = ACTIONS[step.action as ActionName]; // plans are made of these names only
  return action(context, step.input as never); // and each step carries the input of its action
}

/** Switched on by this run, or by one that died before it had seen the guest. */
function isToBeAwaited(vm: ResolvedVm, remembered: VmState, steps: readonly Step[]): boolean {
  // A template is started to install itself, and waited for by a step of its own.
  if (kindOf(vm.address) !== 'vm') return false;
  const isStarted = steps.some(({ action }) => action === 'vm.start' || action === 'vm.restart');
  return isStarted || (vm.fields.power === 'running' && remembered.lastApplied.power !== 'running');
}

/** An earlier version of a template goes when nothing rests on it any more, and not before. */
function isStillNeeded(address: Address, error: unknown): boolean {
  return kindOf(address) === 'retired' && hasCode(error, 'IN_USE');
}

function isCancel(error: unknown, signal: AbortSignal): boolean {
  return isCanceled(error) || signal.aborted;
}

function occupancyOf(step: Step): Occupancy {
  if (step.action === 'vm.destroy') return { kind: 'destroy', node: '', storages: [] };
  if (isFileStep(step) && step.action !== 'image.remove') {
    return { kind: 'transfer', node: step.input.node, storages: [step.input.storage] };
  }
  if (step.action !== 'vm.clone') return { kind: 'other', node: '', storages: [] };
  const { source, storage, storages = [] } = step.input as CloneInput; // the input of this action
  return { kind: 'clone', node: source.node, storages: storage === undefined ? storages : [storage] };
}

/** The error of a step, with the VM and the step it belongs to. */
function located(error: unknown, step: Step): unknown {
  // What stopped a run is not about a step.
  if (!(error instanceof ProxwrightError) || isCanceled(error)) return error;
  return error.with({ where: { address: step.address, step: step.action.replace(/^(vm|template|image)\./, '') } });
}
