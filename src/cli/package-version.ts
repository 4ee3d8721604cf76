/** The version of this package, as its manifest says. */
import { createRequire } from 'node:module';

export function packageVersion(): string {
  const { version } = createRequire(import.meta.url)('../../package.json') as { version: string }; // our own file
  return version;
}
