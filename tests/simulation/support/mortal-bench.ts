/** A simulated cluster on virtual time, and runs against it that can be killed before and after whatever they do. */
import { ProxwrightError } from '../../../src/base/errors.ts';
import type { Transport, WireRequest } from '../../../src/base/transport.ts';
import { createPve, type Pve, parseToken } from '../../../src/pve/index.ts';
import {
  createSimulator,
  defaultWorld,
  type FaultPlan,
  type FaultRuleInput,
  ruleFaults,
  type Simulator,
  seededRandom,
  VirtualClock,
  type World,
} from '../../../src/simulator/index.ts';

const TOKEN = 'root@pam!admin=00000000-0000-4000-8000-000000000001';

export class MortalBench {
  readonly clock = new VirtualClock();
  readonly simulator: Simulator;
  readonly faults: FaultPlan;
  readonly requests: WireRequest[] = [];
  /** Points of the run at which it can be killed; set `killAt` to the number of one. */
  points = 0;
  killAt: number | undefined;
  /** Called with method and path of each request before it is sent. */
  before: ((line: string) => Promise<void>) | undefined;
  #kill: () => void = () => {};

  constructor(faults: FaultPlan | readonly FaultRuleInput[], seed: string) {
    this.faults = 'rules' in faults ? faults : ruleFaults(faults);
    this.simulator = createSimulator({
      world: defaultWorld(),
      clock: this.clock,
      random: seededRandom(seed),
      faults: this.faults,
    });
  }

  get world(): World {
    return this.simulator.world;
  }

  /** A client that dies with its run. */
  connect(token = TOKEN, logger?: Parameters<typeof createPve>[0]['logger']): Pve {
    return createPve({
      transport: this.#mortal(this.simulator.transport()),
      credentials: parseToken(token),
      clock: this.clock,
      random: seededRandom('client'),
      ...(logger && { logger }),
    });
  }

  /** Runs `work` until it ends or is killed; true when it was killed. */
  async mortally(work: () => Promise<void>): Promise<boolean> {
    this.points = 0;
    const killed = new Promise<'killed'>((resolve) => {
      this.#kill = () => resolve('killed');
    });
    const outcome = await this.clock.run(() => Promise.race([work().then(() => 'ended' as const), killed]));
    this.killAt = undefined;
    return outcome === 'killed';
  }

  /** A line of the journal: it is on disk, or it is not. */
  async journal(write: () => void): Promise<void> {
    await this.#point();
    write();
    await this.#point();
  }

  /** The error of ours that `work` ends in. */
  async failureOf(what: string, work: () => Promise<void>): Promise<ProxwrightError> {
    const error = await this.clock.run(work).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    if (error instanceof ProxwrightError) return error;
    throw new Error(`expected ${what} to fail with an error of ours, got ${String(error)}`);
  }

  /** How the tasks of a type ended. */
  tasks(type: string): string[] {
    return [...this.world.tasks.values()].filter((task) => task.type === type).map((task) => task.exitStatus ?? 'runs');
  }

  /** Method and path of everything that was sent, polls of tasks and the login aside. */
  sent(): string[] {
    return this.requests
      .map(({ method, target }) => `${method} ${target.replace('/api2/json', '').replace(/\?.*/, '')}`)
      .filter((line) => !/\/tasks\/[^/]+\/(status|log)$|\/version$/.test(line));
  }

  #mortal(transport: Transport): Transport {
    return {
      send: async (request, options) => {
        await this.#point();
        this.requests.push(request);
        await this.before?.(`${request.method} ${request.target.replace('/api2/json', '')}`);
        const answer = await transport.send(request, options);
        await this.#point();
        return answer;
      },
      close: () => transport.close(),
    };
  }

  /** A process that is killed here does nothing more, and nothing cleans up after it. */
  async #point(): Promise<void> {
    if (++this.points !== this.killAt) return;
    this.#kill();
    await new Promise<never>(() => {});
  }
}
