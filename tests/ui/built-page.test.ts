/** The committed page is what its sources give today, and small. */
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { PAGE } from '../../src/ui/page.generated.ts';
import { builtPage } from '../../tools/page/page.ts';

it('is up to date (npm run page)', async () => {
  expect(readFileSync('src/ui/page.generated.ts', 'utf8')).toBe(await builtPage());
});

it('takes at most 150 kB compressed', () => {
  expect(gzipSync(PAGE.html + PAGE.script + PAGE.style).length).toBeLessThan(150_000);
});
