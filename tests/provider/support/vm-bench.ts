/** The VM resource on a simulated cluster, on virtual time. Each `process` is a provider of its own, as a host starts it. */
import { setMaxListeners } from 'node:events';
import type { Instant } from '../../../src/base/clock.ts';
import { seededRandom } from '../../../src/base/random.ts';
import { Secret } from '../../../src/base/secret.ts';
import type { Transport } from '../../../src/base/transport.ts';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import { RunLimits } from '../../../src/engine/limits.ts';
import { IdReservations } from '../../../src/kinds/ids.ts';
import type { ImageSources } from '../../../src/kinds/image/steps.ts';
import type { Rollout } from '../../../src/kinds/stack.ts';
import type { Deps } from '../../../src/provider/adapter/deps.ts';
import { readPaths } from '../../../src/provider/configure/deps.ts';
import { vmResource } from '../../../src/provider/kinds/vm/resource.ts';
import type { ResourceType } from '../../../src/provider/provider.ts';
import { type Credentials, createPve, type Pve, parseToken, passwordCredentials } from '../../../src/pve/index.ts';
import { MortalProcess } from '../../../src/rehearse/trial/mortal-process.ts';
import { isPortOpen } from '../../../src/simulator/guests/addresses.ts';
import {
  createSimulator,
  type FaultPlan,
  type FaultRuleInput,
  ruleFaults,
  type Simulator,
  type World,
} from '../../../src/simulator/index.ts';
import type { Vm } from '../../../src/simulator/world/world.ts';
import { rolloutOf } from '../../../src/spec/sections/sections.ts';
import { rolloutSchema } from '../../../src/spec/stack-schema.ts';
import { labWorld } from '../../simulation/engine/support/lab-world.ts';
import { ToyHost } from './toy-host.ts';

const TOKEN_SECRET = '00000000-0000-4000-8000-000000000001';

/** A cluster at rest, to begin many others from. */
export interface Snapshot {
  readonly world: World;
  readonly now: Instant;
}

export interface BenchOptions {
  readonly seed?: number | string;
  readonly world?: (options: { now: number }) => World;
  /** Instead of `world`. */
  readonly from?: Snapshot | undefined;
  readonly faults?: FaultPlan | readonly FaultRuleInput[];
}

export interface ProcessOptions extends Partial<Pick<Deps, 'planChecks'>> {
  /** Of root, by name. */
  readonly token?: string;
  readonly credentials?: Credentials;
  readonly rollout?: Partial<Rollout>;
  /** The point at which it dies, counted from 1: each request before and after its effect. */
  readonly killAt?: number | undefined;
}

export interface ProviderProcess {
  readonly resource: ResourceType;
  readonly host: ToyHost;
  readonly abort: AbortController;
  readonly deps: Deps;
  /** Points passed so far, by name. */
  readonly points: readonly string[];
  /** What the process is at, until it dies of it. */
  orDeath<Result>(work: Promise<Result>): Promise<Result | { readonly kind: 'killed'; readonly at: string }>;
}

export class VmBench {
  readonly clock: VirtualClock;
  readonly simulator: Simulator;
  readonly faults: FaultPlan;
  readonly requests: string[] = [];
  readonly logs: string[] = [];
  readonly secrets: Record<string, string> = {};
  /** Local files, for images that are uploaded. */
  imageSources: ImageSources = () => {
    throw new Error('This bench has no local files.');
  };
  /** Called before a request is sent. */
  onRequest: (line: string) => void = () => {};
  #processes = 0;
  readonly #seed: number | string;

  constructor({ seed = 1, world = labWorld, from, faults = [] }: BenchOptions = {}) {
    this.#seed = seed;
    this.clock = new VirtualClock(from?.now);
    this.faults = 'rules' in faults ? faults : ruleFaults(faults, seededRandom(`faults ${seed}`));
    this.simulator = createSimulator({
      world: from ? structuredClone(from.world) : world({ now: this.clock.now() }),
      clock: this.clock,
      random: seededRandom(`world ${seed}`),
      faults: this.faults,
    });
  }

