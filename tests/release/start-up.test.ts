/** What short commands load: the less, the sooner they start. */
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import type { Metafile } from 'esbuild';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { bundleCommand, ROOT } from '../../tools/bundle/bundle.ts';

let directory: string;
let metafile: Metafile;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'proxwright-start-'));
  metafile = await bundleCommand(join(directory, 'dist', 'cli'));
  for (const name of ['bin', 'package.json']) await cp(join(ROOT, name), join(directory, name), { recursive: true });
  await writeFile(join(directory, 'watch.cjs'), WATCH);
}, 60_000);

afterAll(() => rm(directory, { recursive: true, force: true }));

/** Runs in the watched process, before the command. */
const WATCH = `
  const { writeFileSync } = require('node:fs');
  process.on('exit', () => writeFileSync(process.env.WATCHED, JSON.stringify({
    files: Object.keys(require.cache),
    builtins: process.moduleLoadList.filter((each) => each.startsWith('NativeModule ')).map((each) => each.slice(13)),
  })));
`;

interface Loaded {
  readonly files: readonly string[];
  readonly builtins: readonly string[];
}

async function loadedBy(...args: string[]) {
  const report = join(directory, 'loaded.json');
  const command = ['--require', join(directory, 'watch.cjs'), join(directory, 'bin', 'proxwright.js'), ...args];
  await promisify(execFile)(process.execPath, command, { env: { ...process.env, WATCHED: report } });
  const { files, builtins } = JSON.parse(await readFile(report, 'utf8')) as Loaded;
  const names = new Set(files.map((file) => basename(file)));
  const chunks = Object.entries(metafile.outputs).filter(([output]) => names.has(basename(output)));
  const sources = chunks.flatMap(([, { inputs }]) => Object.keys(inputs));
  const bytes = chunks.reduce((sum, [, chunk]) => sum + chunk.bytes, 0);
  return { builtins, chunks: chunks.length, sources, bytes };
}

/** Each takes a tenth of a bare start, or more. */
const COSTLY = ['child_process', 'crypto', 'http', 'https', 'tls'];

it('loads nothing of the command line for --version', async () => {
  const { builtins, chunks } = await loadedBy('--version');
  expect(chunks).toBe(0);
  expect(builtins).not.toEqual(
    expect.arrayContaining([expect.stringMatching(/^(child_process|crypto|http|tls|zlib)$/)]),
  );
});

it('loads for validate what reads a file, and nothing of states, servers or the simulator', async () => {
  const stack = join(ROOT, 'examples', 'ubuntu', 'stack.yaml');
  const { builtins, chunks, sources, bytes } = await loadedBy('validate', '--file', stack);
  expect(sources).toEqual(expect.arrayContaining([expect.stringContaining('src/spec/load.ts')]));
  expect(
    sources.filter((name) => /src\/(state|engine|simulator|rehearse|convert|ui|pve\/(api|http))\//.test(name)),
  ).toEqual([]);
  expect(builtins.filter((name) => COSTLY.includes(name))).toEqual([]);
  expect(chunks).toBeLessThanOrEqual(16);
  expect(bytes).toBeLessThan(1_000_000);
});

it('every chunk is read byte by byte, so that no message is garbled', async () => {
  const chunks = Object.keys(metafile.outputs).map((output) => join(directory, 'dist', 'cli', basename(output)));
  expect(chunks.length).toBeGreaterThan(10);
  for (const chunk of chunks) {
    const code = await readFile(chunk.replace(/\.js$/, '.cjs'));
    expect(code.toString('latin1'), chunk).toBe(code.toString('utf8'));
  }
});
