/**
 * Random estates in groups with random limits, changed at random: never more members of a group are unavailable than it allows,
 * and none where the new VM is made first. Kept disks keep their content. PROXWRIGHT_ESTATES says how many to try;
 * `npm run sim-test -- --estates` tries as many in half of the time.
 */
import { describe, expect, it } from 'vitest';
import { byDepth } from '../../support/depth.ts';
import { estateComplaints } from './support/estates.ts';

const ESTATES = Number(process.env.PROXWRIGHT_ESTATES ?? byDepth(2, 8, 1000));
const FIRST = Number(process.env.PROXWRIGHT_FIRST_ESTATE ?? 1);

describe('random estates', () => {
  it('never have more members of a group unavailable than it allows, also when a run is killed', async () => {
    const failures: string[] = [];
    for (let seed = FIRST; seed < FIRST + ESTATES; seed++) {
      failures.push(...(await estateComplaints(seed)));
      if (seed % 10 === 0) process.stdout.write(`estates: ${seed}, complaints: ${failures.length}\n`);
    }
    expect(failures.slice(0, 20)).toEqual([]);
  });
});
