/** The reference of the command line, from the list that it is built from. */
import type { ArgumentRow, CommandRow, OptionRow } from '../../src/cli/command.ts';
import { COMMANDS, PROGRAM } from '../../src/cli/command-list/command-list.ts';
import { GLOBAL_OPTIONS, STACK_OPTIONS } from '../../src/cli/options.ts';
import { table } from './markdown.ts';

export function commandReference(): string {
  return [
    '## Options of every command',
    optionTable(GLOBAL_OPTIONS.map(optionRow)),
    '## Options of every command that works on a stack file',
    optionTable(STACK_OPTIONS.map(optionRow)),
    ...COMMANDS.flatMap((row) => sections(row, PROGRAM.name)),
  ].join('\n\n');
}

/** A group does nothing itself; only the commands in it have a section. */
function sections(row: CommandRow, prefix: string): string[] {
  if (row.isHidden) return [];
  const name = `${prefix} ${row.name}`;
  const below = (row.commands ?? []).flatMap((each) => sections(each, name));
  return row.load ? [describe(name, row), ...below] : below;
}

function describe(name: string, { about, arguments: words = [], options = [], usesStack }: CommandRow): string {
  const rows = [...words.map(argumentRow), ...options.map(optionRow)];
  return [
    `## \`${[name, ...words.map((word) => word.name)].join(' ')}\``,
    `${sentence(about)}${usesStack ? ' Works on a stack file.' : ''}`,
    ...(rows.length > 0 ? [optionTable(rows)] : []),
  ].join('\n\n');
}

const optionTable = (rows: readonly (readonly string[])[]) => table(['argument or option', 'default', 'meaning'], rows);

const argumentRow = ({ name, about = '' }: ArgumentRow) => [`\`${name}\``, '', about];

function optionRow({ flags, about, byDefault, repeatable }: OptionRow): string[] {
  return [
    `\`${flags}\``,
    byDefault === undefined ? '' : `\`${byDefault}\``,
    `${about}${repeatable ? ' (repeatable)' : ''}`,
  ];
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`.replace(/\.?$/, '.');
}
