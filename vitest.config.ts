import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'tests/**/*.test.ts'],
    // Runs against a live server where one is named: npm run acceptance.
    exclude: ['tests/acceptance/**', 'node_modules/**', 'dist/**'],
    // The waiting parts of the suite (hosts, packages, killed processes) leave a core idle: one worker for each core.
    maxWorkers: '100%',
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
