/**
 * A VM is cloned from a template of every shape, and the run is killed at its points. The next apply finishes the VM, the
 * plan after that is empty, and a destroy leaves nothing: nothing that a clone inherits is a dead end.
 */
import { expect, it } from 'vitest';
import { byDepth, IS_SAMPLE, pointsOf } from '../../support/depth.ts';
import { beforehand, complaintsAfter, complaintsAfterDestroy, failuresOf } from '../engine/support/invariants.ts';
import { differences, pictureOf } from '../engine/support/picture.ts';
import { Scene } from '../engine/support/scene.ts';
import { nameOf, SHAPES, type Shape, shapesWorld, stackOf } from './support/shapes.ts';

/** As in examples/from-bare-host: custom user-data takes the place of the template's cloud-init drive. */
const DISPLACED: Shape = { has: new Set(['drive', 'agent']), states: new Set(), cloudInit: 'user data' };

/** Far apart in the list, so that a few of them have little in common. */
const SOME = byDepth(5, 40, SHAPES.length);
const FAR_APART = Array.from({ length: SOME }, (_, index) => SHAPES[(index * 347) % SHAPES.length] as Shape); // within the list

/** Every point takes two further runs; each shape is killed at others. */
const STRIDE = 29;

const begin = () => new Scene({ world: shapesWorld });

async function killed(shape: Shape, shift: number): Promise<string[]> {
  const stack = stackOf(shape);
  const whole = begin();
  const calm = beforehand(whole);
  const failures = [...failuresOf(await whole.apply(stack))];
  const points = [...whole.points];
  failures.push(...(await complaintsAfter(whole, stack, calm)));
  const expected = pictureOf(whole.world, calm.strangers);
  failures.push(...(await complaintsAfterDestroy(whole, stack, calm)));
  for (const killAt of IS_SAMPLE ? somePoints(points) : pointsOf(points.length, STRIDE, shift * 7)) {
    const scene = begin();
    const before = beforehand(scene);
    scene.killAt = killAt;
    await scene.apply(stack);
    const complaints = await complaintsAfter(scene, stack, before);
    complaints.push(...differences(pictureOf(scene.world, before.strangers), expected));
    if (killAt % 3 === 0) complaints.push(...(await complaintsAfterDestroy(scene, stack, before)));
    failures.push(...complaints.map((each) => `killed at ${killAt} (${points[killAt - 1]}): ${each}`));
  }
  return failures.map((each) => `${nameOf(shape)}: ${each}`);
}

/** Where a VM stands that is cloned and not configured, and where it is half configured. */
function somePoints(points: readonly string[]): number[] {
  const first = (pattern: RegExp) => points.findIndex((point) => pattern.test(point)) + 1;
  return [first(/^after POST .*\/clone$/), first(/^after (?:PUT|POST) .*\/config$/)].filter((at) => at > 0);
}

it('finishes a VM whose creation was interrupted, whatever drives its template has and however cloud-init gets its data', async () => {
  const failures: string[] = [];
  for (const [index, shape] of [DISPLACED, ...FAR_APART].entries()) failures.push(...(await killed(shape, index)));
  expect(failures.slice(0, 20)).toEqual([]);
});
