#!/usr/bin/env node
/** Scripts ask for the version often, and before anything else: that does not wait for the whole command line. */
const [, , first, ...rest] = process.argv;
if (rest.length === 0 && (first === '--version' || first === '-V')) {
  process.stdout.write(`${require('../package.json').version}\n`);
} else {
  require('../dist/cli/main.cjs');
}
