/**
 * Where a plan is rehearsed: a copy of the cluster, of the state and of the stack, on virtual time. A run is real: the
 * engine with its session, journal and locks; only the network, the clock, the store and hooks are simulated. It can be
 * killed at each of its points; from then on it does nothing more.
 */
import { createHash } from 'node:crypto';
import type { Address } from '../../base/address.ts';
import type { Instant } from '../../base/clock.ts';
import type { Diagnostic } from '../../base/diagnostics.ts';
import { isFamily, ProxwrightError } from '../../base/errors.ts';
import { silentLogger } from '../../base/log.ts';
import { seededRandom } from '../../base/random.ts';
import { type ResolvedSecret, Secret } from '../../base/secret.ts';
import type { Transport } from '../../base/transport.ts';
import { VirtualClock } from '../../base/virtual-clock.ts';
import type { ExecuteResult } from '../../engine/execute.ts';
import { type PlanOptions, Session } from '../../engine/session.ts';
import type { Plan } from '../../kinds/change.ts';
import type { ImageSources } from '../../kinds/image/steps.ts';
import type { StackState } from '../../kinds/recorded.ts';
import { machinesOf, type ResolvedStack } from '../../kinds/stack.ts';
import { secretFieldsOf } from '../../kinds/vm/fields/secrets.ts';
import { createPve, passwordCredentials, tokenFrom } from '../../pve/index.ts';
import { isPortOpen } from '../../simulator/guests/addresses.ts';
import { createSimulator, type Faults, type Simulator, type World } from '../../simulator/index.ts';
import type { RunEvent } from '../../state/events.ts';
import { MemoryStore } from '../../state/memory-store.ts';
import { readState } from '../../state/state-file.ts';
import { COPY_SECRET } from '../copy/rights.ts';
import { lineOf, MortalProcess } from './mortal-process.ts';

export interface StageInput {
  /** Copied, so that many stages can begin from it. */
  readonly world: World;
  readonly now: Instant;
  /** Of the real store. */
  readonly documents: ReadonlyMap<string, string>;
  readonly stack: ResolvedStack;
  /** With placeholders for secrets. */
  readonly secrets: ReadonlyMap<Address, ReadonlyMap<string, ResolvedSecret>>;
  readonly principal: string;
  readonly options: PlanOptions;
  readonly seed: string;
  readonly pace: Pace;
  readonly faults?: Faults;
}

/** How much longer than in the simulator things take. */
export interface Pace {
  /** Of every request. */
  readonly latencyMs: number;
  /** Of a hook, which is not executed. */
  readonly hookMs: number;
  /** Of the request that an action sends, by action. */
  readonly extraMs: ReadonlyMap<string, number>;
}

/** How a run ended: with a result, refused, with an error before it had begun, or killed. */
export type TrialEnd =
  | { readonly kind: 'ended'; readonly plan: Plan; readonly result: ExecuteResult | undefined }
  | { readonly kind: 'refused'; readonly problems: readonly Diagnostic[] }
  | { readonly kind: 'failed'; readonly problem: Diagnostic }
  | { readonly kind: 'killed'; readonly at: string };

export class Stage {
  readonly clock: VirtualClock;
  readonly simulator: Simulator;
  readonly store = new MemoryStore();
  /** Of the last run. */
  events: RunEvent[] = [];
  runId = '';
  requests: string[] = [];
  points: readonly string[] = [];
  /** Called whenever the world may have changed. */
  onChange: (world: World) => void = () => {};
  readonly #input: StageInput;
  #runs = 0;

  constructor(input: StageInput) {
    this.#input = input;
    this.clock = new VirtualClock(input.now);
    this.simulator = createSimulator({
      world: structuredClone(input.world),
      clock: this.clock,
      random: seededRandom(`${input.seed}/world`),
      ...(input.faults && { faults: input.faults }),
    });
  }

  get world(): World {
    return this.simulator.world;
  }

  get input(): StageInput {
    return this.#input;
  }

