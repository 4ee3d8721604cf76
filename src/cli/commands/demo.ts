/**
 * `proxwright demo`: five VMs on a simulated cluster inside this process, on fast time — doctor, plan, apply, a look at what came
 * out, and a second plan that is empty. It needs nothing and leaves nothing behind.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Canceled, SpecError } from '../../base/errors.ts';
import { scaledClock } from '../../base/scaled-clock.ts';
import { printDuration } from '../../base/units.ts';
import { diagnose } from '../../engine/doctor/diagnose.ts';
import { examine } from '../../engine/doctor/examine.ts';
import { WireWatch } from '../../engine/doctor/wire-times.ts';
import { stackOutputs } from '../../engine/outputs/outputs.ts';
import { outputsForPeople } from '../../engine/outputs/render.ts';
import { isEmpty, type Plan } from '../../engine/plan-types.ts';
import type { RunListener } from '../../engine/run-memory.ts';
import { Session } from '../../engine/session.ts';
import { createPve, parseToken } from '../../pve/index.ts';
import { readVm } from '../../resources/vm/read.ts';
import { isPortOpen } from '../../simulator/guests/addresses.ts';
import { createSimulator, seededRandom } from '../../simulator/index.ts';
import { loadStack, type ResolvedStack, resolveStack } from '../../spec/index.ts';
import { DirectoryStore } from '../../state/directory-store.ts';
import { type CommandHost, EXIT_CANCELED, type ExitCode } from '../command-host.ts';
import { RANCHER } from '../examples/rancher.ts';
import { requirePlan } from '../read-only-plan.ts';
import { checkDemoVm, type DemoVm } from './demo-checks.ts';
import { DemoShow } from './demo-show.ts';
import { DEMO_TEMPLATE, DEMO_TOKEN, demoWorld } from './demo-world.ts';

export interface DemoOptions {
  readonly speed: string;
}

const FASTEST = 100;

export async function runDemo(options: DemoOptions, host: CommandHost): Promise<ExitCode> {
  const speed = parseSpeed(options.speed);
  const directory = await mkdtemp(join(tmpdir(), 'proxwright-demo-'));
  try {
    return await demonstrate(speed, directory, host);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function demonstrate(speed: number, directory: string, host: CommandHost): Promise<ExitCode> {
  const stack = demoStack();
  const show = new DemoShow(host);
  const clock = scaledClock(host.clock, speed);
  const simulator = createSimulator({ world: demoWorld(clock.now()), clock, random: seededRandom('demo') });
  const wire = new WireWatch(clock);
  const pve = createPve({
    transport: wire.watch(simulator.transport()),
    endpoint: 'https://pve1.demo:8006',
    credentials: parseToken(DEMO_TOKEN),
    clock,
    random: host.random,
    limits: { requests: stack.rollout.limits.requests, agentCalls: stack.rollout.limits.agentCalls },
  });
  const stop = new AbortController();
  void host.stopRequested().then(() => stop.abort(new Canceled()));
  let onEvent: RunListener = () => {};
  const session = await Session.open({
    pve,
    clock,
    random: host.random,
    log: show.log,
    store: new DirectoryStore(join(directory, stack.name)),
    ports: { isOpen: async (address, port) => isPortOpen(simulator.runtime, address, port) },
    signal: stop.signal,
    onEvent: (event) => onEvent(event),
    stack,
    secrets: new Map(),
    owner: { who: 'demo', host: hostname(), pid: process.pid, command: 'demo' },
  });
  const planned = async (): Promise<Plan> => requirePlan(await session.plan(), host);
  try {
    show.welcome(stack, speed);
    const trust = { kind: 'none' } as const;
    const examination = await examine({
      pve,
      stack,
      state: session.state,
      secrets: new Map(),
      now: clock.now(),
      trust,
      wire,
    });
    show.doctor(diagnose(examination));
    const plan = await planned();
    show.plan(plan);
    const began = { at: clock.now(), reallyAt: host.clock.now() };
    const view = show.apply(plan, clock);
    onEvent = view.onEvent;
    const { outcomes, problems } = await session.execute(plan).finally(() => view.end());
    if (stop.signal.aborted) {
      host.terminal.log('warn', 'The demo was stopped; nothing of it is left.');
      return EXIT_CANCELED;
    }
    for (const problem of problems.values()) host.terminal.diagnostic(problem);
    if ([...outcomes.values()].some((outcome) => outcome !== 'done')) return 1;
    const took = [clock.now() - began.at, host.clock.now() - began.reallyAt].map(printDuration);
    show.applied(outcomes.size, took[0] ?? '', took[1] ?? '');
    const outputs = stackOutputs(stack, session.state);
    const template = await readVm(pve, DEMO_TEMPLATE.node, DEMO_TEMPLATE.vmid, { running: false });
    const checked = await Promise.all(outputs.vms.map((vm) => checkDemoVm(pve, stack, vm, template)));
    const vms = checked.filter((vm): vm is DemoVm => vm !== undefined);
    show.verification(vms);
    const second = await planned();
    show.secondPlan(second);
    show.outputs(outputs.values, outputsForPeople(outputs));
    const isGood = isEmpty(second) && vms.length === stack.vms.length && vms.every(isAsWanted);
    show.farewell(isGood);
    return isGood ? 0 : 1;
  } finally {
    await session.close();
    await pve.close();
  }
}

const isAsWanted = ({ checks }: DemoVm) => checks.every(({ isGood }) => isGood);

/** The example that `init` writes, as it is. */
function demoStack(): ResolvedStack {
  const { stack, diagnostics } = resolveStack(loadStack(RANCHER.files['stack.yaml'], 'stack.yaml'));
  if (stack) return stack;
  throw new SpecError({ code: 'BAD_VALUE', detail: diagnostics.map(({ detail }) => detail).join('\n') });
}

function parseSpeed(text: string): number {
  const speed = Number(text);
  if (text.trim() !== '' && speed > 0 && speed <= FASTEST) return speed;
  throw new SpecError({
    code: 'BAD_VALUE',
    where: { file: '--speed' },
    detail: `"${text}" is not a number above 0 and up to ${FASTEST}.`,
    hint: 'For example: --speed 5',
  });
}
