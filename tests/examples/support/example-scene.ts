/** One example in a directory of its own, on a simulated host in this process and on virtual time: its whole life. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { formatDiagnostic } from '../../../src/base/diagnostics.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { readStack } from '../../../src/cli/stack/read.ts';
import { resolveSecrets, type SecretsByVm } from '../../../src/cli/stack/secrets.ts';
import { testDeps } from '../../../src/cli/testing/deps.ts';
import { renderPlan } from '../../../src/cli/views/plan/plan.ts';
import { plainPaint } from '../../../src/cli/views/text/paint.ts';
import { diagnose } from '../../../src/engine/doctor/diagnose.ts';
import { WireWatch } from '../../../src/engine/doctor/examination.ts';
import { examine } from '../../../src/engine/doctor/examine.ts';
import { type StackOutputs, stackOutputs } from '../../../src/engine/outputs/outputs.ts';
import type { PlanResult } from '../../../src/engine/plan.ts';
import { type PlanOptions, Session } from '../../../src/engine/session.ts';
import type { Plan } from '../../../src/kinds/change.ts';
import type { Finding } from '../../../src/kinds/doctor/finding.ts';
import { createPve, parseToken } from '../../../src/pve/index.ts';
import { isPortOpen } from '../../../src/simulator/guests/addresses.ts';
import {
  bareWorld,
  createSimulator,
  defaultWorld,
  type Simulator,
  seededRandom,
  VirtualClock,
  type World,
} from '../../../src/simulator/index.ts';
import type { ResolvedStack } from '../../../src/spec/index.ts';
import { MemoryStore } from '../../../src/state/memory-store.ts';
import { readState } from '../../../src/state/state-file.ts';

export const EXAMPLES_FOLDER = fileURLToPath(new URL('../../../examples/', import.meta.url));
const STAND_INS = fileURLToPath(new URL('../files/', import.meta.url));
const ADMIN = 'root@pam!admin=00000000-0000-4000-8000-000000000001';

export interface SceneOptions {
  readonly world?: (clock: VirtualClock) => World;
  readonly token?: string;
  /** As on the command line. */
  readonly varFile?: readonly string[];
  readonly var?: readonly string[];
  /** Files that the user has written otherwise, by name. */
  readonly withFiles?: Readonly<Record<string, string>>;
}

/** Files are read before virtual time begins: it does not wait for disks. */
export async function openExample(
  name: string,
  world: 'default' | 'bare',
  options: SceneOptions = {},
): Promise<ExampleScene> {
  const directory = mkdtempSync(join(tmpdir(), 'proxwright-example-'));
  cpSync(STAND_INS, directory, { recursive: true });
  cpSync(join(EXAMPLES_FOLDER, name), directory, { recursive: true });
  const opened = await read(directory, new MemoryStore(), options);
  return new ExampleScene(opened, world, options);
}

async function read(directory: string, store: MemoryStore, options: SceneOptions): Promise<Opened> {
  const { varFile = [], var: settings = [], withFiles = {} } = options;
  for (const [file, text] of Object.entries(withFiles)) writeFileSync(join(directory, file), text);
  const { deps } = testDeps({ directory, random: seededRandom('salt') });
  const { stack, diagnostics } = await readStack({ varFile, var: settings }, deps);
  const remarks = diagnostics.map((diagnostic) => formatDiagnostic(diagnostic));
  if (!stack) throw new Error(remarks.join('\n'));
  const opened = { stack, directory, store, file: 'stack.yaml', stateDirectory: directory, warnings: [] };
  return { directory, stack, remarks, store, secrets: await resolveSecrets(opened, deps) };
}

interface Opened {
  readonly directory: string;
  readonly stack: ResolvedStack;
  /** Everything that `proxwright validate` says about it. */
  readonly remarks: readonly string[];
  readonly store: MemoryStore;
  readonly secrets: SecretsByVm;
}

export class ExampleScene {
  readonly clock = new VirtualClock();
  readonly simulator: Simulator;
  opened: Opened;
  readonly #pve;
  readonly #wire;
  #runs = 0;

