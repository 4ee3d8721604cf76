/**
 * Packs the provider for others to install.
 *
 *   npm run provider:pack [-- --out DIR] [-- --forms script,executable] [-- --platforms linux_amd64,…] [-- --unpacked]
 *
 * Each form gets a directory of its own with `mirror/` (for a filesystem or network mirror) and `release/` (for a
 * registry). The same source, options and version of Node make the same bytes.
 */
import { join } from 'node:path';
import { refuseArguments, toolArguments } from '../arguments.ts';
import { packProvider } from './pack-provider.ts';
import { bundledScript, FORMS } from './packages.ts';
import { isPlatform, PLATFORMS } from './platforms.ts';

const USAGE = `npm run provider:pack -- [--out DIR] [--forms LIST] [--platforms LIST] [--unpacked]

  --out DIR         where the packages go (default: build/provider)
  --forms LIST      ${FORMS.join(',')} (default: all)
  --platforms LIST  ${PLATFORMS.join(',')} (default: all)
  --unpacked        also write the packages unpacked`;

const { values } = toolArguments(USAGE, {
  options: {
    out: { type: 'string', default: 'build/provider' },
    forms: { type: 'string', default: FORMS.join() },
    platforms: { type: 'string', default: PLATFORMS.join() },
    unpacked: { type: 'boolean', default: false },
  },
});

const platforms = values.platforms.split(',').map((name) => {
  return isPlatform(name) ? name : refuseArguments(`"${name}" is not a platform.`, USAGE);
});
const forms = values.forms.split(',');
const unknown = forms.filter((name) => !FORMS.some((form) => form === name));
if (unknown.length > 0) refuseArguments(`"${unknown.join()}" is not a form.`, USAGE);

const script = await bundledScript();
for (const form of FORMS.filter((name) => forms.includes(name))) {
  const directory = join(values.out, form);
  const archives = await packProvider({ form, platforms, directory, script, isUnpackedToo: values.unpacked });
  console.log(`${form}: ${directory}`);
  for (const { name, sizeBytes, hash } of archives) {
    console.log(`  ${name}  ${(sizeBytes / 1024 ** 2).toFixed(1)} MiB  ${hash}`);
  }
}
