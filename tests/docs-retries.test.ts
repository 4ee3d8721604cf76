/** Every retry policy stands in the table of the architecture page with its attempts, and the table names no other. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { RETRIES } from '../src/base/retry.ts';
import { root } from './docs-pages.ts';

it('lists each retry policy once, with its attempts', async () => {
  const page = await readFile(join(root, 'docs/architecture.md'), 'utf8');
  const [, section = ''] = page.split('## Retries');
  const rows = [...section.matchAll(/^\| `(\w+)` \| [^|]+ \| (\d+|no limit)/gm)].map(([, name, most]) => [name, most]);
  const policies = Object.values(RETRIES).map(({ name, attempts }) => [
    name,
    Number.isFinite(attempts) ? String(attempts) : 'no limit',
  ]);
  expect(rows.toSorted()).toEqual(policies.toSorted());
});
