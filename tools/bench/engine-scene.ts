/**
 * The engine on a simulated cluster of its own, with everything counted: requests by kind, waits by what they wait for, and
 * virtual time. The templates hold so much data that a clone with the storage to itself takes 14 seconds.
 */
import type { Clock } from '../../src/base/clock.ts';
import { formatDiagnostic } from '../../src/base/diagnostics.ts';
import { silentLogger } from '../../src/base/log.ts';
import { Session } from '../../src/engine/session.ts';
import type { Plan } from '../../src/kinds/change.ts';
import { createPve, parseToken } from '../../src/pve/index.ts';
import { buildWorld, createSimulator, seededRandom, VirtualClock, type WorldFile } from '../../src/simulator/index.ts';
import { loadStack, resolveStack } from '../../src/spec/index.ts';
import { MemoryStore } from '../../src/state/memory-store.ts';
import type { StateStore } from '../../src/state/store.ts';
import { TOKEN } from './requests.ts';

export const CLONE_SECONDS = 14;
/** How long a guest takes; agent and network count from the end of its boot. */
export interface GuestTimes {
  readonly boot_ms: number;
  readonly agent_ms: number;
  readonly network_ms: number;
}

export const GUEST: GuestTimes = { boot_ms: 9_000, agent_ms: 2_000, network_ms: 3_000 };
/** A guest with services takes this long to go down. */
const SHUTDOWN_MS = 20_000;
const BANDWIDTH = 100 * 1024 ** 2;
const FIRST_TEMPLATE = 9000;

export const nodeName = (index: number) => `pve${index + 1}`;

/** A cluster of `nodes` nodes, each with its own storage and template. */
function cluster(nodes: number, guest: GuestTimes): WorldFile {
  const names = Array.from({ length: nodes }, (_, index) => nodeName(index));
  const data = CLONE_SECONDS * BANDWIDTH;
  return {
    nodes: Object.fromEntries(
      names.map((name, index) => [
        name,
        {
          memory: '4096G',
          filesystems: { root: { total: '900T' } },
          bridges: { vmbr0: { dhcp: { first: `10.${index}.0.2`, last: `10.${index}.250.250`, prefix: 16 } } },
        },
      ]),
    ),
    storages: {
      tank: {
        type: 'lvmthin',
        options: { vgname: 'pve', thinpool: 'data' },
        content: ['images'],
        bandwidth: BANDWIDTH,
        volumes: names.flatMap((node, index) => [
          { name: `base-${FIRST_TEMPLATE + index}-disk-0`, node, size: '4G', data, used: data, guest: 'measured' },
          { name: `vm-${FIRST_TEMPLATE + index}-cloudinit`, node, size: '4M' },
        ]),
      },
    },
    guests: { measured: { ...guest, shutdown_ms: SHUTDOWN_MS } },
    vms: Object.fromEntries(
      names.map((node, index) => {
        const vmid = FIRST_TEMPLATE + index;
        const config = {
          name: 'measured',
          template: 1,
          agent: '1',
          cores: 2,
          memory: '2048',
          boot: 'order=scsi0',
          scsihw: 'virtio-scsi-single',
          scsi0: `tank:base-${vmid}-disk-0,size=4G`,
          ide2: `tank:vm-${vmid}-cloudinit,media=cdrom`,
          net0: `virtio=BC:24:11:00:00:${String(index).padStart(2, '0')},bridge=vmbr0`,
          smbios1: `uuid=5e0c4a77-7886-477f-ad9d-00000000${vmid}`,
        };
        return [vmid, { node, config }];
      }),
    ),
    users: { 'root@pam': { tokens: { test: { secret: TOKEN.split('=')[1] ?? '', privsep: false } } } },
  };
}

export interface StackOptions {
  readonly vms: number;
  readonly nodes?: number;
  readonly guest?: 'plain' | 'cloud-init';
  readonly disks?: Readonly<Record<string, unknown>>;
  readonly rollout?: Readonly<Record<string, unknown>>;
  readonly guestTimes?: GuestTimes;
}

/** Cloned, resized, with other values for memory, cores, tags, network and cloud-init, and started. */
function stackText({ vms, nodes = 1, guest = 'plain', disks = {}, rollout = {} }: StackOptions): string {
  const perNode = Array.from({ length: nodes }, (_, index) => Math.ceil((vms - index) / nodes));
  return JSON.stringify({
    version: 1,
    stack: 'bench',
    defaults: {
      guest,
      clone: { template: 'measured', mode: 'full' },
      cpu: { cores: 4 },
      memory: '8GiB',
      tags: ['bench', 'measured'],
      disks: { scsi0: { size: '20GiB' }, ...disks },
      nics: { net0: { bridge: 'vmbr0', ipv4: 'dhcp' } },
      cloud_init: { user: 'admin', dns: { servers: ['10.0.0.1'] } },
      boot: ['scsi0', 'net0'],
    },
    vms: Object.fromEntries(
      perNode.map((count, index) => [
        `on${index + 1}`,
        {
          count,
          name: `on${index + 1}-\${number}`,
          node: nodeName(index),
          vmids: `${1000 * (index + 1)}-${1000 * (index + 1) + 999}`,
        },
      ]),
    ),
    rollout: { stagger: '0s', readiness: 'parallel', ...rollout },
  });
}

