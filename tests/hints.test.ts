/** Hints name commands that exist, and carry them as data: the provider writes them as commands of its host. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commandText, HINT_COMMANDS } from '../src/base/hint.ts';
import { createProgram } from '../src/cli/program.ts';
import { root } from './docs-pages.ts';

/** A hint written as plain text although it names a command of ours. */
const PLAIN_COMMAND = /hint(?:: |\n?\s*\? | = )['`"][^\n]*\bproxwright (?:[a-z]+)/;

/** A command of ours with a value that is not quoted for a shell: `proxwright import ${address}`. */
const UNQUOTED = /\bproxwright (?:[a-z-]+ )*(?:--[a-z-]+ )*'?\$\{(?!shellWord\()/;
/** Fixed words (names of commands, formats, worlds and releases), and marks in files that are no commands. */
const FIXED = [
  'src/cli/consent.ts',
  'src/cli/stack/plan-file.ts',
  'src/cli/views/change/apply.ts',
  'src/cli/views/demo.ts',
  'src/cli/views/init.ts',
  'src/cli/views/plan/markdown.ts',
  'src/engine/doctor/upgrade/checks.ts',
  'src/engine/outputs/hand-over/parts.ts',
];

async function sourcesWith(pattern: RegExp): Promise<string[]> {
  const entries = await readdir(join(root, 'src'), { recursive: true });
  const paths = entries
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
    .map((path) => `src/${path}`);
  const found: string[] = [];
  for (const path of paths.sort()) if (pattern.test(await readFile(join(root, path), 'utf8'))) found.push(path);
  return found;
}

describe('hints', () => {
  it('name commands that the program has', () => {
    const program = createProgram(async () => {});
    for (const name of HINT_COMMANDS) {
      const found = name
        .split(' ')
        .reduce<typeof program | undefined>(
          (parent, word) => parent?.commands.find((each) => each.name() === word),
          program,
        );
      expect(found, name).toBeDefined();
    }
  });

  it('hold their commands as data', async () => {
    expect(await sourcesWith(PLAIN_COMMAND)).toEqual([]);
    expect(PLAIN_COMMAND.test("hint: 'Make one: proxwright plan',")).toBe(true);
  });

  it('say what --replace destroys wherever they name it', async () => {
    const lines: string[] = [];
    for (const path of await sourcesWith(/command\('apply', '--replace'/)) {
      const text = await readFile(join(root, path), 'utf8');
      lines.push(...text.split('\n').filter((line) => line.includes("command('apply', '--replace'")));
    }
    expect(lines.length).toBeGreaterThan(2);
    expect(lines.filter((line) => !/destroys|would delete/.test(line))).toEqual([]);
  });

  it('quote what a shell would interpret, such as the brackets of vm.web[2]', async () => {
    expect(commandText('import', 'vm.web[2]', 402)).toBe("proxwright import 'vm.web[2]' 402");
    expect(commandText('state restore', "it's.json")).toBe("proxwright state restore 'it'\\''s.json'");
    expect(await sourcesWith(UNQUOTED)).toEqual(FIXED);
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text
    expect(UNQUOTED.test("proxwright import '${address}' 5")).toBe(true);
  });
});
