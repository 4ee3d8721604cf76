/** Runs one step: builds the context of its action, and records its start and its end. */
import type { Address } from '../base/address.ts';
import type { Clock, Ticks } from '../base/clock.ts';
import { type Diagnostic, factsOf } from '../base/diagnostics.ts';
import { invariant, isCanceled, ProxwrightError, toDiagnostic } from '../base/errors.ts';
import type { Limiter } from '../base/limiter.ts';
import type { Logger } from '../base/log.ts';
import type { Processes } from '../base/processes.ts';
import type { Random } from '../base/random.ts';
import { DEFAULT_RETRY, retryWhileBusy } from '../base/retry.ts';
import type { Secret } from '../base/secret.ts';
import type { PortProbe } from '../base/transport.ts';
import type { GuestSigns } from '../kinds/guest-signs.ts';
import type { IdReservations } from '../kinds/ids.ts';
import type { VmPatch } from '../kinds/recorded.ts';
import { type AnyAction, actionNamed, type StepContext } from '../kinds/registry.ts';
import type { Rollout } from '../kinds/stack.ts';
import type { Step } from '../kinds/step.ts';
import type { Pve } from '../pve/client.ts';
import { isConnectionLost } from '../pve/index.ts';
import { isStoreFailure } from '../state/store.ts';
import { firstLine } from './evidence/text.ts';
import type { RunMemory } from './run-memory.ts';

/** Everything the steps of a run have in common. */
export interface RunDeps {
  readonly pve: Pve;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly stackName: string;
  readonly rollout: Rollout;
  readonly memory: RunMemory;
  readonly lockedTicks: Ticks;
  readonly ids: IdReservations;
  readonly ports: PortProbe;
  /** Undefined if nothing is uploaded from here. */
  readonly sources?: StepContext['imageSource'] | undefined;
  /** Undefined if no programs run on this machine. */
  readonly processes?: Processes | undefined;
  /** A warning about a resource although its step succeeded. */
  readonly warn?: ((problem: Diagnostic) => void) | undefined;
  secret(address: Address, key: string): Secret | undefined;
}

export interface StepIdentity {
  readonly id: string;
  readonly address: Address;
  readonly action: string;
}

/** What belongs to one step alone. */
export interface StepDeps {
  readonly observed: StepContext['observed'];
  readonly signs: GuestSigns;
  /** Absent where only one step runs. */
  readonly deletions?: Limiter | undefined;
  readonly signal: AbortSignal;
}

/** Returns once the step is done and recorded; throws its error, located, once the failure is recorded. */
export async function runStep(
  run: RunDeps,
  step: StepIdentity & Pick<Step, 'input' | 'begins' | 'endsOutage'>,
  own: StepDeps,
): Promise<void> {
  const { id, address, action } = step;
  const { memory } = run;
  const begins = step.begins && { outage: step.begins };
  const timeoutMs = definitionOf(step).waitsUpTo?.(step.input as never); // each step carries the input of its action
  const bound = timeoutMs !== undefined && { timeoutMs };
  await memory.record({ event: 'stepStarted', step: id, address, action, ...begins, ...bound });
  try {
    await definitionOf(step).run(stepContext(run, step, own), step.input as never); // each step carries the input of its action
  } catch (error) {
    // A step that was canceled or lost its store stays open in the journal: the next run resumes it.
    if (!isCancel(error, own.signal) && !isStoreFailure(error)) {
      const { code, detail } = toDiagnostic(error);
      const lost = isConnectionLost(error) && { lost: true as const };
      await memory.record({ event: 'stepFailed', step: id, code, detail, ...lost });
    }
    throw located(error, step);
  }
  await memory.record({ event: 'stepDone', step: id, ...(step.endsOutage && { endsOutageOf: address }) });
}

export function isCancel(error: unknown, signal: AbortSignal): boolean {
  return isCanceled(error) || signal.aborted;
}

/** The error of a step, with the resource and the step it belongs to. */
function located(error: unknown, { address, action }: StepIdentity): unknown {
  if (!(error instanceof ProxwrightError)) return error;
  return error.with({ where: { address, step: action.replace(/^[a-z]+\./, '') } });
}

