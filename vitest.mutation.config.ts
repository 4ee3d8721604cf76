/** The tests that `npm run mutation` runs against each mutant: only those near the mutated modules, so that one run takes a second. */
import { defineConfig } from 'vitest/config';

const tests = process.env.PROXWRIGHT_MUTATION_TESTS;
if (tests === undefined) throw new Error('Run `npm run mutation`; it names the tests of each area.');

export default defineConfig({
  test: {
    include: JSON.parse(tests),
    // A mutant that loops is stopped by Stryker.
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
});
