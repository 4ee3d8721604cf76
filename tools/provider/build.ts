/**
 * Bundles the provider into a directory to which `dev_overrides` can point, and prints how.
 *
 *   npm run provider:build [-- --out DIR]
 */
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { toolArguments } from '../arguments.ts';
import { bundleProvider } from './bundle.ts';
import { ADDRESS, packageVersion, programName } from './platforms.ts';

const { values } = toolArguments('npm run provider:build [-- --out DIR]', {
  options: { out: { type: 'string', default: 'build/provider/dev' } },
});
const directory = resolve(values.out);
await mkdir(directory, { recursive: true });
await bundleProvider(join(directory, programName(packageVersion(), '.cjs')));
console.log(`provider_installation {
  dev_overrides {
    "${ADDRESS}" = ${JSON.stringify(directory)}
  }
  direct {}
}`);
