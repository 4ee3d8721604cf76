/** Values that must never be printed, and how they are kept out of foreign text. */

const MASK = '•••';

/** Every usual conversion to text yields bullets. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The only access to the value; call it only where the value is sent. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return MASK;
  }

  toJSON(): string {
    return MASK;
  }

  [Symbol.toPrimitive](): string {
    return MASK;
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return MASK;
  }
}

/** Removes every occurrence of the secrets from text that will be shown or stored. */
export function redact(text: string, secrets: Iterable<Secret>): string {
  let result = text;
  for (const secret of secrets) result = withoutSecret(result, secret);
  return result;
}

/**
 * Shorter values are not searched for in foreign text: removing every `1` would make it unreadable. In our own messages they
 * are removed as whole words; inside words, the gaps would tell what they are.
 */
const SHORTEST = 4;

/**
 * Every secret that a process has read. All sinks share one: what they write contains none of them, whatever the source
 * of the text. It grows while the process works.
 */
export class KnownSecrets implements Iterable<Secret> {
  readonly #byValue = new Map<string, Secret>();

  constructor(secrets: Iterable<Secret> = []) {
    this.add(...secrets);
  }

  add(...secrets: readonly Secret[]): void {
    for (const secret of secrets) {
      const value = secret.reveal();
      if (value.trim().length >= SHORTEST) this.#byValue.set(value, secret);
    }
  }

  [Symbol.iterator](): Iterator<Secret> {
    return this.#byValue.values();
  }

  redact(text: string): string {
    return this.#byValue.size === 0 ? text : redact(text, this);
  }

  /** A copy of plain data in which every text is redacted, names of fields included. */
  redactIn<Value>(value: Value): Value {
    return (this.#byValue.size === 0 ? value : mapTexts(value, (text) => this.redact(text))) as Value; // the same shape
  }
}

function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((each) => mapTexts(each, change));
  if (typeof value !== 'object' || value === null) return value;
  if ('toJSON' in value && typeof value.toJSON === 'function') return mapTexts(value.toJSON(), change);
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [change(key), mapTexts(each, change)]));
}

/** Found once for each secret; a run writes thousands of lines. */
const patterns = new WeakMap<Secret, readonly RegExp[]>();

function withoutSecret(text: string, secret: Secret): string {
  let found = patterns.get(secret);
  if (!found) {
    found = patternsOf(secret.reveal());
    patterns.set(secret, found);
  }
  return found.reduce((result, pattern) => result.replace(pattern, MASK), text);
}

/** A secret file can have any size; no server repeats parts of a long text character by character. */
const LONGEST_SPELLED = 1024;
/** Shorter lines of a secret file say nothing, such as `users:`. */
const SHORTEST_LINE = 8;

function patternsOf(value: string): RegExp[] {
  if (value.trim() === '') return [];
  if (value.trim().length < SHORTEST)
    return [new RegExp(`(?<![\\p{L}\\p{N}])${escaped(value)}(?![\\p{L}\\p{N}])`, 'gu')];
  const lines = value.split(/\r?\n/).map((line) => line.trim());
  const parts = lines.length > 1 ? lines.filter((line) => line.length >= SHORTEST_LINE && !line.startsWith('#')) : [];
  return [value, ...parts].flatMap((part) => [
    new RegExp(part.length > LONGEST_SPELLED ? escaped(part) : [...part].map(spellings).join(''), 'g'),
    ...encodedPatterns(part),
  ]);
}

/** How a server may spell one character: as it is, in a URL or form, in JSON, in HTML. */
function spellings(character: string): string {
  const json = JSON.stringify(character).slice(1, -1);
  const units = [...Array(character.length).keys()].map((index) => character.charCodeAt(index));
  const percent = [...new TextEncoder().encode(character)].map(
    (byte) => `%${anyCase(byte.toString(16).padStart(2, '0'))}`,
  );
  const choices = [
    ...(character === '/' ? ['\\\\*\\/'] : [escaped(character)]),
    percent.join(''),
    ...(json === character ? [] : [escaped(json)]),
    units.map((unit) => `\\\\u${anyCase(unit.toString(16).padStart(4, '0'))}`).join(''),
    ...(character === ' ' ? ['\\+'] : []),
    ...(HTML[character] ?? []),
  ];
  return `(?:${choices.join('|')})`;
}

const HTML: Readonly<Record<string, readonly string[]>> = {
  '&': ['&amp;'],
  '<': ['&lt;'],
  '>': ['&gt;'],
  '"': ['&quot;', '&#34;'],
  "'": ['&#39;', '&apos;'],
};

/** Below this length other texts have the same digits by chance. */
const SHORTEST_ENCODED = 8;

/** Base64, also of a longer text that contains the value: `user:password` of a header. */
function encodedPatterns(value: string): RegExp[] {
  const bytes = Buffer.from(value);
  const cores = [0, 1, 2].map((offset) => {
    const text = Buffer.concat([Buffer.alloc(offset), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    // The first and the last digits also depend on the neighbours.
    const first = Math.ceil((offset * 8) / 6);
    const last = Math.floor(((offset + bytes.length) * 8) / 6);
    return text.slice(first, last);
  });
  return cores
    .filter((core) => core.length >= SHORTEST_ENCODED)
    .map((core) => new RegExp(escaped(core).replace(/\\\+/g, '[+-]').replace(/\//g, '[/_]'), 'g'));
}

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

const anyCase = (digits: string) => digits.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);

/** A secret value, and what a plan and a state may hold of it. */
export interface ResolvedSecret {
  readonly value: Secret;
  /** Salted. */
  readonly digest: string;
}
