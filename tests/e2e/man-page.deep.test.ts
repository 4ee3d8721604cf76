/** The manual page as the program that shows it reads it. Whether it is fresh is tested with the other generated pages. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { COMMANDS } from '../../src/cli/command-list/command-list.ts';

const PAGE = join(fileURLToPath(new URL('../..', import.meta.url)), 'man', 'proxwright.1');
const hasGroff = spawnSync('groff', ['--version']).status === 0;
if (!hasGroff) process.stdout.write('the manual page is not tested: groff is not installed\n');

it.runIf(hasGroff)('renders the manual page without warnings, with every command in it', () => {
  const { stdout, stderr } = spawnSync('groff', ['-man', '-Tutf8', '-ww', '-P-cbou', PAGE], { encoding: 'utf8' });
  expect(stderr).toBe('');
  for (const { name, isHidden } of COMMANDS) {
    if (isHidden) expect(stdout).not.toContain(`proxwright ${name} `);
    else expect(stdout).toContain(`proxwright ${name}`);
  }
  expect(stdout).toContain('--lock-timeout <time>');
});