export interface Counted {
  readonly plan: Plan;
  /** Method and path, in order; polls of tasks and questions about readiness are not among them. */
  readonly planRequests: readonly string[];
  readonly applyRequests: readonly string[];
  /** Everything, in order. */
  readonly requests: readonly string[];
  /** Virtual time from the first request of the apply to its end. */
  readonly elapsedMs: number;
  /** Waits that were followed by an action instead of a read: pauses in the hope that something has finished. */
  readonly blindWaits: number;
}

/** The list of a node's VMs is where signs of life are looked for. */
const isPoll = (line: string) =>
  /\/tasks\/|\/agent\/|\/status\/current$/.test(line) || /^GET \/nodes\/[^/]+\/qemu$/.test(line);

export class EngineScene {
  readonly #clock = new VirtualClock();
  readonly #simulator;
  readonly #store: StateStore;
  readonly #lines: string[] = [];
  readonly #stack;
  #blindWaits = 0;
  #hasSlept = false;

  /** `openStore` gets the clock that has to stand still while a real store is asked. */
  constructor(options: StackOptions, openStore: (clock: VirtualClock) => StateStore = () => new MemoryStore()) {
    this.#store = openStore(this.#clock);
    const world = buildWorld(cluster(options.nodes ?? 1, options.guestTimes ?? GUEST), {
      now: this.#clock.now(),
      file: 'bench',
    });
    this.#simulator = createSimulator({ world, clock: this.#clock, random: seededRandom('bench') });
    const { stack, diagnostics } = resolveStack(loadStack(stackText(options), 'stack.json'), {});
    if (!stack) throw new Error(diagnostics.map(formatDiagnostic).join('\n'));
    this.#stack = stack;
  }

  /** Plans, and carries the plan out if there is anything to do. */
  apply(): Promise<Counted> {
    return this.#clock.run(async () => {
      this.#lines.length = 0;
      this.#blindWaits = 0;
      const session = await this.#open();
      try {
        const planned = await session.plan();
        if (!planned.ok) throw new Error(planned.problems.map(formatDiagnostic).join('\n'));
        const planRequests = this.#lines.splice(0);
        const startedAt = this.#clock.now();
        if (planned.plan.steps.length > 0) await this.#execute(session, planned.plan);
        return {
          plan: planned.plan,
          planRequests,
          applyRequests: this.#lines.filter((line) => !isPoll(line)),
          requests: [...planRequests, ...this.#lines],
          elapsedMs: this.#clock.now() - startedAt,
          blindWaits: this.#blindWaits,
        };
      } finally {
        await session.close();
      }
    });
  }

  /** Destroys everything; returns how long that took. */
  destroy(): Promise<number> {
    return this.#clock.run(async () => {
      const session = await this.#open();
      try {
        const planned = await session.planDestroy({ running: 'shutdown' });
        if (!planned.ok) throw new Error(planned.problems.map(formatDiagnostic).join('\n'));
        const startedAt = this.#clock.now();
        await this.#execute(session, planned.plan);
        return this.#clock.now() - startedAt;
      } finally {
        await session.close();
      }
    });
  }

  /** How long the tasks of a type took at the server, in the order they began. */
  taskMs(type: string): number[] {
    return [...this.#simulator.world.tasks.values()]
      .filter((task) => task.type === type && task.endedAt !== undefined)
      .map((task) => (task.endedAt ?? 0) - task.startedAt);
  }

  async #execute(session: Session, plan: Plan): Promise<void> {
    const { outcomes, problems } = await session.execute(plan);
    if ([...outcomes.values()].every((outcome) => outcome === 'done')) return;
    throw new Error([...problems.values()].map(formatDiagnostic).join('\n'));
  }

  #open(): Promise<Session> {
    const transport = this.#simulator.transport();
    const clock = this.#watchedClock();
    const pve = createPve({
      transport: {
        send: (request, options) => {
          this.#count(`${request.method} ${request.target.replace('/api2/json', '').replace(/\?.*/, '')}`);
          return transport.send(request, options);
        },
        close: () => transport.close(),
      },
      credentials: parseToken(TOKEN),
      clock,
      random: seededRandom('client'),
    });
    return Session.open({
      pve,
      clock,
      random: seededRandom('session'),
      log: silentLogger,
      store: this.#store,
      ports: { isOpen: async () => true },
      signal: new AbortController().signal,
      stack: this.#stack,
      secrets: new Map(),
      owner: { who: 'bench', host: 'bench', pid: 1, command: 'apply' },
    });
  }

  #count(line: string): void {
    this.#lines.push(line);
    if (this.#hasSlept && !isPoll(line)) this.#blindWaits++;
    this.#hasSlept = false;
  }

  #watchedClock(): Clock {
    return {
      now: () => this.#clock.now(),
      ticks: () => this.#clock.ticks(),
      sleep: async (ms, signal) => {
        await this.#clock.sleep(ms, signal);
        if (ms > 0) this.#hasSlept = true;
      },
    };
  }
}
