/**
 * Draws the pictures of the documentation, from runs on the simulator. The same sources give the same drawings. The picture of
 * the page is a photograph: its pixels also depend on the Chromium and the fonts of this machine.
 *
 *   npm run pictures
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT } from './bundle/bundle.ts';
import { NO_CHROMIUM } from './pictures/chromium.ts';
import { drawnPictures } from './pictures/drawn.ts';
import { pagePicture } from './pictures/page-picture.ts';

const directory = join(ROOT, 'docs', 'pictures');
await mkdir(directory, { recursive: true });
for (const [name, text] of await drawnPictures()) await writeFile(join(directory, name), text);
if (NO_CHROMIUM === undefined) await writeFile(join(directory, 'page.png'), await pagePicture());
else process.stderr.write(`page.png stays as it is: ${NO_CHROMIUM}.\n`);
