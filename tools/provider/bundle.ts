/**
 * One file that Node runs as a provider, everything inside. CommonJS, because Node starts it a little sooner than a module.
 * What the entry imports with `import()` is a bundle of its own, kept as text and compiled only when it is asked for:
 * parsing a megabyte of code takes longer than all the rest of a handshake.
 */
import { chmod } from 'node:fs/promises';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { deflateRawSync } from 'node:zlib';
import { type BuildOptions, build, type Plugin } from 'esbuild';

const PROVIDER_ENTRY = fileURLToPath(new URL('../../src/provider/main.ts', import.meta.url));

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
    plugins: [compiledOnDemand],
  });
  await chmod(outfile, 0o755);
}

/** As short as can be: even a text that is not compiled has to be read before the first line runs. */
function packed(text: string): string {
  return deflateRawSync(text, { level: 9 }).toString('base64');
}

const compiledOnDemand: Plugin = {
  name: 'compiled-on-demand',
  setup(outer) {
    outer.onResolve({ filter: /^\./ }, async ({ kind, path, resolveDir }) => {
      if (kind !== 'dynamic-import') return undefined;
      const resolved = await outer.resolve(path, { kind: 'import-statement', resolveDir });
      return { path: resolved.path, namespace: 'compiled-on-demand', errors: resolved.errors };
    });
    outer.onLoad({ filter: /.*/, namespace: 'compiled-on-demand' }, async ({ path }) => {
      const { outputFiles } = await build({ ...COMMON, entryPoints: [path], write: false });
      const filename = basename(path).replace(/\.ts$/, '.cjs');
      const contents = `
        const { compileFunction } = require('node:vm');
        const { inflateRawSync } = require('node:zlib');
        const text = inflateRawSync(Buffer.from('${packed(outputFiles[0]?.text ?? '')}', 'base64')).toString();
        compileFunction(text, ['require', 'module', 'exports'], { filename: ${JSON.stringify(filename)} })(
          require, module, exports,
        );
      `;
      return { contents, loader: 'js' };
    });
  },
};
