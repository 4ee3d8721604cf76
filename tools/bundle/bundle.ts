/**
 * What goes into `dist/`. The command is CommonJS, which Node starts sooner than modules, in chunks that are loaded when a
 * command needs them. The library is modules. Everything but the optional drivers of shared stores is inside: an installation
 * is a handful of files, and every user gets the dependencies that were tested.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BuildOptions, build, type Metafile, type Plugin, transform } from 'esbuild';
import { lazyGroups } from './lazy-groups.ts';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Optional peer dependencies; looked for only where a shared store is used. */
const DRIVERS = ['pg', 'aws4fetch'];
/** What `pg` looks for and does without. */
const PARTS_OF_DRIVERS = ['pg-native', 'cloudflare:sockets'];

/** The entry points of the library, as `exports` of package.json names them. */
export const LIBRARY = ['index', 'pve/index', 'engine/index', 'simulator/index'] as const;

/**
 * zod has its messages in 64 languages and exports everything as one object `z`, from which a bundler cannot remove anything.
 * Imported as a namespace, only what is used is kept.
 */
export const onlyUsedZod: Plugin = {
  name: 'only-used-zod',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
      contents: "export { default as en } from './en.js';",
    }));
    onLoad({ filter: /[\\/]src[\\/].*\.ts$/ }, async ({ path }) => ({
      contents: (await readFile(path, 'utf8')).replace("import { z } from 'zod';", "import * as z from 'zod';"),
      loader: 'ts',
    }));
  },
};

const COMMON = {
  absWorkingDir: ROOT,
  bundle: true,
  splitting: true,
  // Paths stay below the root, so that the same sources give the same bytes wherever they lie.
  preserveSymlinks: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  // Names and lines stay: a stack trace is read by them, in the file itself.
  minifySyntax: true,
  legalComments: 'none',
  logLevel: 'warning',
  metafile: true,
  write: false,
} as const satisfies BuildOptions;

/**
 * zod compiles a function for every object that it checks. That pays off after thousands of checks, and most commands do not last
 * that long; a stack of 5,000 VMs takes as long either way.
 */
export const uncompiledZod: Plugin = {
  name: 'uncompiled-zod',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]zod[\\/]v4[\\/]core[\\/]core\.js$/ }, async ({ path }) => ({
      contents: `${await readFile(path, 'utf8')}\nconfig({ jitless: true });`,
    }));
  },
};

/** Where nothing can be installed beside the command, the drivers are inside too. */
export async function bundleCommand(directory: string, hasDrivers = false): Promise<Metafile> {
  const { outputFiles, metafile } = await build({
    ...COMMON,
    entryPoints: { command: 'src/cli/main.ts' },
    outdir: directory,
    outExtension: { '.js': '.cjs' },
    // What V8 made of a file is kept under its name; see bin/compiled.js.
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    external: hasDrivers ? PARTS_OF_DRIVERS : DRIVERS,
    define: { 'import.meta.url': OWN_ADDRESS },
    plugins: [onlyUsedZod, uncompiledZod, idleCommander, await lazyGroups()],
  });
  await mkdir(directory, { recursive: true });
  for (const { path, text } of outputFiles) await writeFile(path, await commonJs(text));
  const entry = outputFiles.find(({ path }) => basename(path).startsWith('command-'));
  await writeFile(join(directory, 'main.cjs'), `require('./${basename(entry?.path ?? '')}');\n`);
  return metafile;
}

const OWN_ADDRESS = 'ownAddress';

/** The bundler splits modules only, so each chunk is turned into CommonJS afterwards. */
async function commonJs(text: string): Promise<string> {
  const { code } = await transform(text, {
    format: 'cjs',
    platform: 'node',
    target: 'node20',
    supported: { 'dynamic-import': false },
    legalComments: 'none',
  });
  const lazy = inAscii(builtinsWhenUsed(code));
  if (!lazy.includes(OWN_ADDRESS)) return lazy;
  return `const ${OWN_ADDRESS} = require('node:url').pathToFileURL(__filename).href;\n${lazy}`;
}

