#!/usr/bin/env node
const [, , first, ...rest] = process.argv;
// Scripts ask for the version often, and before anything else: that does not wait for the whole command line.
if (rest.length === 0 && (first === '--version' || first === '-V')) {
  process.stdout.write(`${require('../package.json').version}\n`);
} else {
  require('./compiled.js').keepCompiled(require('node:path').join(__dirname, '..', 'dist', 'cli'));
  require('../dist/cli/main.cjs');
}