  get world(): World {
    return this.simulator.runtime.world;
  }

  snapshot(): Snapshot {
    return { world: structuredClone(this.world), now: this.clock.now() };
  }

  /** VMs of this name. */
  called(name: string): Vm[] {
    return [...this.world.vms.values()].filter(({ config }) => config.current.get('name') === name);
  }

  /** The one VM of this name. */
  vm(name: string): Vm {
    const [only, ...more] = this.called(name);
    if (!only || more.length > 0) throw new Error(`${more.length + (only ? 1 : 0)} VMs are called ${name}`);
    return only;
  }

  /** Lines of what was sent and is no GET. */
  writes(): string[] {
    return this.requests.filter((line) => !line.startsWith('GET') && !line.endsWith('/access/ticket'));
  }

  tasks(type: string): string[] {
    return [...this.world.tasks.values()].filter((task) => task.type === type).map((task) => task.exitStatus ?? 'runs');
  }

  /** Another client, for changes made outside Proxwright. */
  outside(): Pve {
    const { clock } = this;
    const credentials = passwordCredentials({ username: 'root@pam', password: 'proxwright' });
    return createPve({ transport: this.simulator.transport(), credentials, clock, random: seededRandom('outside') });
  }

  /** A provider process, freshly configured. */
  process(options: ProcessOptions = {}): ProviderProcess {
    this.#processes++;
    const mortal = new MortalProcess(options.killAt, this.clock);
    const { clock } = mortal;
    const random = seededRandom(`process ${this.#seed}/${this.#processes}`);
    const abort = new AbortController();
    setMaxListeners(0, abort.signal);
    const transport = this.#counted(mortal);
    const paths = readPaths(transport, clock);
    const credentials = options.credentials ?? parseToken(`root@pam!${options.token ?? 'admin'}=${TOKEN_SECRET}`);
    const rollout: Rollout = { ...rolloutOf(rolloutSchema.parse({})), ...options.rollout };
    const work = createPve({
      transport: paths.work,
      credentials,
      clock,
      random: random.fork('work'),
    });
    let runs = 0;
    const deps: Deps = {
      work,
      looks: createPve({ transport: paths.looks, credentials, clock, random: random.fork('looks') }),
      forgetLooks: paths.forgetLooks,
      rollout,
      planChecks: options.planChecks ?? 'error',
      clock,
      random,
      log: { log: (level, message, fields) => this.logs.push(`${level} ${message} ${JSON.stringify(fields ?? {})}`) },
      ports: { isOpen: async (address, port) => isPortOpen(this.simulator.runtime, address, port) },
      stop: abort.signal,
      signal: abort.signal,
      limits: RunLimits.shared(rollout, { pve: work, clock }),
      ids: new IdReservations(),
      runLabel: () => {
        runs++;
        return `run ${runs}`;
      },
      withSources: (send) => send(this.imageSources),
      readSecret: async (reference) => new Secret('env' in reference ? (this.secrets[reference.env] ?? '') : ''),
      readDocument: async (reference) => {
        if ('text' in reference) return new Secret(reference.text);
        return new Secret('env' in reference ? (this.secrets[reference.env] ?? '') : '');
      },
    };
    const resource = vmResource(() => deps);
    return {
      resource,
      host: new ToyHost(resource),
      abort,
      deps,
      points: mortal.points,
      orDeath: (work) => Promise.race([work, mortal.death]),
    };
  }

  run<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.clock.run(work);
  }

  #counted(mortal: MortalProcess): Transport {
    return mortal.carrying(this.simulator.transport(), ({ method, target }) => {
      const line = `${method} ${target.replace('/api2/json', '')}`;
      this.onRequest(line);
      this.requests.push(line);
      return () => {};
    });
  }
}
