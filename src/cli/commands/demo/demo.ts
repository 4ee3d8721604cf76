/**
 * `proxwright demo`: five VMs on a simulated cluster inside this process, faster than real time: doctor, plan, apply, a
 * check of the result, and a second plan, which is empty. It needs no server and leaves nothing behind.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { scaledClock } from '../../../base/clock.ts';
import { canceled, ProxwrightError } from '../../../base/errors.ts';
import { atLevel } from '../../../base/log.ts';
import { diagnose } from '../../../engine/doctor/diagnose.ts';
import { WireWatch } from '../../../engine/doctor/examination.ts';
import { examine } from '../../../engine/doctor/examine.ts';
import { stackOutputs } from '../../../engine/outputs/outputs.ts';
import { outputsForPeople } from '../../../engine/outputs/render.ts';
import type { RunListener } from '../../../engine/run-memory.ts';
import { Session } from '../../../engine/session.ts';
import { isEmpty, type Plan } from '../../../kinds/change.ts';
import { readVm } from '../../../kinds/vm/observed.ts';
import { createPve, parseToken } from '../../../pve/index.ts';
import { isPortOpen } from '../../../simulator/guests/addresses.ts';
import { createSimulator, seededRandom } from '../../../simulator/index.ts';
import { loadStack, type ResolvedStack, resolveStack } from '../../../spec/index.ts';
import { DirectoryStore } from '../../../state/directory-store.ts';
import type { PageServer } from '../../../ui/server/server.ts';
import { badOption, type CommandDeps, EXIT_CANCELED, type ExitCode } from '../../command.ts';
import { readExample, STACK_FILE } from '../../examples.ts';
import { requirePlan } from '../../stack/planning.ts';
import { type DemoVm, demoView } from '../../views/demo.ts';
import { checkDemoVm } from './checks.ts';
import { serveDemo } from './demo-page.ts';
import { DEMO_CLONE_SECONDS, DEMO_TEMPLATE, DEMO_TOKEN, demoWorld } from './world.ts';

export interface DemoOptions {
  readonly speed: string;
  readonly ui?: boolean;
}

const FASTEST = 100;

export async function runDemo(options: DemoOptions, deps: CommandDeps): Promise<ExitCode> {
  const speed = parseSpeed(options.speed);
  const directory = await mkdtemp(join(tmpdir(), 'proxwright-demo-'));
  try {
    return await demonstrate({ speed, directory, hasPage: options.ui === true }, deps);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

interface DemoPlace {
  readonly speed: number;
  readonly directory: string;
  readonly hasPage: boolean;
}

async function demonstrate({ speed, directory, hasPage }: DemoPlace, deps: CommandDeps): Promise<ExitCode> {
  const stack = await demoStack();
  const view = demoView(deps);
  const clock = scaledClock(deps.clock, speed);
  const simulator = createSimulator({ world: demoWorld(clock.now()), clock, random: seededRandom('demo') });
  const wire = new WireWatch(clock);
  const pve = createPve({
    transport: wire.watch(simulator.transport()),
    endpoint: 'https://pve1.demo:8006',
    credentials: parseToken(DEMO_TOKEN),
    clock,
    random: deps.random,
    limits: { requests: stack.rollout.limits.requests, agentCalls: stack.rollout.limits.agentCalls },
  });
  const stop = new AbortController();
  void deps.stopRequested().then(() => stop.abort(canceled()));
  let onEvent: RunListener = () => {};
  const store = new DirectoryStore(join(directory, stack.name));
  const session = await Session.open({
    pve,
    clock,
    random: deps.random,
    // The view shows the run already; only problems are worth a message.
    log: deps.level === 'debug' ? deps.terminal : atLevel('warn', deps.terminal),
    store,
    ports: { isOpen: async (address, port) => isPortOpen(simulator.runtime, address, port) },
    signal: stop.signal,
    onEvent: (event) => onEvent(event),
    stack,
    secrets: new Map(),
    owner: { who: 'demo', host: hostname(), pid: process.pid, command: 'demo' },
  });
  const planned = async (): Promise<Plan> => requirePlan(await session.plan(), deps);
  const examined = () =>
    examine({ pve, stack, state: session.state, secrets: new Map(), now: clock.now(), trust: { kind: 'none' }, wire });
  let page: PageServer | undefined;
  try {
    if (hasPage) {
      const scene = { stack, store, directory, pve, clock, diagnose: async () => diagnose(await examined()) };
      page = await serveDemo(scene, deps, stop.signal);
      if (stop.signal.aborted) return EXIT_CANCELED;
    }
    view.welcome({ vms: stack.vms.length, speed, cloneSeconds: DEMO_CLONE_SECONDS });
    view.doctor(diagnose(await examined()));
    const plan = await planned();
    view.plan(plan);
    const began = { at: clock.ticks(), reallyAt: deps.clock.ticks() };
    const running = view.apply(plan, clock);
    onEvent = running.onEvent;
    const { outcomes } = await session.execute(plan).finally(() => running.end());
    if (stop.signal.aborted) {
      deps.terminal.log('warn', 'The demo was stopped. Nothing is left of it.');
      return EXIT_CANCELED;
    }
    if ([...outcomes.values()].some((outcome) => outcome !== 'done')) return 1;
    view.applied(outcomes.size, clock.ticks() - began.at, deps.clock.ticks() - began.reallyAt);
    const outputs = stackOutputs(stack, session.state);
    const template = await readVm(pve, DEMO_TEMPLATE.node, DEMO_TEMPLATE.vmid, { running: false });
    const checked = await Promise.all(outputs.vms.map((vm) => checkDemoVm(pve, stack, vm, template)));
    const vms = checked.filter((vm): vm is DemoVm => vm !== undefined);
    view.verification(vms);
    const second = await planned();
    view.secondPlan(second);
    view.outputs(outputs.values, outputsForPeople(outputs));
    const isGood = isEmpty(second) && vms.length === stack.vms.length && vms.every(isAsDeclared);
    view.farewell(isGood);
    if (page) {
      deps.terminal.log('info', 'The page stays until you press Ctrl-C.');
      await untilAborted(stop.signal);
    }
    return isGood ? 0 : 1;
  } finally {
    await page?.close();
    await session.close();
    await pve.close();
  }
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

const isAsDeclared = ({ checks }: DemoVm) => checks.every(({ isGood }) => isGood);

/** The example that `init` copies, unchanged. */
async function demoStack(): Promise<ResolvedStack> {
  const { files } = await readExample('rancher-5');
  const { stack, diagnostics } = resolveStack(loadStack(files.get(STACK_FILE) ?? '', STACK_FILE));
  if (stack) return stack;
  throw new ProxwrightError({ code: 'INVARIANT', detail: diagnostics.map(({ detail }) => detail).join('\n') });
}

function parseSpeed(text: string): number {
  const speed = Number(text);
  if (text.trim() !== '' && speed > 0 && speed <= FASTEST) return speed;
  throw badOption('--speed', `"${text}" is not a number above 0 and at most ${FASTEST}.`, 'For example: --speed 5');
}
