/**
 * Runs the actions of a VM against the simulator, on virtual time, with a memory and a journal as an engine would keep
 * them. A run can be killed at any request and at any line of the journal: from then on nothing of it goes on.
 */
import { type Address, vmAddress } from '../../../src/base/address.ts';
import { ProxwrightError } from '../../../src/base/errors.ts';
import type { Logger } from '../../../src/base/log.ts';
import { seededRandom } from '../../../src/base/random.ts';
import { Secret } from '../../../src/base/secret.ts';
import type { Transport, WireRequest } from '../../../src/base/transport.ts';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import { DEFAULT_RETRY, type RetryPolicy, retryWhileBusy } from '../../../src/engine/retry.ts';
import { createPve, type Pve, parseToken } from '../../../src/pve/index.ts';
import type { ActionContext, ActionTimeouts } from '../../../src/resources/action.ts';
import { ACTIONS, type OpenVmStep, settleOpenStep } from '../../../src/resources/vm/actions/index.ts';
import type { DesiredKey } from '../../../src/resources/vm/desired.ts';
import { IdReservations } from '../../../src/resources/vm/ids.ts';
import type { VmMemory } from '../../../src/resources/vm/memory.ts';
import { type PackedEntry, packDesired } from '../../../src/resources/vm/packed.ts';
import type { VmActionName, VmInputs } from '../../../src/resources/vm/steps.ts';
import {
  createSimulator,
  defaultWorld,
  type FaultPlan,
  type FaultRuleInput,
  ruleFaults,
  type Simulator,
  type World,
} from '../../../src/simulator/index.ts';

export const WEB = vmAddress('web');
export const TEMPLATE = { node: 'pve1', vmid: 9000 } as const;
export const CLONE: VmInputs['vm.clone'] = { source: TEMPLATE, name: 'web', mode: 'full', vmid: 101 };
export const PASSWORD = 'correct horse battery';
const TOKEN = 'root@pam!admin=00000000-0000-4000-8000-000000000001';

/** What one address has been through, as a journal would have it. */
interface Record {
  memory: VmMemory | undefined;
  open: OpenVmStep | undefined;
}

export interface LogLine {
  readonly level: string;
  readonly message: string;
}

export class Bench {
  readonly clock = new VirtualClock();
  readonly simulator: Simulator;
  readonly faults: FaultPlan;
  /** A killed run takes its client with it. */
  pve: Pve;
  readonly requests: WireRequest[] = [];
  readonly logs: LogLine[] = [];
  readonly records = new Map<Address, Record>();
  ids = new IdReservations();
  retry: RetryPolicy = DEFAULT_RETRY;
  timeouts: ActionTimeouts = {
    cloneMs: 1_800_000,
    startMs: 300_000,
    shutdownMs: 180_000,
    imageMs: 3_600_000,
    lockMs: 300_000,
  };
  abort = new AbortController();
  /** Points of the run at which it can be killed; set `killAt` to the number of one. */
  points = 0;
  killAt: number | undefined;
  #kill: () => void = () => {};
  #sights = new Map<Address, { last: undefined }>();

  constructor(faults: FaultPlan | readonly FaultRuleInput[] = [], seed = 'actions') {
    this.faults = 'rules' in faults ? faults : ruleFaults(faults);
    this.simulator = createSimulator({
      world: defaultWorld(),
      clock: this.clock,
      random: seededRandom(seed),
      faults: this.faults,
    });
    this.pve = this.#connect();
  }

  get world(): World {
    return this.simulator.world;
  }

