/**
 * Storms from as many seeds as you like: `npm run sim-test -- --seeds 10000`, from a given seed with `--from`. A seed that
 * fails is reduced to the fewest faults that make it fail. One seed again, with its log: `npm run sim-test -- --seed 8241`,
 * with some of its faults only: `--troubles 'lock*1,kill@2'`.
 *
 * With `--estates`: random estates instead, whose groups are changed member by member.
 */
import { estateComplaints } from '../tests/simulation/engine/support/estates.ts';
import { complaintsOf, replayCommand, shortestFailure, storm } from '../tests/simulation/engine/support/storm.ts';
import { chosenTroubles, troublesOf } from '../tests/simulation/engine/support/troubles.ts';
import { toolArguments } from './arguments.ts';

const USAGE = 'npm run sim-test -- [--estates] [--seeds COUNT] [--from SEED] [--seed SEED [--troubles NAMES]]';

const { values } = toolArguments(USAGE, {
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    troubles: { type: 'string' },
    estates: { type: 'boolean', default: false },
  },
});

if (values.estates)
  await estates(Number(values.seed ?? values.from), Number(values.seed === undefined ? values.seeds : 1));
else if (values.seed === undefined) await manySeeds(Number(values.from), Number(values.seeds));
else await oneSeed(Number(values.seed), values.troubles);

async function oneSeed(seed: number, names: string | undefined): Promise<void> {
  const troubles = names === undefined ? troublesOf(seed) : chosenTroubles(seed, names);
  const { complaints, strikes, scene } = await storm(seed, {}, troubles);
  for (const line of scene.logs) console.log(line);
  for (const { kind, what } of strikes) console.log(`fault ${kind}: ${what}`);
  for (const complaint of complaints) console.error(`seed ${seed}: ${complaint}`);
  console.log(`seed ${seed}: ${strikes.length} faults, ${complaints.length} complaints`);
  process.exitCode = complaints.length > 0 ? 1 : 0;
}

async function manySeeds(first: number, count: number): Promise<void> {
  let failed = 0;
  for (let seed = first; seed < first + count; seed++) {
    const complaints = await complaintsOf(seed);
    if (complaints.length > 0) {
      failed++;
      for (const complaint of complaints) console.error(`seed ${seed}: ${complaint}`);
      console.error(`  again: ${replayCommand(seed)}\n  ${await shortestFailure(seed)}`);
    }
    if ((seed - first + 1) % 100 === 0) console.log(`${seed - first + 1} seeds, ${failed} failed`);
  }
  console.log(`${count} seeds, ${failed} failed`);
  process.exitCode = failed > 0 ? 1 : 0;
}

async function estates(first: number, count: number): Promise<void> {
  let failed = 0;
  for (let seed = first; seed < first + count; seed++) {
    const complaints = await estateComplaints(seed);
    if (complaints.length > 0) {
      failed++;
      for (const complaint of complaints) console.error(complaint);
      console.error(`  again: npm run sim-test -- --estates --seed ${seed}`);
    }
    if ((seed - first + 1) % 10 === 0) console.log(`${seed - first + 1} estates, ${failed} failed`);
  }
  console.log(`${count} estates, ${failed} failed`);
  process.exitCode = failed > 0 ? 1 : 0;
}
