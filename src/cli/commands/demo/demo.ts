/**
 * `proxwright demo`: five VMs on a simulated cluster inside this process, faster than real time: doctor, plan, an apply that
 * is killed, the apply that resumes it, a check of the result, and a second plan, which is empty. It needs no server and
 * leaves nothing behind.
 */
import { type Clock, scaledClock } from '../../../base/clock.ts';
import { ProxwrightError } from '../../../base/errors.ts';
import { diagnose } from '../../../engine/doctor/diagnose.ts';
import { examine } from '../../../engine/doctor/examine.ts';
import { stackOutputs } from '../../../engine/outputs/outputs.ts';
import { outputsForPeople } from '../../../engine/outputs/render.ts';
import { isEmpty, type Plan } from '../../../kinds/change.ts';
import type { Finding } from '../../../kinds/doctor/finding.ts';
import type { MachineView } from '../../../kinds/shown.ts';
import { parseDrive } from '../../../kinds/vm/config/disks.ts';
import { propertyOf } from '../../../kinds/vm/config/parts.ts';
import { readVm, type VmObserved } from '../../../kinds/vm/observed.ts';
import type { Pve } from '../../../pve/index.ts';
import { MortalProcess } from '../../../rehearse/trial/mortal-process.ts';
import { loadStack, type ResolvedStack, type ResolvedVm, resolveStack } from '../../../spec/index.ts';
import type { StateStore } from '../../../state/store.ts';
import type { PageServer } from '../../../ui/server/serve.ts';
import { badOption, type CommandDeps, EXIT_CANCELED, type ExitCode } from '../../command.ts';
import { readExample, STACK_FILE } from '../../examples.ts';
import { requirePlan } from '../../stack/planning.ts';
import { type DemoCheck, type DemoView, type DemoVm, demoView } from '../../views/demo.ts';
import { uiView } from '../../views/show/ui.ts';
import { type DemoRun, DemoScene, killAtClone } from './scene.ts';
import { DEMO_CLONE_SECONDS, DEMO_TEMPLATE } from './world.ts';

export interface DemoOptions {
  readonly speed: string;
  readonly ui?: boolean;
}

const FASTEST = 100;

export async function runDemo(options: DemoOptions, deps: CommandDeps): Promise<ExitCode> {
  return demonstrate({ speed: parseSpeed(options.speed), hasPage: options.ui === true }, deps);
}

interface DemoPlace {
  readonly speed: number;
  readonly hasPage: boolean;
}

async function demonstrate({ speed, hasPage }: DemoPlace, deps: CommandDeps): Promise<ExitCode> {
  const stack = await demoStack();
  const view = demoView(deps);
  const clock = scaledClock(deps.clock, speed);
  const scene = new DemoScene(stack, clock, deps);
  let page: PageServer | undefined;
  // The first run dies halfway; the second one does the rest.
  const doomed = new MortalProcess(undefined, clock);
  let run = await scene.open(doomed);
  const examined = () =>
    examine({
      pve: run.pve,
      stack,
      state: run.session.state,
      secrets: new Map(),
      now: clock.now(),
      trust: { kind: 'none' },
      wire: scene.wire,
    });
  try {
    if (hasPage) {
      page = await serveDemo(
        { stack, store: scene.store, pve: scene.client(), clock, diagnose: async () => diagnose(await examined()) },
        deps,
        scene.signal,
      );
      if (scene.signal.aborted) return EXIT_CANCELED;
    }
    view.welcome({ vms: stack.vms.length, speed, cloneSeconds: DEMO_CLONE_SECONDS });
    view.doctor(diagnose(await examined()));
    const plan = await planOf(run, deps);
    view.plan(plan);
    const began = { at: clock.ticks(), reallyAt: deps.clock.ticks() };
    const running = view.apply(plan, clock);
    const moment = killAtClone(doomed, clock);
    run.onEvent = (event) => {
      running.onEvent(event);
      moment.follow(event);
    };
    const end = await Promise.race([run.session.execute(plan), doomed.death]).finally(() => running.end());
    if (scene.signal.aborted) return stopped(deps);
    if (!('kind' in end)) throw new ProxwrightError({ code: 'INVARIANT', detail: 'The demo could not kill its run.' });
    scene.store.abandonLock();
    view.killed(moment.facts());
    run = await scene.open();
    const rest = await planOf(run, deps);
    const resuming = view.apply(rest, clock);
    run.onEvent = resuming.onEvent;
    const { outcomes } = await run.session.execute(rest).finally(() => resuming.end());
    if (scene.signal.aborted) return stopped(deps);
    if ([...outcomes.values()].some((outcome) => outcome !== 'done')) return 1;
    view.applied({
      vms: stack.vms.length,
      clones: scene.clones,
      clusterMs: clock.ticks() - began.at,
      realMs: deps.clock.ticks() - began.reallyAt,
    });
    const isGood = await showResult(run, stack, view, deps);
    if (page) {
      deps.terminal.log('info', 'The page stays until you press Ctrl-C.');
      await untilAborted(scene.signal);
    }
    return isGood ? 0 : 1;
  } finally {
    await page?.close();
    // A dead run closes nothing.
    if (!doomed.isDead || run.process !== doomed) await run.session.close();
    await run.pve.close();
  }
}

