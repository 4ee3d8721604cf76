/** The attributes of a resource, made from a field table: types from the shapes of its fields, descriptions from their facts. */
import type { z } from 'zod';
import { assertNever } from '../../base/errors.ts';
import { once } from '../../base/values/once.ts';
import type { Effect, FieldFacts } from '../../kinds/fields/field.ts';
import type { Attribute, Attributes, AttributeType } from './model.ts';
import { type GroupShape, groupShape, type LeafShape, type Shape, SWITCH } from './shape.ts';

/** Every field of the table as an attribute: required where the field is, otherwise set by the user or by the server. */
export function attributesOfFields(schema: z.core.$ZodType): Attributes {
  return attributesOf(groupShape(schema));
}

export interface Wording {
  /** For a template, in which no change takes effect. */
  readonly neverRuns?: true;
}

/** The same attributes with more of them inside the nested one of this name. */
export function withNested(attributes: Attributes, name: string, more: Attributes): Attributes {
  const outer = attributes[name];
  if (outer?.type.kind !== 'nested') return attributes;
  return {
    ...attributes,
    [name]: { ...outer, type: { ...outer.type, attributes: { ...outer.type.attributes, ...more } } },
  };
}

/** The same for a shape. */
export function attributesOf(group: GroupShape, wording: Wording = {}): Attributes {
  const own = Object.entries(group.fields).map(([name, shape]): [string, Attribute] => [
    name,
    attributeOf(shape, wording, group.keyword?.field === name ? group.keyword.words : []),
  ]);
  const switched: [string, Attribute][] = group.hasSwitch ? [[SWITCH, switchAttribute(group)]] : [];
  return Object.fromEntries([...switched, ...own]);
}

function switchAttribute({ offMeans }: GroupShape): Attribute {
  return {
    type: { kind: 'value', type: 'bool' },
    given: 'optional-computed',
    description: `\`false\` removes all of it and overrides the other attributes here.${offMeans === undefined ? '' : ` ${offMeans}`}`,
  };
}

function attributeOf(shape: Shape, wording: Wording, keywords: readonly string[]): Attribute {
  return {
    type: typeOf(shape, wording),
    given: shape.isRequired ? 'required' : 'optional-computed',
    // Only the schema that a host asks for has them, and most processes are not asked.
    get description() {
      return describe(shape, wording, keywords);
    },
    // A reference to a secret is not a secret itself.
    ...(shape.kind === 'leaf' && shape.facts?.secret && { sensitive: true as const }),
    ...(shape.isDeprecated && { deprecated: true as const }),
  };
}

function typeOf(shape: Shape, wording: Wording): AttributeType {
  switch (shape.kind) {
    case 'leaf':
      return { kind: 'value', type: shape.type };
    case 'group':
      return nested('single', () => attributesOf(shape, wording));
    case 'slots':
      return nested('map', () => attributesOf(shape.item, wording));
    default:
      return assertNever(shape);
  }
}

/** What is inside is read when it is first needed: a configuration leaves most blocks out. */
function nested(nesting: 'single' | 'map', attributes: () => Attributes): AttributeType {
  const read = once(attributes);
  return {
    kind: 'nested',
    nesting,
    get attributes() {
      return read();
    },
  };
}

function effectSentence(effect: Effect): string | undefined {
  if (typeof effect === 'object')
    return `A change takes effect immediately if ${effect.when}, otherwise after a restart.`;
  return effect === 'restart' ? 'A change takes effect after a restart.' : undefined;
}

function describe(shape: Shape, { neverRuns }: Wording, keywords: readonly string[]): string {
  const { facts } = shape;
  const sentences = [
    facts === undefined ? sentence(shape.description ?? '') : inHostWords(facts.description, shape),
    shape.kind === 'slots' ? sentence(shape.keyRule ?? '') : undefined,
    shape.kind === 'leaf' ? allowed(shape) : undefined,
    keywords.length > 0 ? `Also: ${listed(keywords.map((word) => `"${word}"`))}.` : undefined,
    exampleOf(facts),
    facts?.since === undefined ? undefined : `Since Proxmox VE ${facts.since}.`,
    facts?.rootOnly ? 'Only `root@pam`, logged in with a password, can set it.' : undefined,
    defaultOf(shape),
    facts && !neverRuns ? effectSentence(facts.effect) : undefined,
    facts?.wire === undefined ? undefined : `Proxmox key: \`${facts.wire.join('.')}\`.`,
  ];
  return sentences.filter(Boolean).join(' ');
}

/** Where the host cannot write `false`, the description names what to write instead. */
function inHostWords(description: string, shape: Shape): string {
  if (shape.kind === 'group')
    return shape.hasSwitch ? description.replace(/\bfalse\b/, `\`${SWITCH} = false\``) : description;
  if (shape.kind !== 'leaf') return description;
  switch (shape.spelling) {
    case 'zero-is-false':
      return description.replace(/\bfalse\b/, '`0`');
    case 'none-is-false':
      return description.replace(/\bfalse\b/, '`"none"`');
    default:
      return description;
  }
}

function allowed({ words, type }: LeafShape): string | undefined {
  if (words.length === 0) return undefined;
  const lead = type === 'string' ? 'One of' : 'Elements:';
  return `${lead} ${listed(words.map((word) => `"${word}"`))}.`;
}

function exampleOf(facts: FieldFacts | undefined): string | undefined {
  const examples = (facts?.examples ?? []).map((example) => JSON.stringify(example));
  return examples.length === 0 ? undefined : `Example: ${listed(examples)}.`;
}

function defaultOf({ fallback, facts }: Shape): string | undefined {
  if (fallback !== undefined) return `Default: \`${JSON.stringify(fallback)}\`.`;
  return facts?.serverDefault === undefined ? undefined : `Proxmox’s default: \`${facts.serverDefault}\`.`;
}

const listed = (texts: readonly string[]) => texts.map((text) => `\`${text}\``).join(', ');

function sentence(text: string): string {
  return text === '' ? '' : `${text.charAt(0).toUpperCase()}${text.slice(1)}`.replace(/\.?$/, '.');
}
