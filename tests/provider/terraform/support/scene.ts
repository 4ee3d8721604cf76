/**
 * A real host, a provider and a simulated cluster behind real TLS. Where nothing else is said the provider is served by the
 * test itself, one for each command, on the clock of the cluster, which runs fast; or the host starts it, as users' hosts do.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { silentLogger } from '../../../../src/base/log.ts';
import type { WireRequest, WireResponse } from '../../../../src/base/transport.ts';
import { createProvider } from '../../../../src/provider/index.ts';
import { reattach } from '../../../../src/provider/testing/reattach.ts';
import {
  COMMANDS,
  type HostProgram,
  type Installation,
  type Running,
  type RunResult,
  Workspace,
} from '../../../../src/provider/testing/terraform.ts';
import { createPve, type Pve, parseToken } from '../../../../src/pve/index.ts';
import { isPortOpen } from '../../../../src/simulator/guests/addresses.ts';
import {
  createSimulator,
  type FaultPlan,
  type FaultRuleInput,
  ruleFaults,
  type Simulator,
  type SimulatorServer,
  scaledClock,
  seededRandom,
  serveSimulator,
  systemClock,
  type World,
} from '../../../../src/simulator/index.ts';
import { labWorld } from '../../../simulation/engine/support/lab-world.ts';
import { effectiveTasks } from '../../../support/effective-tasks.ts';
import { SOURCE, settings } from './hcl.ts';

export const ADMIN = 'root@pam!admin=00000000-0000-4000-8000-000000000001';
export const NO_RIGHTS = 'guest@pve!none=00000000-0000-4000-8000-000000000002';

export interface SceneOptions {
  readonly host: HostProgram;
  readonly world?: (options: { readonly now: number }) => World;
  readonly faults?: readonly FaultRuleInput[];
  /** How much faster than real time the cluster is. */
  readonly speed?: number;
  /** Unless given, the test serves the provider. */
  readonly installation?: Installation;
  readonly environment?: Readonly<Record<string, string>>;
}

export interface Change {
  readonly address: string;
  readonly actions: readonly string[];
  /** Dotted paths of what differs, without what only the server knows. */
  readonly changed: readonly string[];
}

type Interception = (request: WireRequest, line: string) => Promise<'cut' | undefined> | undefined;

const SPEED = 60;
const COMPUTED =
  /^(all_disks|all_nics|macs|addresses|primary_address|restart_pending|secrets_digest|status|current_node|id)\b/;

export class Scene {
  readonly simulator: Simulator;
  readonly workspace: Workspace;
  readonly server: SimulatorServer;
  readonly faults: FaultPlan;
  readonly requests: string[];
  /** For changes made outside Proxwright. */
  readonly outside: Pve;
  readonly environment: Record<string, string>;
  /** Asked before a request is answered. */
  before: Interception = () => undefined;
  /** Asked when the server has acted on it and the answer is not sent yet. */
  after: Interception = () => undefined;
  readonly #isServedHere: boolean;

  private constructor(
    parts: Pick<Scene, 'simulator' | 'workspace' | 'server' | 'faults' | 'requests' | 'environment'>,
    isServedHere: boolean,
  ) {
    ({ simulator: this.simulator, workspace: this.workspace, server: this.server, faults: this.faults } = parts);
    ({ requests: this.requests, environment: this.environment } = parts);
    this.outside = createPve({ transport: this.simulator.transport(), credentials: parseToken(ADMIN) });
    this.#isServedHere = isServedHere;
  }

