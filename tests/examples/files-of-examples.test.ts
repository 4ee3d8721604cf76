/** The examples as files: what `init` writes is what stands in the repository, and no README names a command that is none. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EXAMPLES, OTHER_NAMES } from '../../src/cli/examples/index.ts';
import { createProgram } from '../../src/cli/program.ts';
import { EXAMPLES_FOLDER } from './support/example-scene.ts';
import { commandsIn } from './support/readme.ts';

const folderOf = (name: string) => readdirSync(join(EXAMPLES_FOLDER, name));
const readme = (name: string) => readFileSync(join(EXAMPLES_FOLDER, name, 'README.md'), 'utf8');
const directories = readdirSync(EXAMPLES_FOLDER, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name !== 'terraform')
  .map((entry) => entry.name);

/** Runs nothing: whether the command line understands the words. */
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
  it('are the directories of the repository, each listed where people look', () => {
    expect(Object.keys(EXAMPLES).toSorted()).toEqual(directories.toSorted());
    const list = readFileSync(join(EXAMPLES_FOLDER, 'README.md'), 'utf8');
    const rows = Object.entries(EXAMPLES).map(([name, { world }]) => ({ name, world }));
    const listed = [...list.matchAll(/^\| \[([\w-]+)\]\(\1\/README\.md\) \|.*\| `(\w+)` \|$/gm)];
    expect(listed.map(([, name, world]) => ({ name, world }))).toEqual(rows);
  });

  it('keep working under their short names', () => {
    for (const name of ['ubuntu', 'k3s', 'talos', 'rancher']) {
      expect(EXAMPLES[OTHER_NAMES[name] ?? name]?.files['stack.yaml']).toContain(`stack: ${name}`);
    }
  });

  it.each(Object.entries(EXAMPLES))('%s is written by init as it stands there', (name, { files }) => {
    for (const [file, text] of Object.entries(files)) {
      expect(readFileSync(join(EXAMPLES_FOLDER, name, file), 'utf8')).toBe(text);
      expect(text.split('\n').filter((line) => line.length > 120 && !line.includes('https://'))).toEqual([]);
    }
    expect(folderOf(name).toSorted()).toEqual([...Object.keys(files), 'README.md'].toSorted());
  });

  it.each(Object.entries(EXAMPLES))(
    '%s has no secret in its files, and keeps those of its user out of git',
    (_, example) => {
      const named = Object.values(example.files).flatMap((text) => [...text.matchAll(/\{ file: \.\/([\w.-]+) \}/g)]);
      const missing = named.map(([, file = '']) => file).filter((file) => !(file in example.files));
      expect(missing.filter((file) => !example.secrets?.includes(file))).toEqual([]);
    },
  );

  it.each(directories)('%s has a README whose commands the command line understands', async (name) => {
    const commands = commandsIn(readme(name));
    expect(commands.map(([first]) => first)).toEqual(
      expect.arrayContaining(['init', 'validate', 'doctor', 'plan', 'apply', 'output']),
    );
    for (const words of commands) expect([words.join(' '), await isUnderstood(words)]).toEqual([words.join(' '), true]);
    expect(commands).toContainEqual(['init', '--example', name]);
  });

  it.each(['.', ...directories])('%s links only to files that exist', (name) => {
    const links = [...readme(name).matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, target = '']) => target);
    expect(links.length).toBeGreaterThan(0);
    expect(links.filter((target) => !existsSync(join(EXAMPLES_FOLDER, name, target)))).toEqual([]);
  });

  it('would notice a command that is none', async () => {
    expect(await isUnderstood(['aply'])).toContain('unknown command');
    expect(await isUnderstood(['apply', '--verfy'])).toContain('unknown option');
    expect(commandsIn("```sh\nproxwright plan --var 'a=[]' | less   # look\nls\n```\n")).toEqual([
      ['plan', '--var', 'a=[]'],
    ]);
  });
});
