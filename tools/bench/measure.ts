/** Measuring: repeat something for a while and say how long one time took. */
import { performance } from 'node:perf_hooks';

export interface Measured {
  readonly times: number;
  /** The median of the single times: a pause of the garbage collector or of the machine does not move it. */
  readonly medianMs: number;
  readonly perSecond: number;
}

/** User and system time of the children, from what the shell's `times` prints: its second line. In milliseconds. */
export function childrenCpuMs(times: string): number {
  const [, children = ''] = times.trim().split('\n');
  return [...children.matchAll(/(\d+)m([\d.]+)s/g)].reduce(
    (sum, [, minutes, seconds]) => sum + Number(minutes) * 60_000 + Number(seconds) * 1_000,
    0,
  );
}

/** Below this many times a median says nothing. */
const LEAST_TIMES = 5;
/** Of the budget: the compiler needs its time before the program is as fast as it gets. */
const WARM_UP_SHARE = 0.5;

/** Runs `act` one after the other until the budget is used up; `restore` runs in between and is not counted. */
export async function measure(
  budgetMs: number,
  act: () => Promise<unknown>,
  restore: () => Promise<unknown> = async () => {},
): Promise<Measured> {
  await warmUp(budgetMs, async () => {
    await act();
    await restore();
  });
  const durations: number[] = [];
  const deadline = performance.now() + budgetMs;
  let spentMs = 0;
  while (performance.now() < deadline || durations.length < LEAST_TIMES) {
    const startedAt = performance.now();
    await act();
    const durationMs = performance.now() - startedAt;
    durations.push(durationMs);
    spentMs += durationMs;
    await restore();
  }
  durations.sort((a, b) => a - b);
  const medianMs = durations[Math.floor(durations.length / 2)] ?? 0;
  return { times: durations.length, medianMs, perSecond: (durations.length / spentMs) * 1000 };
}

/** Several at once, as many clients would: counted by wall-clock time, not by the single times. */
export async function measureTogether(
  budgetMs: number,
  together: number,
  act: () => Promise<unknown>,
): Promise<Measured> {
  await warmUp(budgetMs, act);
  const startedAt = performance.now();
  const deadline = startedAt + budgetMs;
  let times = 0;
  const worker = async () => {
    while (performance.now() < deadline) {
      await act();
      times++;
    }
  };
  await Promise.all(Array.from({ length: together }, worker));
  const elapsedMs = performance.now() - startedAt;
  return { times, medianMs: (elapsedMs / times) * together, perSecond: (times / elapsedMs) * 1000 };
}

async function warmUp(budgetMs: number, act: () => Promise<unknown>): Promise<void> {
  const deadline = performance.now() + budgetMs * WARM_UP_SHARE;
  for (let time = 0; time < LEAST_TIMES || performance.now() < deadline; time++) await act();
}
