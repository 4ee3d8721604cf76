/** The vocabulary of placeholders: which classes exist and what a value of each looks like. */

export type PlaceholderClass = keyof typeof VALUE_PATTERNS;

/** What the text standing for a placeholder looks like. */
export const VALUE_PATTERNS = {
  upid: String.raw`UPID:[^:\s]+:[0-9A-F]{8}:[0-9A-F]{8,9}:[0-9A-F]{8}:[^:\s]+:[^:\s]*:[^:\s]+:`,
  mac: '[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5}',
  uuid: '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}',
  digest: '[0-9a-f]{40}',
  time: String.raw`[12]\d{9}`,
  pid: String.raw`\d+`,
  secret: '.+',
  password: '.+',
  rand: '[0-9a-f]{32}',
  date: String.raw`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`,
  hostnum: String.raw`-?\d+(?:\.\d+)?(?:e-?\d+)?`,
} as const;

export interface Placeholder {
  /** As written: `${time:1:s}`. */
  readonly text: string;
  readonly class: PlaceholderClass;
  readonly name: string | undefined;
  /** Standing alone it is a JSON string of digits rather than a number. */
  readonly asString: boolean;
}

/** A recorded text cut at its placeholders; always starts and ends with a literal, possibly an empty one. */
export interface Template {
  readonly literals: readonly string[];
  readonly placeholders: readonly Placeholder[];
}

const PLACEHOLDER = new RegExp(
  String.raw`\$\{(${Object.keys(VALUE_PATTERNS).join('|')})(?::([A-Za-z0-9_.-]+))?(:s)?\}`,
  'g',
);

export function parseTemplate(text: string): Template {
  const literals: string[] = [];
  const placeholders: Placeholder[] = [];
  let end = 0;
  for (const match of text.matchAll(PLACEHOLDER)) {
    literals.push(text.slice(end, match.index));
    end = match.index + match[0].length;
    placeholders.push({
      text: match[0],
      class: match[1] as PlaceholderClass, // the pattern admits only these words
      name: match[2],
      asString: match[3] !== undefined,
    });
  }
  literals.push(text.slice(end));
  return { literals, placeholders };
}

/** The placeholder that is the whole text and stands for a number (or, with `:s`, for a string of digits). */
export function wholeNumber(template: Template): Placeholder | undefined {
  const [only, ...others] = template.placeholders;
  if (!only || others.length > 0 || template.literals.some((literal) => literal !== '')) return undefined;
  return only.class === 'time' || only.class === 'pid' || only.class === 'hostnum' ? only : undefined;
}

export function templatePattern(template: Template): RegExp {
  const pieces = template.literals.map((literal, index) => {
    const placeholder = template.placeholders[index];
    return escaped(literal) + (placeholder ? `(${VALUE_PATTERNS[placeholder.class]})` : '');
  });
  return new RegExp(`^${pieces.join('')}$`, 's');
}

export function fillTemplate(text: string, valueFor: (placeholder: Placeholder) => string): string {
  const { literals, placeholders } = parseTemplate(text);
  return literals
    .map((literal, index) => {
      const placeholder = placeholders[index];
      return placeholder ? literal + valueFor(placeholder) : literal;
    })
    .join('');
}

export function bindingKey(placeholder: Pick<Placeholder, 'class' | 'name'>): string {
  return placeholder.name === undefined ? placeholder.class : `${placeholder.class}:${placeholder.name}`;
}

const escaped = (literal: string) => literal.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
