/**
 * Runs the actions of a VM against the simulator, on virtual time, with a memory and a journal as an engine would keep
 * them. A run can be killed at any request and at any line of the journal: from then on it does nothing more.
 */
import { type Address, vmAddress } from '../../../src/base/address.ts';
import type { ProxwrightError } from '../../../src/base/errors.ts';
import type { Logger } from '../../../src/base/log.ts';
import { seededRandom } from '../../../src/base/random.ts';
import { DEFAULT_RETRY, type RetryPolicy, retryWhileBusy } from '../../../src/base/retry.ts';
import { Secret } from '../../../src/base/secret.ts';
import type { ActionTimeouts, OpenAct } from '../../../src/kinds/action.ts';
import { GuestSigns } from '../../../src/kinds/guest-signs.ts';
import { IdReservations } from '../../../src/kinds/ids.ts';
import type { VmContext } from '../../../src/kinds/vm/actions/context.ts';
import { VM_ACTIONS } from '../../../src/kinds/vm/actions/index.ts';
import type { DesiredDisk, DesiredKey } from '../../../src/kinds/vm/config/desired.ts';
import { type PackedEntry, packDesired } from '../../../src/kinds/vm/config/packed.ts';
import type { VmRecord } from '../../../src/kinds/vm/record.ts';
import type { VmActionName, VmInputs } from '../../../src/kinds/vm/steps.ts';
import type { Pve } from '../../../src/pve/index.ts';
import type { FaultPlan, FaultRuleInput } from '../../../src/simulator/index.ts';
import { MortalBench } from '../support/mortal-bench.ts';

export const WEB = vmAddress('web');
export const TEMPLATE = { node: 'pve1', vmid: 9000 } as const;
export const CLONE: VmInputs['vm.clone'] = { source: TEMPLATE, name: 'web', mode: 'full', vmid: 101 };
export const PASSWORD = 'correct horse battery';

/** What one address has been through, as a journal would have it. */
interface Record {
  recorded: VmRecord | undefined;
  open: OpenAct | undefined;
}

export interface LogLine {
  readonly level: string;
  readonly message: string;
}

export class Bench extends MortalBench {
  /** A killed run takes its client with it. */
  pve: Pve;
  readonly logs: LogLine[] = [];
  readonly records = new Map<Address, Record>();
  ids = new IdReservations();
  lockedTicks = 0;
  retry: RetryPolicy = DEFAULT_RETRY;
  timeouts: ActionTimeouts = {
    cloneMs: 1_800_000,
    diskMoveMs: 43_200_000,
    startMs: 300_000,
    shutdownMs: 180_000,
    imageMs: 3_600_000,
    lockMs: 300_000,
  };
  abort = new AbortController();
  #observed = new Map<Address, VmContext['observed']>();

  constructor(faults: FaultPlan | readonly FaultRuleInput[] = [], seed = 'actions') {
    super(faults, seed);
    this.pve = this.#connect();
  }

  context(address: Address = WEB): VmContext {
    const record = this.#recordOf(address);
    const observed: VmContext['observed'] = this.#observed.get(address) ?? { last: undefined };
    this.#observed.set(address, observed);
    const random = seededRandom(`context ${address}`);
    const log: Logger = { log: (level, message) => this.logs.push({ level, message }) };
    const patch = (recorded: Partial<VmRecord>) => {
      const fresh = {
        vmid: 0,
        node: '',
        name: '',
        phase: 'creating',
        lastApplied: {},
        macs: {},
        secrets: {},
        addresses: {},
      } as const;
      record.recorded = { ...(record.recorded ?? fresh), ...recorded };
    };
    return {
      pve: this.pve,
      clock: this.clock,
      random,
      log,
      signal: this.abort.signal,
      address,
      runId: 'run-1',
      stack: 'lab',
      lockedTicks: this.lockedTicks,
      ids: this.ids,
      observed,
      timeouts: this.timeouts,
      secret: (key) => (key === 'cipassword' ? new Secret(PASSWORD) : undefined),
      recorded: () => record.recorded,
      recordedOf: (other) => this.records.get(other)?.recorded,
      beside: (other) => this.context(other),
      intend: (intent, recorded) =>
        this.journal(() => {
          record.open = {
            action: record.open?.action ?? '',
            intent: JSON.parse(JSON.stringify(intent)),
            upid: undefined,
          };
          if (recorded) patch(recorded);
          observed.acted = true;
        }),
      attach: (upid) =>
        this.journal(() => {
          if (record.open) record.open = { ...record.open, upid };
        }),
      learn: (recorded) => this.journal(() => patch(recorded)),
      deleting: (work) => work(),
      whileBusy: (subject, work) =>
        retryWhileBusy(this.retry, { clock: this.clock, random: random.fork('retry'), log, subject }, work),
      forget: () =>
        this.journal(() => {
          record.recorded = undefined;
        }),
      moveRecord: (from, to) =>
        this.journal(() => {
          this.#recordOf(to).recorded = this.#recordOf(from).recorded;
          this.#recordOf(from).recorded = undefined;
        }),
      remark: async () => {},
      warn: async ({ detail }) => {
        this.logs.push({ level: 'warn', message: detail });
      },
      ports: { isOpen: async () => true },
      signs: new GuestSigns(this.pve, this.clock),
      processes: { run: () => Promise.reject(new Error('no program runs here')) },
      hook: async () => {},
      progress: () => {},
    };
  }

