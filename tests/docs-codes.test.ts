/** Every code that Proxwright can print stands on the troubleshooting page, and the page names no other. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ERROR_CODES } from '../src/base/errors.ts';
import { root } from './docs-pages.ts';

/** Of warnings, which are no errors. */
const OTHERS = ['NOT_CHECKED'];

it('lists each code once in the table of codes', async () => {
  const page = await readFile(join(root, 'docs/guide/troubleshooting.md'), 'utf8');
  const [, table = ''] = page.split('## All codes');
  const firstCells = [...table.matchAll(/^\| ([^|]+) \|/gm)].map(([, cell = '']) => cell);
  const named = firstCells.flatMap((cell) => [...cell.matchAll(/`([A-Z_]+)`/g)].map(([, code = '']) => code));
  expect(named.toSorted()).toEqual([...ERROR_CODES, ...OTHERS].sort());
});
