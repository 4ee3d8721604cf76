/** What can follow the words typed so far. Decided from the list of commands alone; only addresses need the stack file. */
import type { ArgumentRow, CommandRow, OptionRow } from '../command.ts';
import { optionsOf } from '../options.ts';

export interface Candidate {
  readonly word: string;
  readonly about?: string;
}

/** `files` and `addresses` are looked up by the caller; each candidate is preceded by `before` (`--only=`). */
export type Candidates =
  | { readonly kind: 'words'; readonly before: string; readonly words: readonly Candidate[] }
  | { readonly kind: 'files' }
  | { readonly kind: 'addresses'; readonly before: string };

/** `words` follow `proxwright`; the last one is being typed and may be empty. */
export function candidatesFor(commands: readonly CommandRow[], words: readonly string[]): Candidates {
  const typed = words.map(unquoted).filter((word, index, all) => !isSeparator(word, all[index - 1]));
  const current = unquoted(words.at(-1) ?? '');
  const before = typed.slice(0, isSeparator(current, typed.at(-1)) ? undefined : -1);
  const { row, options, given } = follow(commands, before);
  const pending = optionNamed(before.at(-1), options);
  if (pending && takesValue(pending)) return valuesOf(pending, '');
  const [, assigned] = /^(--[\w-]+)=/.exec(current) ?? [];
  if (assigned !== undefined) {
    const option = optionNamed(assigned, options);
    return option && takesValue(option) ? valuesOf(option, `${assigned}=`) : wordsOf([]);
  }
  if (current.startsWith('-')) {
    return wordsOf(
      [...options, ...(row ? [HELP] : [HELP, VERSION])].map((each) => ({ word: longName(each), about: each.about })),
    );
  }
  const below = (row?.commands ?? (row ? [] : commands)).filter(({ isHidden }) => !isHidden);
  const argument = row?.arguments?.[Math.min(given, row.arguments.length - 1)];
  if (argument && (given < (row?.arguments?.length ?? 0) || argument.name.includes('...')))
    return valuesOf(argument, '');
  return wordsOf(below.map(({ name, about }) => ({ word: name, about })));
}

/** What the library for arguments adds by itself. */
const HELP: OptionRow = { flags: '-h, --help', about: 'display help for command' };
const VERSION: OptionRow = { flags: '-V, --version', about: 'output the version number' };

interface Followed {
  /** The command that the words lead to; undefined at the top. */
  readonly row: CommandRow | undefined;
  readonly options: readonly OptionRow[];
  /** How many arguments have been given. */
  readonly given: number;
}

function follow(commands: readonly CommandRow[], words: readonly string[]): Followed {
  let row: CommandRow | undefined;
  let given = 0;
  let previous: string | undefined;
  for (const word of words) {
    const options = row ? optionsOf(row) : [];
    const pending = optionNamed(previous, options);
    const isValue = pending !== undefined && takesValue(pending);
    previous = isValue ? undefined : word;
    if (isValue || word.startsWith('-')) continue;
    const next: CommandRow | undefined = (row ? (row.commands ?? []) : commands).find(({ name }) => name === word);
    if (next) row = next;
    else given++;
  }
  return { row, options: row ? optionsOf(row) : [], given };
}

const wordsOf = (words: readonly Candidate[], before = ''): Candidates => ({ kind: 'words', before, words });

/** The placeholder says what belongs there: `<file>`, `<address>`, or one of the listed values. */
function valuesOf(row: OptionRow | ArgumentRow, before: string): Candidates {
  const [, placeholder = ''] = /[<[]([\w=:-]+)/.exec('flags' in row ? row.flags : row.name) ?? [];
  if (row.values)
    return wordsOf(
      row.values.map((word) => ({ word })),
      before,
    );
  if (['file', 'plan', 'rules'].includes(placeholder)) return { kind: 'files' };
  if (['address', 'from', 'to'].includes(placeholder)) return { kind: 'addresses', before };
  return wordsOf([]);
}

const takesValue = ({ flags }: OptionRow) => flags.includes('<');
const namesOf = ({ flags }: OptionRow) =>
  flags
    .replace(/[<[].*/, '')
    .split(',')
    .map((name) => name.trim());
const longName = (option: OptionRow) => namesOf(option).at(-1) ?? '';

function optionNamed(word: string | undefined, options: readonly OptionRow[]): OptionRow | undefined {
  return word?.startsWith('-') ? options.find((option) => namesOf(option).includes(word)) : undefined;
}

/** bash hands over `--only=vm` as three words. */
function isSeparator(word: string, previous: string | undefined): boolean {
  return word === '=' && previous?.startsWith('--') === true;
}

/** A word as the shell would pass it on: shells hand over what was typed, with its quotes and backslashes. */
export function unquoted(word: string): string {
  return word.replace(/\\(.)|["']/g, (_, escaped?: string) => escaped ?? '');
}
