/** A value that must never be printed: every usual conversion to text yields bullets. */

const MASK = '•••';

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
  for (const secret of secrets) {
    const value = secret.reveal();
    if (value === '') continue;
    for (const form of new Set([value, encodeURIComponent(value), JSON.stringify(value).slice(1, -1)])) {
      result = result.replaceAll(form, MASK);
    }
  }
  return result;
}
