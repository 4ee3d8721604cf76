/** What the engine costs, counted in the simulator: requests, writes, waits and virtual time. No figure depends on the machine. */
import { CLONE_SECONDS, EngineScene, GUEST, type GuestTimes, type StackOptions } from './engine-scene.ts';

export interface Figure {
  readonly figure: string;
  readonly measured: string;
  readonly aim: string;
  readonly isMet: boolean;
}

const NOOP_SIZES: readonly (readonly [vms: number, nodes: number])[] = [
  [1, 1],
  [40, 1],
  [40, 4],
  [160, 8],
];
const TOGETHER = [1, 5, 20, 50] as const;
const IN_A_ROW = 5;
const FURTHER = 9;
const DESTROYED = 20;
const ALLOWANCE = 1.05;
const SHORTEST_BOOT_MS = 5_000;
const LONGEST_BOOT_MS = 60_000;
/** No multiple of a pause or a question. */
const BOOT_STEP_MS = 730;

export async function benchEngine(): Promise<readonly Figure[]> {
  return [
    ...(await oneVm()),
    ...(await wholeApplies()),
    ...(await noopPlans()),
    ...(await sideBySide()),
    await anyGuest('agent first', { agent_ms: 2_000, network_ms: 3_000 }),
    await anyGuest('network first', { agent_ms: 4_000, network_ms: 1_500 }),
    await oneAtATime(),
    await destroyOfMany(),
  ];
}

async function oneVm(): Promise<Figure[]> {
  const { applyRequests, planRequests, blindWaits } = await new EngineScene({ vms: 1 }).apply();
  const withDisk = await new EngineScene({ vms: 1, disks: { scsi1: { storage: 'tank', size: '8GiB' } } }).apply();
  const writes = (lines: readonly string[]) => {
    const start = lines.findIndex((line) => line.endsWith('/status/start'));
    return lines.slice(0, start).filter((line) => /^(PUT|POST) .*\/config$/.test(line));
  };
  const methods = (lines: readonly string[]) => lines.map((line) => line.split(' ')[0]).join(', ');
  const [plain, drive] = [writes(applyRequests), writes(withDisk.applyRequests)];
  return [
    {
      figure: 'requests for one cloned, resized, configured, started VM (polls and readiness aside)',
      measured: `${applyRequests.length}, after ${planRequests.length} of the plan`,
      aim: '≤ 8',
      isMet: applyRequests.length <= 8,
    },
    {
      figure: 'configuration writes before the first start',
      measured: `${plain.length} (${methods(plain)}); with a new disk ${drive.length} (${methods(drive)})`,
      aim: '1 (POST where a drive is touched)',
      isMet: plain.length === 1 && drive.length === 1 && methods(drive) === 'POST',
    },
    {
      figure: 'fixed sleeps: waits followed by an act instead of a question',
      measured: String(blindWaits),
      aim: '0',
      isMet: blindWaits === 0,
    },
  ];
}

/** Everything that is sent, as a server would count it: plan, polls and readiness included. */
async function wholeApplies(): Promise<Figure[]> {
  const guest = 'cloud-init';
  const sent = async (vms: number) =>
    (await new EngineScene({ vms, guest, guestTimes: GUEST, rollout: { limits: { vms: 50 } } }).apply()).requests
      .length;
  const [one, many] = [await sent(1), await sent(1 + FURTHER)];
  const each = (many - one) / FURTHER;
  return [
    {
      figure: 'requests of a whole apply of one VM until it is ready, everything included',
      measured: String(one),
      aim: '≤ 25',
      isMet: one <= 25,
    },
    {
      figure: `requests of each further VM of the same apply (${1 + FURTHER} at once), everything included`,
      measured: each.toFixed(1),
      aim: '≤ 15',
      isMet: each <= 15,
    },
  ];
}

/** The critical path is the slowest shutdown and its deletion; deletions are limited, shutdowns are not. */
async function destroyOfMany(): Promise<Figure> {
  const rollout = { limits: { vms: 50, destroys: DESTROYED } };
  const scene = new EngineScene({ vms: DESTROYED, guest: 'cloud-init', guestTimes: GUEST, rollout });
  await scene.apply();
  const elapsedMs = await scene.destroy();
  const criticalMs = Math.max(...scene.taskMs('qmshutdown')) + Math.max(...scene.taskMs('qmdestroy'));
  const ratio = elapsedMs / criticalMs;
  return {
    figure: `destroy of ${DESTROYED} running VMs`,
    measured: `${seconds(elapsedMs)} = ${ratio.toFixed(3)} × ${seconds(criticalMs)}`,
    aim: '≤ 1.1 × the slowest shutdown and its deletion',
    isMet: ratio <= 1.1,
  };
}

