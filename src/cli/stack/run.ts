/** A run of the engine as commands need it: lock, signals, client, secrets and progress; and what edits of the state need. */

import { hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import type { Address } from '../../base/address.ts';
import { canceled, hasCode, ProxwrightError } from '../../base/errors.ts';
import { randomHex } from '../../base/random.ts';
import { counted, printDuration } from '../../base/values/units.ts';
import type { ExecuteResult } from '../../engine/execute.ts';
import { stackOutputs } from '../../engine/outputs/outputs.ts';
import { unfinishedRolls } from '../../engine/record/roll-report.ts';
import { describeRun } from '../../engine/record/run-record.ts';
import type { RunListener } from '../../engine/run-memory.ts';
import { Session } from '../../engine/session.ts';
import type { EditDeps } from '../../engine/state-edit.ts';
import { type Plan, pendingRestarts } from '../../kinds/change.ts';
import type { StackState } from '../../kinds/recorded.ts';
import { createImageSources } from '../../local/image-sources.ts';
import { createProcesses } from '../../local/processes.ts';
import { runSource } from '../../local/run-source.ts';
import { portProbeFor } from '../../local/simulator.ts';
import type { Pve } from '../../pve/index.ts';
import type { RunSource } from '../../state/events.ts';
import { listRuns, readRun } from '../../state/journal.ts';
import type { Delivery, LockOwner, StateStore, StoreLock } from '../../state/store.ts';
import { type CommandDeps, EXIT_CANCELED, type ExitCode } from '../command.ts';
import type { Conclusion } from '../views/change/apply.ts';
import { createScreen } from '../views/run/screen.ts';
import { durationsOf, type KnownDurations, type Timeline } from '../views/run/timeline.ts';
import { connect, serverOf } from './connect.ts';
import type { OpenedStack } from './open.ts';
import { resolveSecrets, type SecretsByVm } from './secrets.ts';

export interface StackRun {
  readonly session: Session;
  readonly pve: Pve;
  readonly secrets: SecretsByVm;
  /** Its terminal writes above the live progress. */
  readonly deps: CommandDeps;
  execute(plan: Plan): Promise<Execution>;
}

export interface Execution extends ExecuteResult {
  readonly timeline: Timeline;
  readonly tookMs: number;
}

export async function withStackRun<Result>(
  opened: OpenedStack,
  outerDeps: CommandDeps,
  command: string,
  work: (run: StackRun) => Promise<Result>,
): Promise<Result> {
  const screen = createScreen(outerDeps);
  const { deps } = screen;
  const signal = stopSignal(deps);
  const pve = await connect(opened, deps);
  let onEvent: RunListener = () => {};
  const secrets = await resolveSecrets(opened, deps);
  const sources = createImageSources({
    clock: deps.clock,
    cacheDirectory: join(opened.stateDirectory, 'cache'),
    baseDirectory: opened.directory,
  });
  const session = await Session.open({
    pve,
    clock: deps.clock,
    random: deps.random,
    log: deps.terminal,
    store: patientStore(opened, deps, signal),
    ports: portProbeFor(await serverOf(pve, opened, deps)),
    sources: sources.source,
    processes: createProcesses({ clock: deps.clock, environment: deps.environment, directory: opened.directory }),
    signal,
    onEvent: (event) => onEvent(event),
    stack: opened.stack,
    secrets,
    owner: ownerOf(command),
    source: await sourceOf(opened, deps),
    keepRuns: opened.stack.state?.keep_runs ?? KEPT_RUNS,
  });
  const execute = async (plan: Plan): Promise<Execution> => {
    const { timeline, view } = screen.begin(addressesOf(plan), await pastDurations(opened.store), plan.rolls);
    onEvent = view.onEvent;
    const startedAt = deps.clock.ticks();
    try {
      const result = await session.execute(plan);
      return { ...result, timeline, tookMs: deps.clock.ticks() - startedAt };
    } finally {
      await view.end();
    }
  };
  try {
    return await work({ session, pve, secrets, deps, execute });
  } finally {
    await session.close();
    await sources.close();
    await pve.close();
  }
}

/** The first Ctrl-C stops cleanly; the second ends the process, from which the next run recovers as well. */
function stopSignal(deps: CommandDeps): AbortSignal {
  const controller = new AbortController();
  void deps.stopRequested().then(() => {
    deps.terminal.log('warn', 'Stopping after the current step. Press Ctrl-C again to stop immediately.');
    controller.abort(canceled('Stopped on request. Nothing was undone; run the command again to resume.'));
  });
  return controller.signal;
}

function addressesOf(plan: Plan): Set<Address> {
  const changed = new Set(plan.changes.map(({ address }) => address));
  return new Set(plan.steps.filter(({ address }) => changed.has(address)).map(({ address }) => address));
}

/** How a run ended, with its exit code. */
export function conclusionOf(
  command: Conclusion['command'],
  { outcomes, problems, timeline, tookMs }: Execution,
  { stack }: Pick<OpenedStack, 'stack'>,
  state: StackState,
  plan: Plan,
): Conclusion {
  const all = [...outcomes.values()];
  const code: ExitCode = all.includes('canceled') ? EXIT_CANCELED : all.every((each) => each === 'done') ? 0 : 1;
  const { vms } = stackOutputs(stack, state);
  const restartPending = pendingRestarts(plan.changes);
  const begun = new Set(timeline.vms.flatMap(({ address, startedAt }) => (startedAt === undefined ? [] : [address])));
  const rolls = unfinishedRolls(plan.rolls ?? [], outcomes, begun);
  return { command, code, outcomes, problems, timeline, tookMs, restartPending, rolls, vms, recorded: state.vms };
}

/** What a command that edits the state needs. */
export async function editDeps(opened: OpenedStack, deps: CommandDeps, command: string): Promise<EditDeps> {
  return {
    store: patientStore(opened, deps),
    clock: deps.clock,
    random: deps.random,
    stackName: opened.stack.name,
    owner: ownerOf(command),
    source: await sourceOf(opened, deps),
  };
}

/** Locks the store of a stack for a command that needs nothing else. */
export function lockStore(opened: OpenedStack, deps: CommandDeps, command: string): Promise<StoreLock> {
  const since = new Date(deps.clock.now()).toISOString();
  const runId = `${command.replaceAll(' ', '-')}-${randomHex(deps.random, 8)}`;
  return patientStore(opened, deps).lock({ ...ownerOf(command), runId, since });
}

/** Unless the file says otherwise. Every plan reads the journals that are kept. */
const KEPT_RUNS = 100;

/** Computed after the secrets were read: none of them gets into the journal. */
async function sourceOf({ file, directory }: OpenedStack, deps: CommandDeps): Promise<RunSource> {
  const { environment, commandLine, secrets } = deps;
  return secrets.redactIn(await runSource({ host: hostname(), commandLine, environment, directory, file }));
}

function ownerOf(command: string) {
  return { who: userName(), host: hostname(), pid: process.pid, command };
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A user without an entry in the password file, as in many containers.
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}

/**
 * A store that waits for the lock as long as the user allows, names the run that holds it, and reports when it takes
 * over a lock.
 */
function patientStore(
  { store, lockTimeoutMs = 0 }: OpenedStack,
  { terminal, clock }: CommandDeps,
  signal?: AbortSignal,
): StateStore {
  return {
    read: (name) => store.read(name),
    write: (name, text) => store.write(name, text),
    append: (name, line) => store.append(name, line),
    remove: (name) => store.remove(name),
    list: (prefix) => store.list(prefix),
    placeOf: (name) => store.placeOf(name),
    holder: () => store.holder(),
    unlock: (options) => store.unlock(options),
    outbox: store.outbox,
    lock: async (owner) => {
      const lock = await lockInTime(store, owner, { terminal, clock, lockTimeoutMs, signal });
      const dead = lock.takenOverFrom;
      if (dead) {
        const whose =
          dead.runId === ''
            ? 'a run that had not written its name yet and'
            : `"${dead.command}" of ${dead.who} on ${dead.host} since ${dead.since} (process ${dead.pid}), which`;
        const why = lock.wasExpired ? 'did not renew it in time' : 'no longer runs';
        terminal.log('warn', `Took over the lock of ${whose} ${why}.`);
      }
      for (const delivery of lock.delivered ?? []) sayDelivered(delivery, terminal);
      return lock;
    },
  };
}

function sayDelivered({ runId, events, end, why, place }: Delivery, terminal: CommandDeps['terminal']): void {
  const what = `${counted(events, 'event')} of the run ${runId} that this machine had kept`;
  if (end === 'sent') terminal.log('info', `Sent ${what} to the store.`);
  else if (end === 'superseded') terminal.log('info', `Dropped ${what}: another run has resumed it meanwhile.`);
  else terminal.log('warn', `Set aside ${what}: ${why}. See ${place}.`);
}

/** How often to try a lock that another run holds. */
const LOCK_LOOK_MS = 2_000;

async function lockInTime(
  store: StateStore,
  owner: LockOwner,
  {
    terminal,
    clock,
    lockTimeoutMs,
    signal,
  }: Pick<CommandDeps, 'terminal' | 'clock'> & {
    readonly lockTimeoutMs: number;
    readonly signal: AbortSignal | undefined;
  },
): Promise<StoreLock> {
  const since = clock.ticks();
  let said = '';
  for (;;) {
    try {
      return await store.lock(owner);
    } catch (error) {
      const leftMs = lockTimeoutMs - (clock.ticks() - since);
      if (!hasCode(error, 'STATE_LOCKED') || !(error instanceof ProxwrightError) || leftMs <= 0) throw error;
      const { detail = '' } = error.diagnostic;
      if (detail !== said) terminal.log('info', `Waiting up to ${printDuration(leftMs)} for the lock. ${detail}`);
      said = detail;
      await clock.sleep(Math.min(LOCK_LOOK_MS, leftMs), signal);
    }
  }
}

const RUNS_LOOKED_AT = 5;

/**
 * How long the stages of earlier runs took: what the next run may expect. Only for display, so a journal that cannot be read
 * is passed over.
 */
export async function pastDurations(store: StateStore): Promise<KnownDurations> {
  const runIds = (await listRuns(store)).slice(-RUNS_LOOKED_AT);
  const runs = await Promise.all(
    runIds.map(async (runId) => readRun(store, runId).catch(() => ({ runId, events: [] }))),
  );
  return durationsOf(runs.flatMap((run) => describeRun(run).steps));
}