/** Plans contain only known actions. */
export function definitionOf({ action }: Pick<StepIdentity, 'action'>): AnyAction {
  const definition = actionNamed(action);
  invariant(definition, `No action is called ${action}.`);
  return definition;
}

/**
 * `address`: the VM that it records facts about, if not the resource of the step. Everything shown belongs to the
 * latter.
 */
export function stepContext(
  run: RunDeps,
  step: StepIdentity,
  own: StepDeps,
  address: Address = step.address,
): StepContext {
  const { memory, clock, random, log, rollout } = run;
  const patch = (vm: Parameters<StepContext['learn']>[0]): VmPatch => ({ address, vm: toJson(vm) });
  return {
    pve: run.pve,
    clock,
    random: random.fork(step.id),
    log,
    signal: own.signal,
    address,
    stack: run.stackName,
    lineage: memory.state.lineage,
    runId: memory.runId,
    lockedTicks: run.lockedTicks,
    ids: run.ids,
    observed: own.observed,
    ports: run.ports,
    signs: own.signs,
    timeouts: rollout.timeouts,
    secret: (key) => run.secret(address, key),
    recorded: () => memory.vm(address),
    recordedOf: (other) => memory.vm(other),
    beside: (other) => stepContext(run, step, { ...own, observed: { last: undefined } }, other),
    intend: async (intent, vm) => {
      const change = vm && { patch: patch(vm) };
      await memory.record({ event: 'intended', step: step.id, intent: toJson(intent), ...change });
    },
    attach: (upid, timeoutMs) => memory.record({ event: 'taskAttached', step: step.id, upid, timeoutMs }),
    file: (key) => memory.state.files[key],
    learnFile: (key, file) =>
      memory.record({ event: 'learnedFile', step: step.id, patch: { key, file: toJson(file) } }),
    imageSource: (origin) => {
      invariant(run.sources, `${address}: this run has no access to local files and downloads.`);
      return run.sources(origin);
    },
    learn: (vm) => memory.record({ event: 'learned', step: step.id, patch: patch(vm) }),
    forget: () => memory.record({ event: 'learned', step: step.id, patch: { address, vm: null } }),
    moveRecord: (from, to) => {
      const vmid = memory.vm(from)?.vmid;
      return memory.record({ event: 'moved', step: step.id, from, to, ...(vmid !== undefined && { vmid }) });
    },
    warn: async (problem) => {
      await memory.record({ event: 'note', level: 'warn', address: step.address, text: problem.detail });
      run.warn?.(problem);
    },
    remark: (text) => memory.record({ event: 'note', level: 'warn', address: step.address, text }),
    deleting: (work) => own.deletions?.run(work, own.signal) ?? work(),
    whileBusy: (subject, work) =>
      retryWhileBusy(
        { ...DEFAULT_RETRY, ...rollout.retry, budgetMs: rollout.timeouts.lockMs },
        {
          clock,
          random: random.fork(`${step.id}/retry`),
          log,
          signal: own.signal,
          subject,
          onPause: ({ text, ms, error }) => {
            memory.tell({ address: step.address, text: text.slice(`${subject}: `.length), percent: undefined });
            const { serverSaid: said } = factsOf(error.diagnostic);
            const wait = { ms, code: error.code, ...(said !== undefined && { said: firstLine(said) }) };
            // A wait for another client's lock belongs into the journal: reports about the run show it. If the write
            // fails, the next event fails, too, and that one is awaited.
            void memory.record({ event: 'note', level: 'warn', address: step.address, text, wait }).catch(() => {});
          },
        },
        work,
      ),
    processes: {
      run: (program) => {
        invariant(run.processes, `${address}: this run starts no programs.`);
        return run.processes.run(program);
      },
    },
    hook: ({ output, ...event }) =>
      memory.record({ event: 'hook', step: step.id, address, ...event, ...(output && { output }) }),
    progress: (text, percent) => memory.tell({ address: step.address, text, percent }),
  };
}

/** As it will be read back from disk: no undefined, no shared objects. */
function toJson(value: unknown): never {
  return JSON.parse(JSON.stringify(value)) as never; // handed to fields typed as JSON
}
