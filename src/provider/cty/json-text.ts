/**
 * Parses JSON without losing digits: numbers take their canonical form (`number.ts`), objects have no prototype. A state
 * file may hold numbers that `JSON.parse` would round, and each rounded number would show as a change in every plan.
 */
import { numberFromText } from './number.ts';
import type { Decimal } from './value.ts';

export type Json = null | boolean | string | number | bigint | Decimal | readonly Json[] | JsonObject;

export interface JsonObject {
  readonly [name: string]: Json;
}

const DEPTH_LIMIT = 500;
const PLAIN_CHARACTERS = /[^"\\]*/y;
const BLANK = 0x20;
const SPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORDS: ReadonlyMap<string, null | boolean> = new Map([
  ['true', true],
  ['false', false],
  ['null', null],
]);

export function parseJson(text: string): Json {
  const scanner = new Scanner(text);
  const value = scanner.value(0);
  scanner.expectEnd();
  return value;
}

class Scanner {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(depth: number): Json {
    if (depth > DEPTH_LIMIT) throw this.#refusal('nested too deeply');
    this.#skipSpace();
    const first = this.#text[this.#at];
    if (first === '{') return this.#object(depth);
    if (first === '[') return this.#array(depth);
    if (first === '"') return this.#string();
    for (const [word, value] of WORDS) {
      if (this.#text.startsWith(word, this.#at)) {
        this.#at += word.length;
        return value;
      }
    }
    return this.#number();
  }

  expectEnd(): void {
    this.#skipSpace();
    if (this.#at !== this.#text.length) throw this.#refusal('there is more text than one value');
  }

  #object(depth: number): JsonObject {
    const object: Record<string, Json> = Object.create(null);
    this.#items('}', () => {
      this.#skipSpace();
      const name = this.#string();
      this.#skipSpace();
      if (!this.#takes(':')) throw this.#refusal('expected a colon');
      object[name] = this.value(depth + 1);
    });
    return object;
  }

  #array(depth: number): Json[] {
    const elements: Json[] = [];
    this.#items(']', () => elements.push(this.value(depth + 1)));
    return elements;
  }

  #items(end: string, readItem: () => void): void {
    this.#at += 1;
    this.#skipSpace();
    if (this.#takes(end)) return;
    do readItem();
    while (this.#continues(end));
  }

  #continues(end: string): boolean {
    this.#skipSpace();
    if (this.#takes(',')) return true;
    if (this.#takes(end)) return false;
    throw this.#refusal(`expected a comma or ${end}`);
  }

  /** Finds the closing quote. `JSON.parse` decodes what lies between, because it knows the escapes. */
  #string(): string {
    const start = this.#at;
    if (!this.#takes('"')) throw this.#refusal('expected a string');
    for (;;) {
      PLAIN_CHARACTERS.lastIndex = this.#at;
      PLAIN_CHARACTERS.test(this.#text);
      this.#at = PLAIN_CHARACTERS.lastIndex;
      if (this.#takes('"')) return JSON.parse(this.#text.slice(start, this.#at)) as string; // begins and ends with a quote
      if (this.#at >= this.#text.length) throw this.#refusal('the string does not end');
      this.#at += 2;
    }
  }

  #number(): Json {
    NUMBER.lastIndex = this.#at;
    const token = NUMBER.exec(this.#text)?.[0];
    const number = token === undefined ? undefined : numberFromText(token);
    if (token === undefined || number === undefined) throw this.#refusal('expected a value');
    this.#at += token.length;
    return number;
  }

  #takes(character: string): boolean {
    const found = this.#text[this.#at] === character;
    if (found) this.#at += 1;
    return found;
  }

  #skipSpace(): void {
    // A host writes none.
    if (this.#text.charCodeAt(this.#at) > BLANK) return;
    SPACE.lastIndex = this.#at;
    SPACE.test(this.#text);
    this.#at = SPACE.lastIndex;
  }

  /** Says where, but never quotes the text: it may hold secrets. */
  #refusal(reason: string): SyntaxError {
    return new SyntaxError(`JSON at character ${this.#at}: ${reason}`);
  }
}
