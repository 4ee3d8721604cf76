/** Hints name commands that exist, and carry them as data: the provider writes them as commands of its host. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { HINT_COMMANDS } from '../src/base/hint.ts';
import { createProgram } from '../src/cli/program.ts';
import { root } from './docs-pages.ts';

/** A hint written as plain text although it names a command of ours. */
const PLAIN_COMMAND = /hint(?:: |\n?\s*\? | = )['`"][^\n]*\bproxwright (?:[a-z]+)/;
/** It repeats what the user typed. */
const EXCEPTIONS = ['src/cli/consent.ts'];

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
    const entries = await readdir(join(root, 'src'), { recursive: true });
    const paths = entries
      .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
      .map((path) => `src/${path}`);
    const plain: string[] = [];
    for (const path of paths) {
      if (PLAIN_COMMAND.test(await readFile(join(root, path), 'utf8'))) plain.push(path);
    }
    expect(plain).toEqual(EXCEPTIONS);
    expect(PLAIN_COMMAND.test("hint: 'Make one: proxwright plan',")).toBe(true);
  });
});
