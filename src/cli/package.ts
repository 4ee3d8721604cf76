/** Files of this package, found from the code that runs: the sources and the build lie equally deep below its root. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { readonly version: string }).version; // our own file
}

/** The directory of an example; it need not exist. */
export function exampleDirectory(name: string): string {
  return fileURLToPath(new URL(`../../examples/${name}/`, import.meta.url));
}
