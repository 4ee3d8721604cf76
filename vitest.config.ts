/**
 * Two parts of one suite. `fast` is what `npm test` runs: every test but the deep ones, and a sample of each sweep. `deep` is
 * what `npm run test:deep` runs: the deep tests and the sweeps at length. The name of a file says where it belongs.
 */
import { availableParallelism } from 'node:os';
import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const SWEEPS = 'tests/**/*.sweep.test.ts';
const DEEP = 'tests/**/*.deep.test.ts';

/** Only for a test that hangs: a busy machine may take many times as long as an idle one. */
const HANG_MS = process.env.PROXWRIGHT_KILL_POINTS === 'all' ? 4 * 3_600_000 : 1_200_000;

/**
 * Test files share the modules of their worker: loading them again for each file, and running them cold, took half of the time.
 * It holds because modules keep no state of their own; what a test changes outside them (console, environment) it puts back.
 */
const common = {
  isolate: false,
  testTimeout: HANG_MS,
  hookTimeout: HANG_MS,
  teardownTimeout: HANG_MS,
};

/** The kinds of files that take longest, by their names. */
const LONG = [/\.(sweep|e2e|deep|contract|prop)\.test\.ts$/, /\.sim\.test\.ts$/];

/** A long file that begins last keeps one worker busy while the others have nothing left to do. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const place = LONG.findIndex((name) => name.test(moduleId));
      return place < 0 ? LONG.length : place;
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    // Many tests wait (for hosts, servers, killed processes) and leave a core idle meanwhile: more workers than cores.
    maxWorkers: Math.ceil(availableParallelism() * 1.5),
    projects: [
      {
        test: {
          ...common,
          name: 'fast',
          include: ['src/**/*.test.ts', 'tests/**/*.test.ts'],
          // The acceptance tests run against a real server where one is configured: npm run acceptance.
          exclude: [...configDefaults.exclude, DEEP, 'tests/acceptance/**'],
          env: { PROXWRIGHT_DEPTH: 'sample' },
        },
      },
      {
        test: {
          ...common,
          name: 'deep',
          include: [DEEP, SWEEPS],
        },
      },
    ],
  },
});
