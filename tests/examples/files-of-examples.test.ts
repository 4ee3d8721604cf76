/** The examples as files: `init` copies them whole, they hold no secret, and their READMEs name only commands that exist. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runInit } from '../../src/cli/commands/init.ts';
import { EXAMPLES, readExample, STACK_FILE } from '../../src/cli/examples.ts';
import { createProgram } from '../../src/cli/program.ts';
import { testDeps } from '../../src/cli/testing/deps.ts';
import { EXAMPLES_FOLDER } from './support/example-scene.ts';
import { commandsIn } from './support/readme.ts';

const folderOf = (name: string) => readdirSync(join(EXAMPLES_FOLDER, name));
const readme = (name: string) => readFileSync(join(EXAMPLES_FOLDER, name, 'README.md'), 'utf8');
const directories = readdirSync(EXAMPLES_FOLDER, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name !== 'terraform' && entry.name !== 'ci')
  .map((entry) => entry.name);

/** Whether the command line accepts the words; it runs nothing. */
async function isUnderstood(words: readonly string[]): Promise<true | string> {
  let ran = false;
  const program = createProgram(async () => {
    ran = true;
  });
  for (const command of [program, ...program.commands, ...program.commands.flatMap(({ commands }) => commands)]) {
    command.exitOverride().configureOutput({ writeErr: () => {}, writeOut: () => {} });
  }
  try {
    await program.parseAsync([...words], { from: 'user' });
    return ran ? true : 'nothing was run';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

describe('the examples', () => {
  it('are the directories of the repository, and the README lists each with its world', () => {
    expect(Object.keys(EXAMPLES).toSorted()).toEqual(directories.toSorted());
    const list = readFileSync(join(EXAMPLES_FOLDER, 'README.md'), 'utf8');
    const rows = Object.entries(EXAMPLES).map(([name, { world }]) => ({ name, world }));
    const listed = [...list.matchAll(/^\| \[([\w-]+)\]\(\1\/README\.md\) \|.*\| `(\w+)` \|$/gm)];
    expect(listed.map(([, name, world]) => ({ name, world }))).toEqual(rows);
  });

  it('keep working under their short names', async () => {
    for (const name of ['ubuntu', 'k3s', 'talos', 'rancher']) {
      expect((await readExample(name)).files.get(STACK_FILE)).toContain(`stack: ${name}`);
    }
  });

  it.each(directories)('are copied by init as they are in the repository: %s', async (name) => {
    const directory = mkdtempSync(join(tmpdir(), 'proxwright-init-'));
    try {
      expect(await runInit({ example: name }, testDeps({ directory }).deps)).toBe(0);
      const files = folderOf(name).filter((file) => file !== 'README.md');
      expect(files).toContain(STACK_FILE);
      for (const file of files) {
        const text = readFileSync(join(directory, file), 'utf8');
        expect(text).toBe(readFileSync(join(EXAMPLES_FOLDER, name, file), 'utf8'));
        expect(text.split('\n').filter((line) => line.length > 120 && !line.includes('https://'))).toEqual([]);
      }
      expect(readdirSync(directory).toSorted()).toEqual([...files, 'stack.schema.json', '.gitignore'].toSorted());
      expect(readFileSync(join(directory, STACK_FILE), 'utf8')).toMatch(
        /^# yaml-language-server: \$schema=\.\/stack\.schema\.json\n/,
      );
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });

  it.each(Object.keys(EXAMPLES))('hold no secret, and keep secrets of their user out of git: %s', async (name) => {
    const { files, secrets = [] } = await readExample(name);
    const named = [...files.values()].flatMap((text) => [...text.matchAll(/\{ file: \.\/([\w.-]+) \}/g)]);
    const missing = named.map(([, file = '']) => file).filter((file) => !files.has(file));
    expect(missing.filter((file) => !secrets.includes(file))).toEqual([]);
  });

  it.each(directories)('have a README whose commands exist: %s', async (name) => {
    const commands = commandsIn(readme(name));
    expect(commands.map(([first]) => first)).toEqual(
      expect.arrayContaining(['init', 'validate', 'doctor', 'plan', 'apply', 'output']),
    );
    for (const words of commands) expect([words.join(' '), await isUnderstood(words)]).toEqual([words.join(' '), true]);
    expect(commands).toContainEqual(['init', '--example', name]);
  });

  it.each(['.', ...directories])('link only to files that exist: %s', (name) => {
    const links = [...readme(name).matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, target = '']) => target);
    expect(links.length).toBeGreaterThan(0);
    expect(links.filter((target) => !existsSync(join(EXAMPLES_FOLDER, name, target)))).toEqual([]);
  });

  it('would notice a command that does not exist', async () => {
    expect(await isUnderstood(['aply'])).toContain('unknown command');
    expect(await isUnderstood(['apply', '--verfy'])).toContain('unknown option');
    expect(commandsIn("```sh\nproxwright plan --var 'a=[]' | less   # look\nls\n```\n")).toEqual([
      ['plan', '--var', 'a=[]'],
    ]);
  });
});
