/**
 * What to do next, as data. A hint is text; the settings and commands in it are also values, so that a front end with
 * another language (HCL, `terraform …`) renders them in its own way instead of parsing the text.
 */

import { redact, type Secret } from './secret.ts';
import { shellWord } from './text/shell.ts';

/** A field with its value, or the field alone. `…` stands for a value that only the reader knows. */
export interface Setting {
  /** Dotted, as in a stack file: `rollout.timeouts.image`. */
  readonly path: string;
  readonly value?: SettingValue;
}

export type SettingValue =
  | string
  | number
  | boolean
  | null
  | readonly SettingValue[]
  | { readonly [name: string]: SettingValue };

/** The commands of Proxwright that a hint can name. */
export const HINT_COMMANDS = [
  'adopt',
  'apply',
  'destroy',
  'import',
  'init',
  'output',
  'permissions',
  'plan',
  'rebalance',
  'rehearse',
  'rollback',
  'runs',
  'sim',
  'snapshot create',
  'snapshot delete',
  'snapshot list',
  'state backup',
  'state forget',
  'state migrate',
  'state mv',
  'state recover',
  'state restore',
  'state unlock',
] as const;

/** A command of Proxwright: `{ command: 'import', args: ['vm.web', '101'] }`. */
export interface Command {
  readonly command: (typeof HINT_COMMANDS)[number];
  readonly args: readonly string[];
}

/** The part of `text` that a setting or command occupies; `end` is exclusive. */
interface Span {
  readonly at: readonly [from: number, to: number];
}

export interface Hint {
  /** Complete sentences, in the language of stack files and of the command line. */
  readonly text: string;
  readonly set?: readonly (Setting & Span)[];
  readonly run?: readonly (Command & Span)[];
}

/** How a front end writes the settings and commands of a hint. */
export interface HintLanguage {
  readonly setting: (setting: Setting) => string;
  readonly command: (command: Command) => string;
}

/** Stack files and the command line. */
export const OWN_LANGUAGE: HintLanguage = {
  setting: ({ path, value }) => (value === undefined ? path : `${path}: ${yamlValue(value)}`),
  command: ({ command, args }) => ['proxwright', command, ...args.map(shellWord)].join(' '),
};

/** Commands that read no stack file. */
const WITHOUT_STACK: ReadonlySet<Command['command']> = new Set(['adopt', 'init', 'sim']);

/** The command line of a user who selects the stack with `options`: commands repeat them, so that they work as printed. */
export function ownLanguage(options: readonly string[]): HintLanguage {
  const command = (ours: Command) =>
    OWN_LANGUAGE.command(WITHOUT_STACK.has(ours.command) ? ours : { ...ours, args: [...options, ...ours.args] });
  return { ...OWN_LANGUAGE, command };
}

export type HintPart = { readonly setting: Setting } | { readonly command: Command };
type Piece = string | HintPart;

/** ``advice`Write ${setting('bios', 'ovmf')}, or run ${command('plan')}.` `` Nested hints and strings become part of it. */
export function advice(strings: TemplateStringsArray, ...inner: readonly (HintPart | Hint | string | number)[]): Hint {
  const pieces = strings.flatMap((text, index): readonly Piece[] => {
    const next = inner[index];
    if (next === undefined) return [text];
    if (typeof next !== 'object') return [text, String(next)];
    return 'text' in next ? [text, ...piecesOf(next)] : [text, next];
  });
  return hintOf(pieces);
}

export function setting(path: string, value?: SettingValue): HintPart {
  return { setting: { path, ...(value !== undefined && { value }) } };
}

export function command(name: Command['command'], ...args: readonly (string | number)[]): HintPart {
  return { command: { command: name, args: args.map(String) } };
}

/** The same where only text is printed. Its arguments are quoted as a shell needs them. */
export function commandText(name: Command['command'], ...args: readonly (string | number)[]): string {
  return OWN_LANGUAGE.command({ command: name, args: args.map(String) });
}

/** Plain text is also a hint. */
export function toHint(given: Hint | string): Hint {
  return typeof given === 'string' ? { text: given } : given;
}

/** The text of a hint in the language of another front end. */
export function hintIn(language: HintLanguage, given: Hint): string {
  return piecesOf(given)
    .map((piece) => (typeof piece === 'string' ? piece : written(piece, language)))
    .join('');
}

/** A part that contains a secret becomes plain text without it. */
export function redactHint(given: Hint, secrets: readonly Secret[]): Hint {
  return hintOf(
    piecesOf(given).map((piece) => {
      const text = typeof piece === 'string' ? piece : written(piece, OWN_LANGUAGE);
      const clean = redact(text, secrets);
      return clean === text ? piece : clean;
    }),
  );
}

function hintOf(pieces: readonly Piece[]): Hint {
  const set: (Setting & Span)[] = [];
  const run: (Command & Span)[] = [];
  let text = '';
  for (const piece of pieces) {
    const from = text.length;
    text += typeof piece === 'string' ? piece : written(piece, OWN_LANGUAGE);
    const at = [from, text.length] as const;
    if (typeof piece === 'string') continue;
    if ('setting' in piece) set.push({ ...piece.setting, at });
    else run.push({ ...piece.command, at });
  }
  return { text, ...(set.length > 0 && { set }), ...(run.length > 0 && { run }) };
}

function piecesOf({ text, set = [], run = [] }: Hint): readonly Piece[] {
  const parts = [
    ...set.map(({ at, ...each }) => ({ at, part: { setting: each } })),
    ...run.map(({ at, ...each }) => ({ at, part: { command: each } })),
  ].sort((a, b) => a.at[0] - b.at[0]);
  let place = 0;
  const pieces: Piece[] = [];
  for (const { at, part } of parts) {
    pieces.push(text.slice(place, at[0]), part);
    place = at[1];
  }
  return [...pieces, text.slice(place)];
}

function written(part: HintPart, language: HintLanguage): string {
  return 'setting' in part ? language.setting(part.setting) : language.command(part.command);
}

/** YAML on one line. */
function yamlValue(value: SettingValue): string {
  if (typeof value === 'string') return isPlainYaml(value) ? value : JSON.stringify(value);
  if (value === null || typeof value !== 'object') return String(value);
  if (isList(value)) return `[${value.map(yamlValue).join(', ')}]`;
  const entries = Object.entries(value);
  return entries.length === 0
    ? '{}'
    : `{ ${entries.map(([name, inner]) => `${name}: ${yamlValue(inner)}`).join(', ')} }`;
}

/** Text that needs no quotes in YAML, not even inside `{ }` and `[ ]`. */
function isPlainYaml(text: string): boolean {
  return /^[\w…./-]+$/.test(text) && !/^(-?[\d._]+|true|false|null|yes|no|on|off|[.-]+)$/i.test(text);
}

export function isList(value: SettingValue): value is readonly SettingValue[] {
  return Array.isArray(value);
}
