/**
 * One file that Node runs as a provider, everything inside. CommonJS, because Node starts it a little sooner than a module.
 * The bulk of it is in parts, kept as text and compiled only when they are asked for: parsing a megabyte of code takes longer
 * than all the rest of a handshake. Inside a part, what is imported with `import()` runs only when it is asked for.
 */
import { createHash } from 'node:crypto';
import { chmod } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { deflateRawSync } from 'node:zlib';
import { type BuildOptions, build, type Plugin, transform } from 'esbuild';
import type { Part } from '../../src/provider/host/parts.ts';
import { builtinsWhenUsed, inAscii, onlyUsedZod, ROOT, uncompiledZod } from '../bundle/bundle.ts';
import { schemaAnswer } from './known-schema.ts';

const sourceFile = (name: string) => fileURLToPath(new URL(`../../src/provider/${name}`, import.meta.url));
const PROVIDER_ENTRY = sourceFile('main.ts');
const PART_LOADER = sourceFile('host/parts.ts');
/** Every other `import()` leads into the part that it is in: what it names runs when it is first asked for. */
const PARTS = /[\\/](after-handshake|whole-provider)\.ts$/;

const COMMON = {
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'cjs',
  // Not the names: a stack trace is read by them.
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: 'none',
  logLevel: 'warning',
  // Compiled text has no loader of modules; built-in ones are reached with require.
  supported: { 'dynamic-import': false },
} as const satisfies BuildOptions;

/** `outfile` should end in `.cjs`: without it Node goes by the nearest package.json. */
export async function bundleProvider(outfile: string, entry: string = PROVIDER_ENTRY): Promise<void> {
  await build({
    ...COMMON,
    entryPoints: [entry],
    outfile,
    banner: { js: '#!/usr/bin/env node' },
    plugins: [compiledOnDemand()],
  });
  await chmod(outfile, 0o755);
}

/** As short as can be: even a text that is not compiled has to be read before the first line runs. */
function packed(bytes: string | Uint8Array): string {
  return deflateRawSync(bytes, { level: 9 }).toString('base64');
}

/**
 * In the outer bundle, an `import()` becomes the first of the parts; a part asks for a further one by its name, through the function
 * that it is given. So all of them lie side by side in the outer bundle, and none is unpacked with another.
 */
function compiledOnDemand(parts?: Map<string, Part>): Plugin {
  return {
    name: 'compiled-on-demand',
    setup(outer) {
      outer.onResolve({ filter: /^\./ }, async ({ kind, path, resolveDir }) => {
        if (kind !== 'dynamic-import') return undefined;
        const resolved = await outer.resolve(path, { kind: 'import-statement', resolveDir });
        if (!PARTS.test(resolved.path)) return undefined;
        // The bundle names the file. Its place on this machine would give other bytes elsewhere.
        const file = relative(ROOT, resolved.path).replaceAll('\\', '/');
        return { path: file, namespace: 'compiled-on-demand', errors: resolved.errors };
      });
      outer.onLoad({ filter: /.*/, namespace: 'compiled-on-demand' }, async ({ path }) => {
        const filename = basename(path).replace(/\.ts$/, '.cjs');
        const all = parts ?? new Map<string, Part>();
        const plugins = [compiledOnDemand(all), schemaInside, onlyUsedZod, uncompiledZod];
        const readable = { minifyWhitespace: false, minifySyntax: false };
        const entryPoints = [join(ROOT, path)];
        const { outputFiles } = await build({ ...COMMON, ...readable, entryPoints, write: false, plugins });
        const code = inAscii(await shortened(builtinsWhenUsed(outputFiles[0]?.text ?? '')));
        const text = `(function (require, module, exports, loadPart) {${code}\n})`;
        const hash = createHash('sha256').update(text).digest('hex').slice(0, 32);
        all.set(filename, { filename, hash, packed: packed(text) });
        const name = JSON.stringify(filename);
        if (parts) return { contents: `module.exports = loadPart(${name});`, loader: 'js' };
        const contents = `
          const { partLoader } = require(${JSON.stringify(PART_LOADER)});
          module.exports = partLoader(${JSON.stringify(Object.fromEntries([...all].sort()))}, require)(${name});
        `;
        return { contents, loader: 'js', resolveDir: fileURLToPath(new URL('.', import.meta.url)) };
      });
    },
  };
}

async function shortened(code: string): Promise<string> {
  const { target, platform, minifyWhitespace, minifySyntax, legalComments } = COMMON;
  return (await transform(code, { target, platform, minifyWhitespace, minifySyntax, legalComments })).code;
}

const schemaInside: Plugin = {
  name: 'schema-inside',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]src[\\/]provider[\\/]known-schema\.ts$/ }, async () => ({
      contents: `
        import { inflateRawSync } from 'node:zlib';
        export const knownSchema = () => inflateRawSync(Buffer.from('${packed(await schemaAnswer())}', 'base64'));
      `,
    }));
  },
};
