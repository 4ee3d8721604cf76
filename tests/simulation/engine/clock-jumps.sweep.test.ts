/** The clock of this machine is set hours forward or back while a run is under way. No wait may change because of it. */
import { expect, it } from 'vitest';
import { pointsOf } from '../../support/depth.ts';
import { fiveVms } from './support/crash-everywhere.ts';
import { failuresOf } from './support/invariants.ts';
import { STRANGERS } from './support/lab-world.ts';
import { differences, pictureOf } from './support/picture.ts';
import { Scene, type Snapshot } from './support/scene.ts';
import { FIVE_VMS, FIVE_VMS_CHANGED } from './support/stacks.ts';

const HOUR_MS = 3_600_000;
const JUMPS_MS = [2 * HOUR_MS, -2 * HOUR_MS, 400 * 24 * HOUR_MS];

type Work = (scene: Scene) => ReturnType<Scene['apply']>;
const OPERATIONS: readonly (readonly [string, Work, boolean])[] = [
  ['an apply', (scene) => scene.apply(FIVE_VMS), false],
  ['an update', (scene) => scene.apply(FIVE_VMS_CHANGED), true],
  ['a destroy', (scene) => scene.destroy(FIVE_VMS), true],
];

it.each(OPERATIONS)('does not depend on the system clock: %s', async (_name, work, needsVms) => {
  const from: Snapshot | undefined = needsVms ? await fiveVms() : undefined;
  const begin = () => new Scene(from ? { from } : {});
  const calm = begin();
  expect(failuresOf(await work(calm))).toEqual([]);
  const others = new Set<number>(STRANGERS);
  const took = (scene: Scene) => scene.clock.now() - (from?.now ?? new Scene().clock.now());
  const found: string[] = [];
  for (const [index, point] of pointsOf(calm.requests.length, 9).entries()) {
    const scene = begin();
    const jumpMs = JUMPS_MS[index % JUMPS_MS.length] ?? 0;
    let requests = 0;
    scene.onRequest = () => {
      if (++requests === point) scene.ownClock.jump(jumpMs);
    };
    const failures = failuresOf(await work(scene));
    failures.push(...differences(pictureOf(scene.world, others), pictureOf(calm.world, others)));
    if (took(scene) !== took(calm)) failures.push(`it took ${took(scene)} ms instead of ${took(calm)} ms`);
    found.push(...failures.map((each) => `${jumpMs} ms at request ${point}: ${each}`));
  }
  expect(found.slice(0, 20)).toEqual([]);
});

it('keeps one time in a run: the journal says how long steps took, not how far the clock was set', async () => {
  const scene = new Scene();
  scene.onRequest = (line) => {
    if (/POST .*\/clone$/.test(line)) scene.ownClock.jump(HOUR_MS);
  };
  expect(failuresOf(await scene.apply(FIVE_VMS))).toEqual([]);
  const times = scene.events.map(({ at }) => new Date(at).getTime());
  expect(Math.max(...times) - Math.min(...times)).toBeLessThan(HOUR_MS);
});
