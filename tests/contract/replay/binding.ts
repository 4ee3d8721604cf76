/**
 * What the placeholders of one scenario stand for in one replay. The first value seen binds a placeholder; from then
 * on it must be that value, and two placeholders of a class that names identities must never be the same value.
 */
import {
  bindingKey,
  fillTemplate,
  type Placeholder,
  type PlaceholderClass,
  parseTemplate,
  type Template,
  templatePattern,
  VALUE_PATTERNS,
  wholeNumber,
} from './placeholders.ts';
import { isList, isObject, type Json } from './types.ts';

const TIME_TOLERANCE_SECONDS = 15;

/** A time that has not been seen yet belongs to this replay: it cannot be hours away. */
const NEW_TIME_WINDOW_SECONDS = 7200;

const IDENTITIES: ReadonlySet<PlaceholderClass> = new Set(['upid', 'mac', 'uuid', 'digest', 'rand']);

/** Why a value does not fit; ready to be shown. */
interface Misfit {
  readonly expected: string;
  readonly got: string;
}

export class Binding {
  readonly #nowMs: () => number;
  readonly #exactTime: boolean;
  #values = new Map<string, string>();
  /** When a time was bound: what happens later in the replay may be later by as much. */
  readonly #boundAtMs = new Map<string, number>();

  constructor(nowMs: () => number, { exactTime }: { readonly exactTime: boolean }) {
    this.#nowMs = nowMs;
    this.#exactTime = exactTime;
  }

  get(key: string): string | undefined {
    return this.#values.get(key);
  }

  set(key: string, value: string): void {
    this.#values.set(key, value);
  }

  /** Runs `attempt` and forgets everything it bound if it reports a mismatch. */
  tentatively<T extends readonly unknown[]>(attempt: () => T): T {
    const before = new Map(this.#values);
    const mismatches = attempt();
    if (mismatches.length > 0) this.#values = before;
    return mismatches;
  }

  /** Runs `attempt` and forgets everything it bound, whatever comes out. */
  withoutTrace<T>(attempt: () => T): T {
    const before = new Map(this.#values);
    const result = attempt();
    this.#values = before;
    return result;
  }

  /** The value with all placeholders replaced, for something about to be sent. */
  fill<T extends Json>(value: T): T {
    return this.#filled(value) as T; // filling changes texts only, never the shape
  }

  /** Compares one recorded text with one received value, binding placeholders on the way. */
  match(expected: string, got: Json | undefined): Misfit | undefined {
    const misfit: Misfit = { expected: JSON.stringify(expected), got: JSON.stringify(got) ?? 'nothing' };
    if (!expected.includes('${')) return expected === got ? undefined : misfit;
    const template = templateOf(expected);
    if (template.number) {
      if (typeof got !== (template.number.asString ? 'string' : 'number')) return misfit;
      if (!template.pattern.test(String(got))) return misfit;
      return this.#bind(template.number, String(got));
    }
    if (typeof got !== 'string') return misfit;
    const found = template.pattern.exec(got);
    if (!found) return misfit;
    for (const [index, placeholder] of template.placeholders.entries()) {
      const conflict = this.#bind(placeholder, found[index + 1] ?? '');
      if (conflict) return conflict;
    }
    return undefined;
  }

  #bind(placeholder: Placeholder, value: string): Misfit | undefined {
    if (placeholder.class === 'hostnum' || placeholder.class === 'date') return undefined;
    if (placeholder.class === 'pid' && placeholder.name === undefined) return undefined;
    const key = bindingKey(placeholder);
    const bound = this.#values.get(key);
    if (placeholder.class === 'time') return this.#bindTime(key, bound, value);
    if (bound !== undefined) {
      return bound === value ? undefined : { expected: `${placeholder.text} = ${bound}`, got: value };
    }
    const twin = IDENTITIES.has(placeholder.class) ? this.#otherKeyOf(placeholder.class, value) : undefined;
    if (twin !== undefined) return { expected: `${placeholder.text} different from \${${twin}}`, got: value };
    this.#values.set(key, value);
    return undefined;
  }

  #bindTime(key: string, bound: string | undefined, value: string): Misfit | undefined {
    const nowMs = this.#nowMs();
    const seconds = Number(value);
    const reference = bound === undefined ? nowMs / 1000 : Number(bound);
    const tolerance = bound === undefined ? NEW_TIME_WINDOW_SECONDS : TIME_TOLERANCE_SECONDS;
    const late = this.#exactTime ? 0 : Math.ceil((nowMs - (this.#boundAtMs.get(key) ?? nowMs)) / 1000);
    if (seconds < reference - tolerance || seconds > reference + tolerance + late) {
      return { expected: `\${${key}} within ${tolerance} s of ${reference}`, got: value };
    }
    if (bound === undefined) {
      this.#values.set(key, value);
      this.#boundAtMs.set(key, nowMs);
    }
    return undefined;
  }

  #otherKeyOf(kind: PlaceholderClass, value: string): string | undefined {
    for (const [key, other] of this.#values) {
      if (other === value && key.startsWith(`${kind}:`)) return key;
    }
    return undefined;
  }

  #filled(value: Json): Json {
    if (typeof value === 'string') return fillTemplate(value, (placeholder) => this.#required(placeholder));
    if (isList(value)) return value.map((element) => this.#filled(element));
    if (isObject(value)) {
      return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, this.#filled(inner)]));
    }
    return value;
  }

  #required(placeholder: Placeholder): string {
    const value = this.#values.get(bindingKey(placeholder));
    if (value === undefined) throw new Error(`no value is known for ${placeholder.text}`);
    return value;
  }
}

interface CompiledTemplate extends Template {
  readonly pattern: RegExp;
  readonly number: Placeholder | undefined;
}

/** The same few recorded texts are compared over and over against every candidate of a list. */
const compiled = new Map<string, CompiledTemplate>();

function templateOf(text: string): CompiledTemplate {
  const known = compiled.get(text);
  if (known) return known;
  const template = parseTemplate(text);
  const number = wholeNumber(template);
  const pattern = number ? new RegExp(`^${VALUE_PATTERNS[number.class]}$`) : templatePattern(template);
  const result = { ...template, pattern, number };
  compiled.set(text, result);
  return result;
}
