import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../command-list/command-list.ts';
import { optionsOf } from '../options.ts';
import { type Candidates, candidatesFor } from './candidates.ts';

const offered = (...words: string[]) => summary(candidatesFor(COMMANDS, words));

function summary(found: Candidates): string[] {
  return found.kind === 'words' ? found.words.map(({ word }) => `${found.before}${word}`) : [`<${found.kind}>`];
}

describe('what a shell offers', () => {
  it('contains every command that is not hidden, with its description', () => {
    expect(offered('')).toEqual(COMMANDS.filter(({ isHidden }) => !isHidden).map(({ name }) => name));
    expect(offered('')).not.toContain('complete');
    expect(candidatesFor(COMMANDS, [''])).toMatchObject({
      words: expect.arrayContaining([{ word: 'plan', about: expect.any(String) }]),
    });
  });

  it.each(COMMANDS.filter(({ isHidden }) => !isHidden).map((row) => [row.name, row] as const))(
    'contains every option of %s',
    (name, row) => {
      const expected = optionsOf(row).map(({ flags }) => /--[\w-]+/.exec(flags)?.[0]);
      expect(offered(name, '--')).toEqual([...expected, '--help']);
    },
  );

  it.each([
    [
      ['state', ''],
      ['list', 'show', 'mv', 'forget', 'backup', 'restore', 'recover', 'migrate', 'unlock'],
    ],
    [
      ['runs', ''],
      ['list', 'show'],
    ],
    [['-'], ['--help', '--version']],
    [
      ['plan', '--log-level', ''],
      ['error', 'warn', 'info', 'debug'],
    ],
    [['plan', '--log-level=', ''], []],
    [
      ['plan', '--log-level='],
      ['--log-level=error', '--log-level=warn', '--log-level=info', '--log-level=debug'],
    ],
    [
      ['plan', '--log-level', '=', 'd'],
      ['error', 'warn', 'info', 'debug'],
    ],
    [
      ['plan', '--log-level', '='],
      ['error', 'warn', 'info', 'debug'],
    ],
    [['plan', '--json', '-y', ''], []],
    [['plan', '-f', ''], ['<files>']],
    [['apply', ''], ['<files>']],
    [['apply', 'plan.json', ''], []],
    [['apply', '--only', ''], ['<addresses>']],
    [['apply', '--only', 'vm.a', '--replace', ''], ['<addresses>']],
    [['import', ''], ['<addresses>']],
    [['import', 'vm.web', ''], []],
    [['import', '-f', 'plan', ''], ['<addresses>']],
    [['state', 'mv', 'vm.a', ''], ['<addresses>']],
    [['state', 'migrate', '--to', ''], []],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
    [['nonsense', ''], expect.arrayContaining(['plan'])],
  ])('after %j is %j', (words, expected) => {
    expect(offered(...words)).toEqual(expected);
  });
});
