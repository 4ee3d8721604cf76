/** Puts together what one step's action is given: doors, memory, journal, retry budget. */
import type { Address } from '../base/address.ts';
import { invariant } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import type { Secret } from '../base/secret.ts';
import type { Pve } from '../pve/client.ts';
import type { Sight } from '../resources/action.ts';
import type { FileContext, ImageSources } from '../resources/file/context.ts';
import type { IdReservations } from '../resources/vm/ids.ts';
import type { VmMemory } from '../resources/vm/memory.ts';
import type { Rollout } from '../spec/types.ts';
import type { VmPatch } from '../state/events.ts';
import type { ProgressListener } from './progress.ts';
import { DEFAULT_RETRY, retryWhileBusy } from './retry.ts';
import type { RunMemory } from './run-memory.ts';

/** Everything the steps of a run have in common. */
export interface RunSurroundings {
  readonly pve: Pve;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly stackName: string;
  readonly rollout: Rollout;
  readonly memory: RunMemory;
  readonly ids: IdReservations;
  /** Undefined where nothing is sent from here. */
  readonly sources?: ImageSources | undefined;
  readonly onProgress: ProgressListener;
  secret(address: Address, key: string): Secret | undefined;
}

export interface StepIdentity {
  readonly id: string;
  readonly address: Address;
  readonly action: string;
}

export function stepContext(run: RunSurroundings, step: StepIdentity, sight: Sight, signal: AbortSignal): FileContext {
  const { memory, clock, random, log, rollout } = run;
  const { address } = step;
  const patch = (vm: Partial<VmMemory>): VmPatch => ({ address, vm: mutable(vm) });
  return {
    pve: run.pve,
    clock,
    random: random.fork(step.id),
    log,
    signal,
    address,
    stack: run.stackName,
    ids: run.ids,
    sight,
    timeouts: rollout.timeouts,
    secret: (key) => run.secret(address, key),
    memory: () => memory.vm(address),
    memoryOf: (other) => memory.vm(other),
    intend: async (intent, vm) => {
      await memory.record({
        event: 'stepStarted',
        step: step.id,
        address,
        action: step.action,
        intent: toJson(intent),
        ...(vm && { patch: patch(vm) }),
      });
      sight.acted = true;
    },
    attach: (upid) => memory.record({ event: 'taskAttached', step: step.id, upid }),
    file: (key) => memory.state.files[key],
    learnFile: (key, file) =>
      memory.record({ event: 'learnedFile', step: step.id, patch: { key, file: toJson(file) } }),
    imageSource: (origin) => {
      invariant(run.sources, `${address}: this run has no door to local files and downloads.`);
      return run.sources(origin);
    },
    learn: (vm) => memory.record({ event: 'learned', step: step.id, patch: patch(vm) }),
    whileBusy: (subject, work) =>
      retryWhileBusy(
        { ...DEFAULT_RETRY, ...rollout.retry, budgetMs: rollout.timeouts.lockMs },
        { clock, random: random.fork(`${step.id}/retry`), log: noted(log, memory, address), signal, subject },
        work,
      ),
    progress: (text, percent) => run.onProgress({ kind: 'activity', at: clock.now(), address, text, percent }),
  };
}

/** Waiting for somebody else's lock is part of the story: a report about the run tells it. */
function noted(log: Logger, memory: RunMemory, address: Address): Logger {
  return {
    log: (level, message, fields) => {
      log.log(level, message, fields);
      // What could not be written makes the next event fail, and that one is waited for.
      void memory.record({ event: 'note', level: 'warn', address, text: message }).catch(() => {});
    },
  };
}

/** The state's own types are not readonly; the values are the same. */
function mutable(vm: Partial<VmMemory>): VmPatch['vm'] {
  return toJson(vm) as VmPatch['vm']; // a memory is plain JSON, and the journal checks it again when it is read
}

/** As it will come back from disk: no undefined, no shared objects. */
function toJson(value: unknown): never {
  return JSON.parse(JSON.stringify(value)) as never; // handed to fields typed as JSON
}
