/**
 * Kills a run at every point it has: before and after the effect of each request, and before and after each write to the
 * store. The next run takes over: the world must be the same as without the kill, with nothing created twice.
 */
import { pointsOf } from '../../../support/depth.ts';
import { beforehand, failuresOf } from './invariants.ts';
import { STRANGERS } from './lab-world.ts';
import { differences, pictureOf } from './picture.ts';
import { Scene, type SceneOptions, type Snapshot } from './scene.ts';
import { FIVE_VMS } from './stacks.ts';

const OTHERS = new Set<number>(STRANGERS);
/** The guests have booted by then. */
const SETTLED_MS = 120_000;

export interface Operation {
  readonly name: string;
  readonly from: Snapshot | undefined;
  readonly options?: SceneOptions | undefined;
  readonly run: (scene: Scene) => ReturnType<Scene['apply']>;
  /** What is wrong after the operation was carried through. */
  readonly complaints: (scene: Scene, before: ReturnType<typeof beforehand>) => Promise<string[]>;
  /** What must look the same with and without a kill; our VMs of the lab by default. */
  readonly picture?: (scene: Scene) => string[];
  /** Of the points only every n-th, where the depth of the run does not ask for more or fewer. */
  readonly stride?: number;
  /** Tasks that may happen once for each VM, however often the run dies. */
  readonly tasks: readonly string[];
}

export async function crashEverywhere(operation: Operation): Promise<string[]> {
  const begin = () => new Scene({ ...operation.options, ...(operation.from && { from: operation.from }) });
  const whole = begin();
  const calm = beforehand(whole);
  assertCalm(failuresOf(await operation.run(whole)));
  const points = [...whole.points];
  const idle = operation.tasks.filter((type) => whole.tasks(type).length === 0);
  assertCalm(idle.map((type) => `there is no ${type} that could happen twice`));
  assertCalm(await operation.complaints(whole, calm));
  const picture = operation.picture ?? ((scene: Scene) => pictureOf(scene.world, OTHERS));
  const expected = picture(whole);
  const counts = (scene: Scene) => operation.tasks.map((type) => `${type} ${scene.tasks(type)}`);
  const failures: string[] = [];
  let kills = 0;
  for (const killAt of pointsOf(points.length, operation.stride ?? 3)) {
    const scene = begin();
    const before = beforehand(scene);
    scene.killAt = killAt;
    kills++;
    const end = await operation.run(scene);
    // Some successors come at once, some when everything the dead run began has ended.
    if (killAt % 3 === 0) await scene.clock.advance(60_000);
    const complaints = end.kind === 'killed' ? await operation.complaints(scene, before) : ['it was not killed'];
    complaints.push(...differences(picture(scene), expected));
    if (`${counts(scene)}` !== `${counts(whole)}`)
      complaints.push(`tasks: ${counts(scene)} instead of ${counts(whole)}`);
    failures.push(...complaints.map((each) => `point ${killAt} (${points[killAt - 1]}): ${each}`));
  }
  const requests = points.filter((label) => /^before [A-Z]+ \//.test(label)).length;
  const writes = points.length / 2 - requests;
  process.stdout.write(
    `${operation.name}: killed at ${kills} of ${points.length} points, before and after ${requests} requests and ${writes} writes to the store\n`,
  );
  return failures;
}

export async function fiveVms(): Promise<Snapshot> {
  const scene = new Scene();
  assertCalm(failuresOf(await scene.apply(FIVE_VMS)));
  await scene.clock.advance(SETTLED_MS);
  return scene.snapshot();
}

/** Without a kill everything must go well, or the comparison means nothing. */
function assertCalm(failures: readonly string[]): void {
  if (failures.length > 0) throw new Error(failures.join('\n'));
}
