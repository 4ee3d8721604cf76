/** The manual page, in roff, from the list that the command line is built from. */
import type { CommandRow, OptionRow } from '../../src/cli/command.ts';
import { COMMANDS, PROGRAM } from '../../src/cli/command-list/command-list.ts';
import { GLOBAL_OPTIONS, STACK_OPTIONS } from '../../src/cli/options.ts';

export function manPage(version: string): string {
  const [firstSteps = '', connection = '', exitCodes = '', ...more] = PROGRAM.help.trim().split('\n\n');
  if (more.length > 0) throw new Error('The help of the program has a part that the manual page has no section for.');
  return [
    `.TH PROXWRIGHT 1 "" "proxwright ${roff(version)}" "User Commands"`,
    '.SH NAME',
    `proxwright \\- ${roff(withoutStop(PROGRAM.about))}`,
    '.SH SYNOPSIS',
    '.B proxwright',
    '.I command',
    '[\\fIarguments\\fR] [\\fIoptions\\fR]',
    '.SH DESCRIPTION',
    roff(PROGRAM.about),
    ...verbatim(firstSteps),
    '.SH COMMANDS',
    ...COMMANDS.flatMap((row) => command(row, PROGRAM.name)),
    '.SH OPTIONS OF EVERY COMMAND',
    ...GLOBAL_OPTIONS.flatMap(option),
    '.SH OPTIONS OF COMMANDS THAT WORK ON A STACK FILE',
    ...STACK_OPTIONS.flatMap(option),
    '.SH ENVIRONMENT',
    ...verbatim(connection),
    '.SH EXIT STATUS',
    roff(exitCodes),
    '',
  ].join('\n');
}

function command(row: CommandRow, prefix: string): string[] {
  if (row.isHidden) return [];
  const name = `${prefix} ${row.name}`;
  const below = (row.commands ?? []).flatMap((each) => command(each, name));
  if (!row.load) return below;
  const words = (row.arguments ?? []).map((argument) => roff(argument.name));
  return [
    `.SS ${[`\\fB${roff(name)}\\fR`, ...words].join(' ')}`,
    roff(`${sentence(row.about)}${row.usesStack ? ' Works on a stack file.' : ''}`),
    ...(row.arguments ?? []).flatMap(({ name: word, about = '' }) => entry(word, about)),
    ...(row.options ?? []).flatMap(option),
    ...(row.help === undefined ? [] : verbatim(row.help.trim())),
    ...below,
  ];
}

function option({ flags, about, byDefault, repeatable }: OptionRow): string[] {
  const notes = [...(repeatable ? ['repeatable'] : []), ...(byDefault === undefined ? [] : [`default: ${byDefault}`])];
  return entry(flags, notes.length === 0 ? about : `${about} (${notes.join(', ')})`);
}

function entry(term: string, meaning: string): string[] {
  return ['.TP', `\\fB${roff(term)}\\fR`, roff(sentence(meaning))];
}

/** Lines as they are. */
function verbatim(text: string): string[] {
  return ['.PP', '.nf', ...text.split('\n').map(roff), '.fi'];
}

/** A backslash, and a dot or quote at the beginning of a line, mean something in roff; what is not ASCII is named. */
function roff(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^[.']/, '\\&$&')
    .replace(/[^\x20-\x7e]/gu, (char) => `\\[u${char.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}]`);
}

const withoutStop = (text: string) => text.replace(/\.$/, '');

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`.replace(/[.)]?$/, (end) => (end === ')' ? ').' : '.'));
}
