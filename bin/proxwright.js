#!/usr/bin/env node
/** Scripts ask for the version often, and before anything else: that does not wait for the whole command line. */
import { readFileSync } from 'node:fs';

const [, , first, ...rest] = process.argv;
if (rest.length === 0 && (first === '--version' || first === '-V')) {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  process.stdout.write(`${version}\n`);
} else {
  await import('../dist/cli/main.js');
}
