/** Text in messages where the difference between two texts may be invisible: a carriage return, a blank at the end. */

/** Everything that leaves no mark on paper, except the blank between words. */
const INVISIBLE = /[\p{C}\p{Z}]/gu;

/** The text as it is, or in quotes with escapes (`"a\r\nb "`) if parts of it are invisible. */
export function exactText(text: string): string {
  const isPlain = text !== '' && text === text.trim() && !/ {2}/.test(text) && !hidden(text);
  return isPlain ? text : quotedText(text);
}

/** In quotes, with an escape for every character that cannot be seen. */
export function quotedText(text: string): string {
  return JSON.stringify(text).replace(INVISIBLE, (character) =>
    character === ' '
      ? character
      : [...Array(character.length).keys()].map((at) => `\\u${hex(character.charCodeAt(at))}`).join(''),
  );
}

const hidden = (text: string) => text.replaceAll(' ', '').search(INVISIBLE) >= 0;
const hex = (code: number) => code.toString(16).padStart(4, '0');
