/** `npm run acceptance`: what client and engine promise, against a live server or, without one, against the simulator over TLS. */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['tests/acceptance/**/*.test.ts'],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // One VM at a time: a live server belongs to somebody.
    fileParallelism: false,
  },
});