  static async open(options: SceneOptions): Promise<Scene> {
    const { host, world = labWorld, installation, speed = SPEED } = options;
    const clock = scaledClock(systemClock, speed);
    const faults = ruleFaults(options.faults ?? []);
    const simulator = createSimulator({ world: world({ now: clock.now() }), clock, random: seededRandom(1), faults });
    const requests: string[] = [];
    let scene: Scene | undefined;
    const handle = async (request: WireRequest): Promise<WireResponse> => {
      const line = `${request.method} ${request.target.replace('/api2/json', '')}`;
      requests.push(line);
      if ((await scene?.before(request, line)) === 'cut') return new Promise(() => {});
      const answer = await simulator.handle(request);
      return (await scene?.after(request, line)) === 'cut' ? new Promise(() => {}) : answer;
    };
    // The simulator with our own `handle`, which is all that is called.
    const served = Object.create(simulator, { handle: { value: handle } }) as Simulator;
    const server = await serveSimulator(served, { host: '127.0.0.1', port: 0 });
    const environment = {
      PROXMOX_VE_ENDPOINT: server.endpoint,
      PROXMOX_VE_API_TOKEN: ADMIN,
      PROXMOX_VE_FINGERPRINT: server.fingerprint,
      ...options.environment,
    };
    const workspace = await Workspace.create({
      host,
      address: SOURCE,
      installation: installation ?? { kind: 'reattach', environment: {} },
      environment,
    });
    scene = new Scene({ simulator, workspace, server, faults, requests, environment }, installation === undefined);
    return scene;
  }

  get world(): World {
    return this.simulator.runtime.world;
  }

  /** Everything the configuration consists of. */
  async write(...blocks: string[]): Promise<void> {
    await this.workspace.write('main.tf', [settings(), ...blocks].join('\n'));
  }

  async close(): Promise<void> {
    await this.workspace.remove();
    await this.server.close();
  }

