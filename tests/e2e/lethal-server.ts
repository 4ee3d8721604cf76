/** A simulated cluster behind HTTPS that kills the command which uses it: at one request, before the server acts on it or after. */
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { scaledClock, systemClock } from '../../src/base/clock.ts';
import { seededRandom } from '../../src/base/random.ts';
import type { WireRequest, WireResponse } from '../../src/base/transport.ts';
import {
  createSimulator,
  defaultWorld,
  type Simulator,
  serveSimulator,
  type World,
} from '../../src/simulator/index.ts';
import { type Finished, type RunningCommand, runCommand, startCommand } from './built-command.ts';

const SPEED = 60;
const TOKEN = 'root@pam!admin=00000000-0000-4000-8000-000000000001';

/** One clock for all scenes of a file: a world that is copied into another scene keeps its times. */
export const clock = scaledClock(systemClock, SPEED);

export type Moment = 'before' | 'after';

class LethalServer {
  readonly simulator: Simulator;
  #victim: RunningCommand | undefined;
  #killAt = 0;
  #moment: Moment = 'before';
  requests = 0;

  constructor(world: World) {
    this.simulator = createSimulator({ world, clock, random: seededRandom(1) });
  }

  /** What `serveSimulator` is given: the simulator with our own `handle`. */
  asServed(): Simulator {
    return Object.create(this.simulator, {
      handle: { value: (request: WireRequest) => this.#handle(request) },
    }) as Simulator; // only `handle` is called
  }

  aim(victim: RunningCommand, killAt: number, moment: Moment): void {
    this.#victim = victim;
    this.#killAt = killAt;
    this.#moment = moment;
  }

  async #handle(request: WireRequest): Promise<WireResponse> {
    this.requests++;
    const strikes = this.requests === this.#killAt;
    if (strikes && this.#moment === 'before') return this.#kill();
    const answer = await this.simulator.handle(request);
    return strikes ? this.#kill() : answer;
  }

  async #kill(): Promise<never> {
    this.#victim?.process.kill('SIGKILL');
    await this.#victim?.finished;
    return new Promise(() => {});
  }
}

export interface Scene {
  readonly server: LethalServer;
  readonly directory: string;
  readonly environment: NodeJS.ProcessEnv;
  close(): Promise<void>;
}

interface SceneStart {
  readonly world?: World;
  /** A directory to copy, with its state. */
  readonly directory?: string;
}

export async function openScene(start: SceneStart = {}): Promise<Scene> {
  const server = new LethalServer(start.world ?? defaultWorld({ now: clock.now() }));
  const served = await serveSimulator(server.asServed(), { host: '127.0.0.1', port: 0 });
  const directory = await mkdtemp(join(tmpdir(), 'proxwright-kill-'));
  if (start.directory !== undefined) await cp(start.directory, directory, { recursive: true });
  return {
    server,
    directory,
    environment: {
      PROXMOX_VE_ENDPOINT: served.endpoint,
      PROXMOX_VE_API_TOKEN: TOKEN,
      PROXMOX_VE_FINGERPRINT: served.fingerprint,
      NO_COLOR: '1',
    },
    close: async () => {
      await served.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

export function writeStack(scene: Scene, text: string): Promise<void> {
  return writeFile(join(scene.directory, 'stack.yaml'), text);
}

export function run(scene: Scene, ...args: string[]): Promise<Finished> {
  return runCommand(args, scene.environment, scene.directory);
}

/** Runs a command to be killed; whether it was, or had come to its end before. */
export async function runUntilKilled(
  scene: Scene,
  args: readonly string[],
  killAt: number,
  moment: Moment,
): Promise<boolean> {
  scene.server.requests = 0;
  const command = startCommand(args, scene.environment, scene.directory);
  scene.server.aim(command, killAt, moment);
  const { signal } = await command.finished;
  scene.server.aim(command, 0, moment);
  return signal === 'SIGKILL';
}

/** Of 1 to `count`, so many points from beginning to end. */
export function spread(count: number, samples: number): number[] {
  const taken = Math.min(samples, count);
  return Array.from({ length: taken }, (_, index) => 1 + Math.floor(((index + 0.5) * count) / taken));
}
