/**
 * Style that a machine can check, so that reviews can talk about design: imports flow one way, time, randomness, network and
 * disk enter through the doors only, files stay readable. Each check is also run on a planted violation, because a check
 * that cannot fail is worth nothing.
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));

interface SourceFile {
  readonly path: string;
  readonly text: string;
}

async function sources(folder: string): Promise<SourceFile[]> {
  const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
  return Promise.all(paths.map(async (path) => ({ path, text: await readFile(join(root, path), 'utf8') })));
}

const isTest = (path: string) => /\.test\.ts$|\/testing\//.test(path);

/** What must not be used directly, and the only files that may: the real implementations of the doors. */
const DOORS: readonly { readonly name: string; readonly pattern: RegExp; readonly allowed: RegExp }[] = [
  {
    name: 'the ambient clock',
    // A method of that name (a socket's) is not the global function.
    pattern: /\bDate\.now\b|\bnew Date\(\)|(?<!\.)\b(setTimeout|setInterval)\b|\bperformance\.now\b|node:timers/,
    allowed:
      /^src\/base\/clock\.ts$|^src\/pve\/http\/(https-transport|connection-agent)\.ts$|^src\/simulator\/http\/server\.ts$/,
  },
  {
    name: 'ambient randomness',
    pattern: /\bMath\.random\b|\brandomUUID\b|\brandomBytes\b|\bgetRandomValues\b/,
    allowed:
      /^src\/base\/random\.ts$|^src\/state\/local-files\.ts$|^src\/simulator\/http\/|^src\/provider\/host\/certificate\.ts$/,
  },
  {
    name: 'the network',
    pattern: /\bfetch\(|from '(undici|node:https?|node:net|node:tls|node:dns|node:dgram)'/,
    allowed:
      /^src\/pve\/http\/|^src\/simulator\/http\/|^src\/state\/shared\/http-exchange\.ts$|^src\/local\/(port-probe|image-download|aws-credentials)\.ts$|^src\/provider\/host\/|^src\/ui\/(server\/serve|page\/ask)\.tsx?$/,
  },
  {
    name: 'the file system',
    pattern: /from 'node:fs(\/promises)?'/,
    allowed:
      /^src\/state\/(directory-(store|lock)|local-files|process-life)\.ts$|^src\/local\/(text-file|aws-credentials|image-(file|download|sources))\.ts$|^src\/cli\/|^src\/provider\/host\//,
  },
  {
    name: 'other programs',
    pattern: /from 'node:child_process'/,
    allowed:
      /^src\/local\/(processes|secret|aws-credentials|image-unpack|run-source)\.ts$|^src\/cli\/evidence\/proof\.ts$/,
  },
  {
    name: 'the process',
    pattern: /\bprocess\.(env|argv|exit|stdout|stderr|on)\b|\bconsole\./,
    allowed: /^src\/cli\/|^src\/provider\/host\//,
  },
];

function ambientUses(files: readonly SourceFile[]): string[] {
  const found: string[] = [];
  for (const { path, text } of files) {
    // The built page runs in a browser; its sources are looked at.
    if (isTest(path) || path === 'src/ui/page.generated.ts') continue;
    for (const [index, line] of text.split('\n').entries()) {
      if (/^\s*(\*|\/\/|\/\*)/.test(line)) continue;
      for (const door of DOORS) {
        if (door.pattern.test(line) && !door.allowed.test(path)) found.push(`${path}:${index + 1} uses ${door.name}`);
      }
    }
  }
  return found;
}

describe('the doors', () => {
  it('are the only way to time, randomness, network, disk and processes', async () => {
    expect(ambientUses(await sources('src'))).toEqual([]);
  });

  it.each([
    ['const now = Date.now();', 'the ambient clock'],
    ['await new Promise((resolve) => setTimeout(resolve, 1));', 'the ambient clock'],
    ['const id = randomUUID();', 'ambient randomness'],
    ["import { request } from 'undici';", 'the network'],
    ["import { readFile } from 'node:fs/promises';", 'the file system'],
    ["import { spawn } from 'node:child_process';", 'other programs'],
    ["console.log('hello');", 'the process'],
  ])('would notice %s', (line, door) => {
    expect(ambientUses([{ path: 'src/engine/planted.ts', text: line }])).toEqual([
      `src/engine/planted.ts:1 uses ${door}`,
    ]);
  });
});

/** Signs that a file which calls itself pure in its first lines waits, asks a server, or depends on time or chance. */
function impurities(files: readonly SourceFile[]): string[] {
  const sign = /\b(async|await|Promise|clock|random)\b|: (Pve|Clock|Random)\b/;
  return files
    .filter(({ path, text }) => !isTest(path) && /\bpure\b/i.test(/^\/\*\*.*?\*\//s.exec(text)?.[0] ?? ''))
    .flatMap(({ path, text }) => {
      const code = text.replaceAll(/\/\*.*?\*\/|\/\/[^\n]*|'[^'\n]*'|`[^`]*`/gs, (part) =>
        part.replaceAll(/[^\n]/g, ''),
      );
      return code.split('\n').flatMap((line, index) => (sign.test(line) ? [`${path}:${index + 1}`] : []));
    });
}

describe('files that call themselves pure', () => {
  it('wait for nothing, and get neither a client nor a clock nor randomness', async () => {
    const files = await sources('src');
    expect(files.filter(({ text }) => /^\/\*\*.*?\bPure\b.*?\*\//s.test(text)).length).toBeGreaterThan(50);
    expect(impurities(files)).toEqual([]);
  });

  it.each([
    'export async function plan() {}',
    'export const plan = (pve: Pve) => pve.version;',
    'export const plan = () => clock.now();',
    'export const plan = (): Promise<void> => read();',
  ])('would be noticed with %s', (line) => {
    const planted = (header: string) => [{ path: 'src/engine/planted.ts', text: `/** ${header} */\n${line}\n` }];
    expect(impurities(planted('A plan. Pure.'))).toEqual(['src/engine/planted.ts:2']);
    expect(impurities(planted('A plan.'))).toEqual([]);
  });
});

describe('the import order between folders', () => {
  const cruise = (directory: string) =>
    promisify(execFile)(
      process.execPath,
      [
        join(root, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs'),
        '--config',
        join(root, '.dependency-cruiser.cjs'),
        'src',
      ],
      { cwd: directory, maxBuffer: 16 * 1024 * 1024 },
    ).then(
      ({ stdout }) => ({ ok: true, output: stdout }),
      (error: { stdout?: string }) => ({ ok: false, output: error.stdout ?? String(error) }),
    );

  it('is kept', async () => {
    const { ok, output } = await cruise(root);
    expect(output).toMatch(/no dependency violations found \(\d{3,} modules/);
    expect(ok).toBe(true);
  });

  it('is refused when it is broken', async () => {
    // A tree of a few files: the base imports the client, engine, state and contract a kind, and the provider an inner file of
    // the engine.
    const planted = await mkdtemp(join(tmpdir(), 'proxwright-tidy-'));
    try {
      for (const name of ['node_modules', 'tsconfig.json', 'package.json']) {
        await symlink(join(root, name), join(planted, name));
      }
      for (const folder of ['base', 'pve', 'engine', 'provider', 'state', 'kinds/safety'])
        await mkdir(join(planted, 'src', folder), { recursive: true });
      await writeFile(join(planted, 'src/pve/client.ts'), 'export const client = 1;\n');
      await writeFile(join(planted, 'src/base/planted.ts'), "export { client } from '../pve/client.ts';\n");
      await mkdir(join(planted, 'src/kinds/vm'), { recursive: true });
      await writeFile(join(planted, 'src/kinds/vm/steps.ts'), 'export type Steps = 1;\n');
      await mkdir(join(planted, 'src/provider/adapter'));
      const adapter = "export type { Steps } from '../../kinds/vm/steps.ts';\n";
      await writeFile(join(planted, 'src/provider/adapter/planted.ts'), adapter);
      const session = "import type { Steps } from '../kinds/vm/steps.ts';\nexport const session: Steps = 1;\n";
      await writeFile(join(planted, 'src/engine/session.ts'), session);
      await mkdir(join(planted, 'src/engine/doctor'));
      await writeFile(join(planted, 'src/engine/doctor/checks.ts'), adapter);
      await writeFile(join(planted, 'src/state/planted.ts'), "export type { Steps } from '../kinds/vm/steps.ts';\n");
      await writeFile(join(planted, 'src/kinds/kind.ts'), "export type { Steps } from './vm/steps.ts';\n");
      await writeFile(join(planted, 'src/kinds/safety/planted.ts'), "export type { Steps } from '../vm/steps.ts';\n");
      await writeFile(join(planted, 'src/kinds/registry.ts'), "export type { Steps } from './vm/steps.ts';\n");
      await writeFile(join(planted, 'src/provider/planted.ts'), "export { session } from '../engine/session.ts';\n");
      const { ok, output } = await cruise(planted);
      expect(ok).toBe(false);
      expect(output).toContain('engine-knows-no-kind: src/engine/session.ts');
      expect(output).toContain('engine-knows-no-kind: src/engine/doctor/checks.ts');
      expect(output).toContain('engine-knows-no-kind: src/state/planted.ts');
      expect(output).toContain('contract-knows-no-kind: src/kinds/kind.ts');
      expect(output).toContain('contract-knows-no-kind: src/kinds/safety/planted.ts');
      expect(output).not.toContain('src/kinds/registry.ts');
      expect(output).toContain('provider-knows-no-kind: src/provider/adapter/planted.ts');
      expect(output).toContain('provider-uses-public-engine: src/provider/planted.ts');
      expect(output).toContain('base-imports: src/base/planted.ts');
    } finally {
      await rm(planted, { recursive: true, force: true });
    }
  });
});

/** Places where a line of the source matches. */
function linesWith(pattern: RegExp, files: readonly SourceFile[]): string[] {
  return files
    .filter(({ path }) => !isTest(path))
    .flatMap(({ path, text }) => text.split('\n').map((line, index) => ({ path, line, at: index + 1 })))
    .filter(({ line }) => pattern.test(line))
    .map(({ path, at }) => `${path}:${at}`);
}

/** A folder with more files than this is split into folders by subject. */
const MOST_FILES = 15;

function crowdedFolders(files: readonly SourceFile[]): string[] {
  const counts = new Map<string, number>();
  for (const { path } of files) {
    if (/\.(test|generated)\.ts$/.test(path)) continue;
    counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
  }
  return [...counts].filter(([, count]) => count > MOST_FILES).map(([folder, count]) => `${folder} has ${count} files`);
}

describe('files', () => {
  it('say in their first lines what they are about', async () => {
    const silent = (await sources('src')).filter(({ path, text }) => !isTest(path) && !/^(#!.*\n)?\/\*\*/.test(text));
    expect(silent.map(({ path }) => path)).toEqual([]);
  });

  it('are short enough to be about one thing', async () => {
    const long = (await sources('src'))
      .filter(({ path, text }) => !/\.generated\.ts$/.test(path) && text.split('\n').length > 400)
      .map(({ path }) => path);
    expect(long).toEqual([]);
  });

  it('are few enough in each folder', async () => {
    expect(crowdedFolders(await sources('src'))).toEqual([]);
  });

  it('are counted by folder, without tests and generated files', () => {
    const files = (count: number, name: (index: number) => string) =>
      Array.from({ length: count }, (_, index) => ({ path: `src/planted/${name(index)}`, text: '' }));
    expect(crowdedFolders(files(16, (index) => `${index}.ts`))).toEqual(['src/planted has 16 files']);
    expect(crowdedFolders(files(15, (index) => `${index}.ts`))).toEqual([]);
    expect(crowdedFolders(files(16, (index) => `${index}.test.ts`))).toEqual([]);
    expect(crowdedFolders(files(16, (index) => `room-${index}/${index}.ts`))).toEqual([]);
  });

  it('build the commands for a node in one place, where each is checked', async () => {
    const command = /\b(qm|pvesm|pvesh|pveum|ha-manager|pvecm) [a-z]+( [a-z]+)* (\$\{|\/|--|\d)/;
    const written = (files: readonly SourceFile[]) =>
      linesWith(
        command,
        files.filter(({ path }) => !/^src\/(simulator\/|base\/text\/node-command\.ts)/.test(path)),
      );
    expect(written([{ path: 'src/x.ts', text: 'hint: `On the node: qm destroy 101`' }])).toEqual(['src/x.ts:1']);
    expect(written(await sources('src'))).toEqual([]);
  });

  it('carry no marks of unfinished work and no machine paths', async () => {
    const files = [...(await sources('src')), ...(await sources('tests')), ...(await sources('tools'))];
    const marks = files.filter(
      ({ path, text }) =>
        path !== 'tests/tidy.test.ts' && /\b(TODO|FIXME|XXX)\b|\/home\/|\/root\/|\bit\.only\(/.test(text),
    );
    expect(marks.map(({ path }) => path)).toEqual([]);
  });
});

describe('problems', () => {
  const planted = (text: string) => [{ path: 'src/x.ts', text }];

  it('are told apart by their fields, never by their sentences', async () => {
    const reads =
      /\b(detail|summary|message|hint|hint\??\.text)\??\.(includes|startsWith|endsWith|match|matchAll|search|indexOf)\(|\.(test|exec)\([^)]*\b(detail|summary|message|hint)\b/;
    // Messages of zod and of the PostgreSQL driver, which have nothing else to tell them apart.
    const others = /^src\/(spec\/problems\/issues|state\/shared\/postgres-store|simulator\/world\/load-world)\.ts:/;
    expect(linesWith(reads, planted("if (error.diagnostic.detail.includes('in use')) return;"))).toEqual([
      'src/x.ts:1',
    ]);
    expect(linesWith(reads, planted('return /is still in use/.test(detail);'))).toEqual(['src/x.ts:1']);
    expect(linesWith(reads, planted("return error.message.includes('Plan is stale');"))).toEqual(['src/x.ts:1']);
    expect(linesWith(reads, await sources('src')).filter((place) => !others.test(place))).toEqual([]);
  });

  it('are made in one place for what is not ours', async () => {
    const made = /code: 'NOT_OURS'/;
    expect(linesWith(made, planted("throw new ProxwrightError({ code: 'NOT_OURS', detail });"))).toEqual([
      'src/x.ts:1',
    ]);
    const places = linesWith(made, await sources('src')).map((place) => place.replace(/:\d+$/, ''));
    expect(places).toEqual(['src/kinds/safety/foreign.ts']);
  });
});
