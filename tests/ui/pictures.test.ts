/** The pictures of the documentation are what the project draws today. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { drawnPictures } from '../../tools/pictures/drawn.ts';

it('finds every picture of the documentation up to date (npm run pictures)', async () => {
  const drawn = await drawnPictures();
  expect(drawn.size).toBeGreaterThan(0);
  for (const [name, text] of drawn) expect(readFileSync(`docs/pictures/${name}`, 'utf8'), name).toBe(text);
});