async function noopPlans(): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const [vms, nodes] of NOOP_SIZES) {
    const scene = new EngineScene({ vms, nodes });
    await scene.apply();
    const { plan, planRequests } = await scene.apply();
    const constant = planRequests.length - vms - nodes;
    figures.push({
      figure: `requests of a plan without changes: N = ${vms} VMs on M = ${nodes} nodes`,
      measured: `${planRequests.length} = N + M + ${constant}`,
      aim: 'N + M + a constant',
      isMet: plan.steps.length === 0 && constant <= 4,
    });
  }
  return figures;
}

/** The critical path: the data of all clones through one storage, then the rest of the last VM until it is up. */
async function sideBySide(): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const vms of TOGETHER) {
    const { elapsedMs, criticalMs } = await untilReady(vms, GUEST);
    figures.push(
      pathFigure(
        `${vms === 1 ? '1 VM' : `${vms} VMs at once`}, until ready (stagger 0, parallel readiness)`,
        elapsedMs,
        criticalMs,
      ),
    );
  }
  return figures;
}

let cloneMsAlone: number | undefined;

async function measureClone(): Promise<number> {
  const alone = new EngineScene({ vms: 1 });
  await alone.apply();
  return last(alone, 'qmclone');
}

async function untilReady(
  vms: number,
  guestTimes: GuestTimes,
): Promise<{ readonly elapsedMs: number; readonly criticalMs: number }> {
  cloneMsAlone ??= await measureClone();
  const options: StackOptions = { vms, guest: 'cloud-init', guestTimes, rollout: { limits: { vms: 50 } } };
  const scene = new EngineScene(options);
  const { elapsedMs } = await scene.apply();
  const bootMs = guestTimes.boot_ms + Math.max(guestTimes.agent_ms, guestTimes.network_ms);
  const storageMs = (vms - 1) * CLONE_SECONDS * 1000 + cloneMsAlone;
  return { elapsedMs, criticalMs: storageMs + last(scene, 'resize') + last(scene, 'qmstart') + bootMs };
}

/** A single VM whose guest is up at any time: where the questions happen to fall must not decide. The worst one counts. */
async function anyGuest(order: string, times: Omit<GuestTimes, 'boot_ms'>): Promise<Figure> {
  let worst = { elapsedMs: 0, criticalMs: 1 };
  for (let bootMs = SHORTEST_BOOT_MS; bootMs <= LONGEST_BOOT_MS; bootMs += BOOT_STEP_MS) {
    const one = await untilReady(1, { ...times, boot_ms: bootMs });
    if (one.elapsedMs / one.criticalMs > worst.elapsedMs / worst.criticalMs) worst = one;
  }
  const range = `${seconds(SHORTEST_BOOT_MS)} to ${seconds(LONGEST_BOOT_MS)}`;
  return pathFigure(`1 VM whose guest boots in ${range}, ${order}: the worst`, worst.elapsedMs, worst.criticalMs);
}

async function oneAtATime(): Promise<Figure> {
  const scene = new EngineScene({ vms: IN_A_ROW, rollout: { limits: { vms: 1 } } });
  const { elapsedMs } = await scene.apply();
  const criticalMs = IN_A_ROW * (CLONE_SECONDS * 1000 + last(scene, 'qmstart'));
  return pathFigure(`${IN_A_ROW} VMs whose clone takes ${CLONE_SECONDS} s, one at a time`, elapsedMs, criticalMs);
}

const last = (scene: EngineScene, type: string) => scene.taskMs(type).at(-1) ?? 0;

function pathFigure(what: string, elapsedMs: number, criticalMs: number): Figure {
  const ratio = elapsedMs / criticalMs;
  return {
    figure: what,
    measured: `${seconds(elapsedMs)} = ${ratio.toFixed(3)} × ${seconds(criticalMs)}`,
    aim: `≤ ${ALLOWANCE} × the critical path`,
    isMet: ratio <= ALLOWANCE,
  };
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
