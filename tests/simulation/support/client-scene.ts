/** The client on a simulated cluster and on virtual time, with a record of everything that it sent. */
import type { Instant } from '../../../src/base/clock.ts';
import { ProxwrightError } from '../../../src/base/errors.ts';
import type { Logger } from '../../../src/base/log.ts';
import type { Transport } from '../../../src/base/transport.ts';
import {
  type Credentials,
  createPve,
  type Pve,
  parseToken,
  passwordCredentials,
  type VmHandle,
} from '../../../src/pve/index.ts';
import {
  createSimulator,
  type FaultPlan,
  type FaultRuleInput,
  recordedWorld,
  ruleFaults,
  type Simulator,
  seededRandom,
  VirtualClock,
  type World,
} from '../../../src/simulator/index.ts';

export const TOKEN_SECRET = '00000000-0000-4000-8000-000000000001';
export const PASSWORD = 'test1234';
export const ROOT = passwordCredentials({ username: 'root@pam', password: PASSWORD });

/** A template whose guest has an agent, and one whose disk copies quickly. */
export const AGENT_TEMPLATE = 9100;
export const TEMPLATE = 9001;
/** A VM of the recorded world that is switched off. */
export const VM = 100;

interface SentRequest {
  readonly at: Instant;
  /** Method and path without query, such as `POST /nodes/pve1/qemu/9001/clone`. */
  readonly line: string;
}

export interface ClientScene {
  readonly clock: VirtualClock;
  readonly simulator: Simulator;
  readonly world: World;
  readonly plan: FaultPlan;
  readonly pve: Pve;
  /** Another client of the same cluster. */
  loginAs(credentials: Credentials): Pve;
  readonly requests: readonly SentRequest[];
  vm(vmid: number): VmHandle;
  /** How many requests the client sent whose line ends so. */
  sent(lineEnd: string): number;
  /** How often the server carried out work of this type. */
  tasksOf(type: string): number;
  /** A setting of a VM as it stands in the world. */
  setting(vmid: number, key: string): string | undefined;
  run<T>(work: () => Promise<T>): Promise<T>;
  /** The error that work ends with; anything but one of ours fails the test. */
  failure(work: () => Promise<unknown>): Promise<ProxwrightError>;
}

export interface SceneOptions {
  readonly credentials?: Credentials;
  readonly plan?: FaultPlan;
  readonly seed?: number | string;
  readonly logger?: Logger;
}

export function clientScene(rules: readonly FaultRuleInput[], options: SceneOptions = {}): ClientScene {
  const { seed = 'scene', plan = ruleFaults(rules, seededRandom(`${seed}/faults`)) } = options;
  const clock = new VirtualClock();
  const world = recordedWorld({ now: clock.now() });
  const simulator = createSimulator({ world, clock, random: seededRandom(`${seed}/world`), faults: plan });
  const requests: SentRequest[] = [];
  const transport = recording(simulator.transport(), ({ method, target }) =>
    requests.push({ at: clock.now(), line: `${method} ${pathOf(target)}` }),
  );
  const loginAs = (credentials: Credentials) =>
    createPve({
      transport,
      endpoint: 'https://pve1.test:8006',
      credentials,
      clock,
      random: seededRandom(`${seed}/client`),
      ...(options.logger && { logger: options.logger }),
    });
  const pve = loginAs(options.credentials ?? parseToken(`root@pam!test=${TOKEN_SECRET}`));
  return {
    clock,
    simulator,
    world,
    plan,
    pve,
    loginAs,
    requests,
    vm: (vmid) => pve.node('pve1').vm(vmid),
    sent: (lineEnd) => requests.filter(({ line }) => line.endsWith(lineEnd)).length,
    tasksOf: (type) => [...world.tasks.values()].filter((task) => task.type === type).length,
    setting: (vmid, key) => world.vms.get(vmid)?.config.current.get(key),
    run: (work) => clock.run(work),
    failure: (work) => clock.run(() => failureOf(work)),
  };
}

export async function failureOf(work: () => Promise<unknown>): Promise<ProxwrightError> {
  const thrown = await work().then(
    (value) => new Error(`expected an error, got ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );
  if (thrown instanceof ProxwrightError) return thrown;
  throw thrown;
}

function recording(transport: Transport, record: (request: Parameters<Transport['send']>[0]) => void): Transport {
  return {
    send: (request, options) => {
      record(request);
      return transport.send(request, options);
    },
    close: () => transport.close(),
  };
}

function pathOf(target: string): string {
  return decodeURIComponent(target.replace('/api2/json', '').replace(/\?.*/, ''));
}
