/** The resource of VMs on a simulated cluster, on virtual time. Each `process` is a provider of its own, as hosts start them. */
import { seededRandom } from '../../../src/base/random.ts';
import { Secret } from '../../../src/base/secret.ts';
import type { Transport } from '../../../src/base/transport.ts';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import { sharedLanes } from '../../../src/engine/lanes.ts';
import type { Surroundings } from '../../../src/provider/surroundings.ts';
import { vmResource } from '../../../src/provider/vm/resource.ts';
import { shareReads } from '../../../src/pve/http/shared-reads.ts';
import { createPve, parseToken } from '../../../src/pve/index.ts';
import { IdReservations } from '../../../src/resources/vm/ids.ts';
import { isPortOpen } from '../../../src/simulator/guests/addresses.ts';
import {
  createSimulator,
  type FaultRuleInput,
  ruleFaults,
  type Simulator,
  type World,
} from '../../../src/simulator/index.ts';
import { rolloutOf } from '../../../src/spec/sections.ts';
import { rolloutSchema } from '../../../src/spec/stack-schema.ts';
import type { Rollout } from '../../../src/spec/types.ts';
import { labWorld } from '../../simulation/engine/support/lab-world.ts';
import { ToyHost } from './toy-host.ts';

export const TOKEN_SECRET = '00000000-0000-4000-8000-000000000001';

export interface BenchOptions {
  readonly seed?: number;
  readonly world?: (options: { now: number }) => World;
  readonly faults?: readonly FaultRuleInput[];
}

export class VmBench {
  readonly clock = new VirtualClock();
  readonly simulator: Simulator;
  readonly requests: string[] = [];
  readonly secrets: Record<string, string> = {};
  #processes = 0;
  readonly #seed: number;

  constructor({ seed = 1, world = labWorld, faults = [] }: BenchOptions = {}) {
    this.#seed = seed;
    this.simulator = createSimulator({
      world: world({ now: this.clock.now() }),
      clock: this.clock,
      random: seededRandom(`world ${seed}`),
      ...(faults.length > 0 && { faults: ruleFaults(faults) }),
    });
  }

  get world(): World {
    return this.simulator.runtime.world;
  }

  /** A provider process, freshly configured. */
  process(options: Partial<Pick<Surroundings, 'planChecks'>> & { token?: string; rollout?: Partial<Rollout> } = {}) {
    const { clock } = this;
    this.#processes++;
    const random = seededRandom(`process ${this.#seed}/${this.#processes}`);
    const abort = new AbortController();
    const counted: Transport = {
      send: (request, sendOptions) => {
        this.requests.push(`${request.method} ${request.target.replace('/api2/json', '')}`);
        return inner.send(request, sendOptions);
      },
      close: async () => {},
    };
    const inner = this.simulator.transport();
    const shared = shareReads(counted, clock, 60_000);
    const credentials = parseToken(`root@pam!${options.token ?? 'admin'}=${TOKEN_SECRET}`);
    const rollout: Rollout = { ...rolloutOf(rolloutSchema.parse({})), ...options.rollout };
    const work = createPve({ transport: counted, credentials, clock, random: random.fork('work') });
    const surroundings: Surroundings = {
      work,
      looks: createPve({ transport: shared, credentials, clock, random: random.fork('looks') }),
      forgetLooks: () => shared.forget(),
      rollout,
      planChecks: options.planChecks ?? 'error',
      clock,
      random,
      log: { log: () => {} },
      ports: { isOpen: async (address, port) => isPortOpen(this.simulator.runtime, address, port) },
      signal: abort.signal,
      lanes: sharedLanes(rollout, { pve: work, clock }),
      ids: new IdReservations(),
      readSecret: async (reference) => new Secret('env' in reference ? (this.secrets[reference.env] ?? '') : ''),
    };
    return { host: new ToyHost(vmResource(() => surroundings)), abort, surroundings };
  }

  run<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.clock.run(work);
  }
}
