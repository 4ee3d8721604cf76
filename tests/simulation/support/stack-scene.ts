/** A stack, a store and a simulated cluster in one process, on virtual time: for tests of what is recorded of a stack. */
import { vmAddress } from '../../../src/base/address.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { Session } from '../../../src/engine/session.ts';
import type { EditDeps } from '../../../src/engine/state-edit.ts';
import { type ImportInput, importExisting } from '../../../src/engine/take-over.ts';
import type { Plan } from '../../../src/kinds/change.ts';
import { createPve, type Pve, parseToken } from '../../../src/pve/index.ts';
import {
  createSimulator,
  defaultWorld,
  type FaultRuleInput,
  ruleFaults,
  type Simulator,
  seededRandom,
  VirtualClock,
  type World,
} from '../../../src/simulator/index.ts';
import { draftOf, writtenConfig } from '../../../src/simulator/vm/config/config-file.ts';
import { loadStack, type ResolvedStack, resolveStack } from '../../../src/spec/index.ts';
import { MemoryStore } from '../../../src/state/memory-store.ts';
import { readState } from '../../../src/state/state-file.ts';

const TOKEN = 'root@pam!admin=00000000-0000-4000-8000-000000000001';
export const WEB = vmAddress('web');

/** A VM with something in most fields, made by hand, from no template and for no stack. */
export const BY_HAND = {
  name: 'web',
  cores: 4,
  memory: 4096,
  agent: 1,
  onboot: 1,
  ostype: 'l26',
  scsihw: 'virtio-scsi-single',
  scsi0: 'local-lvm:8,discard=on,iothread=1',
  ide2: 'local-lvm:cloudinit',
  net0: 'virtio,bridge=vmbr1,tag=30,firewall=1',
  ipconfig0: 'ip=10.0.30.5/24,gw=10.0.30.1',
  tags: 'prod;web',
  description: 'Made by hand.',
  boot: 'order=scsi0;net0',
  localtime: 1,
};

export class StackScene {
  readonly clock: VirtualClock;
  readonly simulator: Simulator;
  readonly pve: Pve;
  store = new MemoryStore();
  /** Every request so far: method and target. */
  readonly requests: string[] = [];
  readonly #random = seededRandom(3);
  #edits = 0;

  constructor(
    faults: readonly FaultRuleInput[] = [],
    world: (options: { readonly now: number }) => World = defaultWorld,
    /** A cluster that is there already. */
    present?: { readonly clock: VirtualClock; readonly simulator: Simulator },
  ) {
    const clock = present?.clock ?? new VirtualClock();
    this.clock = clock;
    this.simulator =
      present?.simulator ??
      createSimulator({
        world: world({ now: clock.now() }),
        clock,
        random: seededRandom(1),
        faults: ruleFaults(faults),
      });
    const transport = this.simulator.transport();
    this.pve = createPve({
      transport: {
        send: (request, options) => {
          this.requests.push(`${request.method} ${request.target}`);
          return transport.send(request, options);
        },
        close: () => transport.close(),
      },
      credentials: parseToken(TOKEN),
      clock,
      random: seededRandom(2),
    });
  }

  run<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.clock.run(work);
  }

  async makeByHand(vmid: number, config: Readonly<Record<string, string | number>> = BY_HAND): Promise<void> {
    const upid = await this.pve.node('pve1').vms.create({ vmid, ...config });
    await this.pve.tasks.wait(upid, { timeoutMs: 600_000 });
  }

  deps(command: string, stackName = 'lab'): EditDeps {
    const random = this.#random.fork(`edit ${this.#edits++}`);
    const owner = { who: 'operator', host: 'here', pid: 1, command };
    return { store: this.store, clock: this.clock, random, stackName, owner };
  }

  import(
    stack: ResolvedStack,
    vmid: number,
    more: Partial<Pick<ImportInput, 'address' | 'acceptIdentity' | 'readLines'>> = {},
  ) {
    const signal = new AbortController().signal;
    const { pve } = this;
    return importExisting({
      ...this.deps('import'),
      pve,
      log: silentLogger,
      signal,
      stack,
      address: WEB,
      vmid,
      ...more,
    });
  }

  async session(stack: ResolvedStack): Promise<Session> {
    const { pve, clock, store } = this;
    const random = this.#random.fork(`session ${this.#edits++}`);
    return Session.open({
      pve,
      clock,
      random,
      log: silentLogger,
      store,
      ports: { isOpen: async () => true },
      signal: new AbortController().signal,
      stack,
      secrets: new Map(),
      owner: { who: 'operator', host: 'here', pid: 1, command: 'apply' },
    });
  }

  async plan(stack: ResolvedStack): Promise<Plan> {
    const session = await this.session(stack);
    try {
      const result = await session.plan();
      if (!result.ok) throw new Error(result.problems.map(({ detail }) => detail).join('\n'));
      return result.plan;
    } finally {
      await session.close();
    }
  }

  async apply(stack: ResolvedStack): Promise<void> {
    const session = await this.session(stack);
    try {
      const result = await session.plan();
      if (!result.ok) throw new Error(result.problems.map(({ detail }) => detail).join('\n'));
      const { outcomes, problems } = await session.execute(result.plan);
      const bad = [...outcomes].filter(([, outcome]) => outcome !== 'done');
      if (bad.length > 0) throw new Error([...problems.values()].map(({ detail }) => detail).join('\n'));
    } finally {
      await session.close();
    }
  }

  state(stackName = 'lab') {
    return readState(this.store, stackName);
  }

  /** As a backup job or a snapshot would. */
  lockVm(vmid: number, lock: string | undefined): void {
    this.edit(vmid, 'lock', lock);
  }

  /** As root would, with an editor. */
  edit(vmid: number, key: string, value: string | undefined): void {
    const vm = this.simulator.runtime.world.vms.get(vmid);
    if (!vm) throw new Error(`there is no VM ${vmid}`);
    const draft = draftOf(vm.config);
    if (value === undefined) draft.current.delete(key);
    else draft.current.set(key, value);
    vm.config = writtenConfig(draft);
  }

  /** What the world itself says of a VM. */
  config(vmid: number): ReadonlyMap<string, string> {
    return this.simulator.runtime.world.vms.get(vmid)?.config.current ?? new Map();
  }
}

export function stackOf(vms: string): ResolvedStack {
  const { stack, diagnostics } = resolveStack(loadStack(`version: 1\nstack: lab\n${vms}`, 'stack.yaml'));
  if (!stack) throw new Error(diagnostics.map(({ detail }) => detail).join('\n'));
  return stack;
}
