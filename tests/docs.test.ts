/**
 * The documentation against the code: generated parts are fresh, links lead somewhere, and named files, scripts, commands
 * and options exist. Each check is also tried on a planted mistake.
 */
import { access, readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { ERROR_CODES } from '../src/base/errors.ts';
import { COMMANDS } from '../src/cli/command-list/command-list.ts';
import { createProgram } from '../src/cli/program.ts';
import { fieldRows } from '../src/kinds/fields/field-table.ts';
import { vmFieldsSchema } from '../src/kinds/vm/fields/index.ts';
import { findPhrase } from '../src/pve/errors/phrases.ts';
import { GUEST_PROFILES } from '../src/simulator/guests/profiles.ts';
import { ALL_FAULT_KINDS } from '../src/simulator/index.ts';
import { withGeneratedParts } from '../tools/docs/markdown.ts';
import { generatedPages } from '../tools/generate-docs.ts';
import { codeIn, type Page, page, pages, root } from './docs-pages.ts';

const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );

/** As GitHub makes them out of headings, and those that a page sets itself. */
function anchorsOf(text: string): string[] {
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
  return [...headings, ...[...text.matchAll(/<a id="([^"]+)"><\/a>/g)].map(([, id = '']) => id)];
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

/** Programs of others that the examples call; their options are not ours. */
const FOREIGN_PROGRAM = /^\s*(?:curl|openssl|podman|pveum|qm|sha256sum)\s|\brun: \[(?:kubectl|talosctl),/;
/** Options of theirs that are spoken of alone. */
const FOREIGN_OPTIONS = ['--privsep', '--project', '--tokens', '--user', '--userns'];

function commandsBelow(parent: Command): Command[] {
  return [parent, ...parent.commands.flatMap(commandsBelow)];
}

async function ownOptions(): Promise<Set<string>> {
  const names = commandsBelow(createProgram(async () => {})).flatMap(({ options }) =>
    options.map((option) => option.long ?? ''),
  );
  const tools = ['bench.ts', 'mutation.ts', 'provider/pack.ts', 'replay-scenarios.ts', 'sim-test.ts'];
  const texts = await Promise.all(tools.map((path) => readFile(join(root, 'tools', path), 'utf8')));
  const ofTools = [...texts.join('\n').matchAll(/'?([a-z-]+)'?: \{ type: '(?:boolean|string)'/g)].map(
    ([, name]) => `--${name}`,
  );
  return new Set([...names, ...ofTools, ...FOREIGN_OPTIONS, '--help']);
}

function unknownOptions({ path, text }: Page, known: ReadonlySet<string>): string[] {
  return codeIn(text)
    .flatMap((code) => code.split('\n'))
    .filter((line) => !FOREIGN_PROGRAM.test(line))
    .flatMap((line) => [...line.matchAll(/(?<![\w-])--[a-z][a-z-]*/g)].map(([option]) => option))
    .filter((option) => !known.has(option))
    .map((option) => `${path}: ${option}`);
}

/** `proxwright word word` in code, as far as the words name commands. */
function unknownCommands({ path, text }: Page, program: Command): string[] {
  return codeIn(text)
    .flatMap((code) => [...code.matchAll(/(?<![\w./-])proxwright ([a-z]+)(?: ([a-z]+)\b(?![.\w=]))?/g)])
    .filter(([, first = '', second]) => {
      const command = program.commands.find((each) => each.name() === first);
      if (!command) return first !== 'help';
      const below = command.commands.map((each) => each.name());
      const isGroup = below.length > 0 && command.options.length === 0;
      return isGroup && !below.includes(second ?? '');
    })
    .map(([words]) => `${path}: ${words}`);
}

/** The rows of all tables whose last column is `meaning`. */
function rowsWithMeanings(text: string): string[] {
  const found = [...text.matchAll(/^\|.*\| meaning \|\n\|[ |-]+\n((?:\|.*\n)+)/gm)];
  return found.flatMap(([, rows = '']) => rows.trimEnd().split('\n'));
}

describe('generated parts', () => {
  it('are what npm run docs would write', async () => {
    for (const { path, present, expected } of await generatedPages()) {
      expect(present === expected, `${path} is stale: npm run docs`).toBe(true);
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
    expect(unknownOptions({ path: 'x', text: '`qm set 1 --whatever 2`' }, known)).toEqual([]);
  });

  it('name only commands that exist', async () => {
    const program = createProgram(async () => {});
    expect((await pages()).flatMap((each) => unknownCommands(each, program))).toEqual([]);
    expect(unknownCommands({ path: 'x', text: '`proxwright paln` and `proxwright sim`' }, program)).toEqual([
      'x: proxwright paln',
    ]);
  });

  it('refer to every field and every command', async () => {
    const fields = await page('docs/reference/stack-fields.md');
    const rows = fieldRows(vmFieldsSchema);
    expect(rows.length).toBeGreaterThan(80);
    expect(rows.filter(({ path }) => !fields.text.includes(`| \`${path}\` |`))).toEqual([]);
    const commands = await page('docs/reference/commands.md');
    const names = COMMANDS.filter(({ isHidden }) => !isHidden).map(({ name }) => `## \`proxwright ${name}`);
    expect(names.filter((name) => !commands.text.includes(name))).toEqual([]);
  });

  it('name only recordings that exist', async () => {
    const { text } = await page('docs/where-we-differ.md');
    const known = (await readdir(join(root, 'tests/contract/scenarios'))).map((name) => name.replace(/\.json$/, ''));
    const evidence = [...text.matchAll(/^\*\*Evidence\.\*\*[\s\S]*?(?=^#|(?![\s\S]))/gm)].map(([part]) => part);
    const named = evidence.flatMap(codeIn).filter((code) => /^[a-z]+(?:-[a-z]+)+$/.test(code));
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((name) => !known.includes(name))).toEqual([]);
  });

  it('explain every option of the simulator, every kind of fault and every guest', async () => {
    const { text } = await page('docs/simulator.md');
    const sim = createProgram(async () => {}).commands.find((command) => command.name() === 'sim');
    const options = (sim?.options ?? []).map((option) => `| \`${option.flags}\` |`);
    const rows = [...ALL_FAULT_KINDS, ...GUEST_PROFILES.keys()].map((name) => `| \`${name}\` |`);
    expect(options.length).toBeGreaterThan(3);
    expect([...options, ...rows].filter((row) => !text.includes(row))).toEqual([]);
  });

  it('say what each key in a generated reference means', async () => {
    const references = ['docs/simulator.md', 'docs/reference/stack-fields.md', 'docs/reference/commands.md'];
    const tables = (await Promise.all(references.map(page))).flatMap(({ text }) => rowsWithMeanings(text));
    expect(tables.length).toBeGreaterThan(400);
    expect(tables.filter((row) => row.endsWith('|  |'))).toEqual([]);
    expect(rowsWithMeanings('| key | meaning |\n| --- | --- |\n| `a` |  |\n')).toEqual(['| `a` |  |']);
  });

  it('give the words of the server the codes that they have', async () => {
    const { text } = await page('docs/guide/troubleshooting.md');
    const sections = text.split(/^### /m).slice(1);
    const known = sections.flatMap((section) => {
      const [heading = ''] = section.split('\n');
      return codeIn(heading).flatMap((words) => {
        const phrase = findPhrase(words);
        return phrase ? [{ words, code: phrase.code, section }] : [];
      });
    });
    expect(known.length).toBeGreaterThan(15);
    expect(known.filter(({ code, section }) => !section.includes(code)).map(({ words }) => words)).toEqual([]);
    const named = [...text.matchAll(/(?:\[|`)([A-Z]+_[A-Z_]+)(?:\]|`)/g)].map(([, code = '']) => code);
    const allowed = new Set<string>([...ERROR_CODES, 'NOT_CHECKED', 'PROXMOX_VE_INSECURE', 'PROXWRIGHT_PLAN_KEY']);
    expect(named.filter((code) => !allowed.has(code))).toEqual([]);
  });

  it('say why each dependency is there', async () => {
    const { text } = await page('docs/decisions/009-dependencies.md');
    const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as Readonly<
      Record<'dependencies' | 'devDependencies', Readonly<Record<string, string>>>
    >;
    const installed = [...Object.keys(manifest.dependencies), ...Object.keys(manifest.devDependencies)];
    const explained = [...text.matchAll(/^\| `([^`]+)` \| .{10,}\|$/gm)].map(([, name]) => name);
    expect(explained.sort()).toEqual(installed.sort());
  });

  it('list every decision', async () => {
    const { text } = await page('docs/decisions/README.md');
    const files = (await readdir(join(root, 'docs/decisions'))).filter((name) => /^\d/.test(name));
    expect(files.filter((name) => !text.includes(`](${name})`))).toEqual([]);
  });
});
