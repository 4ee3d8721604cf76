/** The reference of the command line, out of the definition that reads it. */
import { type Argument, Command, type Option } from 'commander';
import { createProgram } from '../../src/cli/program.ts';
import { globalOptions, stackOptions } from '../../src/cli/stack-options.ts';
import { table } from './markdown.ts';

const GLOBAL = globalOptions(new Command()).options;
const OF_STACKS = stackOptions(new Command()).options.filter((option) => !isAmong(option, GLOBAL));

export function commandReference(): string {
  const commands = commandsBelow(createProgram(async () => {}));
  return [
    '## Options of every command',
    optionTable(GLOBAL.map(optionRow)),
    '## Options of every command that works on a stack file',
    optionTable(OF_STACKS.map(optionRow)),
    ...commands.map(([name, command]) => describe(name, command)),
  ].join('\n\n');
}

/** Every command that does something, with its whole name. One without options that has others below does nothing. */
function commandsBelow(parent: Command, prefix = 'proxwright'): [string, Command][] {
  return parent.commands.flatMap((command): [string, Command][] => {
    const name = `${prefix} ${command.name()}`;
    const below = commandsBelow(command, name);
    const isGroup = below.length > 0 && command.options.length === 0;
    return isGroup ? below : [[name, command], ...below];
  });
}

function describe(name: string, command: Command): string {
  const words = command.registeredArguments.map(placeholder);
  const own = command.options.filter((option) => !isAmong(option, [...GLOBAL, ...OF_STACKS]));
  const rows = [...command.registeredArguments.map(argumentRow), ...own.map(optionRow)];
  const works = OF_STACKS.every((option) => isAmong(option, command.options)) ? ' Works on a stack file.' : '';
  return [
    `## \`${[name, ...words].join(' ')}\``,
    `${sentence(command.description())}${works}`,
    ...(rows.length > 0 ? [optionTable(rows)] : []),
  ].join('\n\n');
}

const optionTable = (rows: readonly (readonly string[])[]) => table(['argument or option', 'default', 'meaning'], rows);
const optionRow = (option: Option) => [`\`${option.flags}\``, defaultOf(option), option.description];
const argumentRow = (argument: Argument) => [`\`${placeholder(argument)}\``, defaultOf(argument), argument.description];

function isAmong({ flags }: Option, options: readonly Option[]): boolean {
  return options.some((option) => option.flags === flags);
}

function placeholder(argument: Argument): string {
  const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
  return argument.required ? `<${name}>` : `[${name}]`;
}

function defaultOf({ defaultValue }: Argument | Option): string {
  return defaultValue === undefined || defaultValue === false ? '' : `\`${String(defaultValue)}\``;
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`.replace(/\.?$/, '.');
}
