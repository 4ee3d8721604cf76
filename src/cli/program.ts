/** Builds the command line from the list of commands. A command's own code is loaded when it runs. */
import { Command } from 'commander';
import { visibleText } from '../base/text/safe-text.ts';
import { shellWord } from '../base/text/shell.ts';
import type { CommandDeps, CommandRow, ExitCode, GlobalOptions, OptionRow } from './command.ts';
import { COMMANDS, PROGRAM } from './command-list/command-list.ts';
import { optionsOf } from './options.ts';
import { packageVersion } from './package.ts';

/** Prepares the dependencies that the options ask for, and runs the command with them. */
export type RunCommand = (
  options: GlobalOptions,
  command: (deps: CommandDeps) => Promise<ExitCode>,
  commandLine: string,
) => Promise<void>;

/** `typed` are the words of the command line: if the first one names a command, only that one is built, which is faster. */
export function createProgram(run: RunCommand, typed: readonly string[] = []): Command {
  const program = new Command(PROGRAM.name)
    .description(PROGRAM.about)
    .version(packageVersion(), '-V, --version')
    .showSuggestionAfterError()
    .showHelpAfterError('Run the command with --help to see its options.')
    .addHelpText('after', PROGRAM.help)
    // What was typed is repeated in messages about it.
    .configureOutput({ outputError: (text, write) => write(visibleText(text)) })
    .exitOverride();
  const named = COMMANDS.filter(({ name }) => name === typed[0]);
  for (const row of named.length > 0 ? named : COMMANDS) addCommand(program, row, run);
  return program;
}

function addCommand(parent: Command, row: CommandRow, run: RunCommand): void {
  const command = parent.command(row.name, { hidden: row.isHidden === true }).description(row.about);
  for (const { name, about = '' } of row.arguments ?? []) command.argument(name, about);
  for (const option of optionsOf(row)) addOption(command, option);
  if (row.help !== undefined) command.addHelpText('after', row.help);
  const { load } = row;
  if (load) {
    // Commander passes the arguments, the options and the command, in this order.
    command.action(async (...values: unknown[]) => {
      const given = values.slice(0, -2);
      // A subcommand's options may have been parsed by its parent, if both declare them.
      const options = command.optsWithGlobals<GlobalOptions>();
      const work = async (deps: CommandDeps) => {
        const loaded = (await load()) as (...all: unknown[]) => Promise<ExitCode>; // takes what its row declares
        return loaded(...given, options, deps);
      };
      await run(options, work, commandLineOf(command, given, options));
    });
  }
  for (const below of row.commands ?? []) addCommand(command, below, run);
}

function addOption(command: Command, { flags, about, repeatable, byDefault }: OptionRow): void {
  if (repeatable) command.option(flags, `${about} (repeatable)`, collect);
  else command.option(flags, about, byDefault);
}

const collect = (value: string, previous: readonly string[] = []) => [...previous, value];

/**
 * What was typed, as the journal records it: options in the order of the list of commands, without what may be secret.
 * `given` are the arguments of the command, in their order.
 */
function commandLineOf(command: Command, given: readonly unknown[], options: object): string {
  const values: Readonly<Record<string, unknown>> = { ...options };
  const words = [
    ...namesOf(command),
    ...given.flatMap((value) => textsOf(value).map(withoutPassword)),
    ...command.options.flatMap((option) => {
      const name = option.attributeName();
      if (command.getOptionValueSourceWithGlobals(name) !== 'cli') return [];
      const flag = option.long ?? option.flags;
      const value = values[name];
      if (option.negate) return value === false ? [flag] : [];
      if (value === true) return [flag];
      return textsOf(value).flatMap((text) => [flag, flag === '--var' ? withoutValue(text) : withoutPassword(text)]);
    }),
  ];
  return words.map(shellWord).join(' ');
}

function namesOf(command: Command): string[] {
  return [...(command.parent ? namesOf(command.parent) : []), command.name()];
}

function textsOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(textsOf);
  return typeof value === 'string' ? [value] : [];
}

/** Any variable may be a secret. */
const withoutValue = (setting: string) => `${setting.split('=')[0]}=…`;

/** `postgres://user:…@host`, and the secret of a token. */
function withoutPassword(text: string): string {
  return text.replace(/(:\/\/[^/\s:@]*):[^/\s]*@/g, '$1:…@').replace(/(![\w.-]+=).+/g, '$1…');
}
