/**
 * Reads the patterns of the parameter schema, which are Perl's, as JavaScript regular expressions: `(?^i:…)` groups,
 * `{,16}`, a `$` that tolerates one final line feed, and `\d`, `\w` that mean all of Unicode.
 * Only what occurs in the schema is understood; anything else fails when the expression is compiled.
 */

const compiled = new Map<string, RegExp>();

/**
 * Whether the text matches, anchored as the server anchors it: `^` and `$` are put around the pattern without a group,
 * so in `a|b` the first alternative is only anchored at the start and the second only at the end.
 * [source PC JSONSchema.pm check_prop]
 */
export function matchesPerlPattern(pattern: string, text: string): boolean {
  let expression = compiled.get(pattern);
  if (expression === undefined) {
    expression = new RegExp(translate(`^${pattern}$`), 'u');
    compiled.set(pattern, expression);
  }
  return expression.test(text);
}

interface Reader {
  readonly source: string;
  at: number;
  /** Whether case is ignored, for each open group; the last is the current one. */
  readonly ignoreCase: boolean[];
}

function translate(source: string): string {
  const reader: Reader = { source, at: 0, ignoreCase: [false] };
  let result = '';
  while (reader.at < source.length) result += nextToken(reader);
  return result;
}

function nextToken(reader: Reader): string {
  const rest = reader.source.slice(reader.at);
  const group = /^\((?:\?\^?([a-z]*):)?/.exec(rest);
  if (group) {
    const capturing = group[0] === '(';
    reader.ignoreCase.push(capturing ? currentlyIgnoringCase(reader) : (group[1] ?? '').includes('i'));
    reader.at += group[0].length;
    return capturing ? '(' : '(?:';
  }
  if (rest.startsWith('{,')) return take(reader, 2, '{0,');
  if (rest.startsWith('[')) return characterClass(reader);
  if (rest.startsWith('\\')) return take(reader, 2, escapeSequence(rest.charAt(1), false));
  const char = rest.charAt(0);
  if (char === ')') reader.ignoreCase.pop();
  if (char === '$') return take(reader, 1, '(?=\\n?$)');
  if (char === '.') return take(reader, 1, '[^\\n]');
  return take(reader, 1, currentlyIgnoringCase(reader) && /[a-zA-Z]/.test(char) ? `[${bothCases(char)}]` : char);
}

function take(reader: Reader, length: number, result: string): string {
  reader.at += length;
  return result;
}

function currentlyIgnoringCase(reader: Reader): boolean {
  return reader.ignoreCase.at(-1) ?? false;
}

/** A class has no nested ones in this schema, so the first unescaped `]` ends it. */
function characterClass(reader: Reader): string {
  const match = /^\[(\^?)((?:\\.|[^\]\\])*)\]/s.exec(reader.source.slice(reader.at));
  if (!match) throw new Error(`Unfinished character class in the pattern ${reader.source}`);
  reader.at += match[0].length;
  const members = (match[2] ?? '').match(/[a-zA-Z0-9]-[a-zA-Z0-9]|\\.|./gs) ?? [];
  return `[${match[1]}${members.map((member) => classMember(member, currentlyIgnoringCase(reader))).join('')}]`;
}

function classMember(member: string, ignoreCase: boolean): string {
  if (member.startsWith('\\')) return escapeSequence(member.charAt(1), true);
  if (ignoreCase && /^[a-zA-Z]/.test(member)) return bothCases(member);
  return /^[[\-(){}/|]$/.test(member) ? `\\${member}` : member;
}

function bothCases(text: string): string {
  return `${text.toLowerCase()}${text.toUpperCase()}`;
}

function escapeSequence(char: string, insideClass: boolean): string {
  if (char === 'd') return '\\p{Nd}';
  if (char === 'w') return insideClass ? '\\p{L}\\p{M}\\p{N}\\p{Pc}' : '[\\p{L}\\p{M}\\p{N}\\p{Pc}]';
  if (/[a-zA-Z0-9]/.test(char)) return `\\${char}`;
  if (char === '-') return insideClass ? '\\-' : '-';
  return /[\^$\\.*+?()[\]{}|/]/.test(char) ? `\\${char}` : char;
}
