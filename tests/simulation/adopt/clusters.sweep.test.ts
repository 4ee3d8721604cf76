/**
 * Random clusters of 1 to 300 VMs become a stack: made by random stack files, and by hand. No request changes anything, the plan is
 * empty, a second run has nothing to do. A file comes back with about as many lines as it had: at most 1.3 times as many.
 */
import { describe, expect, it } from 'vitest';
import { isEmpty } from '../../../src/kinds/change.ts';
import type { Adoption } from '../../../src/kinds/vm/adopt/adopt.ts';
import type { LeftGuest } from '../../../src/kinds/vm/adopt/survey.ts';
import { byDepth } from '../../support/depth.ts';
import { StackScene, stackOf } from '../support/stack-scene.ts';
import { makeClutter } from './support/by-hand.ts';
import { Newcomer } from './support/newcomer.ts';
import { linesOf, randomStack } from './support/random-stack.ts';

/** Many small ones, some with hundreds. */
const SIZES = [1, 2, 5, 12, 3, 30, 8, 60, 20, 100, 4, 300];
const SHARE = 1.3;
const CLUTTER = 20_000;
/** Lists and HA are read once, a template and a VM each. */
const [REQUESTS_AT_ALL, REQUESTS_EACH] = [12, 2];

function cases(first: number): (readonly [seed: number, size: number])[] {
  const count = byDepth(4, SIZES.length, SIZES.length * 4);
  return Array.from({ length: count }, (_, index) => [first + index, SIZES[index % SIZES.length] ?? 1]);
}

interface Adopted {
  readonly newcomer: Newcomer;
  readonly left: readonly LeftGuest[];
  readonly found: string[];
}

async function adopted(lab: StackScene, ids: readonly [number, number]): Promise<Adopted> {
  const newcomer = new Newcomer(lab);
  lab.requests.length = 0;
  const adoption = (await newcomer.adopt({ ids: [ids] })) as Adoption;
  const requests = [...lab.requests];
  const { places, unfit, survey } = adoption;
  const agents = requests.filter((line) => line.includes('/agent/')).length;
  const most = REQUESTS_AT_ALL + REQUESTS_EACH * (places.length + survey.left.length) + agents;
  const plan = await lab.plan(newcomer.stack);
  const again = await newcomer.adopt({ ids: [ids] });
  return {
    newcomer,
    left: survey.left,
    found: [
      ...requests.filter((line) => !line.startsWith('GET ')),
      ...(requests.length > most ? [`${requests.length} requests for ${places.length} VMs`] : []),
      ...[...unfit].map(([address, paths]) => `${address}: ${paths}`),
      ...(isEmpty(plan)
        ? []
        : plan.changes.flatMap((each) => each.differences.map(({ path }) => `${each.address} ${path}`))),
      ...(isEmpty(plan) ? [] : ['the plan is not empty']),
      ...('places' in again ? [`a second run adopts ${again.places.length} more`] : []),
    ],
  };
}

describe('a random cluster', () => {
  it('becomes nearly the stack file that created it, and has an empty plan', async () => {
    const failures: string[] = [];
    for (const [seed, size] of cases(1)) {
      const lab = new StackScene();
      await lab.run(async () => {
        const { text, count } = randomStack(seed, size);
        await lab.apply(stackOf(text));
        const { newcomer, found } = await adopted(lab, [1_000, 9_000 - 1]);
        const [before, after] = [linesOf(text), linesOf(newcomer.text ?? '')];
        const isLong = after > before * SHARE;
        const isWhole = newcomer.stack.vms.length === count;
        if (found.length > 0 || isLong || !isWhole) {
          failures.push(
            `seed ${seed}, ${size} VMs: ${before} lines became ${after}; ${found.join('; ')}\n${newcomer.text}`,
          );
        }
      });
    }
    expect(failures).toEqual([]);
  });

  it('has an empty plan if people created it by hand, and leaves no VM out without a reason', async () => {
    const failures: string[] = [];
    for (const [seed, size] of cases(101)) {
      const lab = new StackScene();
      await lab.run(async () => {
        await makeClutter(lab, seed, size, CLUTTER);
        const { newcomer, found, left } = await adopted(lab, [CLUTTER, CLUTTER + size]);
        const isWhole = newcomer.stack.vms.length + left.length === size;
        if (found.length > 0 || !isWhole || newcomer.text?.includes('Secret-of-the-guest')) {
          failures.push(
            `seed ${seed}, ${size} VMs: ${found.join('; ')} ${newcomer.stack.vms.length}\n${newcomer.text}`,
          );
        }
      });
    }
    expect(failures).toEqual([]);
  });
});
