/**
 * The whole engine on a simulated cluster, in one process and on virtual time: a world, a stack file, a store that survives
 * the death of a run, and a seed. A run can be killed at any of its points: each request before and after its effect, each
 * write to the store before and after it. From then on that run does nothing more.
 */
import { createHash } from 'node:crypto';
import type { Address } from '../../../../src/base/address.ts';
import type { Instant } from '../../../../src/base/clock.ts';
import { type Diagnostic, formatDiagnostic } from '../../../../src/base/diagnostics.ts';
import { isFamily, ProxwrightError } from '../../../../src/base/errors.ts';
import type { Program, ProgramEnd } from '../../../../src/base/processes.ts';
import { seededRandom } from '../../../../src/base/random.ts';
import { type ResolvedSecret, Secret } from '../../../../src/base/secret.ts';
import type { Transport, WireRequest } from '../../../../src/base/transport.ts';
import { type SettableClock, settableClock, VirtualClock } from '../../../../src/base/virtual-clock.ts';
import type { ExecuteResult } from '../../../../src/engine/execute.ts';
import { type AskedPlan, type DestroyInput, relocationPlan, snapshotPlan } from '../../../../src/engine/plan.ts';
import type { Activity, RunListener } from '../../../../src/engine/run-memory.ts';
import { type PlanOptions, Session } from '../../../../src/engine/session.ts';
import type { HookChoice, Plan } from '../../../../src/kinds/change.ts';
import type { ImageSources } from '../../../../src/kinds/image/steps.ts';
import type { RelocateOptions, SnapshotRequest } from '../../../../src/kinds/kind.ts';
import type { StackState } from '../../../../src/kinds/recorded.ts';
import { machinesOf, type ResolvedStack } from '../../../../src/kinds/stack.ts';
import { type SecretField, secretFieldsOf } from '../../../../src/kinds/vm/fields/secrets.ts';
import { withGivenAddresses } from '../../../../src/kinds/vm/plan/choices/given-addresses.ts';
import { type Credentials, createPve, type Pve, parseToken } from '../../../../src/pve/index.ts';
import { lineOf, MortalProcess } from '../../../../src/rehearse/trial/mortal-process.ts';
import { isPortOpen } from '../../../../src/simulator/guests/addresses.ts';
import {
  createSimulator,
  type FaultPlan,
  type FaultRuleInput,
  type Faults,
  ruleFaults,
  type Simulator,
  type World,
} from '../../../../src/simulator/index.ts';
import { loadStack, resolveStack } from '../../../../src/spec/index.ts';
import type { RunEvent } from '../../../../src/state/events.ts';
import { MemoryStore } from '../../../../src/state/memory-store.ts';
import { readRecorded } from '../../../../src/state/recorded.ts';
import { readState } from '../../../../src/state/state-file.ts';
import type { StateStore } from '../../../../src/state/store.ts';
import { labWorld } from './lab-world.ts';
import { type SharedStore, TEST } from './shared-stores.ts';
import { unmetFields, unmetIn, type Values } from './unmet-fields.ts';
import { type Exchange, wireViolationsIn } from './wire-violations.ts';

export const TOKEN_SECRET = '00000000-0000-4000-8000-000000000001';
export const GUEST_PASSWORD = 'correct horse battery staple';

/** A scene at rest, to begin many others from. */
export interface Snapshot {
  readonly world: World;
  readonly now: Instant;
  readonly documents: ReadonlyMap<string, string>;
}

export interface SceneOptions {
  readonly seed?: number | string;
  /** Instead of `world`. */
  readonly from?: Snapshot;
  readonly world?: (options: { now: number }) => World;
  readonly faults?: FaultPlan | readonly FaultRuleInput[];
  /** Narrows the faults down, knowing the scene they strike in. */
  readonly gate?: (faults: FaultPlan, scene: Scene) => Faults;
  readonly credentials?: Credentials;
  /** Bytes that can be sent from here. */
  readonly sources?: ImageSources;
  /** Stands between the client and the server, to play a client with a defect. */
  readonly disguise?: (transport: Transport) => Transport;
  /** Where several machines keep the state, instead of the memory of one. */
  readonly shared?: (clock: VirtualClock) => SharedStore;
  /** Stands before the store, to play a disk with a defect. */
  readonly guard?: (store: StateStore) => StateStore;
}

/** How a run ended: with a result, refused with problems, with an error of ours before it had begun, or killed. */
export type RunEnd =
  | { readonly kind: 'ended'; readonly plan: Plan; readonly result: ExecuteResult | undefined }
  | { readonly kind: 'refused'; readonly problems: readonly Diagnostic[] }
  | { readonly kind: 'failed'; readonly problem: Diagnostic }
  | { readonly kind: 'killed'; readonly at: string };

