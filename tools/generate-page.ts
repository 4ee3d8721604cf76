/**
 * Writes the built page of `proxwright ui` into the sources, so that every package of the command contains it.
 *
 *   npm run page
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT } from './bundle/bundle.ts';
import { builtPage } from './page/page.ts';

await writeFile(join(ROOT, 'src', 'ui', 'page.generated.ts'), await builtPage());