  async run(args: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<RunResult> {
    if (!this.#isServedHere) return this.workspace.run(args, environment);
    const attached = await this.#attach(args, environment);
    try {
      return await this.workspace.run(args, { ...environment, ...attached.environment });
    } finally {
      attached.close();
    }
  }

  /** By the host alone: for commands that are not to reach their end. */
  start(args: readonly string[]): Running {
    return this.workspace.start(args);
  }

  async #attach(args: readonly string[], environment: Readonly<Record<string, string>>) {
    // A host goes to the folder it is told before it starts a provider.
    const [, folder = '.'] = /^-chdir=(.*)$/.exec(args[0] ?? '') ?? [];
    const command = args.find((arg) => !arg.startsWith('-'));
    // A plan waits for nothing, and what it has read must not expire on a busy machine.
    const clock = command === 'plan' ? systemClock : this.simulator.runtime.clock;
    const provider = await createProvider({
      log: silentLogger,
      clock,
      environment: { ...this.environment, ...environment },
      directory: join(this.workspace.directory, folder),
      ports: { isOpen: async (address, port) => isPortOpen(this.simulator.runtime, address, port) },
    });
    return reattach(provider);
  }

  plan(...more: string[]): Promise<RunResult> {
    return this.run([...COMMANDS.plan, ...more]);
  }

  apply(...more: string[]): Promise<RunResult> {
    return this.run([...COMMANDS.apply, ...more]);
  }

  destroy(...more: string[]): Promise<RunResult> {
    return this.run([...COMMANDS.destroy, ...more]);
  }

  /** Applies this configuration without an error, and expects the next plan to be empty. */
  async settle(...blocks: string[]): Promise<RunResult> {
    await this.write(...blocks);
    const applied = await this.apply();
    expect(problems(applied)).toEqual([]);
    const again = await this.plan();
    expect({ code: again.code, errors: problems(again) }).toEqual({ code: 0, errors: [] });
    return applied;
  }

  /** What a plan would do; an empty list is an empty plan. */
  async changes(...more: string[]): Promise<Change[]> {
    const planned = await this.plan('-out=plan.bin', ...more);
    if (planned.code === 1) throw new Error(problems(planned).join('\n'));
    const { stdout } = await this.run(['show', '-json', 'plan.bin']);
    const { resource_changes: changes = [] } = JSON.parse(stdout) as ShownPlan;
    const found = changes
      .filter(({ change }) => change.actions.join() !== 'no-op' && change.actions.join() !== 'read')
      .map(({ address, change }) => ({
        address,
        actions: change.actions,
        changed: changedPaths(change.before, change.after, change.after_unknown).filter((path) => !COMPUTED.test(path)),
      }));
    if (planned.code === 0 && found.length > 0) throw new Error('a plan without changes has some');
    return found;
  }

  async state(): Promise<ReadonlyMap<string, Readonly<Record<string, unknown>>>> {
    const { stdout } = await this.run(['show', '-json']);
    const { values } = JSON.parse(stdout) as { values?: { root_module?: { resources?: StateResource[] } } };
    return new Map((values?.root_module?.resources ?? []).map(({ address, values: own }) => [address, own]));
  }

  async outputs(): Promise<Readonly<Record<string, unknown>>> {
    const { stdout } = await this.run(['output', '-json']);
    const found = JSON.parse(stdout) as Record<string, { value: unknown }>;
    return Object.fromEntries(Object.entries(found).map(([name, { value }]) => [name, value]));
  }

  file(name: string): Promise<string> {
    return readFile(join(this.workspace.directory, name), 'latin1');
  }

  /** VMs that are not templates and not other people's. */
  ours(): { vmid: number; node: string; name: string; running: boolean }[] {
    return [...this.world.vms.values()]
      .filter(({ config }) => !config.current.has('template') && !config.current.get('name')?.startsWith('others-'))
      .map(({ vmid, node, config, process }) => ({
        vmid,
        node,
        name: config.current.get('name') ?? '',
        running: process !== undefined,
      }));
  }

  configOf(name: string): ReadonlyMap<string, string> {
    const found = [...this.world.vms.values()].find(({ config }) => config.current.get('name') === name);
    if (!found) throw new Error(`there is no VM ${name}`);
    return found.config.current;
  }

  /** Volumes that belong to no VM. */
  orphans(): string[] {
    const volumes = [...this.world.storages.values()].flatMap((storage) =>
      [...storage.volumes.values()].flatMap((each) => [...each.values()].map(({ name }) => name)),
    );
    return volumes.filter((name) => {
      const [, vmid] = /vm-(\d+)-/.exec(name) ?? [];
      return vmid !== undefined && !this.world.vms.has(Number(vmid));
    });
  }

  taskCount(type: string): number {
    return effectiveTasks(this.world).filter((task) => task.type === type).length;
  }
}

interface ShownPlan {
  readonly resource_changes?: readonly {
    readonly address: string;
    readonly change: {
      readonly actions: readonly string[];
      readonly before: unknown;
      readonly after: unknown;
      readonly after_unknown: unknown;
    };
  }[];
}

interface StateResource {
  readonly address: string;
  readonly values: Readonly<Record<string, unknown>>;
}

function changedPaths(before: unknown, after: unknown, unknown: unknown, at = ''): string[] {
  if (unknown === true) return [at];
  if (isGroup(before) && isGroup(after)) {
    const names = new Set([
      ...Object.keys(before),
      ...Object.keys(after),
      ...(isGroup(unknown) ? Object.keys(unknown) : []),
    ]);
    const below = isGroup(unknown) ? unknown : {};
    return [...names].flatMap((name) =>
      changedPaths(before[name], after[name], below[name], at === '' ? name : `${at}.${name}`),
    );
  }
  return JSON.stringify(before ?? null) === JSON.stringify(after ?? null) ? [] : [at];
}

function isGroup(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** `error 12 summary: first line of the detail`; the same for warnings. */
export function told({ diagnostics }: RunResult): string[] {
  return diagnostics.map(
    ({ severity, summary, detail = '', range }) =>
      `${severity} ${range?.start.line ?? '-'} ${summary}: ${detail.split('\n')[0]}`,
  );
}

/** The errors alone. */
export function problems(result: RunResult): string[] {
  const found = told(result).filter((line) => line.startsWith('error'));
  return result.code === 1 && found.length === 0 ? [`code 1: ${result.stdout}${result.stderr}`] : found;
}

/** Warnings without those about how this test comes by its provider. */
export function warnings(result: RunResult): string[] {
  return told(result).filter((line) => line.startsWith('warning') && !line.includes('development overrides'));
}
