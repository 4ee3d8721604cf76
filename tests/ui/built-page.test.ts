/** The committed page is what its sources give today, and small. */
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { PAGE, SIMULATED_PAGE } from '../../src/ui/page.generated.ts';
import { builtPage } from '../../tools/page/page.ts';

it('is up to date (npm run page)', async () => {
  expect(readFileSync('src/ui/page.generated.ts', 'utf8')).toBe(await builtPage());
});

it.each([
  ['stacks', PAGE],
  ['the simulator', SIMULATED_PAGE],
])('takes at most 150 kB compressed for %s', (_, { html, script, style }) => {
  expect(script.length).toBeGreaterThan(0);
  expect(gzipSync(html + script + style).length).toBeLessThan(150_000);
});
