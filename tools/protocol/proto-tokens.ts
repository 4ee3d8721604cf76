/** The words of a `.proto` file, one after the other, each with the comment above it. */

interface Token {
  readonly text: string;
  readonly line: number;
  readonly comment: string | undefined;
}

const WORD = /"[^"]*"|[A-Za-z_][\w.]*|\d+|[{}()<>=;,]/y;

export class Tokens {
  readonly #name: string;
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(name: string, text: string) {
    this.#name = name;
    this.#tokens = text.split('\n').reduce<Scanned>(scanLine, { tokens: [], comment: undefined, name, line: 1 }).tokens;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#tokens.length;
  }

  get peek(): string | undefined {
    return this.#tokens[this.#at]?.text;
  }

  /** The comment directly above the next token. */
  get comment(): string | undefined {
    return this.#tokens[this.#at]?.comment;
  }

  accept(text: string): boolean {
    const isNext = this.peek === text;
    if (isNext) this.#at += 1;
    return isNext;
  }

  expect(text: string): void {
    if (!this.accept(text)) throw this.unexpected(text);
  }

  name(): string {
    return this.#take(/^[A-Za-z_][\w.]*$/, 'a name');
  }

  integer(): number {
    return Number(this.#take(/^\d+$/, 'a number'));
  }

  /** Reads items until the closing brace. */
  block(readItem: () => void): void {
    this.expect('{');
    while (!this.accept('}')) readItem();
  }

  unexpected(expected: string): Error {
    const token = this.#tokens[this.#at];
    const found = token ? `${token.text} in line ${token.line}` : 'the end of the file';
    return new Error(`${this.#name}: expected ${expected}, found ${found}.`);
  }

  #take(pattern: RegExp, what: string): string {
    const text = this.peek;
    if (text === undefined || !pattern.test(text)) throw this.unexpected(what);
    this.#at += 1;
    return text;
  }
}

interface Scanned {
  readonly tokens: Token[];
  readonly comment: string | undefined;
  readonly name: string;
  readonly line: number;
}

/** Comments stand on lines of their own. A blank line separates a comment from what follows. */
function scanLine({ tokens, comment, name, line }: Scanned, text: string): Scanned {
  const trimmed = text.trim();
  const next = { tokens, name, line: line + 1 };
  if (trimmed === '') return { ...next, comment: undefined };
  if (trimmed.startsWith('//')) return { ...next, comment: `${comment ?? ''}${trimmed.slice(2)}\n` };
  let at = 0;
  let above = comment;
  while (at < trimmed.length) {
    WORD.lastIndex = at;
    const word = WORD.exec(trimmed)?.[0];
    if (word === undefined) throw new Error(`${name}: cannot read line ${line}: ${trimmed.slice(at)}`);
    tokens.push({ text: word, line, comment: above });
    above = undefined;
    at += word.length;
    while (trimmed[at] === ' ') at += 1;
  }
  return { ...next, comment: undefined };
}
