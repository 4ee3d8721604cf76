/**
 * The documentation against the code: generated parts are fresh, links lead somewhere, named files, scripts and options
 * exist, and the programs in it run and print what is shown. Each check is also tried on a planted mistake.
 */
import { access, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../src/base/clock.ts';
import { seededRandom } from '../src/base/random.ts';
import { createProgram } from '../src/cli/program.ts';
import { GUEST_PROFILES } from '../src/simulator/guests/profiles.ts';
import {
  createSimulator,
  defaultWorld,
  FAULT_KINDS,
  loadWorld,
  parseRuleFile,
  parseShortForm,
  serveSimulator,
} from '../src/simulator/index.ts';
import { withGeneratedParts } from '../tools/docs/markdown.ts';
import { generatedPages } from '../tools/generate-docs.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

interface Page {
  readonly path: string;
  readonly text: string;
}

async function page(path: string): Promise<Page> {
  return { path, text: await readFile(join(root, path), 'utf8') };
}

async function pages(): Promise<Page[]> {
  const below = await readdir(join(root, 'docs'), { recursive: true });
  const inDocs = below.filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`);
  return Promise.all(['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', ...inDocs].map(page));
}

/** Every text in code: spans and blocks. */
function codeIn(text: string): string[] {
  const blocks = [...text.matchAll(/^```[^\n]*\n([\s\S]*?)^```/gm)].map(([, code = '']) => code);
  const spans = [...text.replace(/^```[\s\S]*?^```/gm, '').matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code);
  return [...blocks, ...spans];
}

const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );

/** As GitHub makes them out of headings. */
function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

async function brokenLinks({ path, text }: Page): Promise<string[]> {
  const broken: string[] = [];
  for (const [, target = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
    if (/^https?:/.test(target)) continue;
    const [file = '', anchor] = target.split('#');
    const full = file === '' ? join(root, path) : join(root, dirname(path), file);
    const isBroken =
      !(await exists(full)) || (anchor !== undefined && !anchorsOf(await readFile(full, 'utf8')).includes(anchor));
    if (isBroken) broken.push(`${path}: ${target}`);
  }
  return broken;
}

/** Files named from the root of the project; patterns and placeholders are none. */
const FILE = /^(?:src|tests|tools|docs|bin|\.ci)\/[\w./-]+$/;

async function missingFiles({ path, text }: Page): Promise<string[]> {
  const named = codeIn(text)
    .flatMap((code) => code.split(/\s+/))
    .filter((word) => FILE.test(word));
  const found = await Promise.all(named.map((word) => exists(join(root, word))));
  return named.filter((_, index) => !found[index]).map((word) => `${path}: ${word}`);
}

async function unknownScripts({ path, text }: Page): Promise<string[]> {
  const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
    readonly scripts: Readonly<Record<string, string>>;
  };
  return [...text.matchAll(/\bnpm run ([\w:-]+)/g)]
    .map(([, name = '']) => name)
    .filter((name) => !Object.hasOwn(scripts, name))
    .map((name) => `${path}: npm run ${name}`);
}

/** Options of curl and openssl, which the examples use. */
const FOREIGN_OPTIONS = ['--cacert'];

async function ownOptions(): Promise<Set<string>> {
  const sim = createProgram(async () => {}).commands.find((command) => command.name() === 'sim');
  const names = (sim?.options ?? []).map((option) => option.long ?? '');
  const replay = await readFile(join(root, 'tools/replay-scenarios.ts'), 'utf8');
  const ofTools = [...replay.matchAll(/'?([a-z-]+)'?: \{ type: '(?:boolean|string)'/g)].map(([, name]) => `--${name}`);
  return new Set([...names, ...ofTools, ...FOREIGN_OPTIONS]);
}

function unknownOptions({ path, text }: Page, known: ReadonlySet<string>): string[] {
  return codeIn(text)
    .flatMap((code) => [...code.matchAll(/(?<![\w-])--[a-z][a-z-]*/g)].map(([option]) => option))
    .filter((option) => !known.has(option))
    .map((option) => `${path}: ${option}`);
}

describe('generated parts', () => {
  it('are what npm run docs would write', async () => {
    for (const { path, present, wanted } of await generatedPages()) {
      expect(present === wanted, `${path} is stale: npm run docs`).toBe(true);
    }
  });

  it('are replaced between their markers, and nothing else is', () => {
    const text = 'a\n<!-- generated: x -->\nold\n<!-- end generated -->\nb\n';
    expect(withGeneratedParts(text, { x: 'new' })).toBe(
      'a\n<!-- generated: x -->\n\nnew\n\n<!-- end generated -->\nb\n',
    );
    expect(() => withGeneratedParts(text, { x: 'new', y: 'lost' })).toThrow('no place for: y');
    expect(() => withGeneratedParts(text, {})).toThrow('no generated part "x"');
  });
});

describe('the pages', () => {
  it('link only to what exists', async () => {
    expect((await Promise.all((await pages()).map(brokenLinks))).flat()).toEqual([]);
    const planted = {
      path: 'docs/planted.md',
      text: '[a](nowhere.md) [b](simulator.md#nothing) [c](simulator.md#faults)',
    };
    expect(await brokenLinks(planted)).toEqual([
      'docs/planted.md: nowhere.md',
      'docs/planted.md: simulator.md#nothing',
    ]);
  });

  it('name only files that exist', async () => {
    expect((await Promise.all((await pages()).map(missingFiles))).flat()).toEqual([]);
    expect(await missingFiles({ path: 'x', text: '`src/nowhere.ts` and `src/index.ts`' })).toEqual([
      'x: src/nowhere.ts',
    ]);
  });

  it('name only scripts that exist', async () => {
    expect((await Promise.all((await pages()).map(unknownScripts))).flat()).toEqual([]);
    expect(await unknownScripts({ path: 'x', text: '`npm run nothing`' })).toEqual(['x: npm run nothing']);
  });

  it('name only options that exist', async () => {
    const known = await ownOptions();
    expect((await pages()).flatMap((each) => unknownOptions(each, known))).toEqual([]);
    expect(unknownOptions({ path: 'x', text: '`npm run sim -- --loud --speed 2`' }, known)).toEqual(['x: --loud']);
  });

  it('explain every option of the simulator, every kind of fault and every guest', async () => {
    const { text } = await page('docs/simulator.md');
    const sim = createProgram(async () => {}).commands.find((command) => command.name() === 'sim');
    const options = (sim?.options ?? []).map((option) => `| \`${option.flags}\` |`);
    const rows = [...FAULT_KINDS, ...GUEST_PROFILES.keys()].map((name) => `| \`${name}\` |`);
    expect(options.length).toBeGreaterThan(3);
    expect([...options, ...rows].filter((row) => !text.includes(row))).toEqual([]);
  });

  it('say why each dependency is there', async () => {
    const { text } = await page('docs/decisions/009-dependencies.md');
    const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as Readonly<
      Record<'dependencies' | 'devDependencies', Readonly<Record<string, string>>>
    >;
    const wanted = [...Object.keys(manifest.dependencies), ...Object.keys(manifest.devDependencies)];
    const explained = [...text.matchAll(/^\| `([^`]+)` \| .{10,}\|$/gm)].map(([, name]) => name);
    expect(explained.sort()).toEqual(wanted.sort());
  });

  it('list every decision', async () => {
    const { text } = await page('docs/decisions/README.md');
    const files = (await readdir(join(root, 'docs/decisions'))).filter((name) => /^\d/.test(name));
    expect(files.filter((name) => !text.includes(`](${name})`))).toEqual([]);
  });
});

describe('the examples of the simulator', () => {
  it('are a world and fault rules that it reads', async () => {
    const { text } = await page('docs/simulator.md');
    const [world = '', rules = ''] = [...text.matchAll(/^```yaml\n([\s\S]*?)^```/gm)].map(([, code]) => code);
    expect([...loadWorld(world, 'simulator.md', { now: 0 }).nodes.keys()]).toEqual(['pve1', 'pve2']);
    expect(parseRuleFile(rules, 'simulator.md').map(({ kind }) => kind)).toEqual(['lock', 'task-fail']);
    const shortForms = [...text.matchAll(/^ {4}(\S+(?: \S+)?) {3,}\S/gm)].map(([, rule = '']) => rule);
    expect(shortForms.flatMap(parseShortForm).map(({ kind }) => kind)).toEqual([
      'lock',
      'cut-after',
      'task-fail',
      'disk-full',
    ]);
  });
});

/** Programs in a page, each with the output that is shown below it. */
function programsIn(text: string): { readonly code: string; readonly output: string }[] {
  return [...text.matchAll(/^```ts\n([\s\S]*?)^```\n\n```text\n([\s\S]*?)^```/gm)].map(
    ([, code = '', output = '']) => ({
      code,
      output,
    }),
  );
}

/** Runs a program with the package's own source in place of the installed package, and returns what it prints. */
async function run(code: string): Promise<string> {
  const source = code.replace(/from 'proxwright(?:\/(\w+))?'/g, (_, folder?: string) => {
    return `from '${join(root, 'src', folder ?? '', 'index.ts')}'`;
  });
  const folder = await mkdtemp(join(tmpdir(), 'proxwright-docs-'));
  const lines: string[] = [];
  vi.spyOn(console, 'log').mockImplementation((...words: unknown[]) => {
    lines.push(words.map(String).join(' '));
  });
  try {
    const file = join(folder, 'program.ts');
    await writeFile(file, source);
    await import(file);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return lines.map((line) => `${line}\n`).join('');
}

describe('the programs', () => {
  afterEach(() => {
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
  });

  it('of the library guide print what is shown', async () => {
    const { text } = await page('docs/guide/library.md');
    const programs = programsIn(text);
    expect(programs).toHaveLength([...text.matchAll(/^```ts$/gm)].length);
    for (const { code, output } of programs) expect(await run(code)).toBe(output);
  });

  it('of the README works with the variables that the simulator prints', async () => {
    const simulator = createSimulator({
      world: defaultWorld({ now: systemClock.now() }),
      clock: systemClock,
      random: seededRandom(1),
    });
    const server = await serveSimulator(simulator, { host: '127.0.0.1', port: 0 });
    try {
      const { text } = await page('README.md');
      const [program] = programsIn(text);
      const token = /PROXMOX_VE_API_TOKEN='([^']+)'/.exec(text)?.[1];
      vi.stubEnv('PROXMOX_VE_ENDPOINT', server.endpoint);
      vi.stubEnv('PROXMOX_VE_API_TOKEN', token);
      vi.stubEnv('PROXMOX_VE_FINGERPRINT', server.fingerprint);
      expect(await run(program?.code ?? '')).toBe(program?.output);
    } finally {
      await server.close();
    }
  });
});