/** Reads the VMs from the cluster, plans once more, and shows the outputs. */
async function showResult({ pve, session }: DemoRun, stack: ResolvedStack, view: DemoView, deps: CommandDeps) {
  const outputs = stackOutputs(stack, session.state);
  const template = await readVm(pve, DEMO_TEMPLATE.node, DEMO_TEMPLATE.vmid, { running: false });
  const checked = await Promise.all(outputs.vms.map((vm) => checkDemoVm(pve, stack, vm, template)));
  const vms = checked.filter((vm): vm is DemoVm => vm !== undefined);
  view.verification(vms);
  const second = requirePlan(await session.plan(), deps);
  view.secondPlan(second);
  view.outputs(outputs.values, outputsForPeople(outputs));
  const isGood = isEmpty(second) && vms.length === stack.vms.length && vms.every(isAsDeclared);
  view.farewell(isGood);
  return isGood;
}

async function planOf({ session }: DemoRun, deps: CommandDeps): Promise<Plan> {
  return requirePlan(await session.plan(), deps);
}

function stopped(deps: CommandDeps): ExitCode {
  deps.terminal.log('warn', 'The demo was stopped. Nothing is left of it.');
  return EXIT_CANCELED;
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

interface ShownDemo {
  readonly stack: ResolvedStack;
  readonly store: StateStore;
  readonly pve: Pve;
  /** Of the simulated cluster. */
  readonly clock: Clock;
  diagnose(): Promise<readonly Finding[]>;
}

/**
 * The page of `demo --ui`: the demo's own cluster, stack and store, served while the demo runs and afterwards. Returns when
 * the page is open in a browser, or the user wants to stop.
 */
async function serveDemo(scene: ShownDemo, deps: CommandDeps, signal: AbortSignal): Promise<PageServer> {
  // Only here: the demo without a page does not load it.
  const [{ pageSource, quiet }, { servePage }, { PAGE }] = await Promise.all([
    import('../../ui/source.ts'),
    import('../../../ui/server/server.ts'),
    import('../../../ui/page.generated.ts'),
  ]);
  const { stack, store, pve, clock } = scene;
  const { directory } = deps;
  const own = quiet({ ...deps, clock }, []);
  const opened = { stack, store, file: STACK_FILE, directory, stateDirectory: directory, warnings: [] };
  const source = pageSource({
    entries: [{ id: stack.name, name: stack.name, file: STACK_FILE }],
    open: async (id) => (id === stack.name ? { stack: opened, deps: own } : undefined),
    // The demo closes its client itself.
    connect: async () => ({ ...pve, close: async () => {} }),
    diagnose: () => scene.diagnose(),
    deps: own,
  });
  const server = await servePage({ source, files: PAGE, clock: deps.clock, random: deps.random, log: deps.terminal });
  uiView(deps).listening({ link: server.link, stacks: [stack.name] });
  deps.terminal.log('info', 'The demo starts when you open the link.');
  const stopped = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  await Promise.race([server.opened, stopped]);
  return server;
}

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

/** Reads from the server and from the agent of the guest again. */
async function checkDemoVm(
  pve: Pve,
  stack: ResolvedStack,
  view: MachineView,
  template: VmObserved,
): Promise<DemoVm | undefined> {
  const vm = stack.vms.find(({ address }) => address === view.address);
  if (!vm || view.vmid === null) return undefined;
  const observed = await readVm(pve, view.node, view.vmid);
  const { agent } = pve.node(view.node).vm(view.vmid);
  const [interfaces, hostName] = await Promise.all([agent.networkGetInterfaces(), agent.getHostName()]);
  const addresses = interfaces
    .filter(({ name }) => name !== 'lo')
    .flatMap((each) => each['ip-addresses'] ?? [])
    .filter((each) => each['ip-address-type'] === 'ipv4')
    .map((each) => `${each['ip-address']}/${each.prefix}`);
  return {
    name: view.name,
    vmid: view.vmid,
    checks: [
      ...configurationChecks(vm, observed, template),
      check('address', staticAddress(vm), addresses.join(' ')),
      check('host name', vm.fields.name, hostName),
    ],
  };
}

function configurationChecks({ fields }: ResolvedVm, { current }: VmObserved, template: VmObserved): DemoCheck[] {
  const { memory = 0, cpu, disks, nics } = fields;
  const card = propertyOf('net0', current.get('net0'));
  const net0 = nics?.net0;
  const diskGib = (values: ReadonlyMap<string, string>) =>
    `${(parseDrive('scsi0', values.get('scsi0') ?? '').sizeBytes ?? 0) / GIB} GiB`;
  const memoryOf = (values: ReadonlyMap<string, string>) => propertyOf('memory', values.get('memory')).get('current');
  return [
    check('memory', `${memory / MIB}`, memoryOf(current) ?? '', memoryOf(template.current)),
    check('cores', `${cpu?.cores ?? ''}`, current.get('cores') ?? '', template.current.get('cores')),
    check('disk', `${(disks?.scsi0?.size ?? 0) / GIB} GiB`, diskGib(current), diskGib(template.current)),
    check('bridge', net0?.bridge ?? '', card.get('bridge') ?? ''),
    check('VLAN', `${net0?.vlan ?? ''}`, card.get('tag') ?? 'none'),
  ];
}

function staticAddress({ fields }: ResolvedVm): string {
  const ipv4 = fields.nics?.net0?.ipv4;
  return typeof ipv4 === 'object' ? ipv4.address : '';
}

function check(what: string, desired: string, observed: string, template?: string): DemoCheck {
  const differs = template !== undefined && template !== desired;
  return { what, desired, observed, isGood: desired === observed, ...(differs && { template }) };
}