  state(): Promise<StackState> {
    return readState(this.store, this.#input.stack.name);
  }

  /** Plans, and executes the plan unless only the plan is requested. */
  async run({
    killAt,
    onlyPlan = false,
  }: {
    readonly killAt?: number;
    readonly onlyPlan?: boolean;
  } = {}): Promise<TrialEnd> {
    const { stack, secrets, documents, options, seed, pace } = this.#input;
    const run = ++this.#runs;
    if (run === 1) for (const [name, text] of documents) await this.store.write(name, text);
    const process = new MortalProcess(killAt, this.clock);
    this.points = process.points;
    this.events = [];
    this.requests = [];
    const story = async (): Promise<TrialEnd> => {
      const session = await Session.open({
        pve: createPve({
          transport: process.carrying(this.#paced(pace), (request) => {
            this.requests.push(lineOf(request));
            return () => this.onChange(this.world);
          }),
          endpoint: 'the copy',
          credentials: credentialsOf(this.#input.principal),
          clock: process.clock,
          random: seededRandom(`${seed}/client ${run}`),
          limits: { requests: stack.rollout.limits.requests, agentCalls: stack.rollout.limits.agentCalls },
        }),
        clock: process.clock,
        random: seededRandom(`${seed}/run ${run}`),
        log: silentLogger,
        store: process.guarded(this.store),
        ports: { isOpen: async (address, port) => isPortOpen(this.simulator.runtime, address, port) },
        sources: placeholderImages,
        processes: process.running({
          run: async () => {
            await this.clock.sleep(pace.hookMs);
            return { kind: 'exited', code: 0 };
          },
        }),
        signal: new AbortController().signal,
        stack,
        secrets,
        owner: { who: 'rehearsal', host: 'copy', pid: run, command: 'rehearse' },
        onEvent: (event) => {
          // An activity tells how far something is; it changes nothing.
          if (event.event === 'activity') return;
          this.events.push(event);
          this.onChange(this.world);
        },
      });
      try {
        const planned = await session.plan(options);
        if (!planned.ok) return { kind: 'refused', problems: planned.problems };
        const { plan } = planned;
        if (onlyPlan || plan.steps.length === 0) return { kind: 'ended', plan, result: undefined };
        const result = await session.execute(plan);
        this.runId = session.runId;
        return { kind: 'ended', plan, result };
      } finally {
        await session.close();
      }
    };
    const end = await this.clock.run(() => Promise.race([story().catch(failed), process.death]));
    if (end.kind === 'killed') this.store.abandonLock();
    return end;
  }

  #paced({ latencyMs, extraMs }: Pace): Transport {
    const transport = this.simulator.transport();
    return {
      send: async (request, options) => {
        const action = WRITES.find(([pattern]) => pattern.test(lineOf(request)))?.[1] ?? '';
        const waitMs = latencyMs + (extraMs.get(action) ?? 0);
        if (waitMs > 0) await this.clock.sleep(waitMs, options?.signal);
        return transport.send(request, options);
      },
      close: () => transport.close(),
    };
  }
}

/** The request of an action whose time the simulator does not know. */
const WRITES: readonly (readonly [RegExp, string])[] = [
  [/^POST \S+\/qemu$/, 'vm.create'],
  [/^POST \S+\/clone$/, 'vm.clone'],
  [/^(PUT|POST) \S+\/config$/, 'vm.configure'],
  [/^PUT \S+\/resize$/, 'vm.resize'],
  [/^POST \S+\/status\/start$/, 'vm.start'],
  [/^POST \S+\/migrate$/, 'vm.migrate'],
  [/^POST \S+\/snapshot$/, 'vm.snapshot'],
  [/^POST \S+\/move_disk$/, 'vm.move-disk'],
  [/^DELETE \S+\/qemu\/\d+$/, 'vm.destroy'],
];

/** Actions whose extra time a pace can hold. */
export const PACED_ACTIONS: readonly string[] = WRITES.map(([, action]) => action);

function credentialsOf(principal: string) {
  return principal.includes('!')
    ? tokenFrom(principal, COPY_SECRET)
    : passwordCredentials({ username: principal, password: COPY_SECRET });
}

const PLACEHOLDER = new Uint8Array(1024 ** 2);

/** Replaces the images that this machine would upload: no file is read and nothing is downloaded. */
const placeholderImages: ImageSources = () => ({
  prepare: async () => ({
    sizeBytes: PLACEHOLDER.length,
    sha256: createHash('sha256').update(PLACEHOLDER).digest('hex'),
    open: async function* () {
      yield PLACEHOLDER;
    },
  }),
});

/**
 * The same digests, so that the plan is the same; the values stay outside. Cloud-init files are kept: a guest acts on what
 * they say.
 */
export function placeholderSecrets(stack: ResolvedStack, secrets: StageInput['secrets']): StageInput['secrets'] {
  const found = new Map<Address, ReadonlyMap<string, ResolvedSecret>>();
  for (const { address, fields } of machinesOf(stack)) {
    const hidden = new Set(secretFieldsOf(fields).flatMap(({ path, isDocument }) => (isDocument ? [] : [path])));
    const values = [...(secrets.get(address) ?? [])].map(
      ([path, secret]) => [path, hidden.has(path) ? { ...secret, value: PLACEHOLDER_SECRET } : secret] as const,
    );
    found.set(address, new Map(values));
  }
  return found;
}

const PLACEHOLDER_SECRET = new Secret('rehearsed-placeholder');

/** An error of ours is an end; anything else is a defect. */
function failed(error: unknown): TrialEnd {
  if (error instanceof ProxwrightError && !isFamily(error, 'bug')) return { kind: 'failed', problem: error.diagnostic };
  throw error;
}
