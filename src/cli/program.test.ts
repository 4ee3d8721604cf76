import { describe, expect, it } from 'vitest';
import type { CommandRow } from './command.ts';
import { COMMANDS } from './command-list/command-list.ts';
import { createProgram } from './program.ts';
import { testDeps } from './testing/deps.ts';

/** Every row with code, by its whole name. */
function rows(list: readonly CommandRow[] = COMMANDS, prefix = ''): [name: string, row: CommandRow][] {
  return list.flatMap((row): [string, CommandRow][] => {
    const name = `${prefix}${row.name}`;
    return [...(row.load ? [[name, row] as [string, CommandRow]] : []), ...rows(row.commands ?? [], `${name} `)];
  });
}

/** The options that the command line hands to a command. */
async function parsed(...words: string[]): Promise<unknown> {
  let given: unknown;
  const program = createProgram(async (options) => {
    given = options;
  }, words);
  await program.parseAsync(words, { from: 'user' });
  return given;
}

describe('the command line', () => {
  it.each(rows())('%s loads a function that takes its arguments, its options and its deps', async (_name, row) => {
    const command = await row.load?.();
    expect(command).toBeTypeOf('function');
    expect(command?.length).toBe((row.arguments?.length ?? 0) + 2);
  });

  it('passes arguments, options and deps in this order', async () => {
    const { deps } = testDeps({ directory: '/nowhere' });
    let failure: unknown;
    const program = createProgram(async (_options, command) => {
      failure = await command(deps).catch((error: unknown) => error);
    });
    await program.parseAsync(['import', 'vm', '400', '--file', 'missing.yaml'], { from: 'user' });
    expect(failure).toMatchObject({ diagnostic: { detail: '"vm" is not the address of a VM.' } });
    await program.parseAsync(['import', 'vm.web', '400', '--file', 'missing.yaml'], { from: 'user' });
    expect(failure).toMatchObject({ diagnostic: { where: { file: 'missing.yaml' } } });
  });

  it('collects options that may be repeated, and fills in defaults', async () => {
    expect(await parsed('plan', '--var', 'a=1', '--only', 'vm.a', '--var', 'b=2')).toEqual({
      var: ['a=1', 'b=2'],
      only: ['vm.a'],
      hooks: true,
    });
    expect(await parsed('sim', '--seed', '7')).toMatchObject({ seed: '7', speed: '1', world: 'default' });
  });

  it('hands the options of a command to the command below it', async () => {
    expect(await parsed('runs', 'show', 'last', '--metrics', 'file', '--json')).toEqual({
      metrics: 'file',
      json: true,
    });
  });

  it.each([
    [['apply', 'plan.json', '-y'], 'proxwright apply plan.json --yes'],
    [
      ['apply', '--var', 'password=hunter2=x', '--only', 'vm.web[2]', '--no-evidence'],
      "proxwright apply --var password=… --only 'vm.web[2]' --no-evidence",
    ],
    [
      ['state', 'migrate', '--to', 'postgres://ops:hunter2@db.example.org/infra'],
      'proxwright state migrate --to postgres://ops:…@db.example.org/infra',
    ],
    [['permissions', '--for', 'deploy@pve!ci=hunter2'], "proxwright permissions --for 'deploy@pve!ci=…'"],
    [['sim'], 'proxwright sim'],
  ])('records what was typed without secrets and defaults: %j', async (words, typed) => {
    let recorded: string | undefined;
    const program = createProgram(async (_options, _command, commandLine) => {
      recorded = commandLine;
    });
    await program.parseAsync(words, { from: 'user' });
    expect(recorded).toBe(typed);
  });
});
