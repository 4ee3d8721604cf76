/**
 * Interruptions: the rehearsed apply dies at a point, the next one resumes, and the result must be the same as without
 * the kill. A storm adds faults of the cluster, drawn from a seed, and a kill. A failure is named by its point or its
 * seed, which reproduces it.
 */
import { formatDiagnostic } from '../../base/diagnostics.ts';
import { seededRandom } from '../../base/random.ts';
import { isEmpty } from '../../kinds/change.ts';
import { findOwnership } from '../../kinds/vm/ownership.ts';
import { type FaultPlan, seededFaults, type World } from '../../simulator/index.ts';
import { differences, orphans, pictureOfVms } from './picture.ts';
import { Stage, type StageInput, type TrialEnd } from './stage.ts';

export interface TrialFailure {
  /** `point 137 (before POST …/clone)` or `seed 7`. */
  readonly at: string;
  readonly complaints: readonly string[];
  /** Options of `rehearse` that repeat it. */
  readonly again: readonly string[];
}

export interface Interruptions {
  readonly points: number;
  readonly killed: number;
  readonly resumed: number;
  readonly failures: readonly TrialFailure[];
}

export interface Storms {
  readonly seeds: number;
  readonly survived: number;
  /** Faults that struck, in all storms together. */
  readonly strikes: number;
  readonly failures: readonly TrialFailure[];
}

/** The world after an undisturbed run, for comparison. */
interface Calm {
  readonly points: readonly string[];
  readonly picture: readonly string[];
  readonly orphans: ReadonlySet<string>;
}

export interface InterruptOptions {
  /** Only this point, counted from 1. */
  readonly at?: number | undefined;
  /** Receives progress. */
  readonly onProgress?: (done: number, all: number) => void;
}

export async function interruptEverywhere(
  input: StageInput,
  { at, onProgress = () => {} }: InterruptOptions = {},
): Promise<Interruptions> {
  const calm = await calmOf(input);
  const all = calm.points.map((_, index) => index + 1).filter((point) => at === undefined || point === at);
  const failures: TrialFailure[] = [];
  let killed = 0;
  for (const [index, killAt] of all.entries()) {
    const stage = new Stage(input);
    const end = await stage.run({ killAt });
    if (end.kind === 'killed') killed++;
    // Some runs follow immediately, some after everything that the dead one began has ended.
    if (killAt % 3 === 0) await stage.clock.advance(LATER_MS);
    const complaints = await complaintsOf(stage, calm);
    if (complaints.length > 0) {
      const label = calm.points[killAt - 1] ?? '';
      failures.push({ at: `point ${killAt} (${label})`, complaints, again: ['--interrupt', '--at', String(killAt)] });
    }
    onProgress(index + 1, all.length);
  }
  return { points: all.length, killed, resumed: all.length - failures.length, failures };
}

const LATER_MS = 60_000;
/** Longer than any lock or outage that a seed draws. */
const CALM_MS = 600_000;
/** Runs under faults, before the faults stop. */
const RUNS_IN_STORM = 2;

export async function weather(
  input: StageInput,
  seeds: readonly number[],
  onProgress: (done: number, all: number) => void = () => {},
): Promise<Storms> {
  const calm = await calmOf(input);
  const failures: TrialFailure[] = [];
  let strikes = 0;
  for (const [index, seed] of seeds.entries()) {
    const random = seededRandom(`rehearsed storm ${seed}`);
    const faults: FaultPlan = seededFaults(random.fork('faults'));
    const stage = new Stage({ ...input, seed: `${input.seed}/${seed}`, faults });
    const kills = random.fork('kill');
    for (let run = 1; run <= RUNS_IN_STORM; run++) {
      const killAt = kills.next() < 0.5 ? 1 + Math.floor(kills.next() * calm.points.length) : undefined;
      await stage.run(killAt === undefined ? {} : { killAt });
    }
    faults.stop();
    await stage.clock.advance(CALM_MS);
    strikes += faults.strikes.length;
    const complaints = await complaintsOf(stage, undefined);
    if (complaints.length > 0) {
      failures.push({ at: `seed ${seed}`, complaints, again: ['--faults', '1', '--seed', String(seed)] });
    }
    onProgress(index + 1, seeds.length);
  }
  return { seeds: seeds.length, survived: seeds.length - failures.length, strikes, failures };
}

async function calmOf(input: StageInput): Promise<Calm> {
  const stage = new Stage(input);
  await stage.run();
  return {
    points: [...stage.points],
    picture: await ownPicture(stage),
    orphans: new Set(orphans(input.world)),
  };
}

/** Applies again until nothing is left to do, and says what is wrong then. */
async function complaintsOf(stage: Stage, calm: Calm | undefined): Promise<string[]> {
  const resumed = await stage.run();
  const found = failuresOf(resumed).map((each) => `resumed: ${each}`);
  const second = await stage.run();
  found.push(...failuresOf(second).map((each) => `second apply: ${each}`));
  if (second.kind === 'ended' && !isEmpty(second.plan)) {
    found.push(`second plan not empty: ${second.plan.steps.map(({ id }) => id).join(', ')}`);
  }
  if (calm) {
    found.push(...differences(await ownPicture(stage), calm.picture));
    found.push(
      ...orphans(stage.world)
        .filter((volume) => !calm.orphans.has(volume))
        .map((volume) => `left behind: ${volume}`),
    );
  }
  found.push(...(await strayVms(stage)));
  if ((await stage.store.holder()) !== undefined) found.push('the lock of the state is left');
  return found;
}

/** The VMs of the stack, as the state of the copy has them. */
async function ownPicture(stage: Stage): Promise<string[]> {
  const { vms } = await stage.state();
  const ids = new Set(Object.values(vms).map(({ vmid }) => vmid));
  return pictureOfVms(stage.world, vmsWith(stage.world, ids));
}

/** New VMs of the stack, by the line in their notes, and that its state does not know. */
async function strayVms(stage: Stage): Promise<string[]> {
  const { stack, world: before } = stage.input;
  const { vms } = await stage.state();
  const known = new Set([...before.vms.keys(), ...Object.values(vms).map(({ vmid }) => vmid)]);
  return [...stage.world.vms.values()].flatMap(({ vmid, config }) => {
    const owner = findOwnership(config.current.get('description') ?? '');
    const isStray = owner?.stack === stack.name && owner.vmid === vmid && !known.has(vmid);
    return isStray ? [`left behind: VM ${vmid} of ${owner.address}`] : [];
  });
}

function vmsWith(world: World, ids: ReadonlySet<number>) {
  return [...world.vms.values()].filter(({ vmid }) => ids.has(vmid));
}

function failuresOf(end: TrialEnd): string[] {
  switch (end.kind) {
    case 'killed':
      return ['it was killed'];
    case 'refused':
      return end.problems.map(formatDiagnostic);
    case 'failed':
      return [formatDiagnostic(end.problem)];
    case 'ended':
      return [...(end.result?.problems.values() ?? [])].map(formatDiagnostic);
  }
}