export interface StartedProgram {
  readonly command: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly at: Instant;
  endedAt: Instant | undefined;
}

export class Scene {
  /** Of the cluster. */
  readonly clock: VirtualClock;
  /** Of the machine that runs us: its time of day can be set. */
  readonly ownClock: SettableClock;
  readonly simulator: Simulator;
  readonly faults: FaultPlan;
  /** The machine that the next run is on. */
  machine = 'here';
  /** As this test has it; a run has a view of its own. */
  readonly store: StateStore;
  readonly #memory = new MemoryStore();
  readonly #shared: SharedStore | undefined;
  readonly #isFilled: Promise<unknown>;
  readonly requests: WireRequest[] = [];
  readonly logs: string[] = [];
  /** Every event of the runs. */
  readonly events: (RunEvent | Activity)[] = [];
  /** What was sent, in any run so far, without the precautions that are promised. */
  readonly wireViolations: string[] = [];
  /** Of the run under way or the last one: points passed so far, by name. */
  points: string[] = [];
  /** Set to kill the next run at this point, counted from 1. */
  killAt: number | undefined;
  abort = new AbortController();
  /** Called before a request is sent. */
  onRequest: (line: string) => void = () => {};
  /** Called with everything a run tells about itself, when it is told. */
  onEvent: RunListener = () => {};
  /** Programs that were started, in any run so far. */
  readonly programs: StartedProgram[] = [];
  /** What a program does: it takes 20 s and succeeds, unless a test says otherwise. */
  program: (program: Program) => Promise<ProgramEnd> = async () => {
    await this.clock.sleep(20_000);
    return { kind: 'exited', code: 0 };
  };
  readonly #seed: string;
  readonly #credentials: Credentials;
  readonly #sources: ImageSources | undefined;
  readonly #disguise: (transport: Transport) => Transport;
  readonly #guard: (store: StateStore) => StateStore;
  #exchanges: Exchange[] = [];
  /** Configurations in the world, each time a VM had been read back and compared. */
  #compared: { readonly address: Address; readonly configs: ReadonlyMap<number, Values> }[] = [];
  #runs = 0;

  constructor(options: SceneOptions = {}) {
    const { faults = [], seed = 'engine', world = labWorld, from } = options;
    this.clock = new VirtualClock(from?.now);
    this.ownClock = settableClock(this.clock);
    this.#seed = String(seed);
    this.#credentials = options.credentials ?? parseToken(`root@pam!admin=${TOKEN_SECRET}`);
    this.#sources = options.sources;
    this.#disguise = options.disguise ?? ((transport) => transport);
    this.#guard = options.guard ?? ((store) => store);
    this.faults = 'rules' in faults ? faults : ruleFaults(faults, seededRandom(`${seed}/faults`));
    this.simulator = createSimulator({
      world: from ? structuredClone(from.world) : world({ now: this.clock.now() }),
      clock: this.clock,
      random: seededRandom(`${seed}/world`),
      faults: options.gate?.(this.faults, this) ?? this.faults,
    });
    this.#shared = options.shared?.(this.clock);
    this.store = this.#shared?.open(this.clock, TEST) ?? this.#memory;
    const fill = async () => {
      for (const [name, text] of from?.documents ?? []) await this.store.write(name, text);
    };
    this.#isFilled = this.#shared ? this.clock.run(fill) : fill();
  }

  /** Whether a lock is left that no run holds any more. */
  async isLockLeft(): Promise<boolean> {
    return (await this.look(() => this.store.holder())) !== undefined;
  }

  /** Reads from the store, which may take time. */
  look<T>(work: () => Promise<T>): Promise<T> {
    return this.#shared ? this.clock.run(work) : work();
  }

