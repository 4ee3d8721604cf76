/** Advice written for stack files, in the host's language: `efi: { storage: … }` becomes `efi = { storage = … }`. */
import { VM_SHAPE } from '../schema/from-fields.ts';
import type { Shape } from '../schema/shape.ts';

const NAMES: ReadonlySet<string> = new Set([...namesIn(VM_SHAPE), 'fingerprint']);
/** The host breaks longer lines, unless they are indented; a setting in two lines cannot be pasted. */
const SHORT_ENOUGH = 60;
/** What a stack file says of the connection, the block of the provider says. */
const OF_CONNECTION = /\bconnection\.(?=(?:endpoint|token|ca|fingerprint)\b)/g;

/** Commands of our own that have a counterpart there. */
const ADDRESS = '\'?(?:vm|template|retired|image)\\.[\\w[\\]"-]+(?:\\.[\\w[\\]"-]+)*\'?';
const COMMANDS: readonly (readonly [RegExp, string])[] = [
  [/ Otherwise: proxwright state recover/g, ''],
  [
    new RegExp(`proxwright import (?:${ADDRESS} \\d+ )?--accept-identity`, 'g'),
    'terraform state rm ADDRESS, then terraform import ADDRESS NODE/VMID',
  ],
  [new RegExp(`proxwright import ${ADDRESS} (\\d+)`, 'g'), 'terraform import ADDRESS $1'],
  [new RegExp(`proxwright apply --replace ${ADDRESS}`, 'g'), 'terraform apply -replace=ADDRESS'],
  [new RegExp(`proxwright state forget ${ADDRESS}`, 'g'), 'terraform state rm ADDRESS'],
];

/** Only what is surely a setting is touched: the name of a field, a colon, and a value that ends where a setting would. */
export function inHostLanguage(advice: string): string {
  const said = advice.replace(OF_CONNECTION, 'the provider’s ');
  const text = COMMANDS.reduce((words, [ours, theirs]) => words.replace(ours, theirs), said);
  let result = '';
  let place = 0;
  for (const match of text.matchAll(/(?<![\w.])((?:[a-z_0-9]+\.)*([a-z_0-9]+)): |(?<![\w"])\{ (?=[a-z_]+: )/g)) {
    if (match.index < place) continue;
    const [whole, path, name = ''] = match;
    const start = path === undefined ? match.index : match.index + whole.length;
    const value = path === undefined || NAMES.has(name) ? valueAt(text, start) : undefined;
    if (value === undefined || !endsSetting(text, value)) continue;
    const before = text.slice(place, match.index);
    const setting = `${path === undefined ? '' : `${path} = `}${value.text}`;
    const isLong = setting.length > SHORT_ENOUGH;
    result += isLong ? `${before.trimEnd()}\n\n  ${setting}\n\n` : `${before}${setting}`;
    place = value.end + (isLong && text[value.end] === ' ' ? 1 : 0);
  }
  return result + text.slice(place);
}

interface Value {
  readonly text: string;
  readonly end: number;
  /** A word that might be one of a sentence. */
  readonly isWord: boolean;
}

function endsSetting(text: string, { end, isWord }: Value): boolean {
  return !isWord || /^([.,;)]|$)/.test(text.slice(end));
}

function valueAt(text: string, start: number): Value | undefined {
  const rest = text.slice(start);
  if (rest.startsWith('…')) return { text: '…', end: start + 1, isWord: false };
  if (rest.startsWith('{ ')) return groupAt(text, start + 2, '{ ', ' }', pairAt);
  if (rest.startsWith('[')) return groupAt(text, start + 1, '[', ']', valueAt);
  const [quoted] = /^"[^"]*"/.exec(rest) ?? [];
  if (quoted !== undefined) return { text: quoted, end: start + quoted.length, isWord: false };
  const [word] = /^\w+(?:[./:-]\w+)*/.exec(rest) ?? [];
  if (word === undefined) return undefined;
  const isLiteral = /^(null|true|false|\d+)$/.test(word);
  return { text: isLiteral ? word : `"${word}"`, end: start + word.length, isWord: !isLiteral };
}

function pairAt(text: string, start: number): Value | undefined {
  const [whole, name] = /^([a-z_0-9]+): /.exec(text.slice(start)) ?? [];
  const value = whole === undefined ? undefined : valueAt(text, start + whole.length);
  return value && { ...value, text: `${name} = ${value.text}` };
}

function groupAt(
  text: string,
  start: number,
  open: string,
  close: string,
  itemAt: (text: string, start: number) => Value | undefined,
): Value | undefined {
  const items: string[] = [];
  for (let place = start; ; place += 2) {
    const item = itemAt(text, place);
    if (item === undefined) return undefined;
    items.push(item.text);
    place = item.end;
    if (text.startsWith(close, place)) {
      return { text: `${open}${items.join(', ')}${close}`, end: place + close.length, isWord: false };
    }
    if (!text.startsWith(', ', place)) return undefined;
  }
}

function namesIn(shape: Shape): string[] {
  if (shape.kind === 'leaf') return [];
  if (shape.kind === 'slots') return namesIn(shape.item);
  return Object.entries(shape.fields).flatMap(([name, inner]) => [name, ...namesIn(inner)]);
}
