/**
 * Storms for as long as one likes: `npm run sim-test -- --seeds 10000`, from a seed of one's own with `--from`. One seed
 * again, with its log: `npm run sim-test -- --seed 8241`.
 */
import { parseArgs } from 'node:util';
import { replayCommand, storm } from '../tests/simulation/engine/support/storm.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
  },
});

if (values.seed === undefined) await manySeeds(Number(values.from), Number(values.seeds));
else await oneSeed(Number(values.seed));

async function oneSeed(seed: number): Promise<void> {
  const { complaints, strikes, scene } = await storm(seed);
  for (const line of scene.logs) console.log(line);
  for (const { kind, what } of strikes) console.log(`fault ${kind}: ${what}`);
  for (const complaint of complaints) console.error(`seed ${seed}: ${complaint}`);
  console.log(`seed ${seed}: ${strikes.length} faults, ${complaints.length} complaints`);
  process.exitCode = complaints.length > 0 ? 1 : 0;
}

async function manySeeds(first: number, count: number): Promise<void> {
  let [faults, failed] = [0, 0];
  for (let seed = first; seed < first + count; seed++) {
    const complaints = await storm(seed).then(
      (end) => {
        faults += end.strikes.length;
        return end.complaints;
      },
      (error: unknown) => [error instanceof Error ? (error.stack ?? error.message) : String(error)],
    );
    if (complaints.length > 0) {
      failed++;
      for (const complaint of complaints) console.error(`seed ${seed}: ${complaint}`);
      console.error(`  again: ${replayCommand(seed)}`);
    }
    if ((seed - first + 1) % 100 === 0) console.log(`${seed - first + 1} seeds, ${faults} faults, ${failed} failed`);
  }
  console.log(`${count} seeds, ${faults} faults, ${failed} failed`);
  process.exitCode = failed > 0 ? 1 : 0;
}