  /** One step to its end; the input goes through JSON, as it does in a plan. */
  async step<Name extends VmActionName>(action: Name, input: VmInputs[Name], address: Address = WEB): Promise<void> {
    const record = this.#recordOf(address);
    record.open = { action, intent: undefined, upid: undefined };
    await VM_ACTIONS[action].run(this.context(address), JSON.parse(JSON.stringify(input)) as VmInputs[Name]);
    await this.journal(() => {
      record.open = undefined;
    });
  }

  run<Name extends VmActionName>(action: Name, input: VmInputs[Name], address: Address = WEB): Promise<void> {
    return this.clock.run(() => this.step(action, input, address));
  }

  async failure<Name extends VmActionName>(action: Name, input: VmInputs[Name]): Promise<ProxwrightError> {
    return this.failureOf(action, () => this.step(action, input));
  }

  /** A new process: nothing of the old one is left but what was written down. */
  revive(): void {
    this.abort = new AbortController();
    this.#observed.clear();
    this.lockedTicks = this.clock.ticks();
    this.pve = this.#connect();
    this.ids = new IdReservations();
  }

  /** What the next run does first: settle what was open, forget what does not exist. */
  async takeUp(address: Address = WEB): Promise<string> {
    this.revive();
    const record = this.#recordOf(address);
    if (!record.open) return 'nothing open';
    const { settle } = VM_ACTIONS[record.open.action as VmActionName]; // steps are started by their names only
    const settled = await settle?.(this.context(address), record.open);
    record.open = undefined;
    return settled?.outcome ?? 'nothing to settle';
  }

  vm(vmid = 101) {
    const vm = this.world.vms.get(vmid);
    if (!vm) throw new Error(`there is no VM ${vmid}`);
    return vm;
  }

  config(key: string, vmid = 101): string | undefined {
    return this.vm(vmid).config.current.get(key);
  }

  writes(): string[] {
    return this.sent().filter((line) => !line.startsWith('GET'));
  }

  #connect(): Pve {
    return this.connect(undefined, { log: (level, message) => this.logs.push({ level, message }) });
  }

  #recordOf(address: Address): Record {
    const record = this.records.get(address) ?? { recorded: undefined, open: undefined };
    this.records.set(address, record);
    return record;
  }
}

/** The desired values of keys, in short: a text is a whole value. */
export function desiredEntries(desired: Readonly<{ [key: string]: string | DesiredKey }>): PackedEntry[] {
  return packDesired(
    Object.entries(desired).map(([key, value]) => ({
      key,
      desired: typeof value === 'string' ? { kind: 'value', text: value } : value,
    })),
  );
}

export const NOTES: DesiredKey = { kind: 'notes', text: undefined, line: 'to be filled in' };

/** A disk that is created in an empty slot. */
export const DISK: DesiredDisk = {
  kind: 'disk',
  set: {},
  sizeBytes: 1024 ** 3,
  storage: 'local-lvm',
  format: undefined,
  create: 'local-lvm:1',
};

/** Every step of a new VM with something to change in most of them. */
export async function makeVm(bench: Bench, clone: VmInputs['vm.clone']): Promise<void> {
  const desired = desiredEntries({
    memory: '8192',
    cores: '4',
    net0: { kind: 'property', set: { tag: '20', bridge: 'vmbr1' } },
    scsi1: DISK,
    description: NOTES,
  });
  await bench.step('vm.clone', clone);
  await bench.step('vm.configure', { desired });
  await bench.step('vm.resize', { slot: 'scsi0', sizeBytes: 50 * 1024 ** 3 });
  await bench.step('vm.verify', { desired, applied: {} });
  await bench.step('vm.start', {});
}