  context(address: Address = WEB): ActionContext {
    const record = this.#recordOf(address);
    const sight = this.#sights.get(address) ?? { last: undefined };
    this.#sights.set(address, sight);
    const random = seededRandom(`context ${address}`);
    const log: Logger = { log: (level, message) => this.logs.push({ level, message }) };
    const patch = (memory: Partial<VmMemory>) => {
      const fresh = {
        vmid: 0,
        node: '',
        name: '',
        phase: 'creating',
        lastApplied: {},
        macs: {},
        addresses: {},
      } as const;
      record.memory = { ...(record.memory ?? fresh), ...memory };
    };
    return {
      pve: this.pve,
      clock: this.clock,
      random,
      log,
      signal: this.abort.signal,
      address,
      stack: 'lab',
      ids: this.ids,
      sight,
      timeouts: this.timeouts,
      secret: (key) => (key === 'cipassword' ? new Secret(PASSWORD) : undefined),
      memory: () => record.memory,
      memoryOf: (other) => this.records.get(other)?.memory,
      intend: (intent, memory) =>
        this.#journal(() => {
          record.open = {
            action: record.open?.action ?? '',
            intent: JSON.parse(JSON.stringify(intent)),
            upid: undefined,
          };
          if (memory) patch(memory);
        }),
      attach: (upid) =>
        this.#journal(() => {
          if (record.open) record.open = { ...record.open, upid };
        }),
      learn: (memory) => this.#journal(() => patch(memory)),
      whileBusy: (subject, work) =>
        retryWhileBusy(this.retry, { clock: this.clock, random: random.fork('retry'), log, subject }, work),
      progress: () => {},
    };
  }

  /** One step to its end; the input goes through JSON, as it does in a plan. */
  async step<Name extends VmActionName>(action: Name, input: VmInputs[Name], address: Address = WEB): Promise<void> {
    const record = this.#recordOf(address);
    record.open = { action, intent: undefined, upid: undefined };
    await ACTIONS[action](this.context(address), JSON.parse(JSON.stringify(input)) as VmInputs[Name]);
    await this.#journal(() => {
      record.open = undefined;
    });
  }

  run<Name extends VmActionName>(action: Name, input: VmInputs[Name], address: Address = WEB): Promise<void> {
    return this.clock.run(() => this.step(action, input, address));
  }

  async failure<Name extends VmActionName>(action: Name, input: VmInputs[Name]): Promise<ProxwrightError> {
    const error = await this.run(action, input).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    if (error instanceof ProxwrightError) return error;
    throw new Error(`expected ${action} to fail with an error of ours, got ${String(error)}`);
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

  /** A new process: nothing of the old one is left but what was written down. */
  revive(): void {
    this.abort = new AbortController();
    this.#sights.clear();
    this.pve = this.#connect();
    this.ids = new IdReservations();
  }

  /** What the next run does first: settle what was open, forget what does not exist. */
  async takeUp(address: Address = WEB): Promise<string> {
    this.revive();
    const record = this.#recordOf(address);
    if (!record.open) return 'nothing open';
    const { outcome } = await settleOpenStep(this.context(address), record.open);
    if (outcome === 'nothing' || outcome === 'gone') record.memory = undefined;
    record.open = undefined;
    return outcome;
  }

  vm(vmid = 101) {
    const vm = this.world.vms.get(vmid);
    if (!vm) throw new Error(`there is no VM ${vmid}`);
    return vm;
  }

  config(key: string, vmid = 101): string | undefined {
    return this.vm(vmid).config.current.get(key);
  }

  tasks(type: string): string[] {
    return [...this.world.tasks.values()].filter((task) => task.type === type).map((task) => task.exitStatus ?? 'runs');
  }

  /** Method and path of everything that was sent, polls of tasks and the login aside. */
  sent(): string[] {
    return this.requests
      .map(({ method, target }) => `${method} ${target.replace('/api2/json', '').replace(/\?.*/, '')}`)
      .filter((line) => !/\/tasks\/[^/]+\/(status|log)$|\/version$/.test(line));
  }

  writes(): string[] {
    return this.sent().filter((line) => !line.startsWith('GET'));
  }

  #connect(): Pve {
    return createPve({
      transport: this.#mortal(this.simulator.transport()),
      credentials: parseToken(TOKEN),
      clock: this.clock,
      random: seededRandom('client'),
      logger: { log: (level, message) => this.logs.push({ level, message }) },
    });
  }

  #recordOf(address: Address): Record {
    const record = this.records.get(address) ?? { memory: undefined, open: undefined };
    this.records.set(address, record);
    return record;
  }

  #mortal(transport: Transport): Transport {
    return {
      send: async (request, options) => {
        await this.#point();
        this.requests.push(request);
        const answer = await transport.send(request, options);
        await this.#point();
        return answer;
      },
      close: () => transport.close(),
    };
  }

  async #journal(write: () => void): Promise<void> {
    await this.#point();
    write();
    await this.#point();
  }

  /** Whoever is killed here never comes back, and nothing cleans up after it. */
  async #point(): Promise<void> {
    if (++this.points !== this.killAt) return;
    this.#kill();
    await new Promise<never>(() => {});
  }
}

/** Wishes in short: texts are whole values. */
export function wishes(desired: Readonly<{ [key: string]: string | DesiredKey }>): PackedEntry[] {
  return packDesired(
    Object.entries(desired).map(([key, wish]) => ({
      key,
      desired: typeof wish === 'string' ? { kind: 'value', text: wish } : wish,
    })),
  );
}

export const NOTES: DesiredKey = { kind: 'notes', text: undefined, line: 'to be filled in' };
