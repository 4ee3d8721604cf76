/** What every mutation run has in common. The areas, and the command that runs them, are in tools/mutation.ts. */
export default {
  testRunner: 'vitest',
  plugins: ['@stryker-mutator/vitest-runner'],
  vitest: { configFile: 'vitest.mutation.config.ts', related: false },
  coverageAnalysis: 'perTest',
  concurrency: 1,
  // A mutant may be slow because the machine is busy: only one that takes far longer than its tests usually do counts as looping.
  timeoutMS: 30_000,
  timeoutFactor: 4,
  tempDirName: 'build/mutation/sandbox',
  ignorePatterns: ['build', 'dist', 'coverage', '.git', 'docs', 'examples'],
  reporters: ['json'],
  logLevel: 'error',
  fileLogLevel: 'off',
  allowEmpty: false,
};