  /** The process of the last run is dead. */
  abandonLock(): void {
    if (this.#shared) this.#shared.bury(this.#runs);
    else this.#memory.abandonLock();
  }

  /** Everything that lasts, copied. */
  async snapshot(): Promise<Snapshot> {
    await this.#isFilled;
    const documents = new Map<string, string>();
    await this.look(async () => {
      for (const name of await this.store.list()) documents.set(name, (await this.store.read(name)) ?? '');
    });
    return { world: structuredClone(this.world), now: this.clock.now(), documents };
  }

  get world(): World {
    return this.simulator.world;
  }

  apply(text: string | ResolvedStack, options: PlanOptions = {}): Promise<RunEnd> {
    return this.#run(text, 'apply', async (session) => {
      const planned = await session.plan(options);
      if (!planned.ok) return { kind: 'refused', problems: planned.problems };
      if (planned.plan.steps.length === 0) return { kind: 'ended', plan: planned.plan, result: undefined };
      return { kind: 'ended', plan: planned.plan, result: await session.execute(planned.plan) };
    });
  }

  /** A plan, as an operator sees it: made, shown, and nothing else. */
  plan(text: string | ResolvedStack, options: PlanOptions = {}): Promise<RunEnd> {
    return this.#run(text, 'plan', async (session) => {
      const planned = await session.plan(options);
      if (!planned.ok) return { kind: 'refused', problems: planned.problems };
      return { kind: 'ended', plan: planned.plan, result: undefined };
    });
  }

  destroy(
    text: string | ResolvedStack,
    options: Partial<Pick<DestroyInput, 'all' | 'only' | 'running' | 'destroyData'>> = {},
  ): Promise<RunEnd> {
    return this.#run(text, 'destroy', async (session) => {
      const planned = await session.planDestroy({ running: 'stop', ...options });
      if (!planned.ok) return { kind: 'refused', problems: planned.problems };
      return { kind: 'ended', plan: planned.plan, result: await session.execute(planned.plan) };
    });
  }

  /** Moves VMs to other nodes. */
  relocate(text: string | ResolvedStack, options: RelocateOptions): Promise<RunEnd> {
    return this.#asked(text, options.relocation.kind, relocationPlan(options));
  }

  /** Takes or deletes snapshots, or goes back to them. */
  snapshots(
    text: string | ResolvedStack,
    request: SnapshotRequest,
    { only = [], hooks = {} }: { readonly only?: readonly string[]; readonly hooks?: HookChoice } = {},
  ): Promise<RunEnd> {
    return this.#asked(text, `snapshot ${request.kind}`, snapshotPlan({ request, only, hooks }));
  }

  #asked(text: string | ResolvedStack, command: string, asked: AskedPlan): Promise<RunEnd> {
    return this.#run(text, command, async (session) => {
      const planned = await session.planAsked(asked);
      if (!planned.ok) return { kind: 'refused', problems: planned.problems };
      if (planned.plan.steps.length === 0) return { kind: 'ended', plan: planned.plan, result: undefined };
      return { kind: 'ended', plan: planned.plan, result: await session.execute(planned.plan) };
    });
  }

  /** Several things at once, on the one clock. */
  together<T>(work: () => Promise<T>): Promise<T> {
    this.#isTogether = true;
    return this.clock.run(work).finally(() => {
      this.#isTogether = false;
    });
  }
  #isTogether = false;

  async state(stack = 'lab'): Promise<StackState> {
    await this.#isFilled;
    return this.look(() => readState(this.store, stack));
  }

  /** Method and path of what was sent and is no GET. */
  writes(): string[] {
    return this.requests.map(lineOf).filter((line) => !line.startsWith('GET') && !line.endsWith('/access/ticket'));
  }

  tasks(type: string): string[] {
    return [...this.world.tasks.values()].filter((task) => task.type === type).map((task) => task.exitStatus ?? 'runs');
  }

  async #run(
    text: string | ResolvedStack,
    command: string,
    work: (session: Session) => Promise<RunEnd>,
  ): Promise<RunEnd> {
    await this.#isFilled;
    const process = new MortalProcess(this.killAt, this.ownClock);
    this.points = process.points;
    this.killAt = undefined;
    this.requests.length = 0;
    this.#exchanges = [];
    this.#compared = [];
    const run = ++this.#runs;
    const stack = typeof text === 'string' ? resolved(text) : text;
    const story = async (): Promise<RunEnd> => {
      const session = await Session.open({
        pve: this.#connect(process, run),
        clock: process.clock,
        random: seededRandom(`${this.#seed}/run ${run}`),
        log: { log: (level, message, fields) => this.logs.push(`${level} ${message} ${JSON.stringify(fields ?? {})}`) },
        store: process.guarded(this.#guard(this.#shared?.open(process.clock, this.machine) ?? this.store)),
        ports: { isOpen: async (address, port) => isPortOpen(this.simulator.runtime, address, port) },
        sources: this.#sources,
        processes: process.running({ run: (program) => this.#start(program) }),
        signal: this.abort.signal,
        stack,
        secrets: secretsOf(stack),
        owner: { who: 'tester', host: this.machine, pid: run, command },
        onEvent: (event) => {
          this.events.push(event);
          // `…/verify/settle` only finds out that an earlier run did not finish comparing.
          if (event.event === 'stepDone' && event.step.includes('/verify') && !event.step.endsWith('/settle'))
            this.#compare(event.step.split('/verify')[0] as Address); // ids begin with it
          this.onEvent(event);
        },
      });
      try {
        return await work(session);
      } finally {
        await session.close();
      }
    };
    const mortal = () => Promise.race([story().catch(failed), process.death]);
    const end = this.#isTogether ? await mortal() : await this.clock.run(mortal);
    // However a run ends, its process is gone; a lock that it could not give back is one of a dead process.
    if (end.kind === 'killed' || this.#shared) this.abandonLock();
    const addresses = await this.#addresses(stack);
    const { state } = await this.look(() => readRecorded(this.store, stack.name));
    const given = withGivenAddresses(stack, state);
    const unmet = unmetFields(given, addresses, secretsOf(stack));
    this.wireViolations.push(...wireViolationsIn(this.#exchanges, unmetIn(unmet)));
    for (const { address, configs } of this.#compared) {
      const [vmid] = [...addresses].find(([, each]) => each === address) ?? [];
      const config = vmid === undefined ? undefined : configs.get(vmid);
      if (vmid === undefined || !config) continue;
      this.wireViolations.push(...unmet(vmid, config).map((each) => `${address} passed for compared though ${each}`));
    }
    return end;
  }

  async #start(program: Program): Promise<ProgramEnd> {
    const { command, environment } = program;
    const started: StartedProgram = {
      command: command.join(' '),
      environment,
      at: this.clock.now(),
      endedAt: undefined,
    };
    this.programs.push(started);
    const end = await this.program(program);
    started.endedAt = this.clock.now();
    return end;
  }

  /** What stands in the world now is what the comparison must have seen: no other client had a turn since. */
  #compare(address: Address): void {
    const configs = [...this.world.vms.values()].map(({ vmid, config }) => {
      const { current, pending, pendingDeletes } = config;
      return [vmid, { current, pending, pendingDeletes: new Set(pendingDeletes.keys()) }] as const;
    });
    this.#compared.push({ address, configs: new Map(configs) });
  }

  /** Ids that are or were ours: as the state says and, of a run that died before it could say it, by name. */
  async #addresses(stack: ResolvedStack): Promise<Map<number, Address>> {
    const byName = [...this.world.vms.values()].flatMap(({ vmid, config }) => {
      const vm = stack.vms.find(({ fields }) => fields.name === config.current.get('name'));
      return vm ? [[vmid, vm.address] as const] : [];
    });
    // Of a run that was killed, the journal knows more.
    const { vms } = (await this.look(() => readRecorded(this.store, stack.name))).state;
    return new Map([
      ...byName,
      ...Object.entries(vms).map(([address, { vmid }]) => [vmid, address as Address] as const),
    ]);
  }

  #connect(process: MortalProcess, run: number): Pve {
    const transport = this.#disguise(
      process.carrying(this.simulator.transport(), (request) => {
        this.onRequest(lineOf(request));
        this.requests.push(request);
        const exchange: Exchange = { request, answer: undefined };
        this.#exchanges.push(exchange);
        return (answer) => {
          exchange.answer = answer;
        };
      }),
    );
    return createPve({
      transport,
      credentials: this.#credentials,
      clock: process.clock,
      random: seededRandom(`${this.#seed}/client ${run}`),
      logger: {
        log: (level, message, fields) => this.logs.push(`${level} ${message} ${JSON.stringify(fields ?? {})}`),
      },
    });
  }
}

/** An error of ours is an answer; anything else is a defect and ends the test. */
function failed(error: unknown): RunEnd {
  if (error instanceof ProxwrightError && !isFamily(error, 'bug')) return { kind: 'failed', problem: error.diagnostic };
  throw error;
}

export function resolved(text: string): ResolvedStack {
  const loaded = loadStack(text, 'stack.yaml');
  const { stack, diagnostics } = resolveStack(loaded, {});
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
  if (!stack || errors.length > 0) throw new Error(errors.map(formatDiagnostic).join('\n'));
  return stack;
}

export function secretsOf(stack: ResolvedStack): Map<Address, Map<string, ResolvedSecret>> {
  return new Map(
    machinesOf(stack).map(({ address, fields }) => [
      address,
      new Map(secretFieldsOf(fields).map((field) => [field.path, secretOf(field)])),
    ]),
  );
}

/** Cloud-init files in the stack are what it says; everything else is one password. */
function secretOf({ reference }: SecretField): ResolvedSecret {
  const text = 'text' in reference ? reference.text : GUEST_PASSWORD;
  return { value: new Secret(text), digest: `digest ${createHash('sha256').update(text).digest('hex')}` };
}
