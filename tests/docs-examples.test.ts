/** The examples in the documentation: stacks resolve, worlds and rules are read, programs run and print what is shown. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../src/base/clock.ts';
import { formatDiagnostic } from '../src/base/diagnostics.ts';
import { seededRandom } from '../src/base/random.ts';
import {
  createSimulator,
  defaultWorld,
  loadWorld,
  parseRuleFile,
  parseShortForm,
  serveSimulator,
} from '../src/simulator/index.ts';
import { loadStack, resolveStack } from '../src/spec/index.ts';
import { type Page, page, pages, root } from './docs-pages.ts';

/** Stack files in a page: whole ones, and parts of one that are completed here. */
function stacksIn({ path, text }: Page): { readonly title: string; readonly stack: string }[] {
  return [...text.matchAll(/^```yaml\n([\s\S]*?)^```/gm)].map(([, code = ''], index) => {
    const head = code.startsWith('version:') ? '' : 'version: 1\nstack: example\n';
    const defaults = /^(?:version|defaults):/m.test(code)
      ? ''
      : 'defaults: { node: pve1, clone: { template: base } }\n';
    return { title: `${path}, stack ${index + 1}`, stack: `${head}${defaults}${code}` };
  });
}

/** Variables that the examples want to be given. */
const SETTINGS = ['gateway=10.0.20.1'];

function problemsIn({ title, stack }: { readonly title: string; readonly stack: string }): string[] {
  const settings = SETTINGS.filter((setting) => stack.includes(`\n  ${setting.split('=')[0]}: {`));
  return resolveStack(loadStack(stack, title), { settings }).diagnostics.map(formatDiagnostic);
}

describe('the stack files in the pages', () => {
  it('resolve without a complaint', async () => {
    const all = (await pages()).filter(({ path }) => path !== 'docs/simulator.md').flatMap(stacksIn);
    expect(all.length).toBeGreaterThan(10);
    expect(all.flatMap(problemsIn)).toEqual([]);
    const [planted] = stacksIn({ path: 'x', text: '```yaml\nvms:\n  web: { name: web, memry: 1GiB }\n```\n' });
    expect(planted && problemsIn(planted)[0]).toContain('memry');
  });
});

describe('the examples of the simulator', () => {
  it('are worlds and fault rules that it reads', async () => {
    const { text } = await page('docs/simulator.md');
    const [world = '', older = '', rules = ''] = [...text.matchAll(/^```yaml\n([\s\S]*?)^```/gm)].map(
      ([, code]) => code,
    );
    expect([...loadWorld(world, 'simulator.md', { now: 0 }).nodes.keys()]).toEqual(['pve1', 'pve2']);
    expect(loadWorld(older, 'simulator.md', { now: 0 }).version.release).toBe('8.4');
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

  it('print what the library guide shows', async () => {
    const { text } = await page('docs/guide/library.md');
    const programs = programsIn(text);
    expect(programs).toHaveLength([...text.matchAll(/^```ts$/gm)].length);
    for (const { code, output } of programs) expect(await run(code)).toBe(output);
  });

  it('include the one of the README, which works with the variables that the simulator prints', async () => {
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
