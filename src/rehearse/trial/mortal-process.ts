/** A process that can be killed at any of its points: from then on it does nothing more. */
import type { Clock } from '../../base/clock.ts';
import type { Processes } from '../../base/processes.ts';
import type { Transport, WireRequest, WireResponse } from '../../base/transport.ts';
import type { StateStore } from '../../state/store.ts';

/** One run of the program, with everything that ends when it is killed: its requests, its writes, its waits. */
export class MortalProcess {
  readonly points: string[] = [];
  readonly death: Promise<{ kind: 'killed'; at: string }>;
  readonly clock: Clock;
  readonly #killAt: number | undefined;
  #die: (end: { kind: 'killed'; at: string }) => void = () => {};
  #isDead = false;

  constructor(killAt: number | undefined, clock: Clock) {
    this.#killAt = killAt;
    this.death = new Promise((resolve) => {
      this.#die = resolve;
    });
    this.clock = {
      now: () => clock.now(),
      ticks: () => clock.ticks(),
      sleep: async (ms, signal) => {
        await clock.sleep(ms, signal);
        await this.#whileAlive();
      },
    };
  }

  carrying(transport: Transport, record: (request: WireRequest) => (answer: WireResponse) => void): Transport {
    return {
      send: async (request, options) => {
        await this.#point(`before ${lineOf(request)}`);
        const recordAnswer = record(request);
        try {
          const answer = await transport.send(request, options);
          recordAnswer(answer);
          return answer;
        } finally {
          await this.#point(`after ${lineOf(request)}`);
        }
      },
      close: () => transport.close(),
    };
  }

  guarded(store: StateStore): StateStore {
    const around = async <T>(label: string, work: () => Promise<T>): Promise<T> => {
      await this.#point(`before ${label}`);
      const value = await work();
      await this.#point(`after ${label}`);
      return value;
    };
    return {
      read: (name) => store.read(name),
      list: (prefix) => store.list(prefix),
      placeOf: (name) => store.placeOf(name),
      write: (name, text) => around(`write ${name}`, () => store.write(name, text)),
      append: (name, line) => around(`append ${labelOf(line)}`, () => store.append(name, line)),
      remove: (name) => around(`remove ${name}`, () => store.remove(name)),
      holder: () => store.holder(),
      unlock: (options) => store.unlock(options),
      outbox: store.outbox && {
        keep: (name, line) => around(`keep ${labelOf(line)}`, async () => store.outbox?.keep(name, line)),
        unsent: () => store.outbox?.unsent() ?? Promise.resolve([]),
      },
      lock: async (owner) => {
        const lock = await store.lock(owner);
        return { ...lock, release: async () => (this.#isDead ? undefined : lock.release()) };
      },
    };
  }

  /** A program outlives the process that started it, so its end may go unnoticed. */
  running(processes: Processes): Processes {
    return {
      run: async (program) => {
        await this.#point(`before ${program.command.join(' ')}`);
        const end = processes.run(program);
        await this.#point(`during ${program.command.join(' ')}`);
        const ended = await end;
        await this.#point(`after ${program.command.join(' ')}`);
        return ended;
      },
    };
  }

  async #point(label: string): Promise<void> {
    await this.#whileAlive();
    this.points.push(label);
    if (this.points.length !== this.#killAt) return;
    this.kill(label);
    await this.#whileAlive();
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  /** Kills it immediately. */
  kill(at: string): void {
    this.#isDead = true;
    this.#die({ kind: 'killed', at });
  }

  /** The waits of a dead process never return, and nothing cleans up after it. */
  async #whileAlive(): Promise<void> {
    if (this.#isDead) await new Promise<never>(() => {});
  }
}

/** Method and path without query: `POST /nodes/pve1/qemu/9000/clone`. */
export function lineOf({ method, target }: WireRequest): string {
  return `${method} ${decodeURIComponent(target.replace('/api2/json', '').replace(/\?.*/, ''))}`;
}

/** Of a line of the journal: its event and the step it belongs to. */
function labelOf(line: string): string {
  const { event, step } = JSON.parse(line) as { event: string; step?: string };
  return step === undefined ? event : `${event} ${step}`;
}