  constructor(opened: Opened, world: 'default' | 'bare', options: SceneOptions) {
    const { clock } = this;
    this.opened = opened;
    const built = options.world?.(clock) ?? (world === 'bare' ? bareWorld : defaultWorld)({ now: clock.now() });
    this.simulator = createSimulator({ world: built, clock, random: seededRandom(1) });
    this.#wire = new WireWatch(clock);
    this.#pve = createPve({
      transport: this.#wire.watch(this.simulator.transport()),
      endpoint: 'https://simulated.example:8006',
      credentials: parseToken(options.token ?? ADMIN),
      clock,
      random: seededRandom(2),
    });
  }

  /** Its user changes files, or values of variables; outside of `run`. */
  async change(options: SceneOptions): Promise<void> {
    const { directory, store } = this.opened;
    this.opened = await read(directory, store, options);
  }

  run<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.clock.run(work);
  }

  async doctor(): Promise<Finding[]> {
    const { stack, secrets, store } = this.opened;
    const state = await readState(store, stack.name);
    const trust = { kind: 'fingerprint', fingerprint: 'AA' } as const;
    const now = this.clock.now();
    return diagnose(await examine({ pve: this.#pve, stack, state, secrets, now, trust, wire: this.#wire }));
  }

  plan(options: PlanOptions = {}): Promise<Plan> {
    return this.#session('plan', async (session) => planned(await session.plan(options)));
  }

  /** What became of each address. */
  apply(options: PlanOptions = {}): Promise<Readonly<Record<string, string>>> {
    return this.#session('apply', async (session) => this.#outcomes(session, planned(await session.plan(options))));
  }

  destroy({ all = false } = {}): Promise<Readonly<Record<string, string>>> {
    return this.#session('destroy', async (session) =>
      this.#outcomes(session, planned(await session.planDestroy({ running: 'shutdown', all }))),
    );
  }

  async outputs(): Promise<StackOutputs> {
    const { stack, store } = this.opened;
    return stackOutputs(stack, await readState(store, stack.name));
  }

  /** Volume ids of what was put into the storages. */
  volumes(): string[] {
    return [...this.simulator.world.storages.values()].flatMap(({ id, volumes }) =>
      [...volumes.values()].flatMap((ofNode) => [...ofNode.keys()].map((name) => `${id}:${name}`)),
    );
  }

  config(vmid: number): Readonly<Record<string, string>> {
    return Object.fromEntries(this.simulator.world.vms.get(vmid)?.config.current ?? []);
  }

  /** When each task of that kind began, in order. */
  beginnings(type: string): number[] {
    const tasks = [...this.simulator.world.tasks.values()].filter((task) => task.type === type);
    return tasks.map(({ startedAt }) => startedAt).toSorted((left, right) => left - right);
  }

  readme(): string {
    return readFileSync(join(this.opened.directory, 'README.md'), 'utf8');
  }

  close(): void {
    rmSync(this.opened.directory, { recursive: true, force: true });
  }

  async #session<Result>(command: string, work: (session: Session) => Promise<Result>): Promise<Result> {
    const session = await Session.open({
      stack: this.opened.stack,
      secrets: this.opened.secrets,
      pve: this.#pve,
      clock: this.clock,
      random: seededRandom(`run ${this.#runs++}`),
      log: silentLogger,
      store: this.opened.store,
      ports: { isOpen: async (address, port) => isPortOpen(this.simulator.runtime, address, port) },
      signal: new AbortController().signal,
      owner: { who: 'operator', host: 'here', pid: 1, command },
    });
    try {
      return await work(session);
    } finally {
      await session.close();
    }
  }

  async #outcomes(session: Session, plan: Plan): Promise<Readonly<Record<string, string>>> {
    const { outcomes, problems } = await session.execute(plan);
    return Object.fromEntries(
      [...outcomes].map(([address, outcome]) => [address, problems.get(address)?.detail ?? outcome]),
    );
  }
}

export function shown(plan: Plan): string {
  return `${renderPlan(plan, plainPaint).join('\n')}\n`;
}

function planned(result: PlanResult): Plan {
  if (!result.ok) throw new Error(result.problems.map((problem) => formatDiagnostic(problem)).join('\n'));
  return result.plan;
}
