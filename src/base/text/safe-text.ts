/**
 * Text from a server, a guest or a file that is shown to a person. Such text can move the cursor, change the title of a
 * terminal or reverse the order of what is read. The sinks show those characters instead of sending them.
 */

/**
 * Control characters (C0, DEL, C1), line separators, bidirectional controls, invisible characters and tags, and halves of
 * surrogate pairs. Tabs and line feeds stay: they lay text out.
 */
const UNSAFE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to find
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]|\p{Cs}/gu;

/** Shows unsafe characters as `\x1b` or `\u202e`. A line break of two characters becomes one. */
export function visibleText(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(UNSAFE, (character) => {
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x100) return `\\x${hex(code, 2)}`;
    return code > 0xffff ? `\\u{${hex(code, 5)}}` : `\\u${hex(code, 4)}`;
  });
}

/** As `visibleText`, on one line. */
export function visibleLine(text: string): string {
  return visibleText(text).replaceAll('\n', '\\n').replaceAll('\t', '\\t');
}

/**
 * JSON in which every unsafe character is escaped: a terminal can show it, and a parser reads the same value. JSON has no
 * large integers; they become text.
 */
export function safeJson(value: unknown, indent?: number): string {
  // Outside of strings JSON has no such character, except line feeds, which stay.
  return escapedUnsafe(
    JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? String(part) : part), indent),
  );
}

/** As JSON and YAML write such a character between double quotes. */
export function escapedUnsafe(text: string): string {
  return text.replace(UNSAFE, escaped);
}

/** Everything that leaves no mark on paper, the blank between words included. */
const INVISIBLE = /[\p{C}\p{Z}]/gu;

/** For a difference that may be invisible: the text as it is, or in quotes with escapes (`"a\r\nb "`) if parts of it are. */
export function exactText(text: string): string {
  const isPlain = text !== '' && text === text.trim() && !/ {2}/.test(text) && !hidden(text);
  return isPlain ? text : quotedText(text);
}

/** In quotes, with an escape for every character that cannot be seen. */
export function quotedText(text: string): string {
  return JSON.stringify(text).replace(INVISIBLE, (character) => (character === ' ' ? character : escaped(character)));
}

const hidden = (text: string) => text.replaceAll(' ', '').search(INVISIBLE) >= 0;

function escaped(character: string): string {
  return [...Array(character.length).keys()].map((index) => `\\u${hex(character.charCodeAt(index), 4)}`).join('');
}

const hex = (code: number, digits: number) => code.toString(16).padStart(digits, '0');

/** Undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