/**
 * V8 keeps a text with a single character outside ASCII in twice the memory and reads it in twice the time. The bundler leaves such
 * characters in tagged templates and in comments; nothing looks at how a template was spelled (`raw`).
 */
export function inAscii(code: string): string {
  return code.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Every Node has loaded these before it runs anything. */
const ALWAYS_LOADED = new Set(['buffer', 'events', 'fs', 'module', 'path', 'process', 'timers', 'url', 'util', 'vm']);

/**
 * Node loads its other modules when they are asked for, and some of them (crypto, child_process) take as long as a tenth of a bare
 * start. So each is asked for when it is first used, and not at the top of a chunk. The names are those that the bundler makes up.
 */
export function builtinsWhenUsed(code: string): string {
  // In a module that runs late, the bundler declares the name with others and sets it inside.
  return [...code.matchAll(/^(?:var | +)(import_node_\w+) = require\("node:([\w/]+)"\);$/gm)].reduce(
    (text, [line, name = '', module = '']) => {
      const withoutLine = text.replace(line, '');
      const withoutNames = withoutLine.replace(/^var (?:\w+, )*\w+;$/gm, '');
      const isOnlyMember = !new RegExp(`\\b${name}\\b(?!\\.)`).test(withoutNames);
      if (ALWAYS_LOADED.has(module) || !isOnlyMember) return text;
      const loaded = `var ${name}_loaded; function ${name}() { return ${name}_loaded ??= require("node:${module}"); }`;
      return `${withoutLine.replace(new RegExp(`\\b${name}\\.`, 'g'), `(${name}()).`)}\n${loaded}`;
    },
    code,
  );
}

/** Commander starts programs for subcommands that are files of their own. We have none. */
const idleCommander: Plugin = {
  name: 'idle-commander',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]commander[\\/]lib[\\/]command\.js$/ }, async ({ path }) => ({
      contents: (await readFile(path, 'utf8'))
        .replace("const childProcess = require('node:child_process');", '')
        .replaceAll('childProcess.', "require('node:child_process')."),
    }));
  },
};

/** The command as one text, with everything inside. `plugin` provides what would be files of the package. */
export async function bundleSingle(plugin: Plugin): Promise<string> {
  const { outputFiles } = await build({
    ...COMMON,
    splitting: false,
    format: 'cjs',
    entryPoints: ['src/cli/main.ts'],
    external: PARTS_OF_DRIVERS,
    supported: { 'dynamic-import': false },
    plugins: [plugin, onlyUsedZod, uncompiledZod],
  });
  return outputFiles[0]?.text ?? '';
}

export async function bundleLibrary(directory: string): Promise<Metafile> {
  const { outputFiles, metafile } = await build({
    ...COMMON,
    entryPoints: Object.fromEntries(LIBRARY.map((name) => [name, `src/${name}.ts`])),
    outdir: directory,
    chunkNames: 'chunks/[name]-[hash]',
    external: DRIVERS,
    plugins: [onlyUsedZod],
    // Bundled CommonJS asks for Node's modules by `require`.
    banner: { js: "import { createRequire } from 'node:module';\nconst require = createRequire(import.meta.url);" },
  });
  for (const { path, contents } of outputFiles) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, contents);
  }
  return metafile;
}

/** It was bundled before; its text does not say what is in it. */
const BUILT_PAGE = 'src/ui/page.generated.ts';

/** The folder (`node_modules/zod`) of every package that has code in a bundle. */
export function bundledPackages(metafiles: readonly Metafile[]): string[] {
  const found = new Set<string>();
  for (const { outputs } of metafiles) {
    const isWithPage = Object.values(outputs).some(({ inputs }) => Object.hasOwn(inputs, BUILT_PAGE));
    if (isWithPage) found.add('node_modules/preact');
    for (const { inputs } of Object.values(outputs)) {
      for (const [path, { bytesInOutput }] of Object.entries(inputs)) {
        const [folder] = /^.*node_modules\/(@[^/]+\/)?[^/]+/.exec(path) ?? [];
        if (folder !== undefined && bytesInOutput > 0) found.add(folder);
      }
    }
  }
  return [...found].sort();
}
