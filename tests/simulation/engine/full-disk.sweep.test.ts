/** The disk under the state fills up at any write of a run: nothing is lost, and once there is room the next run resumes. */
import { expect, it } from 'vitest';
import { listRuns } from '../../../src/state/journal.ts';
import { pointsOf } from '../../support/depth.ts';
import { fiveVms, type Operation } from './support/crash-everywhere.ts';
import { FullDisk } from './support/full-disk.ts';
import { beforehand, codesOf, complaintsAfter, complaintsAfterDestroy, failuresOf } from './support/invariants.ts';
import { STRANGERS } from './support/lab-world.ts';
import { differences, pictureOf } from './support/picture.ts';
import { type RunEnd, Scene } from './support/scene.ts';
import { FIVE_VMS, FIVE_VMS_CHANGED } from './support/stacks.ts';

const OTHERS = new Set<number>(STRANGERS);

async function fullEverywhere({ name, from, run, complaints, tasks }: Operation): Promise<string[]> {
  const begin = () => {
    const disk = new FullDisk();
    return { disk, scene: new Scene({ guard: (store) => disk.guarded(store), ...(from && { from }) }) };
  };
  const counts = (scene: Scene) => tasks.map((type) => `${type} ${scene.tasks(type)}`).join('; ');
  const whole = begin();
  const before = beforehand(whole.scene);
  const found = failuresOf(await run(whole.scene));
  const { writes } = whole.disk;
  found.push(...(await complaints(whole.scene, before)));
  const expected = pictureOf(whole.scene.world, OTHERS);
  const points = pointsOf(writes, 1);
  for (const fullAt of points) {
    const { disk, scene } = begin();
    const strangers = beforehand(scene);
    disk.fullAt = fullAt;
    const end = await run(scene);
    const said = codesOf(end);
    const wrong = [
      ...(said.includes('STATE_UNWRITABLE') ? [] : [`it said ${said.length === 0 ? 'nothing' : said}`]),
      ...(disk.refused > 0 ? [] : ['nothing was refused']),
      ...((await hasPlanned(scene)) && !saysHowToContinue(end) ? ['it did not say how to continue'] : []),
    ];
    // Some successors start immediately, some when everything the first run started has ended.
    if (fullAt % 3 === 0) {
      const requests = scene.requests.length;
      await scene.clock.advance(60_000);
      if (scene.requests.length > requests) wrong.push('it sent requests after its end');
    }
    disk.free();
    wrong.push(...(await complaints(scene, strangers)), ...differences(pictureOf(scene.world, OTHERS), expected));
    if (counts(scene) !== counts(whole.scene)) wrong.push(`tasks: ${counts(scene)} instead of ${counts(whole.scene)}`);
    found.push(...wrong.map((each) => `full at write ${fullAt}: ${each}`));
  }
  process.stdout.write(`${name}: the disk was full at ${points.length} of ${writes} writes\n`);
  return found;
}

async function hasPlanned({ store }: Scene): Promise<boolean> {
  const [last] = (await listRuns(store)).slice(-1);
  const text = last === undefined ? undefined : await store.read(`runs/${last}.jsonl`);
  // The last line may be torn.
  return (text ?? '')
    .split('\n')
    .slice(0, -1)
    .some((line) => JSON.parse(line).event === 'planned');
}

/** Either the state could not be saved, which is said of the whole run, or it could, and the resources have the problems. */
function saysHowToContinue(end: RunEnd): boolean {
  return (
    end.kind === 'ended' || (end.kind === 'failed' && end.problem.hint?.text.includes('It resumes from here.') === true)
  );
}

it('loses nothing if the disk is full at any write of an apply', async () => {
  const found = await fullEverywhere({
    name: 'apply',
    from: undefined,
    run: (scene) => scene.apply(FIVE_VMS),
    complaints: (scene, before) => complaintsAfter(scene, FIVE_VMS, before),
    tasks: ['qmclone', 'resize', 'qmconfig', 'qmstart'],
  });
  expect(found.slice(0, 20)).toEqual([]);
});

it('loses nothing if the disk is full at any write of an update', async () => {
  const found = await fullEverywhere({
    name: 'update',
    from: await fiveVms(),
    run: (scene) => scene.apply(FIVE_VMS_CHANGED),
    complaints: (scene, before) => complaintsAfter(scene, FIVE_VMS_CHANGED, before),
    tasks: ['qmclone', 'resize', 'qmconfig', 'qmshutdown', 'qmstart'],
  });
  expect(found.slice(0, 20)).toEqual([]);
});

it('loses nothing if the disk is full at any write of a destroy', async () => {
  const found = await fullEverywhere({
    name: 'destroy',
    from: await fiveVms(),
    run: (scene) => scene.destroy(FIVE_VMS),
    complaints: (scene, before) => complaintsAfterDestroy(scene, FIVE_VMS, before),
    tasks: ['qmstop', 'qmdestroy'],
  });
  expect(found.slice(0, 20)).toEqual([]);
});
