/**
 * The scene of the demo: a simulated cluster, a state in memory, and runs of the engine, the first of which is killed.
 */
import { hostname } from 'node:os';
import type { Clock } from '../../../base/clock.ts';
import { canceled } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import { WireWatch } from '../../../engine/doctor/examination.ts';
import type { RunListener } from '../../../engine/run-memory.ts';
import { Session } from '../../../engine/session.ts';
import { createPve, type Pve, parseToken } from '../../../pve/index.ts';
import type { MortalProcess } from '../../../rehearse/trial/mortal-process.ts';
import { isPortOpen } from '../../../simulator/guests/addresses.ts';
import { createSimulator, type Simulator, seededRandom } from '../../../simulator/index.ts';
import type { ResolvedStack } from '../../../spec/index.ts';
import { MemoryStore } from '../../../state/memory-store.ts';
import type { CommandDeps } from '../../command.ts';
import { DEMO_TOKEN, demoWorld } from './world.ts';

/** One process of the command: its client and its session. */
export interface DemoRun {
  readonly pve: Pve;
  readonly session: Session;
  readonly process: MortalProcess | undefined;
  onEvent: RunListener;
}

export class DemoScene {
  readonly store = new MemoryStore();
  readonly wire: WireWatch;
  readonly signal: AbortSignal;
  readonly #simulator: Simulator;
  readonly #stack: ResolvedStack;
  readonly #clock: Clock;
  readonly #deps: CommandDeps;
  #runs = 0;

  constructor(stack: ResolvedStack, clock: Clock, deps: CommandDeps) {
    this.#stack = stack;
    this.#clock = clock;
    this.#deps = deps;
    this.#simulator = createSimulator({ world: demoWorld(clock.now()), clock, random: seededRandom('demo') });
    this.wire = new WireWatch(clock);
    const stop = new AbortController();
    void deps.stopRequested().then(() => stop.abort(canceled()));
    this.signal = stop.signal;
  }

  /** How many clones were requested. */
  get clones(): number {
    return [...this.#simulator.world.tasks.values()].filter(({ upid }) => upid.includes(':qmclone:')).length;
  }

  client(process?: MortalProcess): Pve {
    const transport = this.wire.watch(this.#simulator.transport());
    const { requests, agentCalls } = this.#stack.rollout.limits;
    return createPve({
      transport: process ? process.carrying(transport, () => () => {}) : transport,
      endpoint: 'https://pve1.demo:8006',
      credentials: parseToken(DEMO_TOKEN),
      clock: process?.clock ?? this.#clock,
      random: this.#deps.random,
      limits: { requests, agentCalls },
    });
  }

  /** Opens a run. It settles what the one before left, which is worth a message; the view shows the rest. */
  async open(process?: MortalProcess): Promise<DemoRun> {
    const { terminal, level, random } = this.#deps;
    let isOpening = true;
    const log: Logger = {
      log: (at, message, fields) => {
        if (isOpening || level === 'debug' || at === 'warn' || at === 'error') terminal.log(at, message, fields);
      },
    };
    const pve = this.client(process);
    let run: DemoRun | undefined;
    const session = await Session.open({
      pve,
      clock: process?.clock ?? this.#clock,
      random,
      log,
      store: process ? process.guarded(this.store) : this.store,
      ports: { isOpen: async (address, port) => isPortOpen(this.#simulator.runtime, address, port) },
      signal: this.signal,
      onEvent: (event) => run?.onEvent(event),
      stack: this.#stack,
      secrets: new Map(),
      owner: { who: 'demo', host: hostname(), pid: ++this.#runs, command: 'demo' },
    });
    isOpening = false;
    run = { pve, session, process, onEvent: () => {} };
    return run;
  }
}

/** What had happened when the run was killed. */
export interface KilledRun {
  readonly cloned: number;
  /** The VM whose clone was running. */
  readonly cloning: string;
}

const CLONES_BEFORE = 2;
/** On the clock of the cluster: in the middle of the copy. */
const INTO_CLONE_MS = 5_000;

/** Kills the run in the middle of its third clone. */
export function killAtClone(process: MortalProcess, clock: Clock) {
  const tasks: string[] = [];
  const clones = new Map<string, string>();
  return {
    follow: (event: Parameters<RunListener>[0]): void => {
      if (event.event === 'stepStarted' && event.action === 'vm.clone') clones.set(event.step, event.address);
      if (event.event !== 'taskAttached' || !clones.has(event.step)) return;
      tasks.push(event.step);
      if (tasks.length === CLONES_BEFORE + 1) void clock.sleep(INTO_CLONE_MS).then(() => process.kill('clone'));
    },
    facts: (): KilledRun => ({ cloned: CLONES_BEFORE, cloning: clones.get(tasks[CLONES_BEFORE] ?? '') ?? '' }),
  };
}
