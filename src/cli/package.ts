/** Files of this package, found from the code that runs: the sources and the build lie equally deep below its root. */
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

export function packageVersion(): string {
  const { version } = createRequire(import.meta.url)('../../package.json') as { version: string }; // our own file
  return version;
}

/** The directory of an example; it need not exist. */
export function exampleDirectory(name: string): string {
  return fileURLToPath(new URL(`../../examples/${name}/`, import.meta.url));
}
