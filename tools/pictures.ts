/**
 * Draws the pictures of the documentation, from runs on the simulator. The same sources give the same pictures.
 *
 *   npm run pictures
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT } from './bundle/bundle.ts';
import { drawnPictures } from './pictures/drawn.ts';

const directory = join(ROOT, 'docs', 'pictures');
await mkdir(directory, { recursive: true });
for (const [name, text] of await drawnPictures()) await writeFile(join(directory, name), text);
